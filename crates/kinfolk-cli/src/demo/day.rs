//! One day's orders: a list that depends only on the day's number and size.
//!
//! A day is enqueued in one transaction, so it is there whole or not at all. Every order says how many came in that day; so a
//! demo that was killed finds out what it had begun, goes on with it, and can tell at the end that nothing is missing.

use std::time::Duration;

use kinfolk::core::inspect::Filter;
use kinfolk::core::limits::PAGE_MAX;
use kinfolk::{CommandName, Due, Error, InputError, Json, NewTask, State, Store, Task, TaskView};

use super::shop::{Card, Item, Order, Shelf};
use super::workflow::ProcessOrder;

/// How long after each other orders come in.
const APART: Duration = Duration::from_millis(350);

/// The goods of the shop, and their prices in cents.
const SHELVES: [(&str, u64); 12] = [
    ("reading lamp", 4_900),
    ("oak desk", 38_900),
    ("swivel chair", 17_950),
    ("bookshelf", 12_900),
    ("wool blanket", 6_450),
    ("teapot", 2_990),
    ("set of cups", 3_450),
    ("wall clock", 5_500),
    ("doormat", 1_990),
    ("mirror", 8_900),
    ("coat rack", 7_250),
    ("candles", 990),
];

const CUSTOMERS: [&str; 12] = [
    "Astrid Berg",
    "Tomás Ortega",
    "Mei Lin",
    "Jonas Weber",
    "Amina Diallo",
    "Priya Nair",
    "Liam Byrne",
    "Sofia Rossi",
    "Emil Lund",
    "Zoe Martin",
    "Noah Smit",
    "Hana Sato",
];

/// A day: its number, and how many orders come in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Day {
    pub(crate) number: u32,
    pub(crate) orders: u32,
}

impl Day {
    /// The latest day in the store, if there was one.
    pub(crate) async fn latest(store: &dyn Store) -> Result<Option<Self>, Error> {
        let filter = Filter { command: Some(CommandName::new(ProcessOrder::COMMAND)?), limit: 1, ..Filter::default() };
        let page = store.list(&filter).await?;
        Ok(page.tasks.first().and_then(order_of).map(|order| Self { number: order.day, orders: order.of }))
    }

    /// The tasks of the day, in the order in which they are enqueued.
    pub(crate) fn tasks(self) -> Result<Vec<NewTask>, InputError> {
        let command = CommandName::new(ProcessOrder::COMMAND)?;
        self.all()
            .zip(0_u32..)
            .map(|(order, nth)| {
                let due = if nth == 0 { Due::Now } else { Due::After(APART * nth) };
                Ok(NewTask { due, ..NewTask::new(command.clone(), Json::of(&ProcessOrder(order))?) })
            })
            .collect()
    }

    /// The orders of the day.
    pub(crate) fn all(self) -> impl Iterator<Item = Order> {
        (0..self.orders).map(move |nth| self.order(nth))
    }

    /// The order that comes in at this place. Among every eight there are some that do not go as they should.
    fn order(self, nth: u32) -> Order {
        let (day, of) = (self.number, self.orders);
        let seed = (day * 31 + nth * 7) as usize;
        let customer = CUSTOMERS[seed % CUSTOMERS.len()].to_owned();
        let first_name = customer.split(' ').next().unwrap_or_default().to_lowercase();
        let item = |nth: usize| {
            let (name, cents) = SHELVES[(seed + nth * 5) % SHELVES.len()];
            Item { name: name.to_owned(), cents, shelf: Shelf::Full }
        };
        let items = (0..2 + seed % 4).map(item).collect();
        let mail = format!("{first_name}@example.com");
        let mut order = Order { number: day * 1_000 + nth + 1, customer, mail, items, card: Card::Good, day, of };
        match nth % 8 {
            1 => order.card = Card::Flaky(1 + (nth / 8 % 2) as u16),
            2 => order.items[1].shelf = Shelf::Smudged(1),
            3 => order.items[0].shelf = Shelf::Empty,
            4 => order.mail = format!("{first_name}@gone.invalid"),
            5 => order.items.push(Item { name: "cider press".to_owned(), cents: 129_000, shelf: Shelf::Full }),
            6 if nth % 16 == 6 => order.mail = "by pigeon".to_owned(),
            6 => order.card = Card::Expired,
            7 => order.items.push(Item { name: "grand piano".to_owned(), cents: 990, shelf: Shelf::High }),
            _ => {}
        }
        order
    }

    /// The orders of this day as they are in the store, first things first.
    pub(crate) async fn stored(self, store: &dyn Store) -> Result<Vec<TaskView>, Error> {
        let command = Some(CommandName::new(ProcessOrder::COMMAND)?);
        let filter = Filter { command, limit: PAGE_MAX, ..Filter::default() };
        let mut found = store.list(&filter).await?.tasks;
        found.retain(|task| order_of(task).is_some_and(|order| order.day == self.number));
        found.reverse();
        Ok(found)
    }
}

/// The order that a task processes; `None` for all other tasks.
pub(crate) fn order_of(task: &TaskView) -> Option<Order> {
    let is_order = task.command.as_str() == ProcessOrder::COMMAND;
    is_order.then(|| task.payload.to::<ProcessOrder>().ok())?.map(|payload| payload.0)
}

/// How an order must end, whatever happens on the way.
pub(crate) fn must_end(order: &Order) -> State {
    let on = |shelf: Shelf| order.items.iter().any(|item| item.shelf == shelf);
    match () {
        () if !order.mail.contains('@') || on(Shelf::Empty) || order.card == Card::Expired => State::Failed,
        () if on(Shelf::High) => State::Cancelled,
        () => State::Completed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_day_has_as_many_orders_as_asked_for_no_two_alike_and_all_ways_to_end() {
        for orders in [8, 16, 500] {
            let day = Day { number: 3, orders };
            let tasks = day.tasks().unwrap();
            assert_eq!(tasks.len(), orders as usize);
            assert!(tasks.iter().all(|task| task.check().is_ok()));
            let numbers: std::collections::BTreeSet<u32> = day.all().map(|order| order.number).collect();
            assert_eq!(numbers.len(), orders as usize);
            let ends = |state| day.all().filter(|order| must_end(order) == state).count();
            assert_eq!(ends(State::Completed), orders as usize - ends(State::Failed) - ends(State::Cancelled));
            assert!(ends(State::Failed) >= 2 && ends(State::Cancelled) >= 1);
            assert!(day.all().any(|order| must_end(&order) == State::Completed && order.cents() > 100_000));
        }
    }
}
