//! Looking for trouble around the store.

use std::collections::BTreeSet;
use std::time::Duration;

use kinfolk_core::inspect::{Finding, Health};
use kinfolk_core::schedule::undeclared as undeclared_of;
use kinfolk_core::worker::WorkerView;
use kinfolk_core::{Timestamp, WorkerId};

use crate::connect::CHECKPOINT_PAGES;
use crate::error::Result;
use crate::inspect::stats;
use crate::migrate;
use crate::options::Synchronous;
use crate::readers::Snapshot;
use crate::verb::schedule;

/// How far the machine's clock may be behind the file before it is worth a word.
const LAG_MAX: Duration = Duration::from_secs(1);
/// How many times longer than usual the write-ahead log may get before a reader must be holding it back.
const LOG_FACTOR: u64 = 8;

/// Tasks with strikes that are named.
const SUSPECTS_NAMED: usize = 5;

/// The findings of all checks.
pub(crate) fn doctor(snapshot: &Snapshot<'_>) -> Result<Vec<Finding>> {
    let workers = stats::workers(snapshot)?;
    let lost: Vec<WorkerId> =
        workers.iter().filter(|worker| worker.lease_until < snapshot.now).map(|worker| worker.id).collect();
    Ok(vec![
        good("schema", format!("version {}", migrate::version(snapshot.conn)?)),
        sqlite(snapshot)?,
        durability(snapshot)?,
        size(snapshot)?,
        clock(snapshot),
        dead_workers(&workers, &lost),
        unhandled(snapshot, &workers, &lost)?,
        suspects(snapshot)?,
        undeclared(snapshot, &workers, &lost)?,
    ])
}

fn good(subject: &str, found: String) -> Finding {
    Finding { subject: subject.to_owned(), health: Health::Good, found, remedy: String::new() }
}

fn warning(subject: &str, found: String, remedy: &str) -> Finding {
    Finding { subject: subject.to_owned(), health: Health::Warning, found, remedy: remedy.to_owned() }
}

fn sqlite(snapshot: &Snapshot<'_>) -> Result<Finding> {
    let version: String = snapshot.conn.query_row("select sqlite_version()", (), |row| row.get(0))?;
    Ok(good("sqlite", format!("version {version}")))
}

fn durability(snapshot: &Snapshot<'_>) -> Result<Finding> {
    let mode: String = snapshot.conn.pragma_query_value(None, "journal_mode", |row| row.get(0))?;
    let synchronous = snapshot.shared.options.synchronous;
    let found = format!("journal mode {mode}, synchronous {}", synchronous.as_str());
    if mode != "wal" {
        let remedy = "someone has changed the file's journal mode; close every program that uses it and open it again";
        return Ok(Finding { health: Health::Bad, ..warning("durability", found, remedy) });
    }
    Ok(match synchronous {
        Synchronous::Full => good("durability", found),
        Synchronous::Normal => warning(
            "durability",
            found,
            "a power cut may lose the latest commits; open the file with Synchronous::Full",
        ),
    })
}

fn size(snapshot: &Snapshot<'_>) -> Result<Finding> {
    let path = &snapshot.shared.path;
    let bytes = |path: &std::path::Path| std::fs::metadata(path).map_or(0, |about| about.len());
    let mut log = path.as_os_str().to_owned();
    log.push("-wal");
    let (file, log) = (bytes(path), bytes(log.as_ref()));
    let page: u64 = snapshot.conn.pragma_query_value(None, "page_size", |row| row.get(0))?;
    let found = format!("{} KiB, and {} KiB in the write-ahead log", file / 1024, log / 1024);
    if log > CHECKPOINT_PAGES * page * LOG_FACTOR {
        let remedy = "a program has been reading the file for long and holds the log back; end its transaction";
        return Ok(warning("size", found, remedy));
    }
    Ok(good("size", found))
}

fn clock(snapshot: &Snapshot<'_>) -> Finding {
    let lag = snapshot.now.since(snapshot.shared.clock.source_now());
    if lag <= LAG_MAX {
        return good("clock", snapshot.now.to_string());
    }
    let found =
        format!("this machine's clock is {lag:.1?} behind the latest time in the file; time stands still until then");
    warning("clock", found, "set the clock of this machine, or of the one that was ahead")
}

fn dead_workers(workers: &[WorkerView], lost: &[WorkerId]) -> Finding {
    let running: u64 = workers.iter().filter(|worker| lost.contains(&worker.id)).map(|worker| worker.running).sum();
    match lost {
        [] => good("workers", format!("{} alive", workers.len())),
        _ => {
            let found = format!("{} dead or past their lease, with {running} tasks", lost.len());
            warning("workers", found, "any running worker recovers their tasks; start one")
        }
    }
}

/// Schedules that code once declared, where all live workers of their commands started later and declared them no more.
fn undeclared(snapshot: &Snapshot<'_>, workers: &[WorkerView], lost: &[WorkerId]) -> Result<Finding> {
    let alive: Vec<&WorkerView> = workers.iter().filter(|worker| !lost.contains(&worker.id)).collect();
    let schedules = schedule::all(snapshot.conn)?;
    let names: Vec<_> = undeclared_of(&schedules, &alive).into_iter().map(ToString::to_string).collect();
    let Some(first) = names.first() else {
        return Ok(good("schedules", "what code declared is still declared".to_owned()));
    };
    let remedy = format!("kinfolk schedule remove {first} ends the first; or declare it again");
    let found = format!("no longer declared by the workers of their commands: {}", names.join(", "));
    Ok(warning("schedules", found, &remedy))
}

/// Commands with tasks that no live worker would take: those that are open, due, or held by a limit.
fn unhandled(snapshot: &Snapshot<'_>, workers: &[WorkerView], lost: &[WorkerId]) -> Result<Finding> {
    let alive: Vec<&WorkerView> = workers.iter().filter(|worker| !lost.contains(&worker.id)).collect();
    let mut statement = snapshot.conn.prepare_cached(include_str!("../../sql/check/claimable.sql"))?;
    let mut words = BTreeSet::new();
    for id in snapshot.catalogue.command_ids() {
        let command = snapshot.catalogue.command_name(id)?;
        for known in snapshot.catalogue.queues() {
            let is_handled =
                |worker: &&WorkerView| worker.queues.contains(&known.queue.name) && worker.commands.contains(command);
            if !alive.iter().any(is_handled)
                && statement.query_row((known.id, id, snapshot.now.as_micros()), |row| row.get(0))?
            {
                words.insert(format!("{command} on {}", known.queue.name));
            }
        }
    }
    if words.is_empty() {
        return Ok(good("handlers", "every task that may run has a live worker".to_owned()));
    }
    let found = format!("no live worker handles {}", words.into_iter().collect::<Vec<_>>().join(", "));
    Ok(warning("handlers", found, "start a worker that handles these commands on these queues"))
}

/// Tasks that took down their workers, or were near when it happened: the first few by name.
fn suspects(snapshot: &Snapshot<'_>) -> Result<Finding> {
    let mut statement = snapshot.conn.prepare_cached(include_str!("../../sql/inspect/struck.sql"))?;
    let mut rows = statement.query(())?;
    let (mut many, mut words, mut first) = (0_u64, Vec::new(), None);
    while let Some(row) = rows.next()? {
        many += 1;
        if words.len() < SUSPECTS_NAMED {
            let command = snapshot.catalogue.command_by_id(row.get(1)?)?;
            let (state, gate): (String, Option<String>) = (row.get(3)?, row.get(4)?);
            let then = match (state.as_str(), gate.as_deref()) {
                ("running", _) => "running".to_owned(),
                (_, Some("time")) => format!("next try at {}", Timestamp::from_micros(row.get(5)?)),
                _ => "in line".to_owned(),
            };
            let (id, strikes): (i64, u16) = (row.get(0)?, row.get(2)?);
            first.get_or_insert(id);
            words.push(format!("task {id} {}, {strikes} of {}, {then}", command.name, command.retry.max_strikes));
        }
    }
    let Some(first) = first else { return Ok(good("suspects", "no task has a strike".to_owned())) };
    let remedy = format!(
        "their workers died: find out why; kinfolk acquit {first} lets the first run at once, kinfolk cancel {first} ends it"
    );
    Ok(warning("suspects", format!("{many} with strikes: {}", words.join("; ")), &remedy))
}
