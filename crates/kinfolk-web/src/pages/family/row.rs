//! A row of a family, as the timeline and the tree show it.

use std::time::Duration;

use kinfolk_core::{CommandName, FanOut, Gate, Rule, State, Tally, Task, Timestamp, Verdict};

use super::axis::Axis;
use super::course::{Course, Phase, began};
use super::timeline::Timeline;
use super::walk::{ByCommand, TreeRow, What};
use crate::graph::LOUDEST;
use crate::link::Links;
use crate::pages::address::Address;
use crate::pages::frame::ROWS_MAX;
use crate::pages::going::{Going, Names};
use crate::pages::part::{Badge, Bar, Moment, Named, words};

/// Deeper rows are drawn no further to the right.
const DEPTH_SHOWN: usize = 6;

/// The row.
pub(crate) struct Row {
    pub(crate) key: String,
    pub(crate) level: usize,
    pub(crate) depth: usize,
    pub(crate) fold: Option<Fold>,
    pub(crate) badge: Badge,
    pub(crate) href: String,
    /// The name of a fan-out, in a handler's own words.
    pub(crate) title: String,
    pub(crate) name: Option<Named>,
    pub(crate) what: String,
    pub(crate) tag: String,
    pub(crate) bar: Option<Bar>,
    pub(crate) needed: String,
    pub(crate) timeline: Option<Timeline>,
    pub(crate) took: Option<Moment>,
    pub(crate) took_words: String,
    pub(crate) attempt: String,
    pub(crate) going: Option<Going>,
    pub(crate) says: String,
    pub(crate) is_fan: bool,
}

/// The link that folds or unfolds a row.
pub(crate) struct Fold {
    pub(crate) href: String,
    pub(crate) open: bool,
}

/// What rows are drawn with.
pub(crate) struct Drawing<'a> {
    pub(crate) links: &'a Links,
    pub(crate) address: &'a Address,
    pub(crate) names: &'a Names,
    pub(crate) axis: Option<&'a Axis>,
    pub(crate) now: Timestamp,
}

impl Drawing<'_> {
    /// All rows.
    pub(crate) fn rows(&self, lines: &[TreeRow]) -> Vec<Row> {
        lines.iter().map(|line| self.row(line)).collect()
    }

    fn row(&self, line: &TreeRow) -> Row {
        let mut row = match &line.what {
            What::One { task, course, tally } | What::After { task, course, tally } => {
                let mut row = self.blank(format!("t{}", task.id), self.names.badge(task, self.now));
                row.href = self.links.to(&format!("/tasks/{}", task.id));
                row.name = Some(Named::task(task));
                let keys = if task.label().is_some() { Vec::new() } else { keys(task) };
                row.what = words::listed(&keys);
                row.attempt = format!("{} of {}", task.present_attempt(), task.max_attempts);
                let going = Going::of(task, self.names, self.now);
                row.going = Some(going);
                row.bar = (tally.total > 0).then(|| Bar::tally(tally));
                let began = began(task);
                row.took = match (task.state, task.finished_at) {
                    (_, Some(end)) => Some(Moment::took(began, end)),
                    (State::Pending, None) => None,
                    (_, None) => Some(Moment::lasting(began, self.now)),
                };
                let failure = task.failure.as_ref().filter(|_| task.state == State::Failed);
                let note = failure.map(|failure| words::shown(&failure.message));
                row.timeline = self.axis.map(|axis| Timeline::of(course, axis, note));
                if task.state == State::Pending {
                    row.took_words = self.pending_words(task);
                }
                if matches!(line.what, What::After { .. }) {
                    row.tag = "follow-up".to_owned();
                    row.href = self.links.to(&format!("/families/{}", task.id));
                }
                row
            }
            What::ByCommand(children) => self.by_command(children),
            What::Fan { id, name, fan_out, tally, command, courses, ended_by, failed_at, of } => {
                let key = id.map_or_else(|| format!("s{}", of.id), |id| format!("f{id}"));
                let mut row = self.blank(key, badge_of(fan_out.as_ref(), tally));
                let part = id.map_or_else(|| format!("parent={}", of.id), |id| format!("fan_out={id}"));
                row.href = self.links.to(&format!("/tasks?{part}"));
                row.is_fan = true;
                let (title, is_plain) = (words::short(name, 40), name.is_empty() || name == command);
                row.title = if is_plain { String::new() } else { title };
                row.name = CommandName::new(command).ok().map(|command| Named::command(&command));
                let several = if command.is_empty() { ", of several commands" } else { "" };
                row.what = format!("× {}{several}", words::count(tally.total));
                row.tag = fan_out.as_ref().map(|fan_out| rule_words(fan_out.rule)).unwrap_or_default();
                let bar = counted(tally, courses);
                row.bar = Some(match fan_out {
                    Some(fan_out) => bar.needs(fan_out),
                    None => bar,
                });
                row.needed = needed(fan_out.as_ref(), tally);
                row.says = says(fan_out.as_ref(), tally, self.now);
                row.took = fan_out.as_ref().map(|fan_out| self.lasted(fan_out));
                row.timeline = self.axis.map(|axis| {
                    fan_timeline(axis, row.badge.class, (courses, ended_by), tally).failed_below(failed_at, axis)
                });
                row
            }
            What::Quiet { key, courses, took } => {
                let mut row = self.blank(key.clone(), Badge::state(State::Completed));
                row.what = format!("{} more completed", words::count(courses.len() as u64));
                row.took_words = median(took).map(|took| format!("median {}", words::span(took))).unwrap_or_default();
                row.timeline = self.axis.map(|axis| match courses.len() {
                    0..=24 => Timeline::packed(courses, axis, 24.0, &row.what),
                    _ => Timeline::stair(courses, axis, "completed"),
                });
                row
            }
            What::MoreAfter { root } => {
                let mut row = self.blank("after".to_owned(), Badge::state(State::Pending));
                row.href = self.links.to(&format!("/tasks?follows={root}"));
                row.what = "more follow-ups".to_owned();
                row
            }
            What::Cut => {
                let mut row = self.blank("cut".to_owned(), Badge::state(State::Pending));
                row.what = format!("More than {ROWS_MAX} rows: fold some to see the rest");
                row
            }
            What::More { key, many, state, parent, fan_out } => {
                let mut row = self.blank(format!("m{key}"), Badge::state(state.unwrap_or(State::Pending)));
                let part = fan_out.map_or_else(|| format!("parent={}", parent.id), |id| format!("fan_out={id}"));
                let state_part = state.map(|state| format!("&state={state}")).unwrap_or_default();
                row.href = self.links.to(&format!("/tasks?{part}{state_part}"));
                let word = state.map(|state| state.to_string()).unwrap_or_default();
                row.what = format!("{} more {word}", words::count(*many));
                row.timeline = self.axis.map(|axis| Timeline::empty(axis, &row.what));
                row
            }
        };
        row.level = line.depth + 1;
        row.depth = line.depth.min(DEPTH_SHOWN);
        row.fold = line.fold.map(|open| self.fold(&row.key, open));
        row
    }

    /// The row of one command.
    fn by_command(&self, children: &ByCommand) -> Row {
        let many = |state: State| children.states.get(&state).copied().unwrap_or_default();
        let state = LOUDEST.into_iter().find(|state| many(*state) > 0).unwrap_or(State::Completed);
        let mut row = self.blank(format!("c{}-{}", children.parent, children.command), Badge::state(state));
        let total: u64 = children.states.values().sum();
        let command = words::encoded(children.command.as_str());
        row.href = self.links.to(&format!("/tasks?parent={}&command={command}", children.parent));
        row.name = Some(Named::command(&children.command));
        row.what = format!("× {}{}", words::count(total), if children.at_least { " or more" } else { "" });
        row.is_fan = true;
        let ended = many(State::Completed) + many(State::Failed) + many(State::Cancelled);
        row.needed = format!("{} of {}", words::count(ended), words::count(total));
        row.bar = Some(Bar::of(
            &[
                ("completed", "completed", many(State::Completed)),
                ("running", "running", many(State::Running)),
                ("waiting", "waiting", many(State::Waiting)),
                ("pending", "pending", many(State::Pending)),
                ("cancelled", "cancelled", many(State::Cancelled)),
                ("failed", "failed", many(State::Failed)),
            ],
            total,
        ));
        row.says = row.needed.clone();
        row.timeline = self.axis.map(|axis| Timeline::of(&children.course, axis, None));
        row
    }

    fn blank(&self, key: String, badge: Badge) -> Row {
        Row {
            key,
            level: 1,
            depth: 0,
            fold: None,
            badge,
            href: String::new(),
            title: String::new(),
            name: None,
            what: String::new(),
            tag: String::new(),
            bar: None,
            needed: String::new(),
            timeline: None,
            took: None,
            took_words: String::new(),
            attempt: String::new(),
            going: None,
            says: String::new(),
            is_fan: false,
        }
    }

    /// The address with this row folded or unfolded.
    fn fold(&self, key: &str, open: bool) -> Fold {
        let listed = |name: &str| -> Vec<String> {
            self.address
                .get(name)
                .unwrap_or_default()
                .split(',')
                .filter(|part| !part.is_empty())
                .map(str::to_owned)
                .collect()
        };
        let (mut opened, mut closed) = (listed("open"), listed("close"));
        if open && opened.iter().any(|part| part == key) {
            opened.retain(|part| part != key);
        } else if open {
            closed.push(key.to_owned());
        } else if closed.iter().any(|part| part == key) {
            closed.retain(|part| part != key);
        } else {
            opened.push(key.to_owned());
        }
        let text = |parts: &[String]| if parts.is_empty() { None } else { Some(parts.join(",")) };
        let with_open = Address::at(&self.address.with("open", text(&opened).as_deref()));
        Fold { href: with_open.with("close", text(&closed).as_deref()), open }
    }

    /// What a pending task waits for, in two words.
    fn pending_words(&self, task: &Task) -> String {
        if self.names.paused(task, self.now).is_some() {
            return "paused".to_owned();
        }
        match task.gate {
            Some(Gate::Time) if task.failure.is_some() => format!("{} of {}", task.attempt, task.max_attempts),
            Some(Gate::Time) => "not due".to_owned(),
            Some(Gate::Limit) => "held up".to_owned(),
            Some(Gate::After) => "after others".to_owned(),
            _ => "in line".to_owned(),
        }
    }

    fn lasted(&self, fan_out: &FanOut) -> Moment {
        match fan_out.settled_at {
            Some(settled) => Moment::took(fan_out.created_at, settled),
            None => Moment::lasting(fan_out.created_at, self.now),
        }
    }
}

fn fan_timeline(
    axis: &Axis,
    class: &'static str,
    (courses, ended): (&[Course], &[Timestamp]),
    tally: &Tally,
) -> Timeline {
    let class = if class == "waiting" { "running" } else { class };
    match courses.len() {
        0 if !ended.is_empty() => Timeline::pace(ended, tally.ended(), axis, class),
        0 => Timeline::empty(axis, &format!("{} tasks, too many to draw each", words::count(tally.total))),
        1..=12 if tally.open() == 0 => Timeline::packed(courses, axis, 36.0, "when each ran"),
        _ => Timeline::stair(courses, axis, class),
    }
}

/// The keys of a task, for people.
fn keys(task: &Task) -> Vec<String> {
    task.keys.0.values().map(|key| words::short(key, 40)).collect()
}

/// How a fan-out has ended. What was cancelled and did not fail is neither a success nor a failure.
pub(crate) fn badge_of(fan_out: Option<&FanOut>, tally: &Tally) -> Badge {
    let state = match fan_out.and_then(|fan_out| fan_out.verdict) {
        Some(Verdict::TimedOut) => return Badge::state(State::Failed).says("Timed out"),
        Some(Verdict::Failed) if tally.failed == 0 && tally.cancelled > 0 => State::Cancelled,
        Some(Verdict::Failed) => State::Failed,
        None if tally.open() > 0 => return Badge::state(State::Waiting).says("Open"),
        None if tally.failed > 0 => State::Failed,
        Some(Verdict::Completed) | None if tally.completed + tally.failed + tally.open() == 0 => State::Cancelled,
        Some(Verdict::Completed) | None => State::Completed,
    };
    Badge::state(state)
}

/// The bar of a fan-out; what runs is told apart where the tasks are at hand.
fn counted(tally: &Tally, courses: &[Course]) -> Bar {
    let going = |phase: Phase| {
        let is =
            |course: &&Course| course.stretches.last().is_some_and(|last| last.phase == phase && last.to.is_none());
        courses.iter().filter(is).count() as u64
    };
    let (running, waiting) = (going(Phase::Running), going(Phase::Waiting));
    let held = courses.iter().filter(|course| course.is_held()).count() as u64;
    let rest = tally.open().saturating_sub(running + waiting + held);
    let counts = [
        ("completed", "completed", tally.completed),
        ("running", "running", running),
        ("waiting", "waiting", waiting),
        ("held", "held up", held),
        ("pending", if courses.is_empty() { "open" } else { "pending" }, rest),
        ("cancelled", "cancelled", tally.cancelled),
        ("failed", "failed", tally.failed),
    ];
    Bar::of(&counts, tally.total)
}

/// `threshold 90 %`
pub(crate) fn rule_words(rule: Rule) -> String {
    match rule {
        Rule::FailFast => "fail fast".to_owned(),
        Rule::CollectAll => "collect all".to_owned(),
        Rule::Threshold(parts) => {
            let percent = format!("{:.4}", f64::from(parts) / 10_000.0);
            format!("threshold {} %", percent.trim_end_matches('0').trim_end_matches('.'))
        }
    }
}

/// `17 of 22 needed`
fn needed(fan_out: Option<&FanOut>, tally: &Tally) -> String {
    let Some(fan_out) = fan_out else {
        return format!("{} of {}", words::count(tally.ended()), words::count(tally.total));
    };
    match (fan_out.rule, fan_out.verdict) {
        (_, Some(verdict)) => {
            format!("{}, {} of {}", verdict_words(verdict), words::count(tally.completed), words::count(tally.total))
        }
        (Rule::CollectAll, None) => format!("{} of {}", words::count(tally.ended()), words::count(tally.total)),
        (rule, None) => {
            format!("{} of {} needed", words::count(tally.completed), words::count(rule.needed(tally.total)))
        }
    }
}

fn verdict_words(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Completed => "settled",
        Verdict::Failed => "failed",
        Verdict::TimedOut => "timed out",
    }
}

/// The same in a sentence.
fn says(fan_out: Option<&FanOut>, tally: &Tally, now: Timestamp) -> String {
    let mut text = match fan_out {
        Some(fan_out) => format!("{}: {}", rule_words(fan_out.rule), needed(Some(fan_out), tally)),
        None => needed(None, tally),
    };
    if let Some(FanOut { rule: rule @ Rule::Threshold(_), verdict: None, .. }) = fan_out {
        let bad = tally.failed + tally.cancelled;
        let spare = (tally.total - rule.needed(tally.total)).saturating_sub(bad);
        text.push_str(&format!("; can miss {} more", words::count(spare)));
    }
    if let Some(deadline) = fan_out.filter(|fan_out| fan_out.verdict.is_none()).and_then(|fan_out| fan_out.deadline) {
        text.push_str(&format!("; given up at {}", words::near(deadline, now)));
    }
    text
}

/// The middle of these spans, in microseconds.
pub(crate) fn median(took: &[u128]) -> Option<Duration> {
    let mut took = took.to_vec();
    took.sort_unstable();
    let middle = took.get(took.len() / 2)?;
    Some(Duration::from_micros(u64::try_from(*middle).unwrap_or(u64::MAX)))
}

#[cfg(test)]
mod tests {
    use kinfolk_core::{FanOutId, TaskId};

    use super::*;

    fn sign(verdict: Option<Verdict>, [completed, failed, cancelled]: [u64; 3]) -> (&'static str, &'static str) {
        let tally = Tally { total: 3, completed, failed, cancelled };
        let (id, task, created_at) = (FanOutId(7), TaskId(1), Timestamp::default());
        let (rule, decided_at, settled_at, deadline) = (Rule::FailFast, None, None, None);
        let fan_out = FanOut { id, task, rule, tally, verdict, decided_at, settled_at, deadline, created_at };
        let badge = badge_of(Some(&fan_out), &tally);
        (badge.shape, badge.word)
    }

    #[test]
    fn the_sign_of_a_fan_out_is_that_of_its_outcome() {
        assert_eq!(sign(Some(Verdict::Completed), [3, 0, 0]), ("s-completed", "Completed"));
        assert_eq!(sign(Some(Verdict::Completed), [2, 1, 0]), ("s-completed", "Completed"), "its rule allows that");
        assert_eq!(sign(Some(Verdict::Failed), [1, 1, 1]), ("s-failed", "Failed"));
        assert_eq!(sign(Some(Verdict::Failed), [1, 0, 2]), ("s-cancelled", "Cancelled"));
        assert_eq!(sign(Some(Verdict::Completed), [0, 0, 3]), ("s-cancelled", "Cancelled"), "collect all of nothing");
        assert_eq!(sign(Some(Verdict::TimedOut), [1, 0, 2]), ("s-failed", "Timed out"));
        assert_eq!(sign(None, [1, 0, 0]), ("s-waiting", "Open"));
        assert_eq!(sign(None, [0, 0, 3]), ("s-cancelled", "Cancelled"), "spawned children have no verdict");
        assert_eq!(sign(None, [2, 1, 0]), ("s-failed", "Failed"));
    }
}
