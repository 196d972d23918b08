//! A family, from its root down: at most so many rows, whatever its size. What went well is folded into one row.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::pin::Pin;

use kinfolk_core::durable::{Siblings, StepKind};
use kinfolk_core::inspect::{Filter, Order};
use kinfolk_core::limits::PAGE_MAX;
use kinfolk_core::task::Run;
use kinfolk_core::{CommandName, FanOut, FanOutId, History, State, Tally, Task, TaskId, Timestamp};

use super::course::{Course, Phase};
use crate::graph::{Counted, LOUDEST, counted, made_by};
use crate::pages::frame::ROWS_MAX;
use crate::pages::going::Names;
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
/// Failed children of a large fan-out that are drawn below its line.
const FAILED_MAX: u64 = PAGE_MAX as u64;
/// Into so many shares the ends of a large fan-out are told apart: about the columns of its stair. They are looked up in the order
/// of ends, which the store keeps anyway.
const SHARES: u32 = 120;

/// A row, before it is drawn.
pub(crate) struct TreeRow {
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
        /// When equal shares of a large one had ended.
        ended_by: Vec<Timestamp>,
        /// When those of a large one failed that did, where they are not too many.
        failed_at: Vec<Timestamp>,
        of: Box<Task>,
    },
    /// The children of one task that run one command, too many to draw each.
    ByCommand(Box<ByCommand>),
    /// Completed tasks in one row.
    Quiet { key: String, courses: Vec<Course>, took: Vec<u128> },
    /// A task that comes after the family, since one of its tasks asked for it.
    After { task: Box<Task>, course: Course, tally: Tally },
    /// There are more of those.
    MoreAfter { root: TaskId },
    /// More rows than a page may have.
    Cut,
    /// More tasks than are shown.
    More { key: String, many: u64, state: Option<State>, parent: Box<Task>, fan_out: Option<FanOutId> },
}

/// What a row by command tells.
pub(crate) struct ByCommand {
    pub(crate) parent: TaskId,
    pub(crate) command: CommandName,
    /// How many are in each state.
    pub(crate) states: BTreeMap<State, u64>,
    /// There may be more than were counted.
    pub(crate) at_least: bool,
    /// From the start of the first to the end of the one made last.
    pub(crate) course: Course,
}

/// One walk.
pub(crate) struct Walk<'a> {
    view: View<'a>,
    names: &'a Names,
    now: Timestamp,
    /// Generations that exist below the root.
    deepest: usize,
    /// What was unfolded, and what was folded, by hand.
    open: HashSet<String>,
    closed: HashSet<String>,
    /// Whether what went well is one row.
    quiet: bool,
    /// Whether only the children of the root are rows, unless someone unfolds more.
    shallow: bool,
    pub(crate) lines: Vec<TreeRow>,
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
    pub(crate) fn new(view: View<'a>, names: &'a Names, now: Timestamp, deepest: usize) -> Self {
        let (open, closed, lines) = (HashSet::new(), HashSet::new(), Vec::new());
        let history = History::default();
        Self { view, names, now, deepest, open, closed, quiet: true, shallow: false, lines, history }
    }

    /// With these rows unfolded and folded by hand, and what went well in one row or not.
    #[must_use]
    pub(crate) fn folding(mut self, open: Option<&str>, closed: Option<&str>, quiet: bool) -> Self {
        let keys = |text: Option<&str>| text.unwrap_or_default().split(',').map(str::to_owned).collect();
        (self.open, self.closed, self.quiet) = (keys(open), keys(closed), quiet);
        self
    }

    /// The same, in which each child of the root is one row by itself.
    #[must_use]
    pub(crate) fn shallow(mut self) -> Self {
        self.shallow = true;
        self
    }

    /// Whether there were more rows than a page may have.
    pub(crate) fn is_cut(&self) -> bool {
        self.lines.iter().any(|line| matches!(line.what, What::Cut))
    }

    fn is_open(&self, key: &str, by_itself: bool) -> bool {
        if by_itself { !self.closed.contains(key) } else { self.open.contains(key) }
    }

    /// Whether the page has no room for another row; the last one says so.
    fn is_full(&mut self) -> bool {
        let is_full = self.lines.len() + 1 >= ROWS_MAX;
        if is_full && !self.is_cut() {
            self.lines.push(TreeRow { depth: 0, what: What::Cut, fold: None });
        }
        is_full
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
            let by_itself = depth == 0 || (task.state != State::Completed && !self.shallow);
            let is_open = self.is_open(&format!("t{}", task.id), by_itself);
            let fold = (tally.total > 0).then_some(is_open);
            let history = match task.steps > 0 && (depth == 0 || (is_open && tally.total > 0)) {
                true => self.view.history(task.id).await?,
                false => History::default(),
            };
            let course = course.with_steps(&history);
            let what = What::One { task: Box::new(task.clone()), course, tally };
            self.lines.push(TreeRow { depth, what, fold });
            if is_open {
                for group in groups(tally, &history) {
                    self.group(&task, group, depth + 1).await?;
                }
            }
            if depth == 0 {
                self.history = history;
            }
            Ok(())
        })
    }

    /// The follow-ups that the family of a root has made.
    pub(crate) async fn follow_ups(&mut self, root: TaskId) -> Result<(), Problem> {
        let page = self.view.list(&made_by(root, SHOWN)).await?;
        let courses = self.courses(&page.tasks).await?;
        for (task, course) in page.tasks.into_iter().zip(courses) {
            if self.is_full() {
                return Ok(());
            }
            let tally = self.view.tally(task.id).await?;
            let what = What::After { task: Box::new(task), course, tally };
            self.lines.push(TreeRow { depth: 0, what, fold: None });
        }
        if page.next.is_some() && !self.is_full() {
            self.lines.push(TreeRow { depth: 0, what: What::MoreAfter { root }, fold: None });
        }
        Ok(())
    }

    /// The courses of tasks, in their order.
    async fn courses(&self, tasks: &[Task]) -> Result<Vec<Course>, Problem> {
        let started: Vec<Task> = tasks.iter().filter(|task| task.first_started_at.is_some()).cloned().collect();
        let mut runs: HashMap<TaskId, Vec<Run>> = HashMap::new();
        if !started.is_empty() {
            for run in self.view.runs(&started).await? {
                runs.entry(run.task).or_default().push(run);
            }
        }
        let none = Vec::new();
        let runs_of = |task: &Task| runs.get(&task.id).unwrap_or(&none);
        Ok(tasks.iter().map(|task| Course::of(task, runs_of(task), self.names, self.now)).collect())
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
        let well = group.tally.completed == group.tally.total;
        let is_open = self.is_open(&key, !well && !self.shallow);
        let command = self.only_command(parent, &group).await?;
        let ended_by = match &group.fan_out {
            Some(fan_out) => self.view.ended_by(fan_out, SHARES).await?,
            None => Vec::new(),
        };
        let failed_at = self.failed_at(&group).await?;
        self.fan(parent, &group, command, (Vec::new(), ended_by), depth, is_open);
        if let Some(TreeRow { what: What::Fan { failed_at: at, .. }, .. }) = self.lines.last_mut() {
            *at = failed_at;
        }
        if is_open && !(group.fan_out.is_none() && self.by_command(parent, &group.tally, depth + 1).await?) {
            self.large(parent, &group, depth + 1).await?;
        }
        Ok(())
    }

    /// The command that all of a large group run; empty if they run several.
    async fn only_command(&self, parent: &Task, group: &Group) -> Result<String, Problem> {
        let all = Filter { fan_out: Some(group.id(parent)), ..Filter::default() };
        Ok(match self.view.count_by_command(&all).await?.counts.as_slice() {
            [(only, _)] => only.to_string(),
            _ => String::new(),
        })
    }

    /// When the children of an awaited fan-out failed, unless too many did.
    async fn failed_at(&self, group: &Group) -> Result<Vec<Timestamp>, Problem> {
        let Some(fan_out) = group.fan_out.as_ref().filter(|_| (1..=FAILED_MAX).contains(&group.tally.failed)) else {
            return Ok(Vec::new());
        };
        let failed =
            Filter { state: vec![State::Failed], fan_out: Some(fan_out.id), limit: PAGE_MAX, ..Filter::default() };
        Ok(self.view.list(&failed).await?.tasks.iter().filter_map(|task| task.finished_at).collect())
    }

    /// A row for each command of the children that a task spawned; `false` if they all run the same.
    async fn by_command(&mut self, parent: &Task, tally: &Tally, depth: usize) -> Result<bool, Problem> {
        let all = Filter { fan_out: Some(FanOutId(parent.id.0)), limit: 1, ..Filter::default() };
        let counted = counted(&self.view, &all, tally).await?;
        if counted.len() < 2 {
            return Ok(false);
        }
        for Counted { command, states, at_least } in counted {
            if self.is_full() {
                break;
            }
            let one = |order| Filter { command: Some(command.clone()), order, ..all.clone() };
            let first = self.view.list(&one(Order::Oldest)).await?.tasks.pop();
            let last = self.view.list(&one(Order::Newest)).await?.tasks.pop();
            let open = self.open_phase(&one(Order::Oldest), &states).await?;
            let course = first.zip(last).map(|(first, last)| Course::spanning(&first, &last, open)).unwrap_or_default();
            let children = ByCommand { parent: parent.id, command, states, at_least, course };
            self.lines.push(TreeRow { depth, what: What::ByCommand(Box::new(children)), fold: None });
        }
        Ok(true)
    }

    /// What those of many do that have not ended: they run or wait, or else what the first that pends does.
    async fn open_phase(&self, which: &Filter, states: &BTreeMap<State, u64>) -> Result<Option<Phase>, Problem> {
        if states.contains_key(&State::Running) {
            return Ok(Some(Phase::Running));
        }
        if states.contains_key(&State::Waiting) {
            return Ok(Some(Phase::Waiting));
        }
        if !states.contains_key(&State::Pending) {
            return Ok(None);
        }
        let pending = self.view.list(&Filter { state: vec![State::Pending], ..which.clone() }).await?.tasks;
        Ok(self.courses(&pending).await?.pop().and_then(|course| course.phase()))
    }

    async fn small(&mut self, parent: &Task, group: Group, depth: usize) -> Result<(), Problem> {
        let many = usize::try_from(group.tally.total).unwrap_or(PAGE_MAX).min(PAGE_MAX);
        let children = self.view.children(parent.id, group.from, many).await?;
        let courses = self.courses(&children).await?;
        if group.fan_out.is_none() && group.tally.total <= SHOWN as u64 || children.len() == 1 {
            return self.each(children.into_iter().zip(courses).collect(), depth).await;
        }
        let well = children.iter().all(|child| child.state == State::Completed);
        let is_open = self.is_open(&group.key(parent), (!well || !self.quiet) && !self.shallow);
        let command = common_command(&children);
        self.fan(parent, &group, command, (courses.clone(), Vec::new()), depth, is_open);
        if !is_open {
            return Ok(());
        }
        let quiet_key = format!("q{}", group.key(parent));
        let quiet = children.iter().filter(|child| child.state == State::Completed).count();
        let folded = self.quiet && quiet > QUIET_MAX && !self.open.contains(&quiet_key);
        let is_quiet = |child: &Task| folded && child.state == State::Completed;
        let (quiet, loud): (Vec<_>, Vec<_>) = children.into_iter().zip(courses).partition(|(child, _)| is_quiet(child));
        self.each(loud, depth + 1).await?;
        if folded && !self.is_full() {
            let took = quiet.iter().filter_map(|(child, _)| took(child)).collect();
            let courses = quiet.into_iter().map(|(_, course)| course).collect();
            let what = What::Quiet { key: quiet_key, courses, took };
            self.lines.push(TreeRow { depth: depth + 1, what, fold: Some(false) });
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
        for state in LOUDEST {
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
            if left > 0 && !self.is_full() {
                let key = format!("{}{state}", group.key(parent));
                let what =
                    What::More { key, many: left, state: Some(state), parent: Box::new(parent.clone()), fan_out };
                self.lines.push(TreeRow { depth, what, fold: None });
            }
        }
        Ok(())
    }

    fn fan(
        &mut self,
        parent: &Task,
        group: &Group,
        command: String,
        (courses, ended_by): (Vec<Course>, Vec<Timestamp>),
        depth: usize,
        is_open: bool,
    ) {
        let what = What::Fan {
            id: group.fan_out.as_ref().map(|fan_out| fan_out.id),
            name: group.name.clone(),
            fan_out: group.fan_out.clone(),
            tally: group.tally,
            command,
            courses,
            ended_by,
            failed_at: Vec::new(),
            of: Box::new(parent.clone()),
        };
        self.lines.push(TreeRow { depth, what, fold: Some(is_open) });
    }
}

impl Group {
    /// The fan-out; of children that a task spawned it has the number of that task.
    fn id(&self, parent: &Task) -> FanOutId {
        self.fan_out.as_ref().map_or(FanOutId(parent.id.0), |fan_out| fan_out.id)
    }

    fn key(&self, parent: &Task) -> String {
        match &self.fan_out {
            Some(fan_out) => format!("f{}", fan_out.id),
            None => format!("s{}", parent.id),
        }
    }
}

/// The command that all of these run; empty if they run several.
fn common_command(tasks: &[Task]) -> String {
    let first = tasks.first().map(|task| &task.command);
    let is_common = tasks.iter().all(|task| Some(&task.command) == first);
    first.filter(|_| is_common).map(ToString::to_string).unwrap_or_default()
}

fn took(task: &Task) -> Option<u128> {
    Some(task.finished_at?.since(task.started_at?).as_micros())
}

/// The children of a task, as the store lists them, with the name of each fan-out.
fn groups(tally: Tally, history: &History) -> Vec<Group> {
    let named = |Siblings { from, tally, fan_out }| {
        let name = fan_out.as_ref().map_or_else(|| "spawned".to_owned(), |fan_out| name_of(fan_out.id, history));
        Group { from, tally, fan_out, name }
    };
    history.siblings(tally).into_iter().map(named).collect()
}

/// What a handler calls a fan-out.
pub(crate) fn name_of(fan_out: FanOutId, history: &History) -> String {
    let number = fan_out.to_string();
    let made = history.checkpoints.iter().find(|step| step.kind == StepKind::FanOut && step.value.as_str() == number);
    made.map(|step| step.key.to_string()).unwrap_or_default()
}
