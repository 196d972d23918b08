//! A task among its kin, and what failed below it.

use kinfolk_core::filter::{Filter, Order};
use kinfolk_core::{State, Task, Timestamp};

use crate::graph::made_by;
use crate::pages::going::Names;
use crate::pages::part::{Badge, Named, words};
use crate::problem::Problem;
use crate::visit::Visit;

/// Children that are shown beside the task.
pub(super) const RELATIVES_SHOWN: usize = 12;
/// Generations down which a failure is followed.
const CAUSES_MAX: usize = 5;

/// One of them.
pub(super) struct Relative {
    pub(super) depth: usize,
    pub(super) badge: Badge,
    pub(super) name: Named,
    pub(super) id: String,
    pub(super) href: String,
    pub(super) is_self: bool,
    /// A follow-up of the family.
    pub(super) is_after: bool,
}

/// A task below, because of which one failed.
pub(super) struct Cause {
    pub(super) id: String,
    pub(super) name: Named,
    pub(super) href: String,
    pub(super) message: String,
}

/// The task among its kin: parent, itself, its first children; of a root the follow-ups of its family.
pub(super) async fn relatives(
    visit: &Visit,
    task: &Task,
    (names, now): (&Names, Timestamp),
) -> Result<Vec<Relative>, Problem> {
    let view = visit.view();
    let one = |one: &Task, depth: usize| Relative {
        depth,
        badge: names.badge(one, now),
        name: Named::task(one),
        id: one.id.to_string(),
        href: visit.links.to(&format!("/tasks/{}", one.id)),
        is_self: one.id == task.id,
        is_after: false,
    };
    let mut relatives = Vec::new();
    if let Some(parent) = task.parent {
        // A parent on a queue that the caller may not see is not named.
        relatives.extend(view.task(parent).await.ok().as_ref().map(|parent| one(parent, 0)));
    }
    let depth = relatives.len();
    relatives.push(one(task, depth));
    relatives.extend(view.children(task.id, 0, RELATIVES_SHOWN).await?.iter().map(|child| one(child, depth + 1)));
    if task.parent.is_none() {
        let after = view.list(&made_by(task.id, RELATIVES_SHOWN)).await?.tasks;
        relatives.extend(after.iter().map(|after| Relative { is_after: true, ..one(after, 0) }));
    }
    Ok(relatives)
}

/// The tasks below a failed one because of which it failed, as far as they failed themselves: of each generation the first.
pub(super) async fn causes(visit: &Visit, task: &Task) -> Result<Vec<Cause>, Problem> {
    let mut causes = Vec::new();
    let mut parent = task.id;
    while task.state == State::Failed && causes.len() < CAUSES_MAX {
        let filter = Filter {
            state: vec![State::Failed],
            parent: Some(parent),
            order: Order::Oldest,
            limit: 1,
            ..Filter::default()
        };
        let Some(child) = visit.view().list(&filter).await?.tasks.pop() else { break };
        parent = child.id;
        causes.push(Cause {
            id: child.id.to_string(),
            name: Named::task(&child),
            href: visit.links.to(&format!("/tasks/{}", child.id)),
            message: child.failure.map(|failure| words::short(&failure.message, 400)).unwrap_or_default(),
        });
    }
    Ok(causes)
}
