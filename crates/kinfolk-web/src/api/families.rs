//! Families: how they are doing, their tree, their timeline, their graph.

use std::collections::BTreeMap;

use axum::Json;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse as _, Response};
use kinfolk_core::filter::{ByCommand, Filter, Order, Page};
use kinfolk_core::{Progress, Tally, Task, TaskId};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::extract::{Named, Query, page_size};
use super::form::{CourseForm, ProgressForm, RunForm, StateForm, TallyForm, TaskForm};
use crate::app::Shared;
use crate::graph::{FamilySource, Graph, Node, made_by};
use crate::problem::Problem;
use crate::view::View;
use crate::visit::Visit;

pub(super) fn routes() -> OpenApiRouter<Shared> {
    OpenApiRouter::new()
        .routes(routes!(progress))
        .routes(routes!(tree))
        .routes(routes!(timeline))
        .routes(routes!(graph))
}

/// How the family of a task is doing, generation by generation.
#[utoipa::path(get, path = "/families/{id}/progress", tag = "families", params(("id" = i64, Path, minimum = 1)),
    responses((status = 200, body = ProgressForm)))]
async fn progress(visit: Visit, Named(id): Named<TaskId>) -> Result<Json<ProgressForm>, Problem> {
    Ok(Json(visit.view().progress(id).await?.into()))
}

/// A task of a tree, with the first of its children.
#[derive(Serialize, ToSchema)]
struct Branch {
    task: TaskForm,
    /// How its children are doing.
    tally: TallyForm,
    /// The first of its children; empty below the depth that was asked for.
    #[schema(no_recursion)]
    children: Vec<Branch>,
    /// Where its children go on: the value for `from` of `/tasks/{id}/children`.
    next: Option<u64>,
    /// Of a root: the follow-ups that its family has made, the first 50; all of them are `/tasks?follows={id}`.
    follow_ups: Vec<TaskForm>,
}

/// How much of a tree.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct TreeQuery {
    /// Generations below the task: 2 unless said otherwise.
    #[param(minimum = 0, maximum = 32)]
    depth: Option<u16>,
    /// Children of each task at most: 50 unless said otherwise.
    #[param(minimum = 1, maximum = 1000)]
    limit: Option<usize>,
}

/// Follow-ups of a family in one answer.
const FOLLOW_UPS: usize = 50;
/// Tasks of one answer at most.
const TREE_MAX: usize = 1_000;

/// A task and what came of it: at most 1000 tasks, the first ones of each generation.
#[utoipa::path(get, path = "/families/{id}/tree", tag = "families",
    params(("id" = i64, Path, minimum = 1), TreeQuery), responses((status = 200, body = Branch)))]
async fn tree(visit: Visit, Named(id): Named<TaskId>, Query(query): Query<TreeQuery>) -> Result<Json<Branch>, Problem> {
    let view = visit.view();
    let task = view.task(id).await?;
    let limit = page_size(query.limit)?;
    let depth = query.depth.unwrap_or(2);
    if depth > 32 {
        return Err(Problem::input(format!("depth is {depth}; it must be 0 to 32")));
    }
    let mut left = TREE_MAX;
    let follow_ups = match task.parent {
        None => view.list(&made_by(task.id, FOLLOW_UPS)).await?.tasks,
        Some(_) => Vec::new(),
    };
    let mut tree = branch(view, task, depth, limit, &mut left).await?;
    tree.follow_ups = follow_ups.into_iter().map(TaskForm::from).collect();
    Ok(Json(tree))
}

async fn branch(view: View<'_>, task: Task, depth: u16, limit: usize, left: &mut usize) -> Result<Branch, Problem> {
    let tally = view.tally(task.id).await?;
    let take = limit.min(*left);
    let mut children = Vec::new();
    if depth > 0 && tally.total > 0 && take > 0 {
        let page = view.children(task.id, 0, take).await?;
        *left -= page.len();
        for child in page {
            children.push(Box::pin(branch(view, child, depth - 1, limit, left)).await?);
        }
    }
    let shown = if depth > 0 { take as u64 } else { 0 };
    let next = (tally.total > shown).then_some(shown);
    Ok(Branch { task: task.into(), tally: tally.into(), children, next, follow_ups: Vec::new() })
}

/// Which part of a timeline.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct TimelineQuery {
    /// Only tasks with a larger number than this: `next` of the page before.
    #[param(value_type = Option<i64>, minimum = 1)]
    after: Option<String>,
    /// At most this many; 50 unless said otherwise.
    #[param(minimum = 1, maximum = 1000)]
    limit: Option<usize>,
}

/// A page of a timeline.
#[derive(Serialize, ToSchema)]
struct Timeline {
    tasks: Vec<CourseForm>,
    /// Where the next page goes on: the value for `after`.
    next: Option<i64>,
}

/// The course of every task of a family, in the order in which they were made.
#[utoipa::path(get, path = "/families/{id}/timeline", tag = "families",
    params(("id" = i64, Path, minimum = 1), TimelineQuery), responses((status = 200, body = Timeline)))]
async fn timeline(
    visit: Visit,
    Named(id): Named<TaskId>,
    Query(query): Query<TimelineQuery>,
) -> Result<Json<Timeline>, Problem> {
    let view = visit.view();
    let filter = Filter {
        root: Some(view.task(id).await?.root),
        order: Order::Oldest,
        after: query.after.as_deref().map(str::parse).transpose()?,
        limit: page_size(query.limit)?,
        ..Filter::default()
    };
    let page = view.list(&filter).await?;
    let mut runs: BTreeMap<TaskId, Vec<RunForm>> = BTreeMap::new();
    for run in view.runs(&page.tasks).await? {
        runs.entry(run.task).or_default().push(run.into());
    }
    let course = |task: Task| {
        let runs = runs.remove(&task.id).unwrap_or_default();
        CourseForm::new(&task, runs)
    };
    Ok(Json(Timeline { next: page.next.map(|id| id.0), tasks: page.tasks.into_iter().map(course).collect() }))
}

/// The language of a graph.
#[derive(Clone, Copy, Default, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum Language {
    #[default]
    Json,
    Dot,
    Mermaid,
}

/// In which language.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct GraphQuery {
    #[serde(default)]
    #[param(inline)]
    format: Language,
}

/// The graph of a family.
#[derive(Serialize, ToSchema)]
#[schema(as = Graph)]
struct GraphForm {
    nodes: Vec<NodeForm>,
    edges: Vec<EdgeForm>,
    /// From the root to the follow-ups that its family has made.
    after: Vec<AfterForm>,
    /// Whether there is more than is drawn.
    cut: bool,
    /// How many tasks of the family are not drawn. That is known of the family of a root; else it is 0.
    not_drawn: u64,
}

/// One task, or several children of one parent that run the same command.
#[derive(Serialize, ToSchema)]
#[schema(as = Node)]
struct NodeForm {
    /// Its place among the nodes.
    node: usize,
    /// The task; the first of several.
    task: i64,
    command: String,
    tasks: u64,
    /// How many there are in each state.
    states: Vec<InState>,
    /// Of several, the first of those that failed.
    failed: Vec<i64>,
    /// Whether there may be more of them than were counted.
    at_least: bool,
}

/// How many are in a state.
#[derive(Serialize, ToSchema)]
struct InState {
    state: StateForm,
    tasks: u64,
}

/// From a parent to a child, by their places among the nodes.
#[derive(Serialize, ToSchema)]
#[schema(as = Edge)]
struct EdgeForm {
    parent: usize,
    child: usize,
}

/// From a root to a follow-up of its family, by their places among the nodes.
#[derive(Serialize, ToSchema)]
#[schema(as = After)]
struct AfterForm {
    root: usize,
    follow_up: usize,
}

impl From<Graph> for GraphForm {
    fn from(graph: Graph) -> Self {
        let node = |(index, node): (usize, Node)| NodeForm {
            node: index,
            task: node.task.0,
            tasks: node.tasks(),
            failed: node.failed.iter().map(|id| id.0).collect(),
            at_least: node.at_least,
            command: node.command,
            states: node.states.into_iter().map(|(state, tasks)| InState { state: state.into(), tasks }).collect(),
        };
        Self {
            nodes: graph.nodes.into_iter().enumerate().map(node).collect(),
            edges: graph.edges.into_iter().map(|(parent, child)| EdgeForm { parent, child }).collect(),
            after: graph.after.into_iter().map(|(root, follow_up)| AfterForm { root, follow_up }).collect(),
            cut: graph.cut,
            not_drawn: graph.not_drawn,
        }
    }
}

/// The graph of a task and all that came of it, as JSON, in DOT or in Mermaid.
#[utoipa::path(get, path = "/families/{id}/graph", tag = "families",
    params(("id" = i64, Path, minimum = 1), GraphQuery), responses(
    (status = 200, content((GraphForm = "application/json"), (String = "text/vnd.graphviz"), (String = "text/vnd.mermaid")))
))]
async fn graph(visit: Visit, Named(id): Named<TaskId>, Query(query): Query<GraphQuery>) -> Result<Response, Problem> {
    let view = visit.view();
    let root = view.task(id).await?;
    let graph = Graph::below(&view, &root).await?;
    Ok(match query.format {
        Language::Json => Json(GraphForm::from(graph)).into_response(),
        Language::Dot => ([(CONTENT_TYPE, "text/vnd.graphviz")], graph.dot()).into_response(),
        Language::Mermaid => ([(CONTENT_TYPE, "text/vnd.mermaid")], graph.mermaid()).into_response(),
    })
}

impl FamilySource for View<'_> {
    type Fault = Problem;

    fn is_whole(&self) -> bool {
        self.sees_all()
    }

    async fn progress(&self, task: TaskId) -> Result<Progress, Problem> {
        View::progress(self, task).await
    }

    async fn tally(&self, parent: TaskId) -> Result<Tally, Problem> {
        View::tally(self, parent).await
    }

    async fn list(&self, filter: &Filter) -> Result<Page, Problem> {
        View::list(self, filter).await
    }

    async fn count_by_command(&self, filter: &Filter) -> Result<ByCommand, Problem> {
        View::count_by_command(self, filter).await
    }
}
