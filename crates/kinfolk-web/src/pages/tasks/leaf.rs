//! One page of a list, and the addresses of the pages beside it. A page begins before or after a number, so it costs the same
//! wherever it is.

use kinfolk_core::inspect::{Filter, Order};
use kinfolk_core::{Task, TaskId};

use crate::pages::address::Address;
use crate::problem::Problem;
use crate::visit::Visit;

/// A page of a list.
pub(crate) struct Leaf {
    /// Its tasks, in the order of the list.
    pub(crate) tasks: Vec<Task>,
    /// The page before it, if there may be one.
    pub(crate) back: Option<String>,
    /// The page after it, if there may be one.
    pub(crate) on: Option<String>,
    /// The first page, for one that is another.
    pub(crate) first: Option<String>,
}

impl Leaf {
    /// The page that an address asks for: it goes on from a number in the order of the list, or back from one against it.
    pub(crate) async fn turn(visit: &Visit, address: &Address, filter: &Filter) -> Result<Self, Problem> {
        let (onwards, backwards) = match filter.order {
            Order::Newest => ("before", "after"),
            Order::Oldest => ("after", "before"),
        };
        let (from, until) = match filter.order {
            Order::Newest => (filter.before, filter.after),
            Order::Oldest => (filter.after, filter.before),
        };
        // Both together are a window, which somebody wrote by hand: it is read in the order of the list.
        let goes_back = until.is_some() && from.is_none();
        let turned = match (filter.order, goes_back) {
            (order, false) => order,
            (Order::Newest, true) => Order::Oldest,
            (Order::Oldest, true) => Order::Newest,
        };
        let found = visit.view().list(&Filter { order: turned, ..filter.clone() }).await?;
        let mut tasks = found.tasks;
        if goes_back {
            tasks.reverse();
        }
        let bare = Address::at(&address.without(&["before", "after"]));
        let at = |name: &str, id: Option<TaskId>| id.map(|id| bare.with(name, Some(&id.to_string())));
        let (first, last) = (tasks.first().map(|task| task.id), tasks.last().map(|task| task.id));
        // A page without tasks has no first one: the one that it began at is then the nearest on the page before.
        let beside = from.map(|TaskId(id)| TaskId(if filter.order == Order::Newest { id - 1 } else { id + 1 }));
        let (back, on) = match goes_back {
            true => (at(backwards, found.next), at(onwards, last.or(until))),
            false => (at(backwards, from.and(first.or(beside))), at(onwards, found.next)),
        };
        let is_first = from.is_none() && !(goes_back && back.is_some());
        Ok(Self { tasks, back, on, first: (!is_first).then(|| bare.here.clone()) })
    }
}
