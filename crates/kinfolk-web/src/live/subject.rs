//! What can be looked at, and what is shown of it: enough to tell that something changed, and to draw the change.

use kinfolk_core::{CommandName, QueueName, Task, TaskId};
use serde_json::{Value, json};

use crate::access::Caller;
use crate::api::FilterQuery;
use crate::app::App;
use crate::problem::Problem;
use crate::view::View;

/// What can be looked at.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Subject {
    /// Counts, queues and workers.
    Overview,
    /// One page of a listing, and which of its queues are paused.
    List(Box<FilterQuery>),
    /// A task, with the counts of its children, and whether its queue is paused.
    Task(TaskId),
    /// A family: its root, its counts by generation, and the paused queues.
    Family(TaskId),
    /// Whether anything is going on among these commands.
    Active(Vec<CommandName>),
    /// All statuses.
    Statuses,
}

impl Subject {
    /// How it is now, as the text of an event.
    pub(super) async fn read(&self, app: &App, caller: &Caller) -> Result<String, Problem> {
        let view = View::new(app, caller);
        let shown = match self {
            Self::Overview => overview(view).await?,
            Self::List(query) => {
                let tasks = view.list(&query.filter()?).await?.tasks;
                let mut paused = paused(view).await?;
                paused.retain(|queue| tasks.iter().any(|task| task.queue == *queue));
                json!({"tasks": tasks.iter().map(short).collect::<Vec<_>>(), "paused": paused})
            }
            Self::Task(id) => {
                let task = view.task(*id).await?;
                let tally = view.tally(*id).await?;
                let paused = paused(view).await?.contains(&task.queue);
                json!({"task": short(&task), "children": tally, "paused": paused})
            }
            Self::Family(id) => {
                let task = view.task(*id).await?;
                let root = view.task(task.root).await?;
                let progress = view.progress(task.root).await?;
                let paused = paused(view).await?;
                json!({"root": short(&root), "family": progress.family, "levels": progress.levels, "paused": paused})
            }
            Self::Active(commands) => json!({"active": view.is_active(commands).await?}),
            Self::Statuses => json!({"statuses": view.statuses().await?}),
        };
        Ok(shown.to_string())
    }
}

async fn overview(view: View<'_>) -> Result<Value, Problem> {
    let stats = view.stats().await?;
    let paused = paused(view).await?;
    // A count that has come to its end stands still; the head of the line moves all the same.
    Ok(json!({"counts": stats.counts, "oldest_open": stats.oldest_open, "workers": stats.workers, "paused": paused}))
}

/// The paused queues. A pause changes no task, and yet what holds the tasks of a queue.
async fn paused(view: View<'_>) -> Result<Vec<QueueName>, Problem> {
    let queues = view.queues().await?;
    Ok(queues.into_iter().filter(|queue| queue.paused_at.is_some()).map(|queue| queue.name).collect())
}

/// A task in a few words, without what may be large.
fn short(task: &Task) -> Value {
    json!({
        "id": task.id,
        "command": task.command,
        "queue": task.queue,
        "state": task.state,
        "gate": task.gate,
        "attempt": task.attempt,
        "due_at": task.due,
        "started_at": task.started_at,
        "finished_at": task.finished_at,
        "cancel_requested_at": task.cancel_requested_at,
        "failure": task.failure.as_ref().map(|failure| &failure.message),
        "steps": task.steps,
        "signals": task.signals,
        "report": task.report,
    })
}
