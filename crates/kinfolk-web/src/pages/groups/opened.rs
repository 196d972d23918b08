//! One key, unfolded: who holds its slots, and who waits behind it.

use kinfolk_core::group::TOTAL;
use kinfolk_core::inspect::{Filter, Order};
use kinfolk_core::{Gate, KeyView, Keys, State, Task, Timestamp};

use crate::pages::going::{Going, Names};
use crate::pages::part::{Moment, Named};
use crate::problem::Problem;
use crate::visit::Visit;

/// Tasks in each of the two lists.
const SHOWN: usize = 10;

/// What is told of a key that is unfolded.
pub(crate) struct Opened {
    pub(crate) holders: Vec<Row>,
    pub(crate) holders_more: u64,
    pub(crate) waiters: Vec<Row>,
}

/// A task that holds a slot, or waits for one.
pub(crate) struct Row {
    pub(crate) id: String,
    pub(crate) href: String,
    pub(crate) name: Named,
    pub(crate) going: Going,
    pub(crate) since: Moment,
}

impl Opened {
    /// The key with its tasks.
    pub(crate) async fn of(visit: &Visit, key: &KeyView, now: Timestamp) -> Result<Self, Problem> {
        let names = Names::of(visit).await?;
        let row = |task: &Task, since: Timestamp| Row {
            id: task.id.to_string(),
            href: visit.links.to(&format!("/tasks/{}", task.id)),
            name: Named::task(task),
            going: Going::of(task, &names, now),
            since: Moment::lasting(since.min(now), now),
        };
        let mut holders = Vec::new();
        for id in key.holders.iter().take(SHOWN) {
            // It may have ended since, or be on a queue that the caller may not see.
            if let Ok(task) = visit.view().task(*id).await {
                holders.push(row(&task, task.started_at.unwrap_or(task.created_at)));
            }
        }
        let waiting = waiting(visit, key, SHOWN).await?;
        Ok(Self {
            holders_more: key.held.saturating_sub(holders.len() as u64),
            holders,
            waiters: waiting.iter().map(|task| row(task, task.position)).collect(),
        })
    }
}

/// Since when the first one waits behind a key.
pub(crate) async fn first(visit: &Visit, key: &KeyView, now: Timestamp) -> Result<Option<Moment>, Problem> {
    if key.waiters == 0 {
        return Ok(None);
    }
    let first = waiting(visit, key, 1).await?;
    Ok(first.first().map(|task| Moment::lasting(task.position.min(now), now)))
}

/// The tasks that wait behind a key, the oldest first.
async fn waiting(visit: &Visit, key: &KeyView, most: usize) -> Result<Vec<Task>, Problem> {
    let is_total = key.group.name.as_str() == TOTAL;
    let filter = Filter {
        state: vec![State::Pending],
        command: key.group.command.clone(),
        key: if is_total { Keys::default() } else { Keys::of([(key.group.name.as_str(), key.key.as_str())])? },
        order: Order::Oldest,
        limit: most,
        ..Filter::default()
    };
    let found = visit.view().list(&filter).await?;
    Ok(found.tasks.into_iter().filter(|task| task.gate != Some(Gate::Time)).collect())
}
