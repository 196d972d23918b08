//! A family, from its root down: at most so many rows, whatever its size. What went well is folded into one row.

use std::collections::HashSet;
use std::pin::Pin;

use kinfolk_core::durable::StepKind;
use kinfolk_core::inspect::{Filter, Order};
use kinfolk_core::limits::PAGE_MAX;
use kinfolk_core::{FanOut, FanOutId, History, State, Tally, Task, Timestamp};

use super::course::Course;
use crate::pages::frame::ROWS_MAX;
use crate::problem::Problem;
use crate::view::View;

/// Children of one group that are looked at one by one; of a larger one only some are.
const EACH_MAX: u64 = 200;
/// Completed children stay rows of their own up to this many.
const QUIET_MAX: usize = 3;
/// Spawned children stay rows of their own up to this many.
const SHOWN: usize = 20;
/// Of a group that is too large, so many of each state are shown.
const SOME: usize = 10;

/// A row, before it is drawn.
pub(crate) struct Line {
    pub(crate) depth: usize,
    pub(crate) what: What,
    /// Whether it is unfolded; `None` if there is nothing to fold.
    pub(crate) fold: Option<bool>,
}

/// What a row is about.
pub(crate) enum What {
    /// A task.
    One { task: Box<Task>, course: Course, tally: Tally },
    /// A fan-out, or children that were spawned together.
    Fan {
        id: Option<FanOutId>,
        name: String,
        fan_out: Option<FanOut>,
        tally: Tally,
        command: String,
        courses: Vec<Course>,
        of: Box<Task>,
    },
    /// Completed tasks in one row.
    Quiet { key: String, courses: Vec<Course>, took: Vec<u128> },
    /// More tasks than are shown.
    More { key: String, many: u64, state: Option<State>, parent: Box<Task>, fan_out: Option<FanOutId> },
}

/// One walk.
pub(crate) struct Walk<'a> {
    view: View<'a>,
    now: Timestamp,
    /// Generations that exist below the root.
    deepest: usize,
    /// What was unfolded, and what was folded, by hand.
    open: HashSet<String>,
    closed: HashSet<String>,
    /// Whether what went well is one row.
    quiet: bool,
    pub(crate) lines: Vec<Line>,
    /// The history of the root, for its graph.
    pub(crate) history: History,
}

type Walking<'a> = Pin<Box<dyn Future<Output = Result<(), Problem>> + Send + 'a>>;

/// Children that stand together.
struct Group {
    from: u64,
    tally: Tally,
    fan_out: Option<FanOut>,
    name: String,
}

impl<'a> Walk<'a> {
    /// A walk over a family with so many generations.
    pub(crate) fn new(view: View<'a>, now: Timestamp, deepest: usize) -> Self {
        let (open, closed) = (HashSet::new(), HashSet::new());
        Self { view, now, deepest, open, closed, quiet: true, lines: Vec::new(), history: History::default() }
    }

    /// With these rows unfolded and folded by hand, and what went well in one row or not.
    #[must_use]
    pub(crate) fn folding(mut self, open: Option<&str>, closed: Option<&str>, quiet: bool) -> Self {
        let keys = |text: Option<&str>| text.unwrap_or_default().split(',').map(str::to_owned).collect();
        (self.open, self.closed, self.quiet) = (keys(open), keys(closed), quiet);
        self
    }

    fn is_open(&self, key: &str, by_itself: bool) -> bool {
        if by_itself { !self.closed.contains(key) } else { self.open.contains(key) }
    }

    fn is_full(&self) -> bool {
        self.lines.len() >= ROWS_MAX
    }

    /// A task and all below it.
    pub(crate) fn task(&mut self, task: Task, depth: usize) -> Walking<'_> {
        Box::pin(async move {
            let course = self.courses(std::slice::from_ref(&task)).await?.pop().unwrap_or_default();
            self.with_course(task, course, depth).await
        })
    }

    /// The same, for a task whose course is at hand.
    fn with_course(&mut self, task: Task, course: Course, depth: usize) -> Walking<'_> {
        Box::pin(async move {
            if self.is_full() {
                return Ok(());
            }
            // A task that has not settled yet has made nothing, unless it was suspended.
            let is_early = matches!(task.state, State::Pending | State::Running) && task.steps == 0;
            let tally = match is_early || usize::from(task.depth) >= self.deepest {
                true => Tally::default(),
                false => self.view.tally(task.id).await?,
            };
            let is_open = self.is_open(&format!("t{}", task.id), depth == 0 || task.state != State::Completed);
            let fold = (tally.total > 0).then_some(is_open);
            let history = match task.steps > 0 && (depth == 0 || (is_open && tally.total > 0)) {
                true => self.view.history(task.id).await?,
                false => History::default(),
            };
            let what = What::One { task: Box::new(task.clone()), course, tally };
            self.lines.push(Line { depth, what, fold });
            if is_open {
                for group in groups(&tally, &history) {
                    self.group(&task, group, depth + 1).await?;
                }
            }
            if depth == 0 {
                self.history = history;
            }
            Ok(())
        })
    }

    /// The courses of tasks, in their order.
    async fn courses(&self, tasks: &[Task]) -> Result<Vec<Course>, Problem> {
        let mut courses = Vec::with_capacity(tasks.len());
        for task in tasks {
            // A task that was done at its first attempt has no others.
            let plain = task.attempt <= 1 && matches!(task.state, State::Completed | State::Running) && !task.suspect;
            let skip = plain || task.started_at.is_none();
            let attempts = if skip { Vec::new() } else { self.view.attempts(task.id).await? };
            courses.push(Course::of(task, &attempts, self.now));
        }
        Ok(courses)
    }

    /// Children that stand together, below a row of their own unless there is only one.
    async fn group(&mut self, parent: &Task, group: Group, depth: usize) -> Result<(), Problem> {
        if self.is_full() {
            return Ok(());
        }
        if group.tally.total <= EACH_MAX {
            return self.small(parent, group, depth).await;
        }
        let key = group.key(parent);
        let is_open = self.is_open(&key, true);
        let first = self.view.children(parent.id, group.from, 1).await?;
        let command = first.first().map(|child| child.command.to_string()).unwrap_or_default();
        self.fan(parent, &group, command, Vec::new(), depth, Some(is_open));
        if is_open {
            self.large(parent, &group, depth + 1).await?;
        }
        Ok(())
    }

    async fn small(&mut self, parent: &Task, group: Group, depth: usize) -> Result<(), Problem> {
        let many = usize::try_from(group.tally.total).unwrap_or(PAGE_MAX).min(PAGE_MAX);
        let children = self.view.children(parent.id, group.from, many).await?;
        let courses = self.courses(&children).await?;
        if group.fan_out.is_none() && group.tally.total <= SHOWN as u64 || children.len() == 1 {
            return self.each(children.into_iter().zip(courses).collect(), depth).await;
        }
        let well = children.iter().all(|child| child.state == State::Completed);
        let is_open = self.is_open(&group.key(parent), !well || !self.quiet);
        let command = children.first().map(|child| child.command.to_string()).unwrap_or_default();
        self.fan(parent, &group, command, courses.clone(), depth, Some(is_open));
        if !is_open {
            return Ok(());
        }
        let quiet_key = format!("q{}", group.key(parent));
        let quiet = children.iter().filter(|child| child.state == State::Completed).count();
        let folded = self.quiet && quiet > QUIET_MAX && !self.open.contains(&quiet_key);
        let is_quiet = |child: &Task| folded && child.state == State::Completed;
        let (quiet, loud): (Vec<_>, Vec<_>) = children.into_iter().zip(courses).partition(|(child, _)| is_quiet(child));
        self.each(loud, depth + 1).await?;
        if folded {
            let took = quiet.iter().filter_map(|(child, _)| took(child)).collect();
            let courses = quiet.into_iter().map(|(_, course)| course).collect();
            let what = What::Quiet { key: quiet_key, courses, took };
            self.lines.push(Line { depth: depth + 1, what, fold: Some(false) });
        }
        Ok(())
    }

    /// These tasks and all below them.
    async fn each(&mut self, tasks: Vec<(Task, Course)>, depth: usize) -> Result<(), Problem> {
        for (task, course) in tasks {
            self.with_course(task, course, depth).await?;
        }
        Ok(())
    }

    /// Of a group with very many children: the first that failed, run, wait or are pending, and how many more there are of each.
    async fn large(&mut self, parent: &Task, group: &Group, depth: usize) -> Result<(), Problem> {
        let tally = &group.tally;
        let fan_out = group.fan_out.as_ref().map(|fan_out| fan_out.id);
        let ended =
            [(State::Failed, tally.failed), (State::Cancelled, tally.cancelled), (State::Completed, tally.completed)];
        for state in [State::Failed, State::Running, State::Waiting, State::Pending, State::Cancelled, State::Completed]
        {
            let known = ended.iter().find(|(ended, _)| *ended == state).map(|(_, many)| *many);
            let filter = Filter {
                state: vec![state],
                fan_out,
                parent: fan_out.is_none().then_some(parent.id),
                order: Order::Oldest,
                limit: SOME,
                ..Filter::default()
            };
            let is_shown = !matches!(state, State::Completed | State::Cancelled) && known != Some(0);
            let shown = if is_shown { self.view.list(&filter).await?.tasks } else { Vec::new() };
            let many = match known {
                Some(many) => many,
                None if shown.len() < SOME => shown.len() as u64,
                None => self.view.count(&filter).await?.tasks,
            };
            let left = many.saturating_sub(shown.len() as u64);
            let courses = self.courses(&shown).await?;
            self.each(shown.into_iter().zip(courses).collect(), depth).await?;
            if left > 0 {
                let key = format!("{}{state}", group.key(parent));
                let what =
                    What::More { key, many: left, state: Some(state), parent: Box::new(parent.clone()), fan_out };
                self.lines.push(Line { depth, what, fold: None });
            }
        }
        Ok(())
    }

    fn fan(
        &mut self,
        parent: &Task,
        group: &Group,
        command: String,
        courses: Vec<Course>,
        depth: usize,
        fold: Option<bool>,
    ) {
        let what = What::Fan {
            id: group.fan_out.as_ref().map(|fan_out| fan_out.id),
            name: group.name.clone(),
            fan_out: group.fan_out.clone(),
            tally: group.tally,
            command,
            courses,
            of: Box::new(parent.clone()),
        };
        self.lines.push(Line { depth, what, fold });
    }
}

impl Group {
    fn key(&self, parent: &Task) -> String {
        match &self.fan_out {
            Some(fan_out) => format!("f{}", fan_out.id),
            None => format!("s{}", parent.id),
        }
    }
}

fn took(task: &Task) -> Option<u128> {
    Some(task.finished_at?.since(task.started_at?).as_micros())
}

/// The children in the order in which the store lists them: spawned ones, then fan-out by fan-out.
fn groups(tally: &Tally, history: &History) -> Vec<Group> {
    let mut spawned = *tally;
    for FanOut { tally, .. } in &history.fan_outs {
        spawned.total = spawned.total.saturating_sub(tally.total);
        spawned.completed = spawned.completed.saturating_sub(tally.completed);
        spawned.failed = spawned.failed.saturating_sub(tally.failed);
        spawned.cancelled = spawned.cancelled.saturating_sub(tally.cancelled);
    }
    let mut groups = Vec::new();
    let mut from = spawned.total;
    if spawned.total > 0 {
        groups.push(Group { from: 0, tally: spawned, fan_out: None, name: "spawned".to_owned() });
    }
    for fan_out in &history.fan_outs {
        let name = name_of(fan_out.id, history);
        groups.push(Group { from, tally: fan_out.tally, fan_out: Some(fan_out.clone()), name });
        from += fan_out.tally.total;
    }
    groups
}

/// What a handler calls a fan-out.
pub(crate) fn name_of(fan_out: FanOutId, history: &History) -> String {
    let number = fan_out.to_string();
    let made = history.checkpoints.iter().find(|step| step.kind == StepKind::FanOut && step.value.as_str() == number);
    made.map(|step| step.key.to_string()).unwrap_or_default()
}
