//! Commands that touch nothing.

use std::time::Duration;

use kinfolk::{Ctx, Json, TaskError};
use serde::Deserialize;

/// Does nothing, whatever its payload.
pub(super) async fn noop(_ctx: Ctx, _payload: Json) -> Result<(), TaskError> {
    Ok(())
}

/// Gives its payload back.
pub(super) async fn echo(_ctx: Ctx, payload: Json) -> Result<Json, TaskError> {
    Ok(payload)
}

/// The payload of `sleep`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Sleep {
    ms: u64,
}

/// Waits, and gives way to a cancellation.
pub(super) async fn sleep(ctx: Ctx, payload: Sleep) -> Result<(), TaskError> {
    tokio::select! {
        () = tokio::time::sleep(Duration::from_millis(payload.ms)) => Ok(()),
        () = ctx.cancelled() => Err("woken early".into()),
    }
}

/// The payload of `fail`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Fail {
    message: Option<String>,
    times: Option<u16>,
}

/// Fails as often as it is told, and then completes.
pub(super) async fn fail(ctx: Ctx, payload: Fail) -> Result<(), TaskError> {
    match payload.times {
        Some(times) if ctx.attempt() > times => Ok(()),
        _ => Err(TaskError::new(payload.message.unwrap_or_else(|| "failed as asked".to_owned()))),
    }
}
