//! The error log.

use axum::Json;
use kinfolk_core::error_log::{ErrorFilter, LoggedError};
use kinfolk_core::{CommandName, QueueName, TaskId, Timestamp};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::extract::{Query, page_size};
use super::form::FailureForm;
use crate::app::Shared;
use crate::problem::Problem;
use crate::visit::Visit;

pub(super) fn routes() -> OpenApiRouter<Shared> {
    OpenApiRouter::new().routes(routes!(errors))
}

/// Which entries, and which page of them.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct ErrorQuery {
    /// Of this task.
    #[param(minimum = 1)]
    task: Option<i64>,
    /// Of tasks of this command.
    command: Option<String>,
    /// Of tasks on this queue.
    queue: Option<String>,
    /// Only entries with a smaller number than this: `next` of the page before.
    #[param(minimum = 1)]
    before: Option<i64>,
    /// At most this many; 50 unless said otherwise.
    #[param(minimum = 1, maximum = 1000)]
    limit: Option<usize>,
}

/// An attempt that failed.
#[derive(Serialize, ToSchema)]
#[schema(as = LoggedError)]
struct ErrorForm {
    id: i64,
    #[schema(value_type = String, format = DateTime)]
    written_at: Timestamp,
    /// The task, which may be gone.
    task: i64,
    command: String,
    queue: String,
    attempt: u16,
    /// The function in the database that failed, or that handles the command there.
    handler: Option<String>,
    failure: FailureForm,
}

impl From<LoggedError> for ErrorForm {
    fn from(logged: LoggedError) -> Self {
        Self {
            id: logged.id,
            written_at: logged.at,
            task: logged.task.0,
            command: logged.command.to_string(),
            queue: logged.queue.to_string(),
            attempt: logged.attempt,
            handler: logged.handler,
            failure: logged.failure.into(),
        }
    }
}

/// A page of the error log, newest first.
#[derive(Serialize, ToSchema)]
struct ErrorPage {
    entries: Vec<ErrorForm>,
    /// Where the next page goes on: the value for `before`.
    next: Option<i64>,
}

/// Every attempt that failed, whatever became of its task, newest first. Entries outlive their tasks, and are kept for 90 days.
#[utoipa::path(get, path = "/errors", tag = "site", params(ErrorQuery), responses((status = 200, body = ErrorPage)))]
async fn errors(visit: Visit, Query(query): Query<ErrorQuery>) -> Result<Json<ErrorPage>, Problem> {
    let limit = page_size(query.limit)?;
    let filter = ErrorFilter {
        task: query.task.map(TaskId),
        command: query.command.as_deref().map(CommandName::new).transpose()?,
        queue: query.queue.as_deref().map(QueueName::new).transpose()?,
        before: query.before,
        limit,
    };
    let entries = visit.view().errors(&filter).await?;
    let next = if entries.len() == limit { entries.last().map(|entry| entry.id) } else { None };
    Ok(Json(ErrorPage { entries: entries.into_iter().map(ErrorForm::from).collect(), next }))
}
