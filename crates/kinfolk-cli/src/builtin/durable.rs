//! Commands that wait without a worker: for sub-tasks, and for a signal.

use std::time::Duration;

use kinfolk::{Ctx, Json, Sub, TaskError};
use serde::{Deserialize, Serialize};

use super::family::Item;

/// The payload of `fan_out`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FanOut {
    children: Vec<Item>,
    #[serde(default)]
    rule: Rule,
    timeout_ms: Option<u64>,
}

/// When it is settled.
#[derive(Default, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Rule {
    #[default]
    FailFast,
    CollectAll,
    Threshold(f64),
}

/// The end of a sub-task.
#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum SubOutcome {
    Completed(Json),
    Failed(String),
}

/// Runs sub-tasks and gives their results back, in their order.
pub(super) async fn fan_out(ctx: Ctx, payload: FanOut) -> Result<Vec<SubOutcome>, TaskError> {
    if payload.children.iter().any(|item| item.when.is_some()) {
        return Err(TaskError::validation("a sub-task starts at once; `when` is for follow-ups"));
    }
    let total: usize = payload.children.iter().map(|item| item.count).sum();
    ctx.progress(0, total as u64, "").await?;
    let subs = payload.children.iter().flat_map(|item| {
        (0..item.count).map(move |_| {
            let sub = Sub::new(&item.command, &item.payload).keys(&item.keys);
            let sub = if item.inherit_keys { sub.inherit_keys() } else { sub };
            if let Some(queue) = &item.queue { sub.queue(queue) } else { sub }
        })
    });
    let mut fan_out = match payload.rule {
        Rule::FailFast => ctx.fan_out::<Json>(subs).fail_fast(),
        Rule::CollectAll => ctx.fan_out(subs).collect_all(),
        Rule::Threshold(share) => ctx.fan_out(subs).threshold(share),
    };
    if let Some(millis) = payload.timeout_ms {
        fan_out = fan_out.timeout(Duration::from_millis(millis));
    }
    let results = fan_out.await?;
    ctx.progress(total as u64, total as u64, "").await?;
    let ended = results.into_iter().map(|result| match result.outcome {
        Ok(value) => SubOutcome::Completed(value),
        Err(failure) => SubOutcome::Failed(failure.failure.message),
    });
    Ok(ended.collect())
}

/// The payload of `wait`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Wait {
    signal: String,
    timeout_ms: Option<u64>,
}

/// Waits for a signal and gives back what it says; nothing, when none has come in time.
pub(super) async fn wait(ctx: Ctx, payload: Wait) -> Result<Option<Json>, TaskError> {
    ctx.wait_signal(&payload.signal, payload.timeout_ms.map(Duration::from_millis)).await
}
