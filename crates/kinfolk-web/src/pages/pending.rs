//! Pending, and why: how many tasks each thing holds up, one reason a task, the most first.

use std::collections::BTreeMap;

use kinfolk_core::held::{Held, HeldBy};
use kinfolk_core::{GroupRef, KeyView, Queue, Timestamp};

use super::groups;
use super::part::{Moment, words};
use super::why::Sentence;
use crate::link::Links;

/// Rows on the page.
const SHOWN: usize = 10;

/// One thing that holds tasks up, and how many.
pub(crate) struct Row {
    pub(crate) id: String,
    pub(crate) class: &'static str,
    pub(crate) shape: &'static str,
    pub(crate) sentence: Sentence,
    pub(crate) count: String,
    /// How much of the longest bar it has, in percent.
    pub(crate) share: u64,
    pub(crate) href: String,
    pub(crate) since: Option<Moment>,
}

/// What the rows are made of.
#[derive(Clone, Copy)]
pub(crate) struct Facts<'a> {
    pub(crate) held: &'a [Held],
    pub(crate) queues: &'a [Queue],
    /// The keys that hold tasks up.
    pub(crate) keys: &'a [KeyView],
    /// Since when the first one stands in line.
    pub(crate) first: Option<Timestamp>,
}

/// How many pending tasks are in line, not due, and held up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sums {
    pub(crate) in_line: u64,
    pub(crate) not_due: u64,
    pub(crate) held_up: u64,
}

impl Sums {
    /// Of these counts.
    pub(crate) fn of<'a>(held: impl IntoIterator<Item = &'a Held>) -> Self {
        let mut sums = Self::default();
        for held in held {
            let sum = match held.by {
                HeldBy::InLine | HeldBy::Turn => &mut sums.in_line,
                HeldBy::NotDue => &mut sums.not_due,
                _ => &mut sums.held_up,
            };
            *sum += held.tasks;
        }
        sums
    }

    /// `32 in line, 312 not due, 1,543 held up`, without what there is none of.
    pub(crate) fn words(self) -> String {
        let all = [(self.in_line, "in line"), (self.not_due, "not due"), (self.held_up, "held up")];
        let some: Vec<String> = all
            .iter()
            .filter(|(tasks, _)| *tasks > 0)
            .map(|(tasks, word)| format!("{} {word}", words::count(*tasks)))
            .collect();
        if some.is_empty() { "none waits to start".to_owned() } else { some.join(", ") }
    }
}

/// The rows, and how many more there are.
pub(crate) fn rows(facts: Facts<'_>, links: &Links, now: Timestamp) -> (Vec<Row>, usize) {
    let mut sums: BTreeMap<(HeldBy, Option<&str>), (u64, bool)> = BTreeMap::new();
    for held in facts.held {
        // What a queue does is told of that queue; all else is the same wherever it happens.
        let of_queue = matches!(held.by, HeldBy::Paused | HeldBy::FamilyLimit | HeldBy::Turn);
        let sum = sums.entry((held.by.clone(), of_queue.then_some(held.queue.as_str()))).or_default();
        *sum = (sum.0 + held.tasks, sum.1 || held.more);
    }
    let mut all: Vec<_> = sums.into_iter().collect();
    all.sort_by_key(|(_, (tasks, _))| std::cmp::Reverse(*tasks));
    let most = all.first().map_or(1, |(_, (tasks, _))| *tasks).max(1);
    let more = all.len().saturating_sub(SHOWN);
    let row = |((by, queue), (tasks, cut)): ((HeldBy, Option<&str>), (u64, bool))| {
        let count = if cut { format!("{}+", words::count(tasks)) } else { words::count(tasks) };
        let told = Told::of(&by, queue, facts, links, now);
        Row {
            id: format!("{} {} {}", by.word(), queue.unwrap_or_default(), told.id),
            class: told.class,
            shape: told.shape,
            sentence: told.sentence,
            count,
            share: (tasks * 100).div_ceil(most),
            href: told.href,
            since: told.since,
        }
    };
    (all.into_iter().take(SHOWN).map(row).collect(), more)
}

/// A reason in words.
struct Told {
    id: String,
    class: &'static str,
    shape: &'static str,
    sentence: Sentence,
    href: String,
    since: Option<Moment>,
}

impl Told {
    fn of(by: &HeldBy, queue: Option<&str>, facts: Facts<'_>, links: &Links, now: Timestamp) -> Self {
        let say = Sentence::new();
        let name = queue.unwrap_or_default();
        let queue = facts.queues.iter().find(|queue| queue.name.as_str() == name);
        let on_queue = links.to(&format!("/tasks?state=pending&queue={}", words::encoded(name)));
        let pending = links.to("/tasks?state=pending");
        let (class, shape, sentence, href, since) = match by {
            HeldBy::Paused => {
                let by = queue.and_then(|queue| queue.paused_by.as_ref());
                let by = by.map(|by| format!(" by {}", words::short(by, 40))).unwrap_or_default();
                let since = queue.and_then(|queue| queue.paused_at).map(|since| Moment::lasting(since, now));
                ("held", "s-paused", say.text("Queue ").strong(name).text(format!(" is paused{by}")), on_queue, since)
            }
            HeldBy::NotDue => ("pending", "s-later", say.text("Not due yet"), pending, None),
            HeldBy::After => ("pending", "s-after", say.text("After other tasks that go on"), pending, None),
            HeldBy::FamilyLimit => {
                let say = say.text("Queue ").strong(name).text(families(queue));
                ("held", "s-held", say, on_queue, None)
            }
            HeldBy::KeyFull { group, key } | HeldBy::KeyRate { group, key } => {
                return Self::key(group, key, facts, links, now);
            }
            HeldBy::Turn => ("pending", "s-pending", say.text("In turn on queue ").strong(name), on_queue, None),
            HeldBy::NoWorker { command } => {
                let href = links.to(&format!("/tasks?state=pending&command={}", words::encoded(command.as_str())));
                ("held", "s-lost", say.text("No worker handles ").strong(command), href, None)
            }
            HeldBy::InLine => {
                let first = facts.first.map(|since| Moment::lasting(since.min(now), now));
                ("pending", "s-pending", say.text("In line, nothing holds them"), pending, first)
            }
            other => ("held", "s-held", say.text(other.word().replace('_', " ")), pending, None),
        };
        let id = match by {
            HeldBy::NoWorker { command } => command.to_string(),
            _ => String::new(),
        };
        Self { id, class, shape, sentence, href, since }
    }

    fn key(group: &GroupRef, key: &str, facts: Facts<'_>, links: &Links, now: Timestamp) -> Self {
        let view = facts.keys.iter().find(|view| view.group == *group && view.key == *key);
        let until = view.and_then(|view| view.until).filter(|until| *until > now);
        let say = match (&group.command, key) {
            (Some(command), "") => Sentence::new().text("Command ").strong(command),
            _ => Sentence::new().text(format!("Key {} ", group.name)).strong(&words::short(key, 60)),
        };
        let (shape, sentence) = match until {
            Some(_) => ("s-later", say.text(" starts nothing for now")),
            None => ("s-held", say.text(format!(" is full{}", slots(view)))),
        };
        Self {
            id: format!("{group} {key}"),
            class: "held",
            shape,
            sentence,
            href: links.to(&groups::key_path(group, key)),
            since: until.map(|until| Moment::until(until, now)),
        }
    }
}

fn families(queue: Option<&Queue>) -> String {
    match queue.and_then(|queue| queue.policy.family_limit) {
        Some(limit) => format!(" has its {} at work", words::many(u64::from(limit), "family", "families")),
        None => " has all its families at work".to_owned(),
    }
}

/// `, 20 of 20`
fn slots(view: Option<&KeyView>) -> String {
    let limited = view.and_then(|view| view.limit.map(|limit| (view.held, limit)));
    limited
        .map(|(held, limit)| format!(", {} of {}", words::count(held), words::count(u64::from(limit))))
        .unwrap_or_default()
}
