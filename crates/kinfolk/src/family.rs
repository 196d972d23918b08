//! What a handler makes: children, siblings, follow-ups, and tasks that stand alone.
//!
//! All of it is kept with the attempt and written by the settle that records its success, in the same transaction: an
//! attempt that ends in an error, a snooze, a release or a cancellation has made nothing. What can never be made is
//! refused when it is asked for; what only the store can know (an unknown command, a queue that takes no children) is
//! refused by the settle, which then records a failed attempt of kind `refused`.

use std::future::{IntoFuture, Ready, ready};
use std::sync::{Mutex, MutexGuard, PoisonError};

use kinfolk_core::limits::{DEPTH_MAX, MADE_MAX};
use kinfolk_core::{
    ChildOrder, FollowUp as NewFollowUp, InputError, Made, NewTask, Rejection, StoreError, TaskId, When,
};
use serde::Serialize;

use crate::ctx::Ctx;
use crate::draft::{Draft, task_options};
use crate::task::Task;

impl Ctx {
    /// A child of this task, for a command by its name. Await it to keep it for the settle.
    ///
    /// The task waits until all its children have ended, without a worker, and fails if one of them failed. A child takes
    /// the task's priority and its root's place in line unless told otherwise.
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
        Make::new(self, Kin::Child, Draft::of_command(command.as_ref(), payload))
    }

    /// A typed child of this task. Await it to keep it for the settle.
    pub fn spawn_task<T: Task>(&self, task: &T) -> Make<'_> {
        Make::new(self, Kin::Child, Draft::of_task(task))
    }

    /// A child of this task's own parent, which waits for it too. Await it to keep it for the settle; a task without a
    /// parent has no siblings, and is told so.
    pub fn spawn_sibling<P: Serialize + ?Sized>(&self, command: impl AsRef<str>, payload: &P) -> Make<'_> {
        Make::new(self, Kin::Sibling, Draft::of_command(command.as_ref(), payload))
    }

    /// A typed child of this task's own parent. Await it to keep it for the settle.
    pub fn spawn_sibling_task<T: Task>(&self, task: &T) -> Make<'_> {
        Make::new(self, Kin::Sibling, Draft::of_task(task))
    }

    /// A task that has nothing to do with this family, enqueued only if this attempt ends well. Await it to keep it for
    /// the settle. To enqueue at once, whatever becomes of the attempt, use [`Ctx::kinfolk`].
    pub fn enqueue<P: Serialize + ?Sized>(&self, command: impl AsRef<str>, payload: &P) -> Make<'_> {
        Make::new(self, Kin::None, Draft::of_command(command.as_ref(), payload))
    }

    /// A typed task that has nothing to do with this family. Await it to keep it for the settle.
    pub fn enqueue_task<T: Task>(&self, task: &T) -> Make<'_> {
        Make::new(self, Kin::None, Draft::of_task(task))
    }

    /// A task that starts after this whole family has settled. Await it to keep it for the settle.
    ///
    /// It takes this task's priority and its root's place unless told otherwise. Under a unique key that a pending task
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
        let mut kept = self.attempt.made.kept();
        if order != ChildOrder::default() || kept.made.is_some() {
            kept.made.get_or_insert_default().order = order;
        }
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
        match self.parent() {
            Some(parent) => Ok(self.kinfolk().tally(parent).await?.failed > 0),
            None => Ok(false),
        }
    }

    /// Whether the task has children that have not ended, or has spawned some in this attempt.
    pub async fn has_pending_children(&self) -> Result<bool, StoreError> {
        let spawned = self.attempt.made.kept().made.as_ref().is_some_and(|made| !made.children.is_empty());
        Ok(spawned || self.kinfolk().tally(self.task()).await?.open() > 0)
    }
}

/// A task about to be made by a handler. Nothing is kept until it is awaited, and nothing is made until the attempt ends
/// well; what is not said comes from the command, and for a child from the family.
#[derive(Debug)]
#[must_use = "nothing is made until this is awaited"]
pub struct Make<'a> {
    ctx: &'a Ctx,
    kin: Kin,
    draft: Draft,
}

/// A task that starts after the family of its maker, about to be made by a handler. Nothing is kept until it is awaited,
/// and nothing is made until the attempt ends well.
#[derive(Debug)]
#[must_use = "nothing is made until this is awaited"]
pub struct FollowUp<'a> {
    ctx: &'a Ctx,
    when: When,
    draft: Draft,
}

/// What a new task is to the one that makes it.
#[derive(Clone, Copy, Debug)]
enum Kin {
    Child,
    Sibling,
    None,
}

/// Why a handler can't make something. Trying again would not help, so an attempt that ends with it fails for good.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MakeError {
    /// What was asked for can't be kept by any store.
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
}

impl<'a> Make<'a> {
    fn new(ctx: &'a Ctx, kin: Kin, draft: Draft) -> Self {
        Self { ctx, kin, draft: draft.traced(ctx.trace()) }
    }

    task_options!();

    fn keep(self) -> Result<(), MakeError> {
        let task = checked(self.draft)?;
        let ctx = self.ctx;
        match self.kin {
            Kin::Sibling if ctx.parent().is_none() => Err(Rejection::NoParent(ctx.task()).into()),
            Kin::Child if ctx.depth() >= DEPTH_MAX => Err(MakeError::TooDeep(ctx.task())),
            kin => ctx.attempt.made.add(ctx.task(), |made| match kin {
                Kin::Child => made.children.push(task),
                Kin::Sibling => made.siblings.push(task),
                Kin::None => made.tasks.push(task),
            }),
        }
    }
}

impl<'a> FollowUp<'a> {
    fn new(ctx: &'a Ctx, draft: Draft) -> Self {
        Self { ctx, when: When::Settled, draft: draft.traced(ctx.trace()) }
    }

    task_options!();

    /// Start only if the family completes; if it ends in any other way, the follow-up is cancelled.
    pub fn when_completed(self) -> Self {
        Self { when: When::Completed, ..self }
    }

    fn keep(self) -> Result<(), MakeError> {
        let follow_up = NewFollowUp { task: checked(self.draft)?, when: self.when };
        self.ctx.attempt.made.add(self.ctx.task(), |made| made.follow_ups.push(follow_up))
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

/// What the handler of one attempt has made so far.
#[derive(Debug, Default)]
pub(crate) struct Buffer(Mutex<Kept>);

#[derive(Debug, Default)]
struct Kept {
    made: Option<Box<Made>>,
    over: bool,
}

impl Buffer {
    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&self, task: TaskId, add: impl FnOnce(&mut Made)) -> Result<(), MakeError> {
        let mut kept = self.kept();
        if kept.over {
            return Err(MakeError::Over(task));
        }
        let made = kept.made.get_or_insert_default();
        if made.len() >= MADE_MAX {
            let given = made.len() + 1;
            return Err(InputError::Batch { what: "tasks made by one handler", given, max: MADE_MAX }.into());
        }
        add(made);
        Ok(())
    }

    /// The attempt has ended: all that it made, for the settle. Nothing can be added from now on.
    pub(crate) fn close(&self) -> Option<Box<Made>> {
        let mut kept = self.kept();
        kept.over = true;
        kept.made.take().filter(|made| !made.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kinfolk_core::Json;

    #[test]
    fn one_attempt_makes_only_so_many_tasks_and_nothing_after_its_end() {
        let buffer = Buffer::default();
        let task = NewTask::new("work".parse().unwrap(), Json::null());
        let add = || buffer.add(TaskId(1), |made| made.children.push(task.clone()));
        for _ in 0..MADE_MAX {
            add().unwrap();
        }
        assert!(matches!(add(), Err(MakeError::Input(InputError::Batch { max: MADE_MAX, .. }))));
        assert_eq!(buffer.close().map(|made| made.len()), Some(MADE_MAX));
        assert!(matches!(add(), Err(MakeError::Over(TaskId(1)))));
        assert_eq!(buffer.close(), None);
    }
}
