//! Tasks: many, and one with all there is to know of it.

use axum::Json;
use axum::extract::Path;
use axum::http::StatusCode;
use kinfolk_core::limits::ENQUEUE_BATCH_MAX;
use kinfolk_core::{Enqueued, FanOutId, InputError, NewTask, ReadBy, TaskId};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::extract::{Body, Named, Query, page_size};
use super::filter::{FilterQuery, Filtered};
use super::form::{
    AttemptForm, CheckpointForm, ExplanationForm, FanOutForm, NewTaskForm, ResultForm, RunForm, TallyForm, TaskForm,
};
use crate::app::Shared;
use crate::problem::Problem;
use crate::visit::Visit;

pub(super) fn routes() -> OpenApiRouter<Shared> {
    OpenApiRouter::new()
        .routes(routes!(list, enqueue))
        .routes(routes!(enqueue_many))
        .routes(routes!(count))
        .routes(routes!(count_by_command))
        .routes(routes!(show))
        .routes(routes!(children))
        .routes(routes!(attempts))
        .routes(routes!(runs))
        .routes(routes!(fan_outs))
        .routes(routes!(checkpoints))
        .routes(routes!(explain))
        .routes(routes!(results))
}

/// A page of tasks, in the order that was asked for.
#[derive(Serialize, ToSchema)]
pub(crate) struct TaskPage {
    tasks: Vec<TaskForm>,
    /// Where the next page goes on: the value for `before`, or for `after` with the oldest first.
    next: Option<i64>,
}

/// Lists tasks, newest first unless asked otherwise.
#[utoipa::path(get, path = "/tasks", tag = "tasks", params(FilterQuery), responses((status = 200, body = TaskPage)))]
async fn list(visit: Visit, Filtered(query): Filtered) -> Result<Json<TaskPage>, Problem> {
    let page = visit.view().list(&query.filter()?).await?;
    let tasks = page.tasks.into_iter().map(TaskForm::from).collect();
    Ok(Json(TaskPage { tasks, next: page.next.map(|id| id.0) }))
}

/// How many tasks match.
#[derive(Serialize, ToSchema)]
struct CountAnswer {
    tasks: u64,
    /// Not all tasks were looked at: there may be more.
    more: bool,
}

/// Counts tasks that match, wherever a page begins: exact up to 10,000.
#[utoipa::path(get, path = "/tasks/count", tag = "tasks", params(FilterQuery), responses((status = 200, body = CountAnswer)))]
async fn count(visit: Visit, Filtered(query): Filtered) -> Result<Json<CountAnswer>, Problem> {
    let matches = visit.view().count(&query.filter()?).await?;
    Ok(Json(CountAnswer { tasks: matches.tasks, more: matches.more }))
}

/// How many tasks of a command match.
#[derive(Serialize, ToSchema)]
struct OfCommand {
    command: String,
    tasks: u64,
}

/// How many tasks of each command match.
#[derive(Serialize, ToSchema)]
struct CountsAnswer {
    counts: Vec<OfCommand>,
    /// Not all tasks were looked at: there may be more.
    more: bool,
}

/// Counts tasks that match by command, wherever a page begins: 10,000 of them at most.
#[utoipa::path(get, path = "/tasks/count-by-command", tag = "tasks", params(FilterQuery),
    responses((status = 200, body = CountsAnswer)))]
async fn count_by_command(visit: Visit, Filtered(query): Filtered) -> Result<Json<CountsAnswer>, Problem> {
    let found = visit.view().count_by_command(&query.filter()?).await?;
    let counts = found.counts.into_iter().map(|(command, tasks)| OfCommand { command: command.to_string(), tasks });
    Ok(Json(CountsAnswer { counts: counts.collect(), more: found.more }))
}

/// The answer to an enqueue.
#[derive(Serialize, ToSchema)]
pub(crate) struct EnqueuedForm {
    /// created, existing, merged, or rejected.
    outcome: &'static str,
    /// The task; null if it was rejected.
    task: Option<i64>,
    /// Why it was rejected, and what to do.
    why: Option<String>,
}

impl From<Enqueued> for EnqueuedForm {
    fn from(answer: Enqueued) -> Self {
        let outcome = match &answer {
            Enqueued::Created(_) => "created",
            Enqueued::Existing(_) => "existing",
            Enqueued::Merged(_) => "merged",
            Enqueued::Rejected(_) => "rejected",
        };
        match answer.id() {
            Ok(id) => Self { outcome, task: Some(id.0), why: None },
            Err(why) => Self { outcome, task: None, why: Some(why.to_string()) },
        }
    }
}

/// Enqueues a task.
#[utoipa::path(post, path = "/tasks", tag = "tasks", request_body = NewTaskForm, responses(
    (status = 201, description = "A new task", body = EnqueuedForm),
    (status = 200, description = "The unique key is held by a task: it stays, or took the payload", body = EnqueuedForm)
))]
async fn enqueue(visit: Visit, Body(form): Body<NewTaskForm>) -> Result<(StatusCode, Json<EnqueuedForm>), Problem> {
    let task = form.task()?;
    let answer = visit.act().enqueue(vec![task]).await?.pop();
    match answer {
        Some(Enqueued::Rejected(why)) => {
            Err(Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "rejected", why.to_string()))
        }
        Some(answer @ Enqueued::Created(_)) => Ok((StatusCode::CREATED, Json(answer.into()))),
        Some(answer) => Ok((StatusCode::OK, Json(answer.into()))),
        None => Err(Problem::unavailable("the store gave no answer to an enqueue")),
    }
}

/// Many tasks to be.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct NewTasks {
    #[schema(max_items = 10_000)]
    tasks: Vec<NewTaskForm>,
}

/// The answers, one for each task, in the same order.
#[derive(Serialize, ToSchema)]
struct Answers {
    answers: Vec<EnqueuedForm>,
}

/// Enqueues many tasks in one transaction. A rejected one does not keep the others from being made.
#[utoipa::path(post, path = "/tasks/batch", tag = "tasks", request_body = NewTasks,
    responses((status = 200, body = Answers)))]
async fn enqueue_many(visit: Visit, Body(form): Body<NewTasks>) -> Result<Json<Answers>, Problem> {
    if form.tasks.len() > ENQUEUE_BATCH_MAX {
        return Err(InputError::Batch { what: "tasks", given: form.tasks.len(), max: ENQUEUE_BATCH_MAX }.into());
    }
    let tasks = form.tasks.into_iter().map(NewTaskForm::task).collect::<Result<Vec<NewTask>, _>>()?;
    let answers = visit.act().enqueue(tasks).await?;
    Ok(Json(Answers { answers: answers.into_iter().map(EnqueuedForm::from).collect() }))
}

/// A task with its family's next of kin and what its handler recorded.
#[derive(Serialize, ToSchema)]
pub(crate) struct TaskDetail {
    task: TaskForm,
    /// The parent, if it has one that this token may see.
    parent: Option<TaskForm>,
    checkpoints: Vec<CheckpointForm>,
    /// The fan-outs that its handler awaits or awaited.
    fan_outs: Vec<FanOutForm>,
    /// Its ended attempts, oldest first. Empty for a task that was completed at its first.
    attempts: Vec<AttemptForm>,
    /// How its children are doing.
    tally: TallyForm,
    /// The first of its children; the rest is at `/tasks/{id}/children`.
    children: Vec<TaskForm>,
}

/// How many children are shown with a task.
const FIRST_CHILDREN: usize = 50;

/// One task, with everything.
#[utoipa::path(get, path = "/tasks/{id}", tag = "tasks", params(("id" = i64, Path, minimum = 1)),
    responses((status = 200, body = TaskDetail)))]
async fn show(visit: Visit, Named(id): Named<TaskId>) -> Result<Json<TaskDetail>, Problem> {
    let view = visit.view();
    let task = view.task(id).await?;
    let mut history = view.history(id).await?;
    let parent = match task.parent {
        Some(parent) => view.task(parent).await.ok(),
        None => None,
    };
    Ok(Json(TaskDetail {
        parent: parent.map(TaskForm::from),
        checkpoints: CheckpointForm::all(&mut history),
        fan_outs: history.fan_outs.into_iter().map(FanOutForm::from).collect(),
        attempts: view.attempts(id).await?.into_iter().map(AttemptForm::from).collect(),
        tally: view.tally(id).await?.into(),
        children: view.children(id, 0, FIRST_CHILDREN).await?.into_iter().map(TaskForm::from).collect(),
        task: task.into(),
    }))
}

/// Which part of a list in order.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct Part {
    /// From this one on; 0 is the first.
    #[param(minimum = 0)]
    #[serde(default)]
    pub(super) from: u32,
    /// At most this many; 50 unless said otherwise.
    #[param(minimum = 1, maximum = 1000)]
    pub(super) limit: Option<usize>,
}

/// A page of children.
#[derive(Serialize, ToSchema)]
struct ChildPage {
    children: Vec<TaskForm>,
    /// Where the next page goes on: the value for `from`.
    next: Option<u64>,
}

/// The children of a task in the order in which they were made.
#[utoipa::path(get, path = "/tasks/{id}/children", tag = "tasks", params(("id" = i64, Path, minimum = 1), Part),
    responses((status = 200, body = ChildPage)))]
async fn children(
    visit: Visit,
    Named(id): Named<TaskId>,
    Query(part): Query<Part>,
) -> Result<Json<ChildPage>, Problem> {
    let limit = page_size(part.limit)?;
    let view = visit.view();
    let total = view.tally(id).await?.total;
    let children = view.children(id, u64::from(part.from), limit).await?;
    let after = u64::from(part.from) + limit as u64;
    let next = (after < total).then_some(after);
    Ok(Json(ChildPage { children: children.into_iter().map(TaskForm::from).collect(), next }))
}

/// The ended attempts of a task, oldest first.
#[utoipa::path(get, path = "/tasks/{id}/attempts", tag = "tasks", params(("id" = i64, Path, minimum = 1)),
    responses((status = 200, body = Vec<AttemptForm>)))]
async fn attempts(visit: Visit, Named(id): Named<TaskId>) -> Result<Json<Vec<AttemptForm>>, Problem> {
    Ok(Json(visit.view().attempts(id).await?.into_iter().map(AttemptForm::from).collect()))
}

/// The course of a task: its runs, those that ended in a suspension and the one that goes on too, oldest first; the latest 1000.
#[utoipa::path(get, path = "/tasks/{id}/runs", tag = "tasks", params(("id" = i64, Path, minimum = 1)),
    responses((status = 200, body = Vec<RunForm>)))]
async fn runs(visit: Visit, Named(id): Named<TaskId>) -> Result<Json<Vec<RunForm>>, Problem> {
    let view = visit.view();
    let task = view.task(id).await?;
    Ok(Json(view.runs(&[task]).await?.into_iter().map(RunForm::from).collect()))
}

/// The fan-outs that the handler of a task awaits or awaited: their rule, their counts, how and when they were settled.
#[utoipa::path(get, path = "/tasks/{id}/fan-outs", tag = "tasks", params(("id" = i64, Path, minimum = 1)),
    responses((status = 200, body = Vec<FanOutForm>)))]
async fn fan_outs(visit: Visit, Named(id): Named<TaskId>) -> Result<Json<Vec<FanOutForm>>, Problem> {
    Ok(Json(visit.view().history(id).await?.fan_outs.into_iter().map(FanOutForm::from).collect()))
}

/// The records of a task's handler.
#[utoipa::path(get, path = "/tasks/{id}/checkpoints", tag = "tasks", params(("id" = i64, Path, minimum = 1)),
    responses((status = 200, body = Vec<CheckpointForm>)))]
async fn checkpoints(visit: Visit, Named(id): Named<TaskId>) -> Result<Json<Vec<CheckpointForm>>, Problem> {
    Ok(Json(CheckpointForm::all(&mut visit.view().history(id).await?)))
}

/// Why a task is not running: every reason there is.
#[utoipa::path(get, path = "/tasks/{id}/explain", tag = "tasks", params(("id" = i64, Path, minimum = 1)),
    responses((status = 200, body = ExplanationForm)))]
async fn explain(visit: Visit, Named(id): Named<TaskId>) -> Result<Json<ExplanationForm>, Problem> {
    Ok(Json(visit.view().explain(id).await?.into()))
}

/// The order in which the children of a fan-out are read.
#[derive(Clone, Copy, Default, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum OrderForm {
    /// As they were given; also those that have not ended.
    #[default]
    Index,
    /// As they ended; only those.
    Ended,
}

/// Which results.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct ResultQuery {
    #[serde(default)]
    #[param(inline)]
    by: OrderForm,
    /// From this one on; 0 is the first.
    #[serde(default)]
    from: u32,
    /// At most this many; 50 unless said otherwise.
    #[param(minimum = 1, maximum = 1000)]
    limit: Option<usize>,
}

/// The states and results of the children of a fan-out, in pages.
#[utoipa::path(get, path = "/tasks/{id}/fan-outs/{fan_out}/results", tag = "tasks",
    params(("id" = i64, Path, minimum = 1), ("fan_out" = i64, Path, minimum = 1), ResultQuery),
    responses((status = 200, body = Vec<ResultForm>)))]
async fn results(
    visit: Visit,
    Path((id, fan_out)): Path<(String, String)>,
    Query(query): Query<ResultQuery>,
) -> Result<Json<Vec<ResultForm>>, Problem> {
    let id: TaskId = id.parse()?;
    let fan_out: TaskId = fan_out.parse()?;
    let by = match query.by {
        OrderForm::Index => ReadBy::Index,
        OrderForm::Ended => ReadBy::Ended,
    };
    let part = (id, FanOutId(fan_out.0));
    let results = visit.view().results(part, by, query.from, page_size(query.limit)?).await?;
    Ok(Json(results.into_iter().map(ResultForm::from).collect()))
}
