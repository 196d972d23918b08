//! The one door from rows to the engine's types.

use std::time::Duration;

use kinfolk_core::settle::Failure;
use kinfolk_core::task::{Attempt, Ending, Run, Task, WaitedFor};
use kinfolk_core::{FanOutId, Json, Keys, SignalName, TaskId, Timestamp, WorkerId};
use rusqlite::Row;
use uuid::Uuid;

use crate::catalogue::Catalogue;
use crate::error::{Result, unreadable};

/// A span as it is stored.
pub(crate) fn span(span: Duration) -> i64 {
    i64::try_from(span.as_micros()).unwrap_or(i64::MAX)
}

/// A stored span.
pub(crate) fn span_from(micros: i64) -> Duration {
    Duration::from_micros(u64::try_from(micros).unwrap_or(0))
}

/// A failure as it is stored.
pub(crate) fn failure_text(failure: &Failure) -> Result<String> {
    Ok(Json::of(failure)?.to_string())
}

/// A stored failure.
pub(crate) fn failure_from(text: &str) -> Result<Failure> {
    serde_json::from_str(text).map_err(|_| unreadable("failure", text))
}

pub(crate) fn moment(row: &Row<'_>, column: &str) -> Result<Timestamp> {
    Ok(Timestamp::from_micros(row.get(column)?))
}

pub(crate) fn moment_or_none(row: &Row<'_>, column: &str) -> Result<Option<Timestamp>> {
    Ok(row.get::<_, Option<i64>>(column)?.map(Timestamp::from_micros))
}

pub(crate) fn worker_from(bytes: [u8; 16]) -> WorkerId {
    WorkerId(Uuid::from_bytes(bytes))
}

/// Stored names of signals.
pub(crate) fn names(text: &str) -> Result<Vec<SignalName>> {
    serde_json::from_str(text).map_err(|_| unreadable("signals", text))
}

/// Stored keys of a task.
pub(crate) fn keys(text: Option<&str>) -> Result<Keys> {
    text.map_or(Ok(Keys::new()), |text| serde_json::from_str(text).map_err(|_| unreadable("keys", text)))
}

fn failure_or_none(row: &Row<'_>) -> Result<Option<Failure>> {
    row.get::<_, Option<String>>("failure")?.map(|text| failure_from(&text)).transpose()
}

/// A task, from the columns of the view `task_shown`.
pub(crate) fn task(row: &Row<'_>, catalogue: &Catalogue, now: Timestamp) -> Result<Task> {
    let state: String = row.get("state")?;
    let gate: Option<String> = row.get("gate")?;
    let outcome: Option<String> = row.get("outcome")?;
    let key_until: Option<i64> = row.get("key_until")?;
    let (signals, report): (Option<String>, Option<String>) = (row.get("signals")?, row.get("report")?);
    let command = catalogue.command_by_id(row.get("command_id")?)?;
    Ok(Task {
        id: TaskId(row.get("id")?),
        command: command.name.clone(),
        queue: catalogue.queue_name(row.get("queue_id")?)?.clone(),
        state: state.parse()?,
        gate: gate.map(|gate| gate.parse()).transpose()?,
        priority: row.get("priority")?,
        due: moment(row, "due")?,
        position: moment(row, "position")?,
        attempt: row.get("attempt")?,
        max_attempts: row.get("max_attempts")?,
        timeout: row.get::<_, Option<i64>>("timeout")?.map(span_from),
        payload: Json::trusted(row.get::<_, String>("payload")?),
        result: row.get::<_, Option<String>>("result")?.map(Json::trusted),
        failure: failure_or_none(row)?,
        unique_key: row.get::<_, Option<String>>("unique_key")?.filter(|_| key_until > Some(now.as_micros())),
        created_at: moment(row, "created_at")?,
        started_at: moment_or_none(row, "started_at")?,
        first_started_at: moment_or_none(row, "first_started_at")?,
        ran_before: span_from(row.get("ran_before")?),
        finished_at: moment_or_none(row, "finished_at")?,
        cancel_requested_at: moment_or_none(row, "cancel_requested_at")?,
        worker: row.get::<_, Option<[u8; 16]>>("worker")?.map(worker_from),
        suspect: row.get("suspect")?,
        strikes: row.get("strikes")?,
        keys: keys(row.get::<_, Option<String>>("keys")?.as_deref())?,
        trace: row.get("trace")?,
        parent: row.get::<_, Option<i64>>("parent_id")?.map(TaskId),
        root: TaskId(row.get("root_id")?),
        depth: row.get("depth")?,
        fan_out: row.get::<_, Option<i64>>("fan_out_id")?.map(FanOutId),
        index: row.get("nth")?,
        made_by: row.get::<_, Option<i64>>("made_by")?.map(TaskId),
        follows: row.get::<_, Option<i64>>("follows")?.map(TaskId),
        label_path: command.label.clone(),
        outcome: outcome.map(|state| state.parse()).transpose()?,
        steps: row.get("steps")?,
        signals: signals.map_or(Ok(Vec::new()), |text| names(&text))?,
        report: report.map(|text| serde_json::from_str(&text).map_err(|_| unreadable("report", &text))).transpose()?,
    })
}

/// An ended attempt, from the columns of `sql/inspect/attempts.sql`.
pub(crate) fn attempt(row: &Row<'_>) -> Result<Attempt> {
    let ending: String = row.get("ending")?;
    Ok(Attempt {
        run: row.get("run")?,
        attempt: row.get("attempt")?,
        started_at: moment(row, "started_at")?,
        ended_at: moment(row, "ended_at")?,
        worker: worker_from(row.get("worker")?),
        ending: Ending::from_word(&ending).ok_or_else(|| unreadable("ending", &ending))?,
        failure: failure_or_none(row)?,
    })
}

/// A run, from the columns of `sql/inspect/runs.sql`.
pub(crate) fn run(row: &Row<'_>) -> Result<Run> {
    let word = |word: String| Ending::from_word(&word).ok_or_else(|| unreadable("ending", &word));
    let ending = row.get::<_, Option<String>>("ending")?.map(word).transpose()?;
    Ok(Run {
        task: TaskId(row.get("task_id")?),
        run: row.get("run")?,
        attempt: row.get("attempt")?,
        started_at: moment(row, "started_at")?,
        ended_at: moment_or_none(row, "ended_at")?,
        worker: worker_from(row.get("worker")?),
        ending,
        failure: failure_or_none(row)?,
        waited_for: if ending == Some(Ending::Suspended) { Some(waited_for(row)?) } else { None },
    })
}

fn waited_for(row: &Row<'_>) -> Result<WaitedFor> {
    let (awaited, signals): (String, String) = (row.get("awaited")?, row.get("signals")?);
    Ok(WaitedFor {
        fan_outs: serde_json::from_str(&awaited).map_err(|_| unreadable("awaited fan-outs", &awaited))?,
        until: moment_or_none(row, "until")?,
        signals: names(&signals)?,
    })
}
