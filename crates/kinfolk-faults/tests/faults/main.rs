//! Faults, on real processes and real servers. After each one the store must be sound, and the tasks that were enqueued
//! must be the tasks that were settled.

mod breadth;
mod checkers;
mod crash_points;
mod disk_full;
mod dropped_calls;
mod failover;
mod families;
mod flow_checkers;
mod flow_points;
mod flow_races;
mod flow_width;
mod flows;
mod functions;
mod kill_loop;
mod late_slots;
mod late_worker;
mod lost_answers;
mod merges;
mod messages;
mod poison;
mod serial;
mod server;
mod silence;
mod stuck_parents;
mod with_keys;
mod with_keys_points;

use std::path::PathBuf;
use std::time::Duration;

use anyhow::Result;
use kinfolk_core::TaskId;
use kinfolk_faults::bed::Bed;
use kinfolk_faults::process::Process;
use kinfolk_faults::victim::Orders;

/// No single wait in these tests takes longer unless something is broken.
const PATIENCE: Duration = Duration::from_secs(120);

/// The file in which victims on this bed note what they ran.
fn ledger(bed: &Bed) -> PathBuf {
    bed.folder().join("ledger")
}

/// The file in which the members of families on this bed note when they run.
fn journal(bed: &Bed) -> PathBuf {
    bed.folder().join("journal")
}

/// A worker on this bed, to be changed before it is started.
fn worker(bed: &Bed) -> Orders {
    Orders::work(bed.url(), ledger(bed))
}

/// Starts a victim.
fn start(name: &str, orders: &Orders) -> Result<Process> {
    Process::spawn(name, &mut orders.command(env!("CARGO_BIN_EXE_kinfolk-victim"))?)
}

/// Starts a victim that aborts at a crash point.
fn start_doomed(name: &str, orders: &Orders, point: &str) -> Result<Process> {
    let mut command = orders.command(env!("CARGO_BIN_EXE_kinfolk-victim"))?;
    Process::spawn(name, command.env("KINFOLK_CRASH_AT", point))
}

/// The tasks that a victim has been answered for.
fn made(victim: &Process) -> Vec<TaskId> {
    let lines = victim.lines();
    let numbers = lines.iter().filter_map(|line| line.strip_prefix("made ")).flat_map(str::split_whitespace);
    numbers.filter_map(|number| number.parse().ok().map(TaskId)).collect()
}

/// A few random numbers. Their seed is printed; `KINFOLK_FAULTS_SEED` gives it again.
struct Chance(u64);

impl Chance {
    fn new() -> Self {
        let told = std::env::var("KINFOLK_FAULTS_SEED").ok().and_then(|text| text.parse().ok());
        let seed = told.unwrap_or_else(|| u64::from(std::process::id()));
        println!("seed {seed}");
        Self(seed)
    }

    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }

    /// True once in so many times.
    fn once_in(&mut self, times: u64) -> bool {
        self.below(times) == 0
    }
}
