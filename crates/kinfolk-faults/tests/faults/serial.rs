//! A serial queue: four worker processes, one family at a time, three children at once; with errors, snoozes and kills.
//!
//! The journal proves it: all lines of one family stand together, and never are there more than three children between
//! their begin and their end.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use kinfolk_core::{Policy, QueueName, State, Store, TaskId};
use kinfolk_faults::bed::{Bed, Kind};
use kinfolk_faults::journal::{self, Entry, JournalLine};
use kinfolk_faults::sound::assert_unbroken;
use kinfolk_faults::victim::{Orders, Plan, made};

use crate::families::Fleet;
use crate::kill_loop::wait_running;
use crate::{Chance, PATIENCE, journal, worker};

/// How many top-level tasks wait in line.
const PENDING: usize = 3_000;
/// How many of them are let through.
const THROUGH: usize = 60;
const KILLS: usize = 3;
const CHILDREN: u32 = 3;

/// How many tasks wait in line, unless `KINFOLK_FAULTS_PENDING` says otherwise.
pub(crate) fn pending(usual: usize) -> Result<usize> {
    match std::env::var("KINFOLK_FAULTS_PENDING") {
        Ok(text) => text.parse().context("KINFOLK_FAULTS_PENDING is not a number"),
        Err(_) => Ok(usual),
    }
}

/// A family of up to seven, some of them unsteady.
fn family(number: usize, chance: &mut Chance) -> Plan {
    let mut plan = Plan::wide(&format!("s{number}"), usize::try_from(chance.below(7)).unwrap_or(0));
    for member in plan.children.iter_mut() {
        member.errors = u16::from(chance.once_in(6));
        member.snoozes = u16::from(chance.once_in(6));
    }
    plan.errors = u16::from(chance.once_in(6));
    plan.snoozes = u16::from(chance.once_in(6));
    plan
}

async fn enqueue(store: &dyn Store, chance: &mut Chance) -> Result<()> {
    let numbers: Vec<_> = (0..pending(PENDING)?).collect();
    for some in numbers.chunks(1_000) {
        let roots = some.iter().map(|number| family(*number, chance).task()).collect::<Result<Vec<_>>>()?;
        made(&store.enqueue(&roots).await?)?;
    }
    Ok(())
}

async fn one_at_a_time(kind: Kind) -> Result<()> {
    const TRIES: usize = 3;
    for _ in 0..TRIES {
        let bed = Bed::new(kind).await?;
        let store = bed.open().await?;
        let policy = Policy { family_limit: Some(1), child_limit: Some(CHILDREN), ..Policy::default() };
        store.set_queue(&QueueName::default(), &policy).await?;
        let mut fleet = Fleet::start(&bed, Orders { work_ms: 5, lease_ms: 2_000, ..worker(&bed) }, 4)?;
        let mut chance = Chance::new();
        enqueue(&*store, &mut chance).await?;
        for kill in 1..=KILLS {
            wait_through(&bed, kill * THROUGH / (KILLS + 1)).await?;
            wait_running(&*store).await?;
            fleet.replace(&mut chance)?;
        }
        wait_through(&bed, THROUGH).await?;
        let was_slow = fleet.has_lost_a_lease();
        fleet.stop()?;
        // A worker on a machine that is too slow for its lease works on in what others were given: nothing to be seen.
        if !was_slow {
            return judge(&bed, &*store).await;
        }
    }
    anyhow::bail!("in {TRIES} tries a worker lost its lease: this machine is too slow for the test")
}

/// Waits until the journal speaks of so many families.
async fn wait_through(bed: &Bed, families: usize) -> Result<()> {
    let deadline = Instant::now() + PATIENCE;
    while !journal(bed).exists() || roots(&journal::read(&journal(bed))?).len() < families {
        ensure!(Instant::now() < deadline, "fewer than {families} families were begun within {PATIENCE:?}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    Ok(())
}

/// The roots, in the order in which they were first heard of.
fn roots(journal: &[JournalLine]) -> Vec<TaskId> {
    let mut seen = BTreeSet::new();
    journal.iter().filter_map(JournalLine::entry).map(|entry| entry.root).filter(|root| seen.insert(*root)).collect()
}

async fn judge(bed: &Bed, store: &dyn Store) -> Result<()> {
    let journal = journal::read(&journal(bed))?;
    let roots = roots(&journal);
    ensure!(roots.is_sorted(), "families did not start in the order of their positions: {roots:?}");
    never_overlap(&journal)?;
    let most = most_children_at_once(&journal);
    ensure!(most <= CHILDREN as usize, "{most} children ran at once");
    ensure!(
        most == CHILDREN as usize,
        "never more than {most} children ran at once: the limit was not put to the test"
    );
    let mut last_end = None;
    for (index, root) in roots.iter().enumerate() {
        let task = store.task(*root).await?.context("a root is gone")?;
        let is_through = task.state == State::Completed;
        ensure!(is_through || index + 1 == roots.len(), "another family was begun before this one ended: {task:#?}");
        let attempts = store.attempts(*root).await?;
        let begin = attempts.first().map(|attempt| attempt.started_at).or(task.started_at);
        ensure!(last_end <= begin, "claimed at {begin:?}, before the end of the last at {last_end:?}: {task:#?}");
        last_end = task.finished_at;
    }
    assert_unbroken(store).await
}

/// All lines of one family stand together.
fn never_overlap(journal: &[JournalLine]) -> Result<()> {
    let mut ended = BTreeSet::new();
    let mut current = None;
    for entry in journal.iter().filter_map(JournalLine::entry) {
        if current != Some(entry.root) {
            ended.extend(current);
            current = Some(entry.root);
        }
        ensure!(!ended.contains(&entry.root), "two families were at work at once: {entry:?} after another had begun");
    }
    Ok(())
}

fn most_children_at_once(journal: &[JournalLine]) -> usize {
    let mut running: BTreeMap<TaskId, u32> = BTreeMap::new();
    let mut most = 0;
    for line in journal {
        match line {
            JournalLine::Begin(entry) if entry.depth > 0 => drop(running.insert(entry.task, entry.process)),
            JournalLine::Begin(_) => {}
            JournalLine::End(entry) => drop(running.remove(&entry.task)),
            JournalLine::Gone(process) => running.retain(|_, its| its != process),
        }
        most = most.max(running.len());
    }
    most
}

#[tokio::test(flavor = "multi_thread")]
async fn four_processes_on_a_serial_queue_run_one_family_at_a_time_on_sqlite() -> Result<()> {
    one_at_a_time(Kind::Sqlite).await
}

#[tokio::test(flavor = "multi_thread")]
async fn four_processes_on_a_serial_queue_run_one_family_at_a_time_on_postgres() -> Result<()> {
    one_at_a_time(Kind::Postgres).await
}

/// What a process wrote about a member of a family.
fn entry(root: i64, task: i64) -> Entry {
    Entry { task: TaskId(task), root: TaskId(root), depth: u16::from(root != task), process: 7 }
}

#[test]
fn families_that_overlap_are_seen() {
    let (first, second) = (entry(1, 1), entry(2, 2));
    let one_by_one =
        [&first, &second].map(|entry| [JournalLine::Begin(entry.clone()), JournalLine::End(entry.clone())]).concat();
    assert!(never_overlap(&one_by_one).is_ok());
    let mixed = [JournalLine::Begin(first.clone()), JournalLine::Begin(second), JournalLine::End(first)];
    assert!(never_overlap(&mixed).is_err());
}

#[test]
fn children_that_run_at_once_are_counted() {
    let begin = |task| JournalLine::Begin(entry(1, task));
    assert_eq!(most_children_at_once(&[begin(1), begin(2), begin(3), JournalLine::End(entry(1, 2)), begin(4)]), 2);
    assert_eq!(most_children_at_once(&[begin(2), begin(3), JournalLine::Gone(7), begin(4)]), 2);
    assert_eq!(most_children_at_once(&[begin(2), begin(3), begin(4), begin(5)]), 4);
}
