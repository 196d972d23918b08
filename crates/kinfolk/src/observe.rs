//! Everything the library reports goes through here: an [`Event`] becomes a log line, a metric, and a call to every function that
//! listens. `docs/events.md` lists them all.
//!
//! Metrics go through the `metrics` facade; install a recorder before the worker is started. Nothing here fails: a
//! listener that panics is reported in the log and asked again the next time.

use std::collections::HashMap;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use kinfolk_core::text::harmless;
use kinfolk_core::{CommandName, Event, FailureKind, Outcome, QueueName, Settled, State, StoreError};
use metrics::{Counter, Histogram, counter, gauge, histogram};
use tracing::field::Empty;
use tracing::{Level, Span, debug, error, info, info_span, trace, warn};

use crate::ctx::Ctx;
use crate::task_error::TaskError;
use crate::trace::{self, TraceAs};
use crate::worker::attempt::Attempt;

type Listener = Arc<dyn Fn(&Event) + Send + Sync>;
type Hook = Arc<dyn Fn(&Ctx, &TaskError) + Send + Sync>;

/// Reports events.
#[derive(Clone, Default)]
pub(crate) struct Observer {
    listeners: Vec<Listener>,
    hooks: Vec<Hook>,
    pub(crate) trace_as: TraceAs,
    meters: Arc<Mutex<HashMap<(CommandName, QueueName), Meters>>>,
}

/// The metrics of one command on one queue, looked up once and kept.
struct Meters {
    seconds: Histogram,
    stale: Counter,
    endings: [(&'static str, Counter); 8],
}

impl Observer {
    pub(crate) fn listen(&mut self, listener: impl Fn(&Event) + Send + Sync + 'static) {
        self.listeners.push(Arc::new(listener));
    }

    pub(crate) fn hook(&mut self, hook: impl Fn(&Ctx, &TaskError) + Send + Sync + 'static) {
        self.hooks.push(Arc::new(hook));
    }

    /// The span of an attempt; the enqueuer's trace context goes along as `trace`.
    pub(crate) fn span(&self, attempt: &Attempt, queue: &QueueName) -> Span {
        let task = &attempt.task;
        let span = info_span!(
            target: "kinfolk",
            "attempt",
            task = task.id.0,
            command = %task.command,
            queue = %queue,
            attempt = task.attempt,
            trace = task.trace.as_deref(),
            took_ms = Empty,
            kind = Empty,
            message = Empty,
        );
        trace::adopt(&span, task.trace.as_deref(), self.trace_as);
        span
    }

    /// Adds to the span of an attempt how long its handler ran, and what went wrong.
    pub(crate) fn close(&self, span: &Span, took: Duration, fault: Option<&TaskError>) {
        span.record("took_ms", millis(took));
        if let Some(failure) = fault.map(TaskError::failure) {
            span.record("kind", failure.kind.as_str()).record("message", harmless(&failure.message));
        }
    }

    /// Tells the hooks for whole errors of the error of an attempt, before it is recorded.
    pub(crate) fn failed(&self, ctx: &Ctx, fault: &TaskError) {
        for hook in &self.hooks {
            if catch_unwind(AssertUnwindSafe(|| hook(ctx, fault))).is_err() {
                error!(target: "kinfolk", task = ctx.task().0, "a hook panicked");
            }
        }
    }

    /// Reports an event to the log, the metrics and the listeners.
    pub(crate) fn emit(&self, event: &Event) {
        log(event);
        self.measure(event);
        for listener in &self.listeners {
            if catch_unwind(AssertUnwindSafe(|| listener(event))).is_err() {
                error!(target: "kinfolk", event = event.name(), "a listener panicked");
            }
        }
    }

    pub(crate) fn started(&self, attempt: &Attempt, queue: &QueueName) {
        if self.listeners.is_empty() && !tracing::enabled!(target: "kinfolk", Level::TRACE) {
            return;
        }
        let task = &attempt.task;
        let (command, queue) = (task.command.clone(), queue.clone());
        let (task, attempt, steps) = (task.id, task.attempt, task.steps);
        self.emit(&match steps {
            0 => Event::Started { task, command, queue, attempt },
            _ => Event::Resumed { task, command, queue, attempt, steps },
        });
    }

    /// A write of a running attempt came too late.
    pub(crate) fn stale(&self, attempt: &Attempt, queue: &QueueName) {
        let (task, attempt, command) = (attempt.task.id, attempt.task.attempt, attempt.task.command.clone());
        self.emit(&Event::Stale { task, command, queue: queue.clone(), attempt });
    }

    /// The store has answered to the suspension of an attempt. One whose end was asked for, or that made what can't be
    /// made, has ended instead.
    pub(crate) fn suspended(&self, attempt: &Attempt, queue: &QueueName, took: Duration, answer: Settled) {
        match answer {
            Settled::Recorded(State::Waiting | State::Pending) | Settled::Repeated(State::Waiting | State::Pending) => {
                let (task, attempt, command) = (attempt.task.id, attempt.task.attempt, attempt.task.command.clone());
                self.emit(&Event::Suspended { task, command, queue: queue.clone(), attempt, took });
            }
            answer => self.settled(attempt, queue, took, &Outcome::Done(None), answer),
        }
    }

    /// A call to the store failed and is repeated.
    pub(crate) fn trouble(&self, during: &'static str, fault: &StoreError) {
        self.emit(&Event::StoreTrouble { during, fault: fault.to_string() });
    }

    /// An attempt was settled in its handler's own transaction.
    pub(crate) fn committed(&self, attempt: &Attempt, queue: &QueueName, took: Duration, state: State) {
        self.settled(attempt, queue, took, &Outcome::Done(None), Settled::Recorded(state));
    }

    /// The store has answered to the settle of an attempt. A repeated settle is reported as what was recorded: nobody
    /// has heard the first answer.
    pub(crate) fn settled(
        &self,
        attempt: &Attempt,
        queue: &QueueName,
        took: Duration,
        outcome: &Outcome,
        answer: Settled,
    ) {
        let (task, attempt, command) = (attempt.task.id, attempt.task.attempt, attempt.task.command.clone());
        let queue = queue.clone();
        let failure = || match outcome {
            Outcome::Failed { failure, .. } => (failure.kind, failure.message.clone()),
            // The handler was done.
            Outcome::Done(_) => {
                (FailureKind::Refused, format!("the store refused what it made; see `kinfolk show {task}`"))
            }
            _ => (FailureKind::Error, "it did not end well".to_owned()),
        };
        let state = match answer {
            Settled::Recorded(state) | Settled::Repeated(state) => state,
            Settled::Stale => return self.emit(&Event::Stale { task, command, queue, attempt }),
        };
        self.emit(&match (state, outcome) {
            (State::Completed, _) => Event::Completed { task, command, queue, attempt, took },
            (State::Cancelled, _) => Event::Cancelled { task, command, queue, attempt, took },
            (State::Failed, _) => {
                let (kind, message) = failure();
                Event::Failed { task, command, queue, attempt, took, kind, message }
            }
            (State::Waiting, _) => Event::Waiting { task, command, queue, attempt, took },
            (_, Outcome::Failed { .. } | Outcome::Done(_)) => {
                let (kind, message) = failure();
                Event::Retried { task, command, queue, attempt, took, kind, message }
            }
            (_, Outcome::Snooze(_) | Outcome::YieldFamilySlot(_)) => {
                Event::Snoozed { task, command, queue, attempt, took }
            }
            _ => Event::Released { task, command, queue, attempt, took },
        });
    }

    /// So many attempts more are in hand.
    pub(crate) fn running(&self, more: usize) {
        gauge!("kinfolk_running").increment(count(more));
    }

    /// So many attempts are in hand no longer.
    pub(crate) fn ended_running(&self, fewer: usize) {
        gauge!("kinfolk_running").decrement(count(fewer));
    }

    fn measure(&self, event: &Event) {
        match event {
            Event::Completed { command, queue, took, .. }
            | Event::Retried { command, queue, took, .. }
            | Event::Failed { command, queue, took, .. }
            | Event::Waiting { command, queue, took, .. }
            | Event::Snoozed { command, queue, took, .. }
            | Event::Suspended { command, queue, took, .. }
            | Event::Released { command, queue, took, .. }
            | Event::Cancelled { command, queue, took, .. } => self.with_meters(command, queue, |meters| {
                meters.seconds.record(took.as_secs_f64());
                if let Some((_, ending)) = meters.endings.iter().find(|(ending, _)| *ending == event.name()) {
                    ending.increment(1);
                }
            }),
            Event::Stale { command, queue, .. } => {
                self.with_meters(command, queue, |meters| meters.stale.increment(1));
            }
            Event::SlowedDown { command, group, .. } => {
                let (command, group) = (command.to_string(), group.to_string());
                counter!("kinfolk_slow_downs_total", "command" => command, "group" => group).increment(1);
            }
            Event::LeaseLost { .. } => counter!("kinfolk_leases_lost_total").increment(1),
            Event::Recovered { returned, poisoned, cancelled, .. } => {
                for (became, tasks) in [("pending", returned), ("failed", poisoned), ("cancelled", cancelled)] {
                    counter!("kinfolk_recovered_total", "became" => became).increment(*tasks);
                }
            }
            Event::ScheduleFired { schedule, tasks, overlapped, rejected } => {
                counter!("kinfolk_schedule_tasks_total", "schedule" => schedule.to_string())
                    .increment(tasks.len() as u64);
                counter!("kinfolk_schedule_overlapped_total", "schedule" => schedule.to_string())
                    .increment(*overlapped);
                counter!("kinfolk_schedule_rejected_total", "schedule" => schedule.to_string())
                    .increment(rejected.len() as u64);
            }
            Event::Pruned { tasks } => counter!("kinfolk_pruned_total").increment(*tasks),
            Event::Unstuck { tasks } => counter!("kinfolk_unstuck_total").increment(*tasks),
            Event::StatusChanged { status, active } => {
                gauge!("kinfolk_status_active", "status" => status.to_string()).set(f64::from(u8::from(*active)));
            }
            Event::StoreTrouble { during, .. } => {
                counter!("kinfolk_store_trouble_total", "during" => *during).increment(1);
            }
            _ => {}
        }
    }

    fn with_meters(&self, command: &CommandName, queue: &QueueName, record: impl FnOnce(&Meters)) {
        let mut all = self.meters.lock().unwrap_or_else(PoisonError::into_inner);
        let meters = all
            .entry((command.clone(), queue.clone()))
            .or_insert_with(|| Meters::new(command.as_str(), queue.as_str()));
        record(meters);
    }
}

impl Meters {
    fn new(command: &str, queue: &str) -> Self {
        let labels = [("command", command.to_owned()), ("queue", queue.to_owned())];
        let ending = |ending: &'static str| {
            let (command, queue) = (command.to_owned(), queue.to_owned());
            (ending, counter!("kinfolk_attempts_total", "command" => command, "queue" => queue, "ending" => ending))
        };
        Self {
            seconds: histogram!("kinfolk_attempt_seconds", &labels),
            stale: counter!("kinfolk_stale_writes_total", &labels),
            endings: ["completed", "retried", "failed", "waiting", "suspended", "snoozed", "released", "cancelled"]
                .map(ending),
        }
    }
}

fn count(tasks: usize) -> f64 {
    f64::from(u32::try_from(tasks).unwrap_or(u32::MAX))
}

fn millis(span: Duration) -> u64 {
    u64::try_from(span.as_millis()).unwrap_or(u64::MAX)
}

/// One line for each event; what someone should look at is a warning. Payloads are never logged. Numbers are numbers, so that
/// a program that reads the log can reckon with them.
fn log(event: &Event) {
    let name = event.name();
    match event {
        Event::WorkerStarted { worker } | Event::WorkerStopped { worker } => {
            info!(target: "kinfolk", event = name, %worker);
        }
        Event::LeaseLost { worker } => warn!(target: "kinfolk", event = name, %worker, "its work is dropped"),
        Event::Started { task, command, queue, attempt } => {
            trace!(target: "kinfolk", event = name, task = task.0, %command, %queue, attempt);
        }
        Event::Resumed { task, command, queue, attempt, steps } => {
            trace!(target: "kinfolk", event = name, task = task.0, %command, %queue, attempt, steps);
        }
        Event::Completed { task, command, queue, attempt, took }
        | Event::Suspended { task, command, queue, attempt, took }
        | Event::Waiting { task, command, queue, attempt, took } => {
            let took_ms = millis(*took);
            trace!(target: "kinfolk", event = name, task = task.0, %command, %queue, attempt, took_ms);
        }
        Event::Snoozed { task, command, queue, attempt, took }
        | Event::Released { task, command, queue, attempt, took }
        | Event::Cancelled { task, command, queue, attempt, took } => {
            let took_ms = millis(*took);
            debug!(target: "kinfolk", event = name, task = task.0, %command, %queue, attempt, took_ms);
        }
        Event::Retried { task, command, queue, attempt, took, kind, message } => {
            let (took_ms, message) = (millis(*took), harmless(message));
            info!(target: "kinfolk", event = name, task = task.0, %command, %queue, attempt, took_ms, %kind, "{message}");
        }
        Event::Failed { task, command, queue, attempt, took, kind, message } => {
            let (took_ms, message) = (millis(*took), harmless(message));
            warn!(target: "kinfolk", event = name, task = task.0, %command, %queue, attempt, took_ms, %kind, "{message}");
        }
        Event::Stale { task, command, queue, attempt } => {
            let late = "a settle came too late and was refused";
            warn!(target: "kinfolk", event = name, task = task.0, %command, %queue, attempt, "{late}");
        }
        Event::SlowedDown { task, command, group, until } => {
            info!(target: "kinfolk", event = name, task = task.0, %command, %group, until_at = %until);
        }
        Event::Recovered { worker, returned, poisoned, cancelled } => {
            warn!(target: "kinfolk", event = name, %worker, returned, poisoned, cancelled);
        }
        Event::ScheduleFired { schedule, tasks, overlapped, rejected } => match rejected.last() {
            None => info!(target: "kinfolk", event = name, %schedule, tasks = tasks.len(), overlapped, rejected = 0),
            Some(why) => {
                let (tasks, rejected) = (tasks.len(), rejected.len());
                warn!(target: "kinfolk", event = name, %schedule, tasks, overlapped, rejected, "a tick made no task: {why}");
            }
        },
        Event::Pruned { tasks } => debug!(target: "kinfolk", event = name, tasks),
        Event::Unstuck { tasks } => {
            error!(target: "kinfolk", event = name, tasks, "tasks waited for nothing: please report this bug");
        }
        Event::StatusChanged { status, active } => info!(target: "kinfolk", event = name, %status, active),
        Event::StoreTrouble { during, fault } => warn!(target: "kinfolk", event = name, during, fault),
        _ => {}
    }
}

impl fmt::Debug for Observer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Observer").field("listeners", &self.listeners.len()).finish_non_exhaustive()
    }
}
