//! Keys under fire: random groups and tasks, four worker processes of which some are killed and some are stopped for a
//! while. No limit is ever passed, nobody is forgotten behind a key, and in the end no slot is held.

use std::collections::BTreeSet;
use std::time::Duration;

use anyhow::{Result, ensure};
use kinfolk_core::{Command, CommandName, GroupName, GroupRef, GroupSpec, Groups, Keys, NewTask, Rate, Setting};
use kinfolk_core::{State, TaskId, Timestamp};
use kinfolk_faults::bed::{Bed, Kind};
use kinfolk_faults::journal;
use kinfolk_faults::process::Process;
use kinfolk_faults::sound::{all_tasks, cancel_if_open, wait_drained};
use kinfolk_faults::victim::{Orders, Room, WITH_KEYS, WithKeys, command_with_keys, enter_rooms, made, passed_file};
use kinfolk_faults::with_keys::{Stay, Stays, assert_limits, judge_seen, most_at_once, never_passed};

use crate::flows::assert_no_deadlock;
use crate::kill_loop::{losses, wait_running};
use crate::serial::pending;
use crate::{Chance, PATIENCE, ledger, start, worker};

/// How many tasks there are.
const TASKS: usize = 600;
const ROUNDS: usize = 8;
/// The round in which one is stopped past its lease.
const LONG_PAUSE: usize = 2;
const WORKERS: usize = 4;
const LEASE: Duration = Duration::from_millis(1_500);
/// How many keys all groups have together.
const ALL_KEYS: u64 = 200;

/// Groups, and tasks with keys in them.
pub(crate) struct Load {
    chance: Chance,
    groups: Vec<(GroupName, GroupSpec)>,
    total: u32,
}

impl Load {
    fn new() -> Result<Self> {
        let mut chance = Chance::new();
        let count = 2 + chance.below(9);
        let mut groups = Vec::new();
        for number in 0..count {
            // One group at least whose keys are full most of the time, and one with a rate, which nobody holds for longer.
            let limit = if number == 0 || chance.once_in(3) { 1 } else { 1 + u32::try_from(chance.below(20))? };
            let (shared, hold) = (chance.once_in(3), chance.once_in(4));
            let rate = (number == 1).then(|| Rate::per_second(200).burst(5));
            let spec = GroupSpec { shared, hold, rate, ..GroupSpec::limit(limit) };
            println!("group g{number}: {spec:?}");
            groups.push((GroupName::new(&format!("g{number}"))?, spec));
        }
        let total = 1 + u32::try_from(chance.below(20))?;
        Ok(Self { chance, groups, total })
    }

    /// All commands have all groups; the first has a total besides.
    fn commands(&self) -> Result<Vec<Command>> {
        let groups = Groups(self.groups.iter().cloned().collect());
        let mut commands = Vec::new();
        for name in WITH_KEYS {
            let mut its = groups.clone();
            if name == WITH_KEYS[0] {
                its = its.and(GroupName::total(), GroupSpec::limit(self.total));
            }
            commands.push(Command { groups: Some(its), ..command_with_keys(name)? });
        }
        Ok(commands)
    }

    /// A task with some keys, often the same ones, and sometimes none.
    fn task(&mut self) -> Result<NewTask> {
        let command = WITH_KEYS[usize::try_from(self.chance.below(WITH_KEYS.len() as u64))?];
        let (mut keys, mut rooms) = (Keys::new(), Vec::new());
        for (name, spec) in &self.groups {
            if !self.chance.once_in(3) {
                continue;
            }
            let many = 1 + self.chance.below((ALL_KEYS / self.groups.len() as u64).max(1));
            let key = format!("k{}", self.chance.below(many));
            let owner = if spec.shared { "all" } else { command };
            let room = format!("{owner}.{name}.{key}");
            rooms.push(Room { name: room, limit: spec.limit.unwrap_or(u32::MAX), hold: spec.hold });
            keys = keys.and(name.clone(), key);
        }
        if command == WITH_KEYS[0] {
            rooms.push(Room { name: "total".to_owned(), limit: self.total, hold: false });
        }
        let errors = u16::from(self.chance.once_in(10));
        let (snoozes, blocks) = (self.chance.once_in(10), self.chance.once_in(4));
        let task = WithKeys { rooms, errors, snoozes, blocks, slows: None }.task(command, keys)?;
        Ok(NewTask { priority: Some(i32::try_from(self.chance.below(3))?), ..task })
    }

    fn tasks(&mut self, count: usize) -> Result<Vec<NewTask>> {
        (0..count).map(|_| self.task()).collect()
    }

    /// One of the groups, as an operator calls it.
    fn any_group(&mut self) -> Result<GroupRef> {
        let (name, spec) = &self.groups[usize::try_from(self.chance.below(self.groups.len() as u64))?];
        let owner = CommandName::new(WITH_KEYS[usize::try_from(self.chance.below(WITH_KEYS.len() as u64))?])?;
        Ok(if spec.shared { GroupRef::shared(name.clone()) } else { GroupRef::of(owner, name.clone()) })
    }
}

/// Worker processes, and which of them have lost their lease.
struct Crew {
    orders: Orders,
    processes: Vec<Process>,
    late: BTreeSet<u32>,
}

impl Crew {
    fn start(bed: &Bed) -> Result<Self> {
        let lease_ms = u64::try_from(LEASE.as_millis())?;
        let orders = Orders { work_ms: 15, lease_ms, with_keys: true, ..worker(bed) };
        let mut processes = (0..WORKERS).map(|_| start("a worker", &orders)).collect::<Result<Vec<_>>>()?;
        processes.iter_mut().try_for_each(|process| process.wait_line("ready", PATIENCE).map(drop))?;
        Ok(Self { orders, processes, late: BTreeSet::new() })
    }

    fn any(&mut self, chance: &mut Chance) -> Result<&mut Process> {
        let index = usize::try_from(chance.below(self.processes.len() as u64))?;
        Ok(&mut self.processes[index])
    }

    /// Kills one with signal 9, and starts another in its place.
    fn replace(&mut self, chance: &mut Chance) -> Result<()> {
        let fresh = start("a worker", &self.orders)?;
        let mut killed = std::mem::replace(self.any(chance)?, fresh);
        killed.kill()?;
        self.hear(&killed)
    }

    /// Stops one for less than its lease.
    async fn pause(&mut self, chance: &mut Chance) -> Result<()> {
        let span = Duration::from_millis(50 + chance.below(300));
        let process = self.any(chance)?;
        process.signal("STOP")?;
        tokio::time::sleep(span).await;
        process.signal("CONT")
    }

    /// Stops one past its lease, until one has lost it: a process that is stopped with an SQLite file in hand stops all others.
    async fn pause_long(&mut self, chance: &mut Chance) -> Result<()> {
        const TRIES: usize = 5;
        for _ in 0..TRIES {
            let process = self.any(chance)?;
            process.signal("STOP")?;
            tokio::time::sleep(LEASE * 2).await;
            process.signal("CONT")?;
            if process.wait_line("event lease_lost", LEASE).is_ok() {
                return Ok(());
            }
        }
        anyhow::bail!("a process was stopped past its lease {TRIES} times, and never lost it")
    }

    /// Notes whether a process has lost its lease, and that its sweeps found nothing.
    fn hear(&mut self, process: &Process) -> Result<()> {
        let lines = process.lines();
        if process.has_lost_its_lease() {
            let refused = lines.iter().filter(|line| line.starts_with("event stale")).count();
            println!("process {} lost its lease; {refused} late settles were refused", process.id());
            self.late.insert(process.id());
        }
        let swept = lines.iter().find(|line| line.starts_with("event unstuck"));
        ensure!(swept.is_none(), "somebody waited for nothing: {swept:?}");
        Ok(())
    }

    /// Ends them all. Returns those that had lost their lease.
    fn stop(mut self) -> Result<BTreeSet<u32>> {
        for mut process in std::mem::take(&mut self.processes) {
            process.signal("TERM")?;
            process.wait_line("end", PATIENCE)?;
            self.hear(&process)?;
        }
        Ok(self.late)
    }
}

async fn keys_under_fire(kind: Kind) -> Result<()> {
    let bed = Bed::new(kind).await?;
    let store = bed.open().await?;
    let mut load = Load::new()?;
    store.register(&load.commands()?).await?;
    let mut crew = Crew::start(&bed)?;
    let mut answered = Vec::new();
    for round in 0..ROUNDS {
        let ids = made(&store.enqueue(&load.tasks(pending(TASKS)? / ROUNDS)?).await?)?;
        let shut = load.any_group()?;
        store.set_group(&shut, None, &Setting { limit: Some(0), rate: None }).await?;
        wait_running(&*store).await?;
        tokio::time::sleep(Duration::from_millis(load.chance.below(40))).await;
        cancel_if_open(&*store, ids[usize::try_from(load.chance.below(ids.len() as u64))?]).await?;
        match round {
            LONG_PAUSE => crew.pause_long(&mut load.chance).await?,
            1 | 4 | 7 => crew.pause(&mut load.chance).await?,
            _ => crew.replace(&mut load.chance)?,
        }
        store.set_group(&shut, None, &Setting::default()).await?;
        let broken = store.check().await?;
        ensure!(broken.is_empty(), "the store is not sound while it is at work: {broken:#?}");
        answered.extend(ids);
    }
    wait_drained(&*store, PATIENCE).await?;
    let late = crew.stop()?;
    ensure!(losses(&*store, &answered).await? > 0, "no task was lost: the kills hit nobody at work");
    let stays = assert_limits(&*store, &answered, &ledger(&bed), &late).await?;
    assert_put_to_the_test(&stays)?;
    ensure!(all_tasks(&*store).await?.values().any(|task| task.state == State::Cancelled), "nothing was cancelled");
    assert_no_deadlock(&bed, kind).await
}

/// Some key has had all the holders that it may have, and more tasks than that.
fn assert_put_to_the_test(stays: &Stays) -> Result<()> {
    let is_full = |(room, stays): &(&Room, &Vec<Stay>)| most_at_once(stays) == room.limit as usize;
    let full = stays.iter().filter(|(room, stays)| stays.len() > room.limit as usize).filter(is_full).count();
    println!("{full} of {} keys were full", stays.len());
    ensure!(full > 0, "no key was ever full: its limit was not put to the test");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn four_processes_killed_and_stopped_pass_no_limit_and_forget_nobody_on_sqlite() -> Result<()> {
    keys_under_fire(Kind::Sqlite).await
}

#[tokio::test(flavor = "multi_thread")]
async fn four_processes_killed_and_stopped_pass_no_limit_and_forget_nobody_on_postgres() -> Result<()> {
    keys_under_fire(Kind::Postgres).await
}

#[test]
fn a_limit_passed_by_the_times_in_the_store_is_noticed() {
    let room = Room { name: "r".to_owned(), limit: 2, hold: false };
    let stay = |task, from, until| Stay {
        task: TaskId(task),
        from: Timestamp::from_micros(from),
        until: Timestamp::from_micros(until),
    };
    let stays = [stay(1, 0, 10), stay(2, 5, 20), stay(3, 10, 30), stay(4, 20, 21)];
    assert!(never_passed(&room, &stays).is_ok());
    assert_eq!(most_at_once(&stays), 2);
    assert!(never_passed(&room, &[stay(1, 0, 10), stay(2, 5, 20), stay(3, 9, 30)]).is_err());
}

#[test]
fn a_limit_passed_under_the_eyes_of_handlers_is_noticed() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let ledger = folder.path().join("ledger");
    let room = [Room { name: "r".to_owned(), limit: 2, hold: false }];
    let first = enter_rooms(&ledger, &room)?;
    let second = enter_rooms(&ledger, &room)?;
    drop(first);
    let third = enter_rooms(&ledger, &room)?;
    assert!(!passed_file(&ledger).exists());
    let fourth = enter_rooms(&ledger, &room)?;
    let seen = journal::read(&passed_file(&ledger))?;
    assert_eq!((second.len(), third.len(), fourth.len(), seen.len()), (1, 1, 0, 1));
    assert!(judge_seen(&seen, &BTreeSet::new()).is_err());
    assert!(judge_seen(&seen, &BTreeSet::from([std::process::id()])).is_ok());
    Ok(())
}
