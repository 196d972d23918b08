//! Failures by cause, and the reasons that hold pending tasks.

use std::time::Duration;

use axum::Json;
use kinfolk_core::QueueName;
use serde::Deserialize;
use utoipa::IntoParams;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::extract::Query;
use super::form::{CausesForm, HeldForm};
use crate::app::Shared;
use crate::problem::Problem;
use crate::visit::Visit;

/// A day, in milliseconds.
const DAY_MS: u64 = 24 * 3600 * 1000;
/// The longest span that failures are looked for in.
const SPAN_MS_MAX: u64 = 366 * DAY_MS;

pub(super) fn routes() -> OpenApiRouter<Shared> {
    OpenApiRouter::new().routes(routes!(failures)).routes(routes!(held))
}

/// In which span.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct SpanQuery {
    /// The last so many milliseconds; a day unless said otherwise.
    #[param(minimum = 1, maximum = 31_622_400_000_u64)]
    span_ms: Option<u64>,
}

/// The failures of the span until now, by cause: command, kind, and message without the parts that differ from task to task.
#[utoipa::path(get, path = "/failures", tag = "site", params(SpanQuery), responses((status = 200, body = CausesForm)))]
async fn failures(visit: Visit, Query(query): Query<SpanQuery>) -> Result<Json<CausesForm>, Problem> {
    let span = match query.span_ms.unwrap_or(DAY_MS) {
        span @ 1..=SPAN_MS_MAX => Duration::from_millis(span),
        span => return Err(Problem::input(format!("span_ms is {span}; it must be 1 to {SPAN_MS_MAX}"))),
    };
    Ok(Json(visit.view().failures(span).await?.into()))
}

/// On which queue.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct HeldQuery {
    /// On this one; on all unless said otherwise.
    queue: Option<String>,
}

/// How many pending tasks are held up by what, one reason each, by queue. For one task there is `/tasks/{id}/explain`.
#[utoipa::path(get, path = "/held", tag = "site", params(HeldQuery), responses((status = 200, body = Vec<HeldForm>)))]
async fn held(visit: Visit, Query(query): Query<HeldQuery>) -> Result<Json<Vec<HeldForm>>, Problem> {
    let queue = query.queue.as_deref().map(QueueName::new).transpose()?;
    Ok(Json(visit.view().held(queue.as_ref()).await?.into_iter().map(HeldForm::from).collect()))
}
