//! A command that makes a family.

use kinfolk::{ChildOrder, Ctx, Json, TaskError};
use kinfolk_core::When;
use serde::Deserialize;

/// The payload of `spawn`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Spawn {
    #[serde(default)]
    children: Vec<Item>,
    #[serde(default)]
    order: ChildOrder,
    #[serde(default)]
    follow_ups: Vec<Item>,
}

/// What to make, and how often.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Item {
    pub(super) command: String,
    #[serde(default = "Json::object")]
    pub(super) payload: Json,
    #[serde(default = "once")]
    pub(super) count: usize,
    pub(super) queue: Option<String>,
    /// For a follow-up only.
    pub(super) when: Option<When>,
}

const fn once() -> usize {
    1
}

/// Spawns what it is told.
pub(super) async fn spawn(ctx: Ctx, payload: Spawn) -> Result<(), TaskError> {
    ctx.in_order(payload.order);
    for Item { command, payload, count, queue, when } in payload.children {
        if when.is_some() {
            return Err(TaskError::validation("a child starts at once; `when` is for follow-ups"));
        }
        for _ in 0..count {
            let child = ctx.spawn(&command, &payload);
            match &queue {
                Some(queue) => child.queue(queue).await?,
                None => child.await?,
            }
        }
    }
    for Item { command, payload, count, queue, when } in payload.follow_ups {
        for _ in 0..count {
            let mut task = ctx.follow_up(&command, &payload);
            if let Some(queue) = &queue {
                task = task.queue(queue);
            }
            if when == Some(When::Completed) {
                task = task.when_completed();
            }
            task.await?;
        }
    }
    Ok(())
}
