//! Families under fire: workers are killed, stopped and cut off while families grow and end. Every family comes out whole:
//! each child made once and run, no parent through before its last child, what is in order in order, what follows after.

use std::time::Duration;

use anyhow::{Result, ensure};
use kinfolk_core::{ChildOrder, State, Store, TaskId};
use kinfolk_faults::bed::{Bed, Kind};
use kinfolk_faults::families::assert_whole;
use kinfolk_faults::journal::{self, JournalLine};
use kinfolk_faults::process::Process;
use kinfolk_faults::sound::{all_tasks, assert_unbroken, cancel_if_open, wait_drained};
use kinfolk_faults::victim::{FollowUp, MENDED, Orders, Plan, made};

use crate::kill_loop::{losses, wait_running};
use crate::{Chance, PATIENCE, journal, start, worker};

/// Families of all shapes, one after another.
pub(crate) struct Shapes {
    pub(crate) chance: Chance,
    made: u64,
}

impl Shapes {
    pub(crate) fn new() -> Self {
        Self { chance: Chance::new(), made: 0 }
    }

    /// A family of up to four generations.
    pub(crate) fn next(&mut self) -> Plan {
        self.made += 1;
        let name = format!("f{}", self.made);
        let mut plan = self.member(&name, 0);
        if self.chance.once_in(2) {
            let plan_after = Plan::named(format!("{name}.after"));
            plan.follow_ups.push(FollowUp { plan: plan_after, when_completed: self.chance.once_in(2), key: None });
        }
        if self.chance.once_in(3) {
            let report = Plan::named("report");
            plan.follow_ups.push(FollowUp { plan: report, when_completed: false, key: Some("report".to_owned()) });
        }
        plan
    }

    fn member(&mut self, name: &str, depth: u64) -> Plan {
        let mut plan = Plan::named(name);
        plan.errors = u16::from(self.chance.once_in(8));
        plan.snoozes = u16::from(self.chance.once_in(8));
        if depth > 0 {
            plan.broken = self.chance.once_in(25);
        }
        if depth < 3 {
            plan.order = ChildOrder::ALL[usize::try_from(self.chance.below(5)).unwrap_or(0).saturating_sub(2)];
            let children = self.chance.below(4 - depth);
            plan.children = (0..children).map(|nth| self.member(&format!("{name}.{nth}"), depth + 1)).collect();
            if plan.order != ChildOrder::InOrderUntilFailure && self.chance.once_in(3) {
                let sibling = Plan::named(format!("{name}.sibling"));
                plan.children.iter_mut().take(1).for_each(|child| child.siblings.push(sibling.clone()));
            }
        }
        plan
    }

    /// Enqueues a few of them.
    pub(crate) async fn enqueue(&mut self, store: &dyn Store, families: usize) -> Result<Vec<TaskId>> {
        let roots = (0..families).map(|_| self.next().task()).collect::<Result<Vec<_>>>()?;
        made(&store.enqueue(&roots).await?)
    }
}

/// Worker processes, of which one is killed and replaced now and then.
pub(crate) struct Fleet {
    orders: Orders,
    journal: std::path::PathBuf,
    processes: Vec<Process>,
}

impl Fleet {
    pub(crate) fn start(bed: &Bed, orders: Orders, size: usize) -> Result<Self> {
        let mut processes = (0..size).map(|_| start("a worker", &orders)).collect::<Result<Vec<_>>>()?;
        processes.iter_mut().try_for_each(|process| process.wait_line("ready", PATIENCE).map(drop))?;
        Ok(Self { orders, journal: journal(bed), processes })
    }

    /// Kills one with signal 9, writes that down, and starts another in its place.
    pub(crate) fn replace(&mut self, chance: &mut Chance) -> Result<()> {
        let index = usize::try_from(chance.below(self.processes.len() as u64))?;
        let process = &mut self.processes[index];
        process.kill()?;
        journal::append(&self.journal, &JournalLine::Gone(process.id()))?;
        never_swept(process)?;
        *process = start("a worker", &self.orders)?;
        process.wait_line("ready", PATIENCE).map(drop)
    }

    /// Whether one that was not killed was too slow for its lease.
    pub(crate) fn has_lost_a_lease(&self) -> bool {
        self.processes.iter().any(Process::has_lost_its_lease)
    }

    /// Whether each of them had to repeat a call.
    pub(crate) fn has_had_trouble(&self) -> bool {
        self.processes.iter().all(|process| process.lines().iter().any(|line| line.starts_with("event trouble")))
    }

    /// Ends them all.
    pub(crate) fn stop(self) -> Result<()> {
        for mut process in self.processes {
            process.signal("TERM")?;
            process.wait_line("end", PATIENCE)?;
            never_swept(&process)?;
        }
        Ok(())
    }
}

/// Its sweeps found nothing to set right.
fn never_swept(process: &Process) -> Result<()> {
    let swept = process.lines().into_iter().find(|line| line.starts_with("event unstuck"));
    ensure!(swept.is_none(), "a parent waited for nothing: {swept:?}");
    Ok(())
}

async fn kill_among_families(kind: Kind) -> Result<()> {
    const ROUNDS: u64 = 25;
    const FAMILIES_A_ROUND: usize = 6;
    let bed = Bed::new(kind).await?;
    let store = bed.open().await?;
    let mut shapes = Shapes::new();
    let mut fleet = Fleet::start(&bed, Orders { work_ms: 15, ..worker(&bed) }, 3)?;
    let mut answered = Vec::new();
    for _ in 0..ROUNDS {
        let roots = shapes.enqueue(&*store, FAMILIES_A_ROUND).await?;
        wait_running(&*store).await?;
        tokio::time::sleep(Duration::from_millis(shapes.chance.below(40))).await;
        cancel_if_open(&*store, roots[usize::try_from(shapes.chance.below(roots.len() as u64))?]).await?;
        fleet.replace(&mut shapes.chance)?;
        let broken = store.check().await?;
        ensure!(broken.is_empty(), "the store is not sound while it is at work: {broken:#?}");
        answered.extend(roots);
    }
    wait_drained(&*store, PATIENCE).await?;
    let tasks = all_tasks(&*store).await?;
    println!("{} tasks in {} families", tasks.len(), answered.len());
    ensure!(losses(&*store, tasks.keys()).await? > ROUNDS / 5, "hardly a task was lost: the kills hit nobody at work");
    ensure!(tasks.values().any(|task| task.state == State::Failed && task.outcome.is_some()), "no child ever failed");
    assert_whole(&*store, &answered, &journal::read(&journal(&bed))?).await?;
    repair_among_kills(&bed, &*store, &mut fleet, &mut shapes.chance).await?;
    fleet.stop()
}

/// What was broken is mended, every family that has failed is retried, and workers are killed meanwhile.
async fn repair_among_kills(bed: &Bed, store: &dyn Store, fleet: &mut Fleet, chance: &mut Chance) -> Result<()> {
    std::fs::write(bed.folder().join(MENDED), "")?;
    let tasks = all_tasks(store).await?;
    let failed: Vec<_> = tasks
        .values()
        .filter(|task| task.state == State::Failed && task.parent.is_none())
        .map(|task| task.id)
        .collect();
    ensure!(!failed.is_empty(), "no family has failed: there is nothing to repair");
    for some in failed.chunks(failed.len().div_ceil(3)) {
        for root in some {
            store.retry_family(*root).await?;
        }
        wait_running(store).await?;
        fleet.replace(chance)?;
    }
    wait_drained(store, PATIENCE).await?;
    for root in failed {
        let task = store.task(root).await?;
        ensure!(task.as_ref().is_some_and(|task| task.state == State::Completed), "not repaired: {task:#?}");
    }
    assert_unbroken(store).await
}

#[tokio::test(flavor = "multi_thread")]
async fn workers_killed_among_families_leave_every_family_whole_on_sqlite() -> Result<()> {
    kill_among_families(Kind::Sqlite).await
}

#[tokio::test(flavor = "multi_thread")]
async fn workers_killed_among_families_leave_every_family_whole_on_postgres() -> Result<()> {
    kill_among_families(Kind::Postgres).await
}
