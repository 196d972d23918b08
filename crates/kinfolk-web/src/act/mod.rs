//! What a caller may do: every change of the store, with the role it takes and its entry in the audit log. Pages and API both
//! change through this.

mod bulk;

use std::collections::BTreeMap;

use axum::http::StatusCode;
use kinfolk_core::audit::Audit;
use kinfolk_core::operate::Cancelled;
use kinfolk_core::{
    Enqueued, GroupRef, Json, NewTask, QueueName, Retried, ScheduleName, Setting, SignalName, Signalled, Store,
    StoreError, Task, TaskId,
};

use crate::access::{Caller, Role};
use crate::app::App;
use crate::problem::Problem;
use crate::replay::{Replayed, ReplayedEnd};
use crate::view::View;

/// What one caller may do.
#[derive(Clone, Copy)]
pub(crate) struct Act<'a> {
    app: &'a App,
    caller: &'a Caller,
}

type Done<T> = Result<T, Problem>;

impl<'a> Act<'a> {
    pub(crate) fn new(app: &'a App, caller: &'a Caller) -> Self {
        Self { app, caller }
    }

    /// The store, for a caller who has this role.
    fn store(&self, role: Role) -> Done<&'a dyn Store> {
        if self.app.config.read_only {
            let detail = "this server only shows; change things with `kinfolk`, or on a server without --read-only";
            return Err(Problem::forbidden(detail));
        }
        if !self.caller.is(role) {
            let detail = format!("this takes the role {}; send a token that has it", role.as_str());
            return Err(Problem::forbidden(detail));
        }
        Ok(self.app.store.as_ref())
    }

    /// The store, for a caller who has this role and may see this task.
    async fn on_task(&self, role: Role, id: TaskId) -> Done<&'a dyn Store> {
        let store = self.store(role)?;
        self.view().task(id).await?;
        Ok(store)
    }

    /// The store, for a caller who has this role and may see this queue.
    fn on_queue(&self, role: Role, queue: &QueueName) -> Done<&'a dyn Store> {
        let store = self.store(role)?;
        if !self.caller.may_see(queue) {
            return Err(Problem::not_found("queue", queue));
        }
        Ok(store)
    }

    fn view(&self) -> View<'a> {
        View::new(self.app, self.caller)
    }

    /// Writes to the audit log what was done. It is done already, so an entry that can't be written is no reason to say it was
    /// not: it stands in the log of this process, with all that the entry would say.
    async fn note(&self, what: &str, subject: String, tasks: u64) {
        let who = self.caller.name.clone();
        tracing::info!(target: "kinfolk::audit", who, what, subject, tasks);
        let entry = Audit { who: who.clone(), what: what.to_owned(), subject: subject.clone(), tasks };
        if let Err(fault) = self.app.store.audit(&entry).await {
            tracing::error!(target: "kinfolk::audit", who, what, subject, tasks, %fault, "not in the audit log");
        }
    }

    /// Enqueues tasks, all in one transaction. One answer each.
    pub(crate) async fn enqueue(&self, tasks: Vec<NewTask>) -> Done<Vec<Enqueued>> {
        let store = self.store(Role::Operator)?;
        if self.caller.queues.is_some() {
            self.must_be_on_own_queues(&tasks).await?;
        }
        let answers = store.enqueue(&tasks).await?;
        let made = answers.iter().filter(|answer| matches!(answer, Enqueued::Created(_) | Enqueued::Merged(_))).count();
        let mut commands: Vec<&str> = tasks.iter().map(|task| task.command.as_str()).collect();
        commands.sort_unstable();
        commands.dedup();
        let first = answers.iter().find_map(|answer| answer.id().ok());
        let subject = match (answers.len(), first) {
            (1, Some(id)) => format!("task {id} ({})", commands.join(", ")),
            _ => format!("tasks of {}", commands.join(", ")),
        };
        if made > 0 {
            self.note("enqueue", subject, made as u64).await;
        }
        Ok(answers)
    }

    async fn must_be_on_own_queues(&self, tasks: &[NewTask]) -> Done<()> {
        let commands = self.app.store.commands().await?;
        let homes: BTreeMap<_, _> = commands.iter().map(|command| (&command.name, &command.queue)).collect();
        for task in tasks {
            let queue = task.queue.as_ref().or_else(|| homes.get(&task.command).copied());
            if let Some(queue) = queue.filter(|queue| !self.caller.may_see(queue)) {
                return Err(Problem::forbidden(format!(
                    "your token is not for queue {queue}; enqueue on a queue that it is for"
                )));
            }
        }
        Ok(())
    }

    /// Asks for the end of a task and of all its descendants.
    pub(crate) async fn cancel(&self, id: TaskId) -> Done<Cancelled> {
        let answer = self.on_task(Role::Operator, id).await?.cancel(id).await?;
        self.note("cancel", format!("task {id}"), 1).await;
        Ok(answer)
    }

    /// Lets a failed or cancelled task run again.
    pub(crate) async fn retry(&self, id: TaskId) -> Done<Task> {
        let task = self.on_task(Role::Operator, id).await?.retry(id).await?;
        self.note("retry", format!("task {id}"), 1).await;
        Ok(self.view().redacted(task))
    }

    /// Lets a pending task that is not due run now.
    pub(crate) async fn run_now(&self, id: TaskId) -> Done<Task> {
        let task = self.on_task(Role::Operator, id).await?.run_now(id).await?;
        self.note("run_now", format!("task {id}"), 1).await;
        Ok(self.view().redacted(task))
    }

    /// Clears a suspect.
    pub(crate) async fn acquit(&self, id: TaskId) -> Done<Task> {
        let task = self.on_task(Role::Operator, id).await?.acquit(id).await?;
        self.note("acquit", format!("task {id}"), 1).await;
        Ok(self.view().redacted(task))
    }

    /// Lets what failed in a task's family run again. The caller must be allowed to see its root: all that is below goes on with it.
    pub(crate) async fn retry_family(&self, id: TaskId) -> Done<Retried> {
        self.store(Role::Operator)?;
        let root = self.view().task(id).await?.root;
        let retried = self.on_task(Role::Operator, root).await?.retry_family(id).await?;
        self.note("retry_family", format!("family of task {id}"), retried.pending + retried.waiting).await;
        Ok(retried)
    }

    /// Runs the recorded history of a task through the handlers of this program.
    pub(crate) async fn replay(&self, id: TaskId) -> Done<Replayed> {
        self.on_task(Role::Operator, id).await?;
        let Some(replayer) = &self.app.config.replayer else {
            let detail = "this server has no handlers; replay in the program that has them: `kinfolk replay`, or \
                          `WorkerBuilder::replay`";
            return Err(Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "unsupported", detail));
        };
        let mut replayed = match replayer.replay(id).await {
            // There is nothing wrong with the request: the program lacks this handler.
            Err(StoreError::Input(fault)) => {
                return Err(Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "unsupported", fault.to_string()));
            }
            replayed => replayed?,
        };
        if let ReplayedEnd::Diverged(failure) | ReplayedEnd::Failed(failure) = &mut replayed.end {
            *failure = self.view().redacted_failure(failure.clone());
        }
        self.note("replay", format!("task {id}"), 0).await;
        Ok(replayed)
    }

    /// Sends a task a signal.
    pub(crate) async fn signal(&self, id: TaskId, name: &SignalName, value: &Json) -> Done<Signalled> {
        let answer = self.on_task(Role::Operator, id).await?.signal(id, name, value).await?;
        self.note("signal", format!("task {id}, signal {name}"), 1).await;
        Ok(answer)
    }

    /// Takes nothing more from a queue.
    pub(crate) async fn pause(&self, queue: &QueueName) -> Done<()> {
        self.on_queue(Role::Operator, queue)?.pause(queue, Some(&self.caller.name)).await?;
        self.note("pause", format!("queue {queue}"), 0).await;
        Ok(())
    }

    /// Takes from a queue again.
    pub(crate) async fn resume(&self, queue: &QueueName) -> Done<()> {
        self.on_queue(Role::Operator, queue)?.resume(queue).await?;
        self.note("resume", format!("queue {queue}"), 0).await;
        Ok(())
    }

    /// Changes what a group, or one key of it, allows.
    pub(crate) async fn set_group(&self, group: &GroupRef, key: Option<&str>, setting: &Setting) -> Done<()> {
        let store = self.store(Role::Admin)?;
        if self.caller.queues.is_some() && !self.view().groups().await?.iter().any(|view| view.group == *group) {
            return Err(Problem::not_found("group", group));
        }
        store.set_group(group, key, setting).await?;
        let key = key.map_or_else(String::new, |key| format!(", key {key}"));
        self.note("set_group", format!("group {group}{key}"), 0).await;
        Ok(())
    }

    /// Switches a schedule off, or on again.
    pub(crate) async fn pause_schedule(&self, name: &ScheduleName, paused: bool) -> Done<()> {
        let store = self.store(Role::Operator)?;
        if !self.view().schedules().await?.iter().any(|schedule| schedule.name == *name) {
            return Err(Problem::not_found("schedule", name));
        }
        store.pause_schedule(name, paused).await?;
        self.note(if paused { "pause" } else { "resume" }, format!("schedule {name}"), 0).await;
        Ok(())
    }

    /// Enqueues a task of a schedule now, beside its ticks.
    pub(crate) async fn run_schedule(&self, name: &ScheduleName) -> Done<TaskId> {
        let store = self.store(Role::Operator)?;
        let is_seen = self.view().schedules().await?.iter().any(|schedule| schedule.name == *name);
        // What is enqueued has all fields, also those that are never shown.
        let schedule = store.schedules().await?.into_iter().find(|schedule| is_seen && schedule.name == *name);
        let schedule = schedule.ok_or_else(|| Problem::not_found("schedule", name))?;
        let answers = self.enqueue(vec![schedule.task]).await?;
        let made = answers.first().map(Enqueued::id).transpose().map_err(StoreError::from)?;
        made.ok_or_else(|| Problem::unavailable("the store has not said what became of the task"))
    }
}
