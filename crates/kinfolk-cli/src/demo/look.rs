//! The day at one moment, as the store has it.

use kinfolk::core::limits::PAGE_MAX;
use kinfolk::{Error, State, Store, TaskView, Timestamp};

use super::day::{Day, order_of};
use super::shop::Order;

/// An order and its sub-tasks.
pub(crate) struct Family {
    pub(crate) root: TaskView,
    pub(crate) order: Order,
    /// In the order in which they were made.
    pub(crate) children: Vec<TaskView>,
}

/// All orders of a day.
pub(crate) struct Look {
    pub(crate) now: Timestamp,
    /// How many are in which state: not begun, at work, completed, failed, cancelled.
    pub(crate) open: u64,
    pub(crate) completed: u64,
    pub(crate) failed: u64,
    pub(crate) cancelled: u64,
    /// Those at work, oldest first.
    pub(crate) at_work: Vec<Family>,
}

impl Look {
    /// Looks at the store.
    pub(crate) async fn at(day: Day, store: &dyn Store) -> Result<Self, Error> {
        let orders = day.stored(store).await?;
        let count = |state: State| orders.iter().filter(|task| task.state == state).count() as u64;
        let (completed, failed, cancelled) = (count(State::Completed), count(State::Failed), count(State::Cancelled));
        let open = orders.len() as u64 - completed - failed - cancelled;
        let mut at_work = Vec::new();
        for root in orders {
            // A resumed order is pending for a moment, and has begun all the same.
            let begun = matches!(root.state, State::Running | State::Waiting) || root.steps > 0;
            if begun && !root.state.is_terminal() {
                at_work.extend(Family::of(root, store).await?);
            }
        }
        Ok(Self { now: store.now().await?, open, completed, failed, cancelled, at_work })
    }

    /// Orders that have ended.
    pub(crate) fn ended(&self) -> u64 {
        self.completed + self.failed + self.cancelled
    }
}

impl Family {
    /// An order with its sub-tasks; `None` if the task is about no order.
    pub(crate) async fn of(root: TaskView, store: &dyn Store) -> Result<Option<Self>, Error> {
        let Some(order) = order_of(&root) else { return Ok(None) };
        let children = store.children(root.id, 0, PAGE_MAX).await?;
        Ok(Some(Self { root, order, children }))
    }

    /// Why it did not end well: in the words of the sub-task that did not, or in its own.
    pub(crate) fn why(&self) -> Option<String> {
        let own = self.root.failure.as_ref()?;
        let failed = self.children.iter().find(|child| child.state == State::Failed && !is_letter(child));
        Some(failed.and_then(|child| child.failure.as_ref()).unwrap_or(own).message.clone())
    }
}

/// Letters may get lost: the order does not fail with them.
pub(crate) fn is_letter(task: &TaskView) -> bool {
    matches!(task.command.as_str(), "shop.send_notification" | "shop.send_invoice")
}
