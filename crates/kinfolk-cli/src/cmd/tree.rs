//! `kinfolk tree`: a task and all that came of it.
//!
//! Children are read page by page and printed as they come, so that a family of a million needs no more memory than a
//! small one. Children that a handler awaits are below their fan-out. Of a wide one a page is shown, of the failed children if
//! there are any, and the rest is only counted, unless all of them are asked for.

use std::pin::Pin;

use kinfolk_core::durable::Siblings;
use kinfolk_core::filter::{Filter, Order};
use kinfolk_core::limits::PAGE_MAX;
use kinfolk_core::{History, State, Store, StoreError, Tally, Task, TaskId, Timestamp};
use owo_colors::OwoColorize as _;
use serde_json::json;

use crate::fault::Fault;
use crate::group::keys_words;
use crate::out::Out;
use crate::out::durable::{awaited, fan_out_words, names, report_words};
use crate::out::table::short;
use crate::out::view::TaskView;
use crate::out::words::{children, colored, duration, gate_note, named, tally_words};
use crate::session::Session;

/// Children of one task that are shown unless all are asked for.
const PAGE: usize = 20;

/// `kinfolk tree ID`
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// Its number
    id: TaskId,

    /// Show every child, however many there are
    #[arg(long)]
    all: bool,
}

/// Runs it.
pub(crate) async fn run(args: Args, session: &Session) -> Result<(), Fault> {
    let store = session.open().await?;
    let task = store.task(args.id).await?.ok_or_else(|| StoreError::not_found("task", args.id))?;
    let progress = store.progress(args.id).await?;
    let tree = Tree {
        store: store.as_ref(),
        out: session.out,
        now: store.now().await?,
        all: args.all,
        deepest: progress.levels.len(),
    };
    let offspring = tree.offspring(&task).await?;
    tree.task(&task, &offspring, "")?;
    tree.children(&task, &offspring, String::new()).await?;
    if task.parent.is_none() {
        tree.follow_ups(&task).await?;
    }
    if !session.out.json() && task.parent.is_none() && progress.levels.len() > 1 {
        let Tally { total, .. } = progress.family;
        session.out.line(format_args!("{total} descendants: {}", tally_words(&progress.family)))?;
    }
    if task.parent.is_some() {
        session.out.hint(format_args!("its family: {}", session.command_line(&format!("tree {}", task.root))));
    }
    Ok(())
}

/// Children have children.
type Walk<'a> = Pin<Box<dyn Future<Output = Result<(), Fault>> + Send + 'a>>;

/// One walk from a task down.
struct Tree<'a> {
    store: &'a dyn Store,
    out: Out,
    now: Timestamp,
    /// Every child is shown, however many there are.
    all: bool,
    /// Generations below the root that exist: no deeper task is asked for children.
    deepest: usize,
}

/// The children and the history of a task.
#[derive(Default)]
struct Offspring {
    tally: Tally,
    history: History,
}

impl Tree<'_> {
    async fn offspring(&self, task: &Task) -> Result<Offspring, Fault> {
        // A task that has not settled yet has made nothing, unless it was suspended.
        let is_early = matches!(task.state, State::Pending | State::Running) && task.steps == 0;
        if is_early || usize::from(task.depth) >= self.deepest {
            return Ok(Offspring::default());
        }
        let tally = self.store.tally(task.id).await?;
        let history = if task.steps > 0 { self.store.history(task.id).await? } else { History::default() };
        Ok(Offspring { tally, history })
    }

    /// One line.
    fn task(&self, task: &Task, Offspring { tally, history }: &Offspring, branch: &str) -> Result<(), Fault> {
        if self.out.json() {
            return self.out.item(&TaskView::new(task).tally(tally).fan_outs(history));
        }
        let state = colored(task.state) + gate_note(task);
        let mut line = format!("{}{} {} {state}", branch.dimmed(), task.id.bold(), named(task));
        if !task.keys.is_empty() {
            line.push_str(&format!(" {}", format_args!("[{}]", short(&keys_words(&task.keys), 60)).dimmed()));
        }
        if let Some(duration) = duration(task, self.now) {
            line.push_str(&format!(" {duration}"));
        }
        if task.is_suspended() && tally.open() == 0 {
            line.push_str(&format!(" {}", awaited(task, self.now)));
        }
        if let Some(report) = task.report.as_ref().filter(|_| !task.state.is_terminal()) {
            line.push_str(&format!("  {}", report_words(report).cyan()));
        }
        if tally.total > 0 {
            line.push_str(&format!("  {}: {}", children(tally.total), tally_words(tally)));
        }
        if let Some(failure) = &task.failure {
            let why = short(&format!("{}: {}", failure.kind, failure.message), 60);
            line.push_str(&format!("  {}", why.dimmed()));
        }
        self.out.line(line)
    }

    /// The children of a task, each with its own.
    fn children<'a>(&'a self, parent: &'a Task, offspring: &'a Offspring, margin: String) -> Walk<'a> {
        Box::pin(async move {
            let all = offspring.history.siblings(offspring.tally);
            let names = names(&offspring.history.checkpoints);
            for (index, siblings) in all.iter().enumerate() {
                let last = index + 1 == all.len();
                match &siblings.fan_out {
                    // A call needs no line of its own: its one sub-task says it all.
                    Some(fan_out) if fan_out.tally.total > 1 && !self.out.json() => {
                        let (branch, below) = forks(last);
                        let name = names.get(&fan_out.id).map_or("(forgotten)", String::as_str);
                        let heading = format!("{name} ({})", fan_out_words(fan_out));
                        self.out.line(format_args!("{}{heading}", format_args!("{margin}{branch}").dimmed()))?;
                        self.members(parent, siblings, &format!("{margin}{below}"), true).await?;
                    }
                    _ => self.members(parent, siblings, &margin, last).await?,
                }
            }
            Ok(())
        })
    }

    /// Children that stand together, each with its own; `last` if nothing is below them.
    async fn members(&self, parent: &Task, siblings: &Siblings, margin: &str, last: bool) -> Result<(), Fault> {
        let mut left = siblings.tally;
        if left.total > PAGE as u64 && !self.all {
            let shown = self.worth_showing(parent, siblings).await?;
            self.branches(&shown, &mut left, margin, last).await?;
            return self.more(parent, &left, margin, last);
        }
        let (mut from, end) = (siblings.from, siblings.from + siblings.tally.total);
        while from < end {
            let page = self.page(parent, from, end).await?;
            if page.is_empty() {
                break;
            }
            from += page.len() as u64;
            self.branches(&page, &mut left, margin, last).await?;
        }
        Ok(())
    }

    /// Children of a task from one place up to another, as many as there are in a page.
    async fn page(&self, parent: &Task, from: u64, end: u64) -> Result<Vec<Task>, Fault> {
        let many = usize::try_from(end - from).unwrap_or(PAGE_MAX).min(PAGE_MAX);
        Ok(self.store.children(parent.id, from, many).await?)
    }

    /// These children, each with its own.
    async fn branches(&self, children: &[Task], left: &mut Tally, margin: &str, last: bool) -> Result<(), Fault> {
        for child in children {
            *left = without(*left, child.state);
            let (branch, below) = forks(last && left.total == 0);
            let offspring = self.offspring(child).await?;
            self.task(child, &offspring, &format!("{margin}{branch}"))?;
            self.children(child, &offspring, format!("{margin}{below}")).await?;
        }
        Ok(())
    }

    /// A page of a wide fan-out: the first that failed, or the first of all.
    async fn worth_showing(&self, parent: &Task, siblings: &Siblings) -> Result<Vec<Task>, Fault> {
        let Siblings { mut from, tally, .. } = *siblings;
        let end = from + tally.total;
        if tally.failed == 0 {
            return self.page(parent, from, end.min(from + PAGE as u64)).await;
        }
        let mut failed = Vec::new();
        loop {
            let page = self.page(parent, from, end).await?;
            from += page.len() as u64;
            let is_last = page.is_empty() || from >= end;
            failed.extend(page.into_iter().filter(|child| child.state == State::Failed));
            if is_last || failed.len() >= PAGE || failed.len() as u64 >= tally.failed {
                failed.truncate(PAGE);
                return Ok(failed);
            }
        }
    }

    /// The tasks that come after the family because one of its tasks asked for them.
    async fn follow_ups(&self, root: &Task) -> Result<(), Fault> {
        let filter = Filter { follows: Some(root.id), order: Order::Oldest, limit: PAGE, ..Filter::default() };
        let page = self.store.list(&filter).await?;
        if !page.tasks.is_empty() && !self.out.json() {
            self.out.line("follow-ups:")?;
        }
        for task in &page.tasks {
            self.task(task, &Offspring::default(), "")?;
        }
        match page.next {
            Some(_) if !self.out.json() => self.out.line(format_args!("more: kinfolk list --follows {}", root.id)),
            _ => Ok(()),
        }
    }

    /// Those that are not shown.
    fn more(&self, parent: &Task, left: &Tally, margin: &str, last: bool) -> Result<(), Fault> {
        let (branch, _) = forks(last);
        let line = format!("{}{} more: {}", format_args!("{margin}{branch}").dimmed(), left.total, tally_words(left));
        self.out.say(&json!({"parent": parent.id, "more": left}), line)
    }
}

/// The branch to a line, and the text before the lines below it.
fn forks(last: bool) -> (&'static str, &'static str) {
    if last { ("└─ ", "   ") } else { ("├─ ", "│  ") }
}

/// The tally without one child in this state. Children go on while they are read, so the counts are only near the truth.
fn without(mut tally: Tally, state: State) -> Tally {
    let ended = match state {
        State::Completed => Some(&mut tally.completed),
        State::Failed => Some(&mut tally.failed),
        State::Cancelled => Some(&mut tally.cancelled),
        State::Pending | State::Running | State::Waiting => None,
    };
    if let Some(ended) = ended {
        *ended = ended.saturating_sub(1);
    }
    tally.total = tally.total.saturating_sub(1);
    tally
}
