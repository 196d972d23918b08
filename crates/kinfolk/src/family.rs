//! The tasks that a handler makes: children, siblings, follow-ups, and tasks outside of the family.
//!
//! All of it is kept with the attempt ([`crate::made`]) and written by the settle that records its success, or by its
//! suspension, in the same transaction: an attempt that ends in an error, a snooze, a release or a cancellation has made nothing. What can never be made is
//! refused when it is asked for; what only the store can know (an unknown command, a queue that takes no children) is
//! refused by the settle, which then records a failed attempt of kind `refused`.

use std::future::{IntoFuture, Ready, ready};

use kinfolk_core::limits::DEPTH_MAX;
use kinfolk_core::{ChildOrder, FollowUp as NewFollowUp, InputError, NewTask, Rejection, StoreError, TaskId, When};
use serde::Serialize;

use crate::ctx::Ctx;
use crate::draft::{Draft, made_options, task_options};
use crate::durable::op::Busy;
use crate::made::Relation;
use crate::task::Task;

impl Ctx {
    /// A child of this task, for a command by its name. Await it to keep it for the settle.
    ///
    /// The task waits until all its children have ended, without a worker, and fails if one of them failed. A child takes
    /// the task's priority and its root's position in line unless told otherwise.
    ///
    /// ```
    /// use kinfolk::{Ctx, Json, TaskError};
    ///
    /// async fn derive(ctx: Ctx, _payload: Json) -> Result<(), TaskError> {
    ///     for batch in 0..10 {
    ///         ctx.spawn("refresh_batch", &batch).await?;
    ///     }
    ///     ctx.follow_up("report", &()).when_completed().await?;
    ///     Ok(())
    /// }
    /// ```
    pub fn spawn<P: Serialize + ?Sized>(&self, command: impl AsRef<str>, payload: &P) -> Make<'_> {
        Make::new(self, Relation::Child, Draft::of_command(command.as_ref(), payload))
    }

    /// A typed child of this task. Await it to keep it for the settle.
    pub fn spawn_task<T: Task>(&self, task: &T) -> Make<'_> {
        Make::new(self, Relation::Child, Draft::of_task(task))
    }

    /// A child of this task's own parent, which waits for it too. Await it to keep it for the settle; a task without a
    /// parent has no siblings, and is told so.
    pub fn spawn_sibling<P: Serialize + ?Sized>(&self, command: impl AsRef<str>, payload: &P) -> Make<'_> {
        Make::new(self, Relation::Sibling, Draft::of_command(command.as_ref(), payload))
    }

    /// A typed child of this task's own parent. Await it to keep it for the settle.
    pub fn spawn_sibling_task<T: Task>(&self, task: &T) -> Make<'_> {
        Make::new(self, Relation::Sibling, Draft::of_task(task))
    }

    /// A task that has nothing to do with this family, enqueued only if this attempt ends well. Await it to keep it for
    /// the settle. To enqueue at once, whatever becomes of the attempt, use [`Ctx::kinfolk`].
    pub fn enqueue<P: Serialize + ?Sized>(&self, command: impl AsRef<str>, payload: &P) -> Make<'_> {
        Make::new(self, Relation::None, Draft::of_command(command.as_ref(), payload))
    }

    /// A typed task that has nothing to do with this family. Await it to keep it for the settle.
    pub fn enqueue_task<T: Task>(&self, task: &T) -> Make<'_> {
        Make::new(self, Relation::None, Draft::of_task(task))
    }

    /// A task that starts after this whole family has settled. Await it to keep it for the settle.
    ///
    /// It takes this task's priority and its root's position unless told otherwise. Under a unique key that a pending task
    /// holds, nothing is made: that task waits for this family too.
    pub fn follow_up<P: Serialize + ?Sized>(&self, command: impl AsRef<str>, payload: &P) -> FollowUp<'_> {
        FollowUp::new(self, Draft::of_command(command.as_ref(), payload))
    }

    /// A typed task that starts after this whole family has settled. Await it to keep it for the settle.
    pub fn follow_up_task<T: Task>(&self, task: &T) -> FollowUp<'_> {
        FollowUp::new(self, Draft::of_task(task))
    }

    /// How the children that this attempt spawns run: side by side unless this is called.
    pub fn in_order(&self, order: ChildOrder) {
        self.attempt.made.in_order(order);
    }

    /// The task's parent, if it has one.
    pub fn parent(&self) -> Option<TaskId> {
        self.attempt.task.parent
    }

    /// The root of the task's family; the task itself, if it has no parent.
    pub fn root(&self) -> TaskId {
        self.attempt.task.root
    }

    /// Generations between the task and its root; 0 is the root.
    pub fn depth(&self) -> u16 {
        self.attempt.task.depth
    }

    /// Whether a child of the task's own parent has failed so far. A task without a parent has no siblings.
    pub async fn has_failed_siblings(&self) -> Result<bool, StoreError> {
        let _busy = self.attempt.durable.is_open().then(|| Busy::new(&self.attempt));
        match self.parent() {
            Some(parent) => Ok(self.kinfolk().tally(parent).await?.failed > 0),
            None => Ok(false),
        }
    }

    /// Whether the task has children that have not ended, or has spawned some in this attempt.
    pub async fn has_pending_children(&self) -> Result<bool, StoreError> {
        let spawned = self.attempt.made.has_children();
        let _busy = self.attempt.durable.is_open().then(|| Busy::new(&self.attempt));
        Ok(spawned || self.kinfolk().tally(self.task()).await?.open() > 0)
    }
}

/// A task about to be made by a handler. Nothing is kept until it is awaited, and nothing is made until the attempt ends
/// well. An option that is left out comes from the command, and for a child from the family.
#[derive(Debug)]
#[must_use = "nothing is made until this is awaited"]
pub struct Make<'a> {
    ctx: &'a Ctx,
    relation: Relation,
    draft: Draft,
    name: Option<String>,
}

/// A task that starts after the family of its maker, about to be made by a handler. Nothing is kept until it is awaited,
/// and nothing is made until the attempt ends well.
#[derive(Debug)]
#[must_use = "nothing is made until this is awaited"]
pub struct FollowUp<'a> {
    ctx: &'a Ctx,
    when: When,
    draft: Draft,
    name: Option<String>,
}

/// Why a handler can't make something. Trying again would not help, so an attempt that ends with it fails for good.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MakeError {
    /// No store can keep the task.
    #[error(transparent)]
    Input(#[from] InputError),
    /// No settle would make it.
    #[error(transparent)]
    Rejected(#[from] Rejection),
    /// The family has as many generations as a family can have.
    #[error("task {0} is {DEPTH_MAX} generations below its root, and no family grows deeper; spawn a sibling instead")]
    TooDeep(TaskId),
    /// The handler has ended, or has settled in a transaction of its own: nothing more can be written with it.
    #[error("the attempt of task {0} is over, so nothing more can be made by it; make it before the handler ends")]
    Over(TaskId),
    /// The code has changed under the recorded history of the task.
    #[error("{0}")]
    Diverged(String),
}

impl<'a> Make<'a> {
    fn new(ctx: &'a Ctx, relation: Relation, draft: Draft) -> Self {
        Self { ctx, relation, draft: draft.traced(ctx.trace()), name: None }
    }

    task_options!();
    made_options!();

    /// The name of this operation among those of a durable handler. Default: its kind and the command.
    pub fn named(self, name: impl Into<String>) -> Self {
        Self { name: Some(name.into()), ..self }
    }

    fn keep(self) -> Result<(), MakeError> {
        let task = checked(self.draft)?;
        let ctx = self.ctx;
        match self.relation {
            Relation::Sibling if ctx.parent().is_none() => Err(Rejection::NoParent(ctx.task()).into()),
            Relation::Child if ctx.depth() >= DEPTH_MAX => Err(MakeError::TooDeep(ctx.task())),
            relation => ctx.make(relation, self.name, NewFollowUp { task, when: When::default() }),
        }
    }
}

impl<'a> FollowUp<'a> {
    fn new(ctx: &'a Ctx, draft: Draft) -> Self {
        Self { ctx, when: When::Settled, draft: draft.traced(ctx.trace()), name: None }
    }

    task_options!();
    made_options!();

    /// Start only if the family completes; if it ends in any other way, the follow-up is cancelled.
    pub fn when_completed(self) -> Self {
        Self { when: When::Completed, ..self }
    }

    /// The name of this operation among those of a durable handler. Default: its kind and the command.
    pub fn named(self, name: impl Into<String>) -> Self {
        Self { name: Some(name.into()), ..self }
    }

    fn keep(self) -> Result<(), MakeError> {
        let follow_up = NewFollowUp { task: checked(self.draft)?, when: self.when };
        self.ctx.make(Relation::FollowUp, self.name, follow_up)
    }
}

fn checked(draft: Draft) -> Result<NewTask, InputError> {
    let task = draft.into_task()?;
    task.check()?;
    Ok(task)
}

impl IntoFuture for Make<'_> {
    type Output = Result<(), MakeError>;
    type IntoFuture = Ready<Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        ready(self.keep())
    }
}

impl IntoFuture for FollowUp<'_> {
    type Output = Result<(), MakeError>;
    type IntoFuture = Ready<Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        ready(self.keep())
    }
}
