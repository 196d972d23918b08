//! The command of a victim that plays a plan: a whole family, written down in the payload of its root.

use std::path::{Path, PathBuf};
use std::time::Duration;

use kinfolk::{Ctx, Done, TaskError};
use kinfolk_core::task::Ending;
use kinfolk_core::{ChildOrder, CommandName, Json, NewTask, Unique};
use serde::{Deserialize, Serialize};

use crate::journal::{self, Entry, JournalLine};
use crate::ledger;

/// Plays the [`Plan`] in its payload.
pub const FAMILY: &str = "family";
/// Does nothing at all: what a wide family is made of.
pub const LEAF: &str = "leaf";

/// What one task does, and all that it makes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Plan {
    /// A name that no other task has.
    pub name: String,
    /// Attempts that end in an error before one goes well.
    #[serde(skip_serializing_if = "is_none")]
    pub errors: u16,
    /// Attempts that end in a snooze before one goes well.
    #[serde(skip_serializing_if = "is_none")]
    pub snoozes: u16,
    /// Fails for good, as long as there is no file [`MENDED`] beside the journal.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub broken: bool,
    /// Blocks its thread while it works, so that it goes on after its process was stopped, whatever the worker thinks.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub holds: bool,
    /// Is due in an hour: a test puts it away.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub later: bool,
    /// How its children run.
    pub order: ChildOrder,
    /// Its children.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub children: Vec<Self>,
    /// Children that do nothing, beside the others.
    #[serde(skip_serializing_if = "is_none")]
    pub leaves: u32,
    /// More children for its parent.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub siblings: Vec<Self>,
    /// What runs after its family.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub follow_ups: Vec<FollowUp>,
}

/// What runs after a family.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FollowUp {
    /// What it does.
    pub plan: Plan,
    /// Only if the family completes.
    pub when_completed: bool,
    /// Shared with other families by this key.
    pub key: Option<String>,
}

/// The file whose being there mends what is broken.
pub const MENDED: &str = "mended";

fn is_none<N: Default + PartialEq>(number: &N) -> bool {
    *number == N::default()
}

impl Plan {
    /// A task that makes nothing.
    pub fn named(name: impl Into<String>) -> Self {
        Self { name: name.into(), ..Self::default() }
    }

    /// A task with this many children that make nothing.
    pub fn wide(name: &str, children: usize) -> Self {
        let children = (0..children).map(|child| Self::named(format!("{name}.{child}"))).collect();
        Self { children, ..Self::named(name) }
    }

    /// The root of this family, to be enqueued.
    pub fn task(&self) -> anyhow::Result<NewTask> {
        Ok(NewTask::new(CommandName::new(FAMILY)?, Json::of(self)?))
    }
}

/// Writes its attempt down, and does what the plan says.
pub(super) async fn act(ctx: Ctx, plan: Plan, ledger: PathBuf, work: Duration) -> Result<Done<()>, TaskError> {
    let journal = ledger.with_file_name("journal");
    let entry = Entry { task: ctx.task(), root: ctx.root(), depth: ctx.depth(), process: std::process::id() };
    journal::append(&journal, &JournalLine::Begin(entry.clone()))?;
    if plan.holds {
        std::thread::sleep(work);
    } else {
        tokio::time::sleep(work).await;
    }
    let answer = play(&ctx, plan, &ledger).await;
    journal::append(&journal, &JournalLine::End(entry))?;
    answer
}

async fn play(ctx: &Ctx, plan: Plan, ledger: &Path) -> Result<Done<()>, TaskError> {
    const SOON: Duration = Duration::from_millis(1);
    if plan.broken && !ledger.with_file_name(MENDED).exists() {
        return Err(TaskError::new("broken, as planned").do_not_retry());
    }
    if ctx.attempt() <= plan.errors {
        return Err(TaskError::new("an error, as planned").retry_after(SOON));
    }
    if plan.snoozes > 0 {
        let attempts = ctx.kinfolk().store().attempts(ctx.task()).await?;
        let snoozed = attempts.iter().filter(|attempt| attempt.ending == Ending::Snoozed).count();
        if snoozed < usize::from(plan.snoozes) {
            return Ok(Done::snooze(SOON));
        }
    }
    make(ctx, &plan).await?;
    ledger::note(ledger, ctx.task())?;
    Ok(Done::value(()))
}

async fn make(ctx: &Ctx, plan: &Plan) -> Result<(), TaskError> {
    const LATER: Duration = Duration::from_secs(3_600);
    ctx.in_order(plan.order);
    for child in &plan.children {
        let asked = ctx.spawn(FAMILY, child);
        if child.later { asked.delay(LATER).await? } else { asked.await? }
    }
    for _ in 0..plan.leaves {
        ctx.spawn(LEAF, &Json::object()).await?;
    }
    for sibling in &plan.siblings {
        ctx.spawn_sibling(FAMILY, sibling).await?;
    }
    for follow_up in &plan.follow_ups {
        let mut asked = ctx.follow_up(FAMILY, &follow_up.plan);
        if follow_up.when_completed {
            asked = asked.when_completed();
        }
        if let Some(key) = &follow_up.key {
            asked = asked.unique(Unique::key(key));
        }
        asked.await?;
    }
    Ok(())
}
