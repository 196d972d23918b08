//! The actions on one task or one family: cancel, retry, run now, acquit, signal.

use axum::Json;
use kinfolk_core::operate::Cancelled;
use kinfolk_core::{SignalName, Signalled, TaskId};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::extract::{Body, Named};
use super::form::TaskForm;
use crate::app::Shared;
use crate::problem::Problem;
use crate::visit::Visit;

pub(super) fn routes() -> OpenApiRouter<Shared> {
    OpenApiRouter::new()
        .routes(routes!(cancel))
        .routes(routes!(retry))
        .routes(routes!(run_now))
        .routes(routes!(acquit))
        .routes(routes!(signal))
        .routes(routes!(cancel_family))
        .routes(routes!(retry_family))
}

/// The answer to a request to cancel.
#[derive(Serialize, ToSchema)]
struct CancelAnswer {
    task: i64,
    /// now: it has ended. requested: it ends when its handler, or the last of its descendants, has.
    cancel: &'static str,
}

async fn cancelled(visit: &Visit, task: TaskId) -> Result<Json<CancelAnswer>, Problem> {
    let cancel = match visit.act().cancel(task).await? {
        Cancelled::Now => "now",
        Cancelled::Requested => "requested",
    };
    Ok(Json(CancelAnswer { task: task.0, cancel }))
}

/// Asks for the end of a task and of all its descendants. 409 (`wrong_state`) when it has ended.
#[utoipa::path(post, path = "/tasks/{id}/cancel", tag = "tasks", params(("id" = i64, Path, minimum = 1)),
    responses((status = 200, body = CancelAnswer)))]
async fn cancel(visit: Visit, Named(id): Named<TaskId>) -> Result<Json<CancelAnswer>, Problem> {
    cancelled(&visit, id).await
}

/// Lets a failed or cancelled task run again, with fresh attempts, at its old position. 409 (`wrong_state`) for any other.
#[utoipa::path(post, path = "/tasks/{id}/retry", tag = "tasks", params(("id" = i64, Path, minimum = 1)),
    responses((status = 200, description = "The task as it is then", body = TaskForm)))]
async fn retry(visit: Visit, Named(id): Named<TaskId>) -> Result<Json<TaskForm>, Problem> {
    Ok(Json(visit.act().retry(id).await?.into()))
}

/// Lets a pending task that is not due run now; nothing changes for one that is due already. 409 (`wrong_state`)
/// when it does not pend.
#[utoipa::path(post, path = "/tasks/{id}/run-now", tag = "tasks", params(("id" = i64, Path, minimum = 1)),
    responses((status = 200, description = "The task as it is then", body = TaskForm)))]
async fn run_now(visit: Visit, Named(id): Named<TaskId>) -> Result<Json<TaskForm>, Problem> {
    Ok(Json(visit.act().run_now(id).await?.into()))
}

/// Clears a suspect: it has no strikes any more, and waits no longer on their account.
#[utoipa::path(post, path = "/tasks/{id}/acquit", tag = "tasks", params(("id" = i64, Path, minimum = 1)),
    responses((status = 200, description = "The task as it is then", body = TaskForm)))]
async fn acquit(visit: Visit, Named(id): Named<TaskId>) -> Result<Json<TaskForm>, Problem> {
    Ok(Json(visit.act().acquit(id).await?.into()))
}

/// A signal.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct SignalForm {
    #[schema(max_length = 128, pattern = "^[A-Za-z0-9_.:/-]+$")]
    name: String,
    /// Its value; null if it is left out.
    #[serde(default)]
    #[schema(value_type = Value)]
    value: Option<kinfolk_core::Json>,
}

/// The answer to a signal.
#[derive(Serialize, ToSchema)]
struct SignalAnswer {
    task: i64,
    signal: String,
    /// resumed: the task waited for it. kept: until the task asks for it.
    answer: &'static str,
}

/// Sends a task a signal: its handler gets it when it asks, or now if it waits for it. 409 (`wrong_state`) when it has
/// ended.
#[utoipa::path(post, path = "/tasks/{id}/signal", tag = "tasks", params(("id" = i64, Path, minimum = 1)),
    request_body = SignalForm, responses((status = 200, body = SignalAnswer)))]
async fn signal(
    visit: Visit,
    Named(id): Named<TaskId>,
    Body(form): Body<SignalForm>,
) -> Result<Json<SignalAnswer>, Problem> {
    let name = SignalName::new(&form.name)?;
    let value = form.value.unwrap_or_else(kinfolk_core::Json::null);
    let answer = match visit.act().signal(id, &name, &value).await? {
        Signalled::Resumed => "resumed",
        Signalled::Kept => "kept",
    };
    Ok(Json(SignalAnswer { task: id.0, signal: form.name, answer }))
}

/// Asks for the end of a whole family: of the root of this task, and of all its descendants. 409 (`wrong_state`) when
/// it has ended.
#[utoipa::path(post, path = "/families/{id}/cancel", tag = "families", params(("id" = i64, Path, minimum = 1)),
    responses((status = 200, body = CancelAnswer)))]
async fn cancel_family(visit: Visit, Named(id): Named<TaskId>) -> Result<Json<CancelAnswer>, Problem> {
    let root = visit.view().task(id).await?.root;
    cancelled(&visit, root).await
}

/// The number of tasks that a repair of a family set going again.
#[derive(Serialize, ToSchema)]
struct RetryAnswer {
    task: i64,
    /// Tasks that had failed by themselves, or were skipped because of that, and are pending again.
    pending: u64,
    /// Parents that had failed with them, and wait again.
    waiting: u64,
}

/// Lets what failed in a family run again; its root must have failed.
#[utoipa::path(post, path = "/families/{id}/retry", tag = "families", params(("id" = i64, Path, minimum = 1)),
    responses((status = 200, body = RetryAnswer)))]
async fn retry_family(visit: Visit, Named(id): Named<TaskId>) -> Result<Json<RetryAnswer>, Problem> {
    let retried = visit.act().retry_family(id).await?;
    Ok(Json(RetryAnswer { task: id.0, pending: retried.pending, waiting: retried.waiting }))
}
