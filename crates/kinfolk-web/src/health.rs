//! Whether the process lives, and whether its store answers.

use std::time::Duration;

use axum::extract::State;
use axum::response::{IntoResponse as _, Response};

use crate::app::Shared;
use crate::problem::Problem;

/// A store that takes longer than this to tell the time is away.
const READY_WITHIN: Duration = Duration::from_secs(2);

/// `GET /healthz`: the process lives.
pub(crate) async fn alive() -> &'static str {
    "ok\n"
}

/// `GET /readyz`: the store answers.
pub(crate) async fn ready(State(app): State<Shared>) -> Response {
    match tokio::time::timeout(READY_WITHIN, app.store.now()).await {
        Ok(Ok(_)) => "ready\n".into_response(),
        Ok(Err(fault)) => Problem::from(fault).into_response(),
        Err(_) => Problem::unavailable("the store took longer than 2 s to answer").into_response(),
    }
}
