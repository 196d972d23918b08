//! One night's work: a list of tasks that depends only on the night's number and size.
//!
//! A night is enqueued in one transaction, so it is there whole or not at all. Its first task says how large it is; so a
//! demo that was killed finds out what it had begun, goes on with it, and can tell at the end that nothing is missing.

use std::collections::BTreeSet;
use std::time::Duration;

use kinfolk::core::inspect::Filter;
use kinfolk::core::limits::PAGE_MAX;
use kinfolk::{CommandName, Due, Error, InputError, Json, NewTask, Store, Task, TaskView, Unique, UniqueScope};
use serde::Deserialize;

use super::shop::{Card, ChargeCard, ConfirmOrder, MakeThumbnail, NightlyReport, OpenShop, SendMail};

/// Over how long a night's orders come in.
const EVENING: Duration = Duration::from_millis(4_500);

/// A night: its number, and how many tasks it has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Night {
    pub(crate) number: u32,
    pub(crate) tasks: u32,
}

/// The part of a payload that tells which night it belongs to.
#[derive(Deserialize)]
struct OfNight {
    night: Option<u32>,
}

impl Night {
    /// The latest night in the store, if there was one.
    pub(crate) async fn latest(store: &dyn Store) -> Result<Option<Self>, Error> {
        let filter = Filter { command: Some(CommandName::new(OpenShop::COMMAND)?), limit: 1, ..Filter::default() };
        let page = store.list(&filter).await?;
        let opening = page.tasks.first().map(|task| task.payload.to::<OpenShop>()).transpose()?;
        Ok(opening.map(|opening| Self { number: opening.night, tasks: opening.tasks }))
    }

    /// Every task of the night, in the order in which they are enqueued.
    pub(crate) fn tasks(self) -> Result<Vec<NewTask>, InputError> {
        let Self { number: night, tasks } = self;
        let mut list = vec![
            new(&OpenShop { night, tasks }, Duration::ZERO)?,
            new(&ChargeCard { night, order: 0, cents: 19_900, card: Card::Expired }, Duration::from_millis(300))?,
            new(&SendMail { night, order: 0, to: "nobody at home".into() }, Duration::from_millis(600))?,
            self.to_cancel()?,
            self.to_stop()?,
            new(&NightlyReport { night: Some(night) }, EVENING + Duration::from_millis(300))?,
        ];
        let extras = u32::try_from(list.len()).unwrap_or(u32::MAX);
        for place in 0..tasks.saturating_sub(extras) {
            list.push(self.ordinary(place, tasks - extras)?);
        }
        Ok(list)
    }

    /// What an order brings with it: a charge, a confirmation, a mail and two pictures.
    fn ordinary(self, place: u32, of: u32) -> Result<NewTask, InputError> {
        const PER_ORDER: u32 = 5;
        let night = self.number;
        let order = 1 + place / PER_ORDER;
        let comes_in = EVENING * (place / PER_ORDER * PER_ORDER) / of.max(1);
        let then = |millis| comes_in + Duration::from_millis(millis);
        match place % PER_ORDER {
            0 => {
                let cents = 990 + 100 * u64::from(order * 37 % 90);
                let card = match order % 6 {
                    2 => Card::Flaky(1),
                    4 => Card::Flaky(2),
                    5 => Card::Busy,
                    _ => Card::Good,
                };
                new(&ChargeCard { night, order, cents, card }, then(0))
            }
            1 => new(&ConfirmOrder { night, order }, then(250)),
            2 => new(&SendMail { night, order, to: format!("customer{order}@example.com") }, then(450)),
            side => {
                let picture = format!("{order}-{}.jpg", if side == 3 { "front" } else { "back" });
                new(&MakeThumbnail { night, picture, millis: 60 + u64::from(order * 53 % 120) }, then(100))
            }
        }
    }

    /// An order the customer will think better of, before it is due.
    fn to_cancel(self) -> Result<NewTask, InputError> {
        let order = ConfirmOrder { night: self.number, order: 0 };
        Ok(keyed(new(&order, Duration::from_secs(3_600))?, self.to_cancel_key()))
    }

    /// A picture far too large, which someone will stop while it is being worked on.
    fn to_stop(self) -> Result<NewTask, InputError> {
        let poster = MakeThumbnail { night: self.number, picture: "poster-60000x40000.tiff".into(), millis: 600_000 };
        Ok(keyed(new(&poster, Duration::from_millis(800))?, self.to_stop_key()))
    }

    /// The unique key of [`Night::to_cancel`].
    pub(crate) fn to_cancel_key(self) -> String {
        format!("night-{}/changed-mind", self.number)
    }

    /// The unique key of [`Night::to_stop`].
    pub(crate) fn to_stop_key(self) -> String {
        format!("night-{}/poster", self.number)
    }

    /// The tasks of this night as they are in the store.
    pub(crate) async fn stored(self, store: &dyn Store) -> Result<Vec<TaskView>, Error> {
        let mut filter = Filter { limit: PAGE_MAX, ..Filter::default() };
        let mut found = Vec::new();
        loop {
            let page = store.list(&filter).await?;
            found.extend(page.tasks.into_iter().filter(|task| self.owns(task)));
            filter.before = page.next;
            if page.next.is_none() {
                return Ok(found);
            }
        }
    }

    fn owns(self, task: &TaskView) -> bool {
        task.command.as_str().starts_with("shop.")
            && task.payload.to::<OfNight>().is_ok_and(|payload| payload.night == Some(self.number))
    }

    /// What is missing from the store, or there twice: nothing, when the set enqueued is the set found.
    pub(crate) fn difference(self, found: &[TaskView]) -> Result<Vec<String>, InputError> {
        let name = |command: &CommandName, payload: &Json| format!("{command} {}", payload.canonical());
        let mut expected: BTreeSet<String> =
            self.tasks()?.iter().map(|task| name(&task.command, &task.payload)).collect();
        let mut wrong = Vec::new();
        for task in found {
            let name = name(&task.command, &task.payload);
            if !expected.remove(&name) {
                wrong.push(format!("not expected, or twice: task {} {name}", task.id));
            }
        }
        wrong.extend(expected.into_iter().map(|name| format!("missing: {name}")));
        Ok(wrong)
    }
}

fn new<T: Task>(task: &T, after: Duration) -> Result<NewTask, InputError> {
    let due = if after.is_zero() { Due::Now } else { Due::After(after) };
    Ok(NewTask { due, ..NewTask::new(CommandName::new(T::COMMAND)?, Json::of(task)?) })
}

fn keyed(task: NewTask, key: String) -> NewTask {
    NewTask { unique: Some(Unique::key(key).scope(UniqueScope::Active)), ..task }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_night_has_as_many_tasks_as_asked_for_and_no_two_are_alike() {
        for tasks in [20, 120, 1_000] {
            let list = Night { number: 3, tasks }.tasks().unwrap();
            let names: BTreeSet<String> =
                list.iter().map(|task| format!("{} {}", task.command, task.payload)).collect();
            assert_eq!(list.len(), tasks as usize);
            assert_eq!(names.len(), tasks as usize);
            assert!(list.iter().all(|task| task.check().is_ok()));
        }
    }
}
