//! The dry run of a recorded history.

use axum::Json;
use kinfolk_core::{Key, StepKind, TaskId};
use serde::Serialize;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::extract::Named;
use super::form::FailureForm;
use crate::app::Shared;
use crate::problem::Problem;
use crate::replay::{Replayed, ReplayedEnd};
use crate::visit::Visit;

pub(super) fn routes() -> OpenApiRouter<Shared> {
    OpenApiRouter::new().routes(routes!(replay))
}

/// The findings of a dry run.
#[derive(Serialize, ToSchema)]
#[schema(as = Replay)]
struct ReplayForm {
    task: i64,
    /// How many checkpoints it has.
    steps: u32,
    /// Whether the handler gets through its history.
    sound: bool,
    /// diverged, goes_on, returned or failed.
    end: &'static str,
    /// The operations that it goes on with, one for each branch.
    next: Vec<OperationForm>,
    /// The failure of the handler.
    failure: Option<FailureForm>,
    /// Checkpoints that the handler did not ask for on the way.
    unused: Vec<OperationForm>,
}

/// A durable operation of a handler.
#[derive(Serialize, ToSchema)]
#[schema(as = Operation)]
struct OperationForm {
    /// The branch of the handler; null for the handler itself.
    branch: Option<String>,
    name: String,
    /// Which operation of that name in that branch; 0 is the first.
    occurrence: u32,
    /// step, make, fan_out, fold, sleep, wait, signal, now or random; null where only its record is known.
    kind: Option<&'static str>,
}

impl OperationForm {
    fn new(key: Key, kind: Option<StepKind>) -> Self {
        Self {
            branch: Some(key.branch).filter(|branch| !branch.is_empty()),
            name: key.name,
            occurrence: key.occurrence,
            kind: kind.map(StepKind::as_str),
        }
    }
}

impl From<Replayed> for ReplayForm {
    fn from(replayed: Replayed) -> Self {
        let (end, next, failure) = match replayed.end {
            ReplayedEnd::Diverged(failure) => ("diverged", Vec::new(), Some(failure)),
            ReplayedEnd::GoesOn(next) => ("goes_on", next, None),
            ReplayedEnd::Returned => ("returned", Vec::new(), None),
            ReplayedEnd::Failed(failure) => ("failed", Vec::new(), Some(failure)),
        };
        Self {
            task: replayed.task.0,
            steps: replayed.steps,
            sound: end != "diverged",
            end,
            next: next.into_iter().map(|(key, kind)| OperationForm::new(key, Some(kind))).collect(),
            failure: failure.map(FailureForm::from),
            unused: replayed.unused.into_iter().map(|key| OperationForm::new(key, None)).collect(),
        }
    }
}

/// Runs the recorded history of a task through the handlers of this server, and writes nothing: whether the code as it is now
/// would diverge from it, and where it would go on. What a handler does outside of its steps it does again.
#[utoipa::path(post, path = "/tasks/{id}/replay", tag = "tasks", params(("id" = i64, Path, minimum = 1)),
    responses((status = 200, body = ReplayForm)))]
async fn replay(visit: Visit, Named(id): Named<TaskId>) -> Result<Json<ReplayForm>, Problem> {
    Ok(Json(visit.act().replay(id).await?.into()))
}
