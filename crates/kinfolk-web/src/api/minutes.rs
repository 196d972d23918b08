//! The work of workers, minute by minute.

use std::time::Duration;

use axum::Json;
use kinfolk_core::Timestamp;
use kinfolk_core::limits::MINUTES_KEPT;
use kinfolk_core::minute::Minute;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::extract::Query;
use super::form::millis;
use crate::app::Shared;
use crate::problem::Problem;
use crate::visit::Visit;

/// An hour, in milliseconds.
const HOUR_MS: u64 = 3_600_000;
/// The longest span there are minutes of.
const SPAN_MS_MAX: u64 = MINUTES_KEPT.as_secs() * 1_000;

pub(super) fn routes() -> OpenApiRouter<Shared> {
    OpenApiRouter::new().routes(routes!(minutes))
}

/// In which span.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct MinutesQuery {
    /// The last so many milliseconds; an hour unless said otherwise.
    #[param(minimum = 1, maximum = 21_600_000_u64)]
    span_ms: Option<u64>,
}

/// The work of all workers for one command on one queue in one minute.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = Minute)]
struct MinuteForm {
    /// When the minute began.
    #[schema(value_type = String, format = DateTime)]
    minute_at: Timestamp,
    queue: String,
    command: String,
    /// Tasks that were started for the first time.
    started: u64,
    /// How long these tasks had waited since they were due, all together, and the longest of them.
    waited_ms: u64,
    waited_max_ms: u64,
    completed: u64,
    /// Attempts that failed for good.
    failed: u64,
    /// Attempts that failed and are made again.
    retried: u64,
    cancelled: u64,
    /// Runs that ended in a suspension.
    suspended: u64,
    /// How long attempts ran that ended, all together, and the longest of them.
    ran_ms: u64,
    ran_max_ms: u64,
}

impl From<Minute> for MinuteForm {
    fn from(minute: Minute) -> Self {
        let figures = minute.figures;
        Self {
            minute_at: minute.at,
            queue: minute.queue.to_string(),
            command: minute.command.to_string(),
            started: figures.started,
            waited_ms: millis(figures.waited),
            waited_max_ms: millis(figures.waited_max),
            completed: figures.completed,
            failed: figures.failed,
            retried: figures.retried,
            cancelled: figures.cancelled,
            suspended: figures.suspended,
            ran_ms: millis(figures.ran),
            ran_max_ms: millis(figures.ran_max),
        }
    }
}

/// The work of workers in the minutes of the span until now, by minute, queue and command.
#[utoipa::path(get, path = "/minutes", tag = "site", params(MinutesQuery), responses((status = 200, body = Vec<MinuteForm>)))]
async fn minutes(visit: Visit, Query(query): Query<MinutesQuery>) -> Result<Json<Vec<MinuteForm>>, Problem> {
    let span = match query.span_ms.unwrap_or(HOUR_MS) {
        span @ 1..=SPAN_MS_MAX => Duration::from_millis(span),
        span => return Err(Problem::input(format!("span_ms is {span}; it must be 1 to {SPAN_MS_MAX}"))),
    };
    Ok(Json(visit.view().minutes(span).await?.into_iter().map(MinuteForm::from).collect()))
}
