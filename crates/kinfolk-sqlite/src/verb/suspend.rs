//! Suspending handlers: a suspension writes their new tasks and records, and their tasks wait without a worker.
//!
//! All of a suspension is written, or none of it and the attempt has failed, or the call is refused. An answer that is there already
//! puts the task back into line at once.

use kinfolk_core::durable::{Checkpoint, NewFanOut, StepKind, Suspend};
use kinfolk_core::{FanOutId, InputError, Json, Outcome, Settled, State, WaitedFor};
use rusqlite::CachedStatement;

use crate::error::Result;
use crate::family::ended::TaskFacts;
use crate::family::fan_out::Awaited;
use crate::family::make::{self, Maker};
use crate::family::whereabouts;
use crate::session::Session;
use crate::verb::{cancel, record, settle};

/// Suspends handlers; one answer each, and a stale one does not disturb the rest.
pub(crate) fn suspend(session: &mut Session<'_>, suspends: &[Suspend]) -> Result<Vec<Settled>> {
    let mut facts = session.sql(include_str!("../../sql/settle/facts.sql"))?;
    suspends.iter().map(|suspend| one(session, &mut facts, suspend)).collect()
}

fn one(session: &mut Session<'_>, facts: &mut CachedStatement<'_>, suspend: &Suspend) -> Result<Settled> {
    let Some(task) = TaskFacts::read(facts, suspend.task)?.filter(|task| task.token == Some(suspend.token)) else {
        return Ok(Settled::Stale);
    };
    if task.state != State::Running {
        return Ok(Settled::Repeated(task.state));
    }
    if task.cancel_requested {
        return Ok(Settled::Recorded(settle::follow(session, &task, &Outcome::Cancelled)?));
    }
    let maker = Maker::of(session, &task)?;
    let awaited = suspend.fan_outs.iter().flat_map(|fan_out| fan_out.children.iter());
    if let Some(why) = make::refusal(session, &maker, suspend.made.as_deref(), awaited)? {
        let state = settle::follow(session, &task, &settle::refused(&why))?;
        let state = if cancel::doomed(session)? { whereabouts::of(session, task.id)?.state } else { state };
        return Ok(Settled::Recorded(state));
    }
    let mut steps = record::write(session, task.id, task.steps, &suspend.checkpoints)?;
    if let Some(made) = &suspend.made {
        make::make(session, &maker, made)?;
    }
    let mut awaits: Vec<(i64, u32)> = Vec::new();
    for new in &suspend.fan_outs {
        let fan_out = begin(session, &maker, new)?;
        let key = new.key.clone();
        let checkpoint =
            Checkpoint { key, kind: StepKind::FanOut, digest: new.digest.clone(), value: Json::of(&fan_out)? };
        steps = record::write(session, task.id, steps, [&checkpoint])?;
        awaits.push((fan_out.0, new.wake_at));
    }
    awaits.extend(suspend.awaits.iter().map(|known| (known.fan_out.0, known.wake_at)));
    let state = wait(session, &task, suspend, steps, awaits)?;
    // A look-up of the fan-outs that this task awaits reads the file.
    session.fan_outs.flush(session.conn)?;
    Ok(Settled::Recorded(state))
}

/// Begins a fan-out.
fn begin(session: &mut Session<'_>, maker: &Maker, new: &NewFanOut) -> Result<FanOutId> {
    let awaited = Awaited {
        rule: new.rule,
        verdict: None,
        decided_at: None,
        decided_step: None,
        wake_at: None,
        deadline: new.timeout.map(|timeout| session.now.plus(timeout).as_micros()),
        cancel_on_failure: new.cancel_on_failure,
        created_at: session.micros(),
        settled_at: None,
    };
    make::fan_out(session, maker, &new.children, awaited)
}

/// Lets the task wait, also for so many children of each of these fan-outs, unless what it waits for is there already.
fn wait(
    session: &mut Session<'_>,
    task: &TaskFacts,
    suspend: &Suspend,
    steps: u32,
    awaits: Vec<(i64, u32)>,
) -> Result<State> {
    let mut timer = suspend.until.map(|until| until.as_micros());
    let mut there = false;
    for &(fan_out_id, wake_at) in &awaits {
        let (ended, awaited) = awaited_by(session, task, fan_out_id)?;
        there |= awaited.verdict.is_some() || ended >= u64::from(wake_at);
        if awaited.verdict.is_none() {
            timer = timer.into_iter().chain(awaited.deadline).min();
        }
    }
    there |= timer.is_some_and(|timer| timer <= session.micros()) || is_signalled(session, suspend)?;
    let mut fan_outs: Vec<FanOutId> = awaits.iter().map(|&(fan_out_id, _)| FanOutId(fan_out_id)).collect();
    fan_outs.sort_unstable();
    let waits = WaitedFor { fan_outs, until: suspend.until, signals: suspend.signals.clone() };
    task.keep_suspension(session, &waits)?;
    task.slot_is_free(session);
    let holds_slots = task.give_back(session, false)?;
    if there {
        session.sql(include_str!("../../sql/durable/suspend/go_on.sql"))?.execute((
            task.id.0,
            steps,
            holds_slots,
            session.micros(),
        ))?;
        session.news.queues.insert(task.queue_id);
        return Ok(State::Pending);
    }
    for (fan_out_id, wake_at) in awaits {
        let mut fan_out = session.fan_out(fan_out_id)?;
        if let Some(awaited) = &mut fan_out.awaited {
            awaited.wake_at = Some(wake_at);
            session.fan_outs.put(fan_out_id, fan_out);
        }
    }
    let signals = match suspend.signals.as_slice() {
        [] => None,
        names => Some(Json::of(names)?),
    };
    let mut statement = session.sql(include_str!("../../sql/durable/suspend/suspend.sql"))?;
    statement.execute((task.id.0, steps, timer, signals.as_ref().map(Json::as_str), holds_slots, session.micros()))?;
    if timer.is_some() {
        // A worker that sleeps until the next due time learns of this one.
        session.news.queues.insert(task.queue_id);
    }
    Ok(State::Waiting)
}

/// A fan-out that this task awaits: how many of its children have ended, and what else is known of it.
fn awaited_by(session: &mut Session<'_>, task: &TaskFacts, fan_out_id: i64) -> Result<(u64, Awaited)> {
    let found = session.fan_outs.find(session.conn, fan_out_id)?.filter(|fan_out| fan_out.task_id == task.id.0);
    let known = found.and_then(|fan_out| Some((fan_out.tally.ended(), fan_out.awaited?)));
    known.ok_or_else(|| InputError::Other(format!("fan-out {fan_out_id} is not awaited by task {}", task.id)).into())
}

/// Whether a signal is kept that the task waits for.
fn is_signalled(session: &Session<'_>, suspend: &Suspend) -> Result<bool> {
    let mut kept = session.sql(include_str!("../../sql/durable/signal/kept.sql"))?;
    for name in &suspend.signals {
        if kept.exists((suspend.task.0, name.as_str()))? {
            return Ok(true);
        }
    }
    Ok(false)
}
