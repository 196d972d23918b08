//! Sending: a command whose work is done by a provider, between two transactions.
//!
//! The first makes the message, the last tells what became of it and settles the task. What the provider said is recorded in
//! between, as a step: an attempt that comes after it does not send again. Only an attempt whose worker died between the send and
//! that record does, with the same key, by which a provider that takes one knows the message.
//!
//! Where the payload names an `error_handler`, every failure goes to it, that of the `before_handler` too: such a task runs once.

use kinfolk::core::crash::point;
use kinfolk::{Ctx, Done, Failure, FailureKind, Json, TaskError};
use kinfolk_providers::{Provider, SendError, Then};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::commands::{HandlerResult, SqlCommands};
use crate::run::{Phase, Reached};

/// The group whose key is slowed down when a provider asks for that.
const GROUP: &str = "provider";

/// A message, ready to be sent.
#[derive(Debug)]
pub(crate) struct Draft {
    pub(crate) message: Value,
    /// Someone takes failures: then they are recorded, and do not fail the attempt.
    pub(crate) is_told: bool,
    /// The same for all attempts of the task.
    pub(crate) key: String,
}

/// The end of a message, as it is recorded.
#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Sent {
    Answered(Value),
    Failed(Failure),
}

impl Sent {
    /// The answer and the failure, as text.
    pub(crate) fn told(&self) -> (Option<String>, Option<String>) {
        match self {
            Self::Answered(answer) => (Some(answer.to_string()), None),
            Self::Failed(failure) => (None, Json::of(failure).ok().map(|failure| failure.to_string())),
        }
    }
}

/// Runs one attempt.
pub(crate) async fn attempt(commands: &SqlCommands, ctx: &Ctx, provider: &dyn Provider) -> HandlerResult {
    let draft = match commands.work(ctx, Phase::BeginSend).await {
        Ok(Reached::Draft(draft)) => draft,
        Ok(Reached::Settled(state)) => return Ok(Done::committed(state)),
        Ok(Reached::Suspended) => return Ok(Done::suspended()),
        Err(Err(fault)) if tells_failures(ctx) && !ctx.is_cancelled() => {
            return tell(commands, ctx, &Sent::Failed(fault.failure().clone())).await;
        }
        Err(ended) => return ended,
    };
    let mut pause = None;
    let sent = ctx.step("provider", async {
        point("provider.before");
        let answer = provider.send(&draft.message, &draft.key).await;
        point("provider.after");
        match answer {
            Ok(answer) => Ok(Sent::Answered(answer)),
            Err(SendError { message, then: Then::SlowDown(span) }) => {
                pause = Some(span);
                Err(TaskError::new(message))
            }
            Err(fault) if draft.is_told => Ok(Sent::Failed(Failure::new(FailureKind::Error, fault.message))),
            Err(SendError { message, then: Then::GiveUp }) => Err(TaskError::new(message).do_not_retry()),
            Err(SendError { message, .. }) => Err(TaskError::new(message)),
        }
    });
    match (sent.await, pause) {
        (Err(fault), Some(span)) => {
            ctx.trouble("provider", &fault.to_string());
            // A task without a key in such a group waits alone.
            if ctx.key(GROUP).is_some() {
                let _ = ctx.slow_down_for(GROUP, span).await;
            }
            Ok(Done::snooze(span))
        }
        (Err(fault), None) => Err(fault),
        (Ok(sent), _) => tell(commands, ctx, &sent).await,
    }
}

/// Tells what became of the message, and settles the task with that.
async fn tell(commands: &SqlCommands, ctx: &Ctx, sent: &Sent) -> HandlerResult {
    match commands.work(ctx, Phase::EndSend(sent)).await {
        Ok(Reached::Settled(state)) => Ok(Done::committed(state)),
        Ok(Reached::Suspended) => Ok(Done::suspended()),
        Ok(Reached::Draft(_)) => Ok(Done::release()),
        Err(ended) => ended,
    }
}

/// Whether the payload names an `error_handler`.
fn tells_failures(ctx: &Ctx) -> bool {
    let payload: Result<Value, _> = ctx.payload().to();
    payload.is_ok_and(|payload| payload["error_handler"].as_str().is_some_and(|name| !name.is_empty()))
}
