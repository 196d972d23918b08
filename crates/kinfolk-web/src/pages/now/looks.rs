//! What wants a look: what somebody can do something about, what fails first.

use std::collections::BTreeMap;

use kinfolk_core::cause::{Cause, Causes};
use kinfolk_core::held::HeldBy;
use kinfolk_core::inspect::{Finding, Health};
use kinfolk_core::{CommandName, KeyView, Timestamp};

use super::Site;
use crate::pages::address::Address;
use crate::pages::ask::Ask;
use crate::pages::part::{Moment, words};
use crate::pages::why::Sentence;
use crate::pages::{groups, workers};
use crate::visit::Visit;

/// A command that fails at least so often in an hour, and twice as often as in the hour before, is looked at.
const RISES_FROM: u64 = 3;
/// Of each sort so many; all of them are on their own page.
const EACH: usize = 3;

/// What the doctor finds and this page tells in words of its own.
const TOLD: [&str; 2] = ["workers", "handlers"];

/// Something that wants a look.
pub(crate) struct Look {
    pub(crate) id: String,
    pub(crate) class: &'static str,
    pub(crate) shape: &'static str,
    pub(crate) sentence: Sentence,
    /// `for 34 m`: the word before, and the moment.
    pub(crate) since: Option<(&'static str, Moment)>,
    pub(crate) see: Option<(String, &'static str)>,
    pub(crate) ask: Option<Ask>,
}

/// All of them.
pub(crate) fn all(visit: &Visit, address: &Address, site: &Site, now: Timestamp) -> Vec<Look> {
    let mut looks = site.two_hours.as_ref().map(|causes| failing(visit, causes, now)).unwrap_or_default();
    looks.extend(paused(visit, address, site, now));
    looks.extend(site.keys.iter().take(EACH).map(|key| full(visit, key, now)));
    looks.extend(without_worker(visit, site));
    looks.extend(lost(visit, &site.workers));
    looks.extend(site.findings.iter().filter(|finding| !TOLD.contains(&finding.subject.as_str())).map(found));
    looks
}

/// Commands that fail more often than in the hour before.
fn failing(visit: &Visit, causes: &Causes, now: Timestamp) -> Vec<Look> {
    let look = |rise: &Rise<'_>| {
        let path = format!("/failures?q={}", words::encoded(rise.command.as_str()));
        let before = if rise.before == 0 { "none".to_owned() } else { words::count(rise.before) };
        let say = Sentence::new().link(rise.command, visit.links.to(&path)).text(" fails more than usual: ");
        let say = say
            .strong(&words::count(rise.now))
            .text(format!(" in the last hour, {before} in the hour before. Most say “"));
        Look {
            id: format!("rise {}", rise.command),
            class: "failed",
            shape: "s-failed",
            sentence: say.quoted(&words::short(&rise.most.message, 80)).text("”."),
            since: Some(("last", Moment::ago(rise.most.last_at, now))),
            see: Some((visit.links.to(&path), "See the cause")),
            ask: None,
        }
    };
    rises(causes).iter().take(EACH).map(look).collect()
}

/// A command that fails more often than before.
struct Rise<'a> {
    command: &'a CommandName,
    now: u64,
    before: u64,
    most: &'a Cause,
}

/// What fails more often in the later half of a span than in the earlier one, the worst first.
fn rises(causes: &Causes) -> Vec<Rise<'_>> {
    let mut by: BTreeMap<&CommandName, Rise<'_>> = BTreeMap::new();
    for cause in &causes.causes {
        let (before, now) = cause.trend.split_at(cause.trend.len() / 2);
        let (before, now): (u64, u64) = (before.iter().sum(), now.iter().sum());
        // Causes come with the most failures first.
        let rise = by.entry(&cause.command).or_insert(Rise { command: &cause.command, now: 0, before: 0, most: cause });
        rise.now += now;
        rise.before += before;
    }
    let mut rises: Vec<_> =
        by.into_values().filter(|rise| rise.now >= RISES_FROM && rise.now >= 2 * rise.before).collect();
    rises.sort_by_key(|rise| std::cmp::Reverse(rise.now - rise.before));
    rises
}

fn paused(visit: &Visit, address: &Address, site: &Site, now: Timestamp) -> Vec<Look> {
    let look = |queue: &kinfolk_core::Queue| {
        let by = queue.paused_by.as_ref().map(|by| format!(" by {}", words::short(by, 40))).unwrap_or_default();
        let held = site.held.iter().filter(|held| held.queue == queue.name).map(|held| held.tasks).sum();
        let href = visit.links.to(&format!("/queues/{}", words::encoded(queue.name.as_str())));
        let say = Sentence::new().text("Queue ").link(&queue.name, href.clone()).text(format!(" is paused{by}. "));
        let ask = Ask::new(&visit.links, "resume-queue", "Resume…", &address.here).field("queue", &queue.name);
        Look {
            id: format!("paused {}", queue.name),
            class: "held",
            shape: "s-paused",
            sentence: many(say, held, " task waits.", " tasks wait."),
            since: queue.paused_at.map(|since| ("for", Moment::lasting(since, now))),
            see: Some((href, "See the queue")),
            ask: visit.may_act().then_some(ask),
        }
    };
    site.queues.iter().filter(|queue| queue.paused_at.is_some()).take(EACH).map(look).collect()
}

/// A key behind which tasks wait.
fn full(visit: &Visit, key: &KeyView, now: Timestamp) -> Look {
    let href = visit.links.to(&groups::key_path(&key.group, &key.key));
    let say = match (&key.group.command, key.key.as_str()) {
        (Some(command), "") => Sentence::new().text("Command ").link(command, href.clone()),
        _ => {
            Sentence::new().text(format!("The key {} ", key.group.name)).link(&words::short(&key.key, 60), href.clone())
        }
    };
    let until = key.until.filter(|until| *until > now);
    let say = match (until, key.limit) {
        (None, Some(0)) => say.text(" lets nothing start. "),
        (None, Some(1)) => say.text(" has its slot taken. "),
        (None, Some(limit)) if key.held >= u64::from(limit) => {
            say.text(format!(" has all {} slots taken. ", words::count(u64::from(limit))))
        }
        _ => say.text(" starts nothing for now. "),
    };
    Look {
        id: format!("key {} {}", key.group, key.key),
        class: "held",
        shape: if until.is_some() { "s-later" } else { "s-held" },
        sentence: many(say, key.waiters, " task waits behind it.", " tasks wait behind it."),
        since: until.map(|until| ("goes on", Moment::until(until, now))),
        see: Some((href, if until.is_some() { "See the key" } else { "See who holds it" })),
        ask: None,
    }
}

/// Commands that nobody handles while tasks of them wait.
fn without_worker(visit: &Visit, site: &Site) -> Vec<Look> {
    let waits = site.held.iter().filter_map(|held| match &held.by {
        HeldBy::NoWorker { command } => Some((command, held)),
        _ => None,
    });
    let look = |(command, held): (&CommandName, &kinfolk_core::held::Held)| {
        let href = visit.links.to(&format!("/tasks?state=pending&command={}", words::encoded(command.as_str())));
        let say = Sentence::new().text("No worker handles ").link(command, href);
        let say = say.text(" on queue ").strong(&held.queue).text(". ");
        Look {
            id: format!("alone {} {command}", held.queue),
            class: "held",
            shape: "s-lost",
            sentence: many(say, held.tasks, " task waits for one.", " tasks wait for one."),
            since: None,
            see: Some((visit.links.to("/workers"), "See workers")),
            ask: None,
        }
    };
    waits.take(EACH).map(look).collect()
}

/// Workers whose lease has ended while they had tasks.
fn lost(visit: &Visit, workers: &[workers::Row]) -> Vec<Look> {
    let look = |worker: &workers::Row| Look {
        id: format!("lost {}", worker.id),
        class: "held",
        shape: "s-lost",
        sentence: many(
            Sentence::new().text("Worker ").strong(&worker.name).text(" is lost. "),
            worker.runs,
            " task of it goes to others.",
            " tasks of it go to others.",
        ),
        since: Some(("since", worker.lease.clone())),
        see: Some((visit.links.to("/workers"), "See workers")),
        ask: None,
    };
    workers.iter().filter(|worker| !worker.alive).take(EACH).map(look).collect()
}

/// What the doctor found, and what it says is to be done.
fn found(finding: &Finding) -> Look {
    let is_bad = finding.health == Health::Bad;
    let say = Sentence::new().strong(&finding.subject).text(": ").quoted(&words::short(&finding.found, 200));
    Look {
        id: format!("doctor {}", finding.subject),
        class: if is_bad { "failed" } else { "held" },
        shape: "s-alert",
        sentence: say.text(". ").quoted(&words::short(&finding.remedy, 300)).text("."),
        since: None,
        see: None,
        ask: None,
    }
}

fn many(say: Sentence, number: u64, one: &'static str, more: &'static str) -> Sentence {
    say.strong(&words::count(number)).text(if number == 1 { one } else { more })
}

#[cfg(test)]
mod tests {
    use kinfolk_core::cause::FailedTask;
    use kinfolk_core::{FailureKind, TaskId};

    use super::*;

    #[test]
    fn only_what_fails_more_than_before_wants_a_look() {
        let at = Timestamp::from_micros;
        let failed = |command: &str, id: i64| FailedTask {
            id: TaskId(id),
            command: CommandName::new(command).unwrap(),
            finished_at: at(id),
            kind: FailureKind::Error,
            message: "no".to_owned(),
        };
        // Of a span of 200: `a` failed once early and three times late, `b` three times in each half.
        let all = [10, 110, 120, 130].map(|id| failed("a", id));
        let all = all.into_iter().chain([11, 12, 13, 111, 112, 113].map(|id| failed("b", id)));
        let causes = Causes::of(all, at(0), at(200), false);
        let found = rises(&causes);
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].command.as_str(), found[0].now, found[0].before), ("a", 3, 1));
    }
}
