//! Signals: kept in the order of their arrival until the handler asks, or handed over at once to one that waits.

use kinfolk_core::durable::{Checkpoint, Key, Signalled, StepKind, TakenSignal};
use kinfolk_core::limits::SIGNALS_KEPT_MAX;
use kinfolk_core::{InputError, Json, SignalName, State, StoreError, TaskId, Token};
use rusqlite::OptionalExtension;

use crate::durable::verdict;
use crate::error::{Result, unreadable};
use crate::family::whereabouts;
use crate::rows;
use crate::session::Session;
use crate::verb::record;

/// Sends a task a signal.
pub(crate) fn signal(session: &mut Session<'_>, id: TaskId, name: &SignalName, value: &Json) -> Result<Signalled> {
    let task = whereabouts::of(session, id)?;
    if task.state.is_terminal() {
        let remedy = "a task that has ended gets no signals";
        return Err(StoreError::WrongState { task: id, state: task.state, remedy }.into());
    }
    let mut statement = session.sql(include_str!("../../sql/durable/signal/count.sql"))?;
    let given = statement.query_row([id.0], |row| row.get::<_, usize>(0))? + 1;
    if given > SIGNALS_KEPT_MAX {
        return Err(InputError::Batch { what: "signals kept for one task", given, max: SIGNALS_KEPT_MAX }.into());
    }
    let mut statement = session.sql(include_str!("../../sql/durable/signal/put.sql"))?;
    statement.execute((id.0, name.as_str(), value.as_str()))?;
    if task.state != State::Waiting || !awaited(session, id)?.contains(name) {
        return Ok(Signalled::Kept);
    }
    verdict::resume(session, id.0)?;
    Ok(Signalled::Resumed)
}

/// The signals that a task waits for.
fn awaited(session: &Session<'_>, id: TaskId) -> Result<Vec<SignalName>> {
    let mut statement = session.sql(include_str!("../../sql/durable/signal/awaited.sql"))?;
    let names: Option<String> = statement.query_row([id.0], |row| row.get(0))?;
    names.map_or(Ok(Vec::new()), |text| rows::names(&text))
}

/// Takes the oldest signal of a name for a running task, and records it; one that was recorded before is told again.
pub(crate) fn take(
    session: &mut Session<'_>,
    task: TaskId,
    token: Token,
    key: &Key,
    name: &SignalName,
) -> Result<TakenSignal> {
    let Some(before) = record::fence(session, task, token)? else { return Ok(TakenSignal::Stale) };
    if let Some(value) = record::recorded(session, task, key, StepKind::Signal)? {
        return told(&value);
    }
    let mut statement = session.sql(include_str!("../../sql/durable/signal/kept.sql"))?;
    let kept: Option<(i64, String)> =
        statement.query_row((task.0, name.as_str()), |row| Ok((row.get(0)?, row.get(1)?))).optional()?;
    let Some((arrival, signal)) = kept else { return Ok(TakenSignal::Nothing) };
    let signal = Json::trusted(signal);
    let value = Json::of(std::slice::from_ref(&signal))?;
    let checkpoint = Checkpoint { key: key.clone(), kind: StepKind::Signal, digest: String::new(), value };
    let steps = record::write(session, task, before, [&checkpoint])?;
    session.sql(include_str!("../../sql/durable/record/steps.sql"))?.execute((task.0, steps))?;
    session.sql(include_str!("../../sql/durable/signal/remove.sql"))?.execute([arrival])?;
    Ok(TakenSignal::Signal(signal))
}

/// The signal in a recorded value.
fn told(value: &Json) -> Result<TakenSignal> {
    let signals: Vec<Json> =
        serde_json::from_str(value.as_str()).map_err(|_| unreadable("recorded signal", value.as_str()))?;
    Ok(signals.into_iter().next().map_or(TakenSignal::Nothing, TakenSignal::Signal))
}
