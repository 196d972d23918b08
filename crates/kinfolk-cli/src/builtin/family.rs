//! A command that makes a family.

use std::collections::BTreeMap;

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

/// The tasks to make, and how many.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Item {
    pub(super) command: String,
    #[serde(default = "Json::object")]
    pub(super) payload: Json,
    #[serde(default = "once")]
    pub(super) count: usize,
    pub(super) queue: Option<String>,
    /// Its keys in the groups of its command.
    #[serde(default)]
    pub(super) keys: BTreeMap<String, String>,
    /// Whether it takes the keys of the task that makes it.
    #[serde(default)]
    pub(super) inherit_keys: bool,
    /// For a follow-up only.
    pub(super) when: Option<When>,
}

const fn once() -> usize {
    1
}

/// Spawns what it is told.
pub(super) async fn spawn(ctx: Ctx, payload: Spawn) -> Result<(), TaskError> {
    ctx.in_order(payload.order);
    for Item { command, payload, count, queue, keys, inherit_keys, when } in payload.children {
        if when.is_some() {
            return Err(TaskError::validation("a child starts at once; `when` is for follow-ups"));
        }
        for _ in 0..count {
            let mut child = ctx.spawn(&command, &payload).keys(&keys);
            if let Some(queue) = &queue {
                child = child.queue(queue);
            }
            if inherit_keys {
                child = child.inherit_keys();
            }
            child.await?;
        }
    }
    for Item { command, payload, count, queue, keys, inherit_keys, when } in payload.follow_ups {
        for _ in 0..count {
            let mut task = ctx.follow_up(&command, &payload).keys(&keys);
            if inherit_keys {
                task = task.inherit_keys();
            }
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
