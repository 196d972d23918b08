//! `kinfolk tree`: a task and all that came of it.
//!
//! Children are read page by page and printed as they come, so that a family of a million needs no more memory than a
//! small one. Of a wide fan-out a page is shown, of those that failed if there are any, and the rest is only counted, unless
//! all of them are asked for.

use std::pin::Pin;

use kinfolk_core::limits::PAGE_MAX;
use kinfolk_core::{State, Store, StoreError, Tally, Task, TaskId, Timestamp};
use owo_colors::OwoColorize as _;
use serde_json::json;

use crate::fault::Fault;
use crate::out::Out;
use crate::out::table::short;
use crate::out::view::TaskView;
use crate::out::words::{children, colored, duration, gate_note, tally_words};
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
    let tally = tree.tally(&task).await?;
    tree.task(&task, &tally, "")?;
    tree.children(&task, &tally, String::new()).await?;
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
    /// Generations below the root that exist: nobody deeper is asked for children.
    deepest: usize,
}

impl Tree<'_> {
    async fn tally(&self, task: &Task) -> Result<Tally, Fault> {
        // A task that has not settled yet has made nothing.
        let childless =
            matches!(task.state, State::Pending | State::Running) || usize::from(task.depth) >= self.deepest;
        if childless { Ok(Tally::default()) } else { Ok(self.store.tally(task.id).await?) }
    }

    /// One line.
    fn task(&self, task: &Task, tally: &Tally, branch: &str) -> Result<(), Fault> {
        if self.out.json() {
            return self.out.item(&TaskView::new(task).tally(tally));
        }
        let state = colored(task.state) + gate_note(task);
        let mut line = format!("{}{} {} {state}", branch.dimmed(), task.id.bold(), task.command);
        if let Some(duration) = duration(task, self.now) {
            line.push_str(&format!(" {duration}"));
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
    fn children<'a>(&'a self, parent: &'a Task, tally: &'a Tally, margin: String) -> Walk<'a> {
        Box::pin(async move {
            let mut left = *tally;
            if tally.total > PAGE as u64 && !self.all {
                let shown = self.worth_showing(parent, tally).await?;
                self.branches(&shown, &mut left, &margin).await?;
                return self.more(parent, &left, &margin);
            }
            let mut from = 0;
            while left.total > 0 {
                let page = self.store.children(parent.id, from, PAGE_MAX).await?;
                if page.is_empty() {
                    break;
                }
                from += page.len() as u64;
                self.branches(&page, &mut left, &margin).await?;
            }
            Ok(())
        })
    }

    /// These children, each with its own.
    async fn branches(&self, children: &[Task], left: &mut Tally, margin: &str) -> Result<(), Fault> {
        for child in children {
            *left = without(*left, child.state);
            let (branch, below) = if left.total > 0 { ("├─ ", "│  ") } else { ("└─ ", "   ") };
            let tally = self.tally(child).await?;
            self.task(child, &tally, &format!("{margin}{branch}"))?;
            self.children(child, &tally, format!("{margin}{below}")).await?;
        }
        Ok(())
    }

    /// A page of a wide fan-out: the first that failed, or the first of all.
    async fn worth_showing(&self, parent: &Task, tally: &Tally) -> Result<Vec<Task>, Fault> {
        if tally.failed == 0 {
            return Ok(self.store.children(parent.id, 0, PAGE).await?);
        }
        let mut failed = Vec::new();
        let mut from = 0;
        loop {
            let page = self.store.children(parent.id, from, PAGE_MAX).await?;
            from += page.len() as u64;
            let is_last = page.len() < PAGE_MAX;
            failed.extend(page.into_iter().filter(|child| child.state == State::Failed));
            if is_last || failed.len() >= PAGE || failed.len() as u64 >= tally.failed {
                failed.truncate(PAGE);
                return Ok(failed);
            }
        }
    }

    /// Those that are not shown.
    fn more(&self, parent: &Task, left: &Tally, margin: &str) -> Result<(), Fault> {
        let line = format!("{}{} more: {}", format_args!("{margin}└─ ").dimmed(), left.total, tally_words(left));
        self.out.say(&json!({"parent": parent.id, "more": left}), line)
    }
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
