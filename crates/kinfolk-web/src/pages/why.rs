//! Why a task is not running: each reason a sentence, with links to what holds it and buttons for what can be done.

use askama::Template;
use askama::filters::HtmlSafe;
use kinfolk_core::{GroupRef, Reason, Task, TaskId, Timestamp};

use super::ask::Ask;
use super::part::{Moment, Named, words};
use crate::link::Links;

/// One reason.
pub(crate) struct Why {
    pub(crate) sentence: Sentence,
    /// What more there is to say, in small print.
    pub(crate) more: String,
    pub(crate) asks: Vec<Ask>,
}

/// A sentence of texts, links and moments.
#[derive(Clone, Template)]
#[template(
    ext = "html",
    source = r#"{% for bit in bits %}{% match bit %}{% when Bit::Text(text) %}{{ text }}{% when Bit::Quoted(text) %}<bdi>{{ text }}</bdi>{% when Bit::Strong(text) %}<b><bdi>{{ text }}</bdi></b>{% when Bit::Link(text, href) %}<a class="link" href="{{ href }}"><bdi>{{ text }}</bdi></a>{% when Bit::Time(time) %}<b>{{ time }}</b>{% when Bit::Name(name) %}{{ name }}{% endmatch %}{% endfor %}"#
)]
pub(crate) struct Sentence {
    bits: Vec<Bit>,
}

#[derive(Clone)]
enum Bit {
    Text(String),
    Quoted(String),
    Strong(String),
    Link(String, String),
    Time(Moment),
    Name(Named),
}

impl HtmlSafe for Sentence {}

impl Sentence {
    pub(crate) fn new() -> Self {
        Self { bits: Vec::new() }
    }

    pub(crate) fn text(mut self, text: impl Into<String>) -> Self {
        self.bits.push(Bit::Text(text.into()));
        self
    }

    pub(crate) fn strong(mut self, text: &(impl ToString + ?Sized)) -> Self {
        self.bits.push(Bit::Strong(text.to_string()));
        self
    }

    /// What a user has said.
    pub(crate) fn quoted(mut self, text: &str) -> Self {
        self.bits.push(Bit::Quoted(text.to_owned()));
        self
    }

    pub(crate) fn link(mut self, text: &(impl ToString + ?Sized), href: String) -> Self {
        self.bits.push(Bit::Link(text.to_string(), href));
        self
    }

    fn time(mut self, moment: Moment) -> Self {
        self.bits.push(Bit::Time(moment));
        self
    }

    fn tasks(mut self, tasks: &[TaskId], path: &str, links: &Links) -> Self {
        const SHOWN: usize = 6;
        for (index, task) in tasks.iter().take(SHOWN).enumerate() {
            let joint = if index == 0 { "" } else { ", " };
            self = self.text(joint).link(&format!("#{task}"), links.to(&format!("/{path}/{task}")));
        }
        if tasks.len() > SHOWN { self.text(format!(" and {} more", tasks.len() - SHOWN)) } else { self }
    }
}

/// Where sentences point to, and where their buttons lead back.
#[derive(Clone, Copy)]
pub(crate) struct Around<'a> {
    pub(crate) links: &'a Links,
    pub(crate) now: Timestamp,
    pub(crate) here: &'a str,
    /// Whether there are buttons at all.
    pub(crate) may_act: bool,
}

/// The reasons as sentences.
pub(crate) fn told(task: &Task, reasons: &[Reason], around: Around<'_>) -> Vec<Why> {
    reasons.iter().map(|reason| one(task, reason, around)).collect()
}

fn one(task: &Task, reason: &Reason, around: Around<'_>) -> Why {
    let Around { links, now, here, may_act } = around;
    let say = Sentence::new();
    let (mut more, mut asks) = (String::new(), Vec::new());
    let sentence = match reason {
        Reason::Children { tally, open } => {
            more = format!("{} of {} have ended.", words::count(tally.ended()), words::count(tally.total));
            say.text("It waits for its children, open are ").tasks(open, "tasks", links).text(".")
        }
        Reason::Signal { names } => {
            let names: Vec<String> = names.iter().map(ToString::to_string).collect();
            for name in &names {
                let ask = Ask::new(links, "signal", format!("Send {}…", words::short(name, 24)), here);
                asks.push(ask.field("task", &task.id).field("name", name));
            }
            more = "Only a signal from outside resumes it.".to_owned();
            say.text("Its handler waits for the signal ").strong(&names.join(" or ")).text(".")
        }
        Reason::Asleep { until } => say
            .text("Its handler waits until ")
            .strong(&words::near(*until, now))
            .text(", ")
            .time(Moment::until(*until, now))
            .text("."),
        Reason::NotDue { until } => {
            asks.push(Ask::new(links, "run-now", "Run now…", here).field("task", &task.id));
            more = by_itself(task);
            say.text("It is not due until ")
                .strong(&words::near(*until, now))
                .text(", ")
                .time(Moment::until(*until, now))
                .text(".")
        }
        Reason::Families { roots } => {
            say.text("It starts after families that have not settled: ").tasks(roots, "families", links).text(".")
        }
        Reason::Sibling { task } => say.text("It runs in order, after ").tasks(&[*task], "tasks", links).text("."),
        Reason::Paused { queue, since, by } => {
            asks.push(Ask::new(links, "resume-queue", "Resume the queue…", here).field("queue", queue));
            let by = by.as_ref().map(|by| format!(" by {}", words::short(by, 40))).unwrap_or_default();
            let say = say.text("Queue ").link(queue, links.to(&format!("/queues/{}", words::encoded(queue.as_str()))));
            say.text(format!(" is paused{by}, for ")).time(Moment::lasting(*since, now)).text(".")
        }
        Reason::FamilyLimit { queue, limit, roots } => {
            let say = say.text("Queue ").link(queue, links.to(&format!("/queues/{}", words::encoded(queue.as_str()))));
            say.text(format!(" has {limit} of {limit} families at work: ")).tasks(roots, "families", links).text(".")
        }
        Reason::ChildLimit { queue, limit, holders } => {
            let say = say.text("Queue ").link(queue, links.to(&format!("/queues/{}", words::encoded(queue.as_str()))));
            say.text(format!(" runs as many children as its limit of {limit} allows: "))
                .tasks(holders, "tasks", links)
                .text(".")
        }
        Reason::KeyFull { group, key, limit, held, holders } => {
            let say = key_link(say, group, key, links);
            let say = say.text(format!(
                " has {} of {} slots taken, by ",
                words::count(*held),
                words::count(u64::from(*limit))
            ));
            say.tasks(holders, "tasks", links).text(".")
        }
        Reason::KeyKept { group, key, task } => {
            let say = key_link(say.text("The next slot of "), group, key, links);
            say.text(" is reserved for ").tasks(&[*task], "tasks", links).text(", which has waited long.")
        }
        Reason::KeyRate { group, key, until } => {
            let say = key_link(say, group, key, links);
            say.text(" starts nothing until ")
                .strong(&words::near(*until, now))
                .text(", ")
                .time(Moment::until(*until, now))
                .text(".")
        }
        Reason::Suspect => {
            more = "This keeps a task that takes workers down apart from others.".to_owned();
            say.text("Its last worker was lost: it waits for a worker that runs no other such task.")
        }
        Reason::NoWorker { queue, command } => {
            more = format!("Start the program that has a handler for it, on queue {queue}.");
            let mut say = say.text("No live worker handles ");
            say.bits.push(Bit::Name(Named::command(command)));
            say.text(" on queue ")
                .link(queue, links.to(&format!("/queues/{}", words::encoded(queue.as_str()))))
                .text(".")
        }
        Reason::InLine { before } => say
            .text("Nothing holds it: ")
            .strong(&words::many(*before, "open task is", "open tasks are"))
            .text(" before it."),
        other => say.text(format!("{other}.")),
    };
    if !may_act {
        asks.clear();
    }
    Why { sentence, more, asks }
}

/// What happens when a task is due.
fn by_itself(task: &Task) -> String {
    match &task.failure {
        Some(failure) if task.attempt > 0 => {
            let message = words::short(&failure.message, 120);
            format!("Attempt {} failed: {message}. The next one starts by itself.", task.attempt)
        }
        _ => "It starts by itself.".to_owned(),
    }
}

/// A key, with a link to its group. A total has no key: the command is named.
fn key_link(say: Sentence, group: &GroupRef, key: &str, links: &Links) -> Sentence {
    let href = links.to(&super::groups::key_path(group, key));
    match (&group.command, key) {
        (Some(command), "") => say.text("Command ").link(command, href),
        _ => say.text("The key ").link(&format!("{} {}", group.name, words::short(key, 60)), href),
    }
}
