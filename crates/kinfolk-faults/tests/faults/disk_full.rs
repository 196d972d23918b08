//! A full disk under an SQLite file, and under a PostgreSQL server: the typed error, nothing half-written, and on it goes when
//! there is room.
//!
//! A disk is filled by filling a small one, which must be mounted. Where that is not allowed nothing is tested, and both this
//! test's output and the last line of `cargo xtask test` say so.

use std::io::Write as _;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use kinfolk_core::{CommandName, Json, NewTask, State, Store, StoreError, TaskId};
use kinfolk_faults::bed::Bed;
use kinfolk_faults::ledger::Ledger;
use kinfolk_faults::process::Process;
use kinfolk_faults::sound::{all_tasks, assert_sound, wait_drained};
use kinfolk_faults::victim::{Mode, NOTE, Orders, made, tasks};
use kinfolk_testkit::{Cluster, Tools};
use tempfile::TempDir;
use tokio_postgres::Client;
use tokio_postgres::error::SqlState;

use crate::{PATIENCE, ledger, start, worker};

/// What the small disk holds: two empty databases and a bit.
const MEGABYTES: u32 = 64;
/// More tasks than two workers get through while that is filled.
const BACKLOG: usize = 3_000;

/// Mounts a small file system that only the program sees, and runs the program on it.
const ON_A_SMALL_DISK: &str = "mount -t tmpfs -o size=4m tmpfs \"$1\" && shift && exec \"$@\"";

/// Some containers let nobody mount anything, not even for themselves.
fn may_mount() -> bool {
    let mut unshare = Command::new("unshare");
    unshare.args(["-rm", "mount", "-t", "tmpfs", "tmpfs", "/mnt"]).stdout(Stdio::null()).stderr(Stdio::null());
    unshare.status().is_ok_and(|status| status.success())
}

/// Says so past the test harness, which swallows what a passing test prints.
fn not_tested(what: &str) -> Result<()> {
    let line = format!("NOT TESTED: {what}: this machine does not let `unshare` mount a small file system\n");
    Ok(std::io::stdout().write_all(line.as_bytes())?)
}

#[test]
fn a_full_disk_gives_the_typed_error_and_leaves_nothing_half_written() -> Result<()> {
    if !may_mount() {
        return not_tested("a full disk under an SQLite file");
    }
    let folder = TempDir::new()?;
    let url = format!("sqlite:{}", folder.path().join("tasks.db").display());
    let orders = Orders { mode: Mode::Fill, ..Orders::work(&url, folder.path().join("ledger")) };
    let victim = orders.command(env!("CARGO_BIN_EXE_kinfolk-victim"))?;
    let mut command = Command::new("unshare");
    command.args(["-rm", "sh", "-c", ON_A_SMALL_DISK, "sh"]).arg(folder.path());
    command.arg(victim.get_program()).args(victim.get_args());
    let mut process = Process::spawn("the victim on a small disk", &mut command)?;
    process.wait_line("end", PATIENCE)?;
    let lines = process.lines();
    ensure!(lines.iter().any(|line| line.starts_with("full")), "the disk was never full: {lines:#?}");
    Ok(())
}

/// Fills what is left of the small disk, megabyte by megabyte, until there is no room for another one.
async fn fill(client: &Client) -> Result<()> {
    client.batch_execute("create table public.ballast (filler text)").await?;
    client.batch_execute("alter table public.ballast alter column filler set storage plain").await?;
    for _ in 0..MEGABYTES {
        let row = "insert into public.ballast select repeat('x', 8000) from generate_series(1, 125)";
        match client.batch_execute(row).await {
            Ok(()) => {}
            Err(fault) if fault.code() == Some(&SqlState::DISK_FULL) => return Ok(()),
            Err(fault) => return Err(fault).context("filling the disk"),
        }
    }
    bail!("the small disk is not small")
}

/// Enqueues until it was told a few times that there is no room. It must never be told anything else.
async fn enqueue_until_full(store: &dyn Store, answered: &mut Vec<TaskId>) -> Result<()> {
    let task = NewTask::new(CommandName::new(NOTE)?, Json::of(&"x".repeat(3_000))?);
    let (batch, begun) = (vec![task; 20], Instant::now());
    let mut full = 0;
    while full < 10 {
        match store.enqueue(&batch).await {
            Ok(answers) => answered.extend(made(&answers)?),
            Err(StoreError::Full { .. }) => full += 1,
            Err(other) => bail!("not the error for a full disk: {other:?}"),
        }
        ensure!(begun.elapsed() < PATIENCE, "the disk was never full");
    }
    Ok(())
}

/// Waits until a worker has said that it had no room either.
async fn wait_noticed(process: &mut Process) -> Result<()> {
    let begun = Instant::now();
    let noticed = |lines: &[String]| {
        lines.iter().any(|line| line.starts_with("event trouble") && line.contains("has no room left"))
    };
    while !noticed(&process.lines()) {
        ensure!(!process.ended()?, "a worker did not survive the full disk: {:#?}", process.lines());
        ensure!(begun.elapsed() < PATIENCE, "a worker noticed no full disk: {:#?}", process.lines());
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_without_room_says_so_and_all_is_settled_when_there_is_some() -> Result<()> {
    let Some(cluster) = Cluster::with_small_disk(&Tools::need()?, "autovacuum = off", MEGABYTES)? else {
        return not_tested("a full disk under a PostgreSQL server");
    };
    cluster.psql(&format!("create tablespace small location '{}'", cluster.small_disk().display()))?;
    // Databases are made where the template is.
    cluster.psql("alter database template1 set tablespace small")?;
    let bed = Bed::database_in(&cluster.url("postgres")).await?;
    // A new database has files with holes until its pages are written; these take their room now.
    cluster.psql("checkpoint")?;
    let store = bed.open().await?;
    let plain = bed.plain().await?;
    let orders = Orders { lease_ms: 20_000, work_ms: 100, ..worker(&bed) };
    let mut fleet = [start("a worker", &orders)?, start("a worker", &orders)?];
    for process in &mut fleet {
        process.wait_line("ready", PATIENCE)?;
    }
    // Enough that both still have work to record when there is no room for it.
    let mut answered = made(&store.enqueue(&tasks(NOTE, BACKLOG)?).await?)?;
    let before = answered.len();
    let (filled, enqueued) = tokio::join!(fill(&plain), enqueue_until_full(&*store, &mut answered));
    filled?;
    enqueued?;
    ensure!(answered.len() > before, "nothing was enqueued while the disk filled up");
    for process in &mut fleet {
        wait_noticed(process).await?;
    }
    ensure!(store.check().await?.is_empty(), "the store is not sound when the disk is full");
    plain.batch_execute("drop table public.ballast").await?;
    wait_drained(&*store, PATIENCE).await?;
    answered.extend(made(&store.enqueue(&tasks(NOTE, 1)?).await.context("with room again")?)?);
    wait_drained(&*store, PATIENCE).await?;
    for process in &mut fleet {
        ensure!(!process.ended()?, "a worker did not survive the full disk: {:#?}", process.lines());
    }
    drop(fleet);
    let all = all_tasks(&*store).await?;
    ensure!(all.len() == answered.len(), "{} answered for, {} there", answered.len(), all.len());
    let open = all.into_values().find(|task| task.state != State::Completed);
    ensure!(open.is_none(), "a full disk is no fault of a task: {open:#?}");
    assert_sound(&*store, &answered, &Ledger::of_file(&ledger(&bed))?).await
}
