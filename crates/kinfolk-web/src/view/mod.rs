//! What a caller may see: the verbs of `Inspect`, as far as the caller's queues go. What is hidden is answered as if it were not
//! there.

mod ended;
mod errors;
mod failures;
mod list;
mod redact;
mod site;

use std::collections::BTreeMap;

use kinfolk_core::filter::{ByCommand, Filter, Matches};
use kinfolk_core::task::{Attempt, Run};
use kinfolk_core::{
    ChildResult, Explanation, Failure, FanOutId, History, Json, Progress, ReadBy, Store, Tally, Task, TaskId, Timestamp,
};

use crate::access::{Caller, Role};
use crate::app::App;
use crate::problem::Problem;

pub(crate) use self::redact::Redact;

/// What one caller may see.
#[derive(Clone, Copy)]
pub(crate) struct View<'a> {
    app: &'a App,
    caller: &'a Caller,
}

type Seen<T> = Result<T, Problem>;

impl<'a> View<'a> {
    pub(crate) fn new(app: &'a App, caller: &'a Caller) -> Self {
        Self { app, caller }
    }

    fn store(&self) -> Seen<&'a dyn Store> {
        if !self.caller.is(Role::Viewer) {
            return Err(Problem::forbidden("you may not look at tasks; send a token"));
        }
        Ok(self.app.store.as_ref())
    }

    /// Whether the caller may see the tasks of all queues.
    pub(crate) fn sees_all(&self) -> bool {
        self.caller.queues.is_none()
    }

    /// The task, if the caller may see it, without what nobody may.
    fn shown(&self, task: Task) -> Option<Task> {
        self.caller.may_see(&task.queue).then(|| self.redacted(task))
    }

    /// The task without what nobody may see.
    pub(crate) fn redacted(&self, mut task: Task) -> Task {
        let redact = &self.app.config.redact;
        task.payload = redact.apply(task.payload);
        task.label_path = task.label_path.filter(|path| !redact.hides(path.keys()));
        task.result = task.result.map(|result| redact.apply(result));
        task.failure = task.failure.map(|failure| self.redacted_failure(failure));
        task
    }

    /// The failure without what nobody may see.
    pub(crate) fn redacted_failure(&self, mut failure: Failure) -> Failure {
        failure.detail = failure.detail.map(|detail| self.app.config.redact.apply(detail));
        failure
    }

    /// The results of children that the caller may see: a child can be on another queue than its parent.
    async fn shown_results(&self, results: Vec<ChildResult>) -> Vec<ChildResult> {
        let mut shown = Vec::with_capacity(results.len());
        for child in results {
            if self.caller.queues.is_none() || self.task(child.task).await.is_ok() {
                shown.push(self.redacted_result(child));
            }
        }
        shown
    }

    fn redacted_result(&self, mut child: ChildResult) -> ChildResult {
        child.result = child.result.map(|result| self.app.config.redact.apply(result));
        child.failure = child.failure.map(|failure| self.redacted_failure(failure));
        child
    }

    /// The store's clock.
    pub(crate) async fn now(&self) -> Seen<Timestamp> {
        Ok(self.store()?.now().await?)
    }

    /// One task.
    pub(crate) async fn task(&self, id: TaskId) -> Seen<Task> {
        let task = self.store()?.task(id).await?;
        task.and_then(|task| self.shown(task)).ok_or_else(|| Problem::not_found("task", id))
    }

    /// The ended attempts of a task, oldest first.
    pub(crate) async fn attempts(&self, id: TaskId) -> Seen<Vec<Attempt>> {
        self.task(id).await?;
        let mut attempts = self.store()?.attempts(id).await?;
        for attempt in &mut attempts {
            attempt.failure = attempt.failure.take().map(|failure| self.redacted_failure(failure));
        }
        Ok(attempts)
    }

    /// The course of tasks that the caller has been shown: their runs, by task, oldest first.
    pub(crate) async fn runs(&self, tasks: &[Task]) -> Seen<Vec<Run>> {
        let ids: Vec<TaskId> =
            tasks.iter().filter(|task| self.caller.may_see(&task.queue)).map(|task| task.id).collect();
        let mut runs = self.store()?.runs(&ids).await?;
        for run in &mut runs {
            run.failure = run.failure.take().map(|failure| self.redacted_failure(failure));
        }
        Ok(runs)
    }

    /// The same filter, on the one queue that the caller may see, if it is one. A filter on a field that nobody may see is refused:
    /// what it finds would tell the field.
    pub(crate) fn allowed(&self, filter: &Filter) -> Seen<Filter> {
        if filter.payload.as_ref().is_some_and(|wanted| self.app.config.redact.hides(&wanted.path)) {
            return Err(Problem::forbidden(
                "this field of payloads is never shown, so nothing can be looked for by it",
            ));
        }
        let mut filter = filter.clone();
        if let (None, Some([only])) = (&filter.queue, self.caller.queues.as_deref()) {
            filter.queue = Some(only.clone());
        }
        Ok(filter)
    }

    /// How many tasks match.
    pub(crate) async fn count(&self, filter: &Filter) -> Seen<Matches> {
        let (store, filter) = (self.store()?, self.allowed(filter)?);
        let queues = match (&filter.queue, &self.caller.queues) {
            (Some(queue), _) if !self.caller.may_see(queue) => return Ok(Matches::default()),
            (None, Some(queues)) => queues,
            _ => return Ok(store.count(&filter).await?),
        };
        let mut all = Matches::default();
        for queue in queues {
            let matches = store.count(&Filter { queue: Some(queue.clone()), ..filter.clone() }).await?;
            all = Matches { tasks: all.tasks + matches.tasks, more: all.more || matches.more };
        }
        Ok(all)
    }

    /// How many of the tasks that match each command has.
    pub(crate) async fn count_by_command(&self, filter: &Filter) -> Seen<ByCommand> {
        let (store, filter) = (self.store()?, self.allowed(filter)?);
        let queues = match (&filter.queue, &self.caller.queues) {
            (Some(queue), _) if !self.caller.may_see(queue) => return Ok(ByCommand::default()),
            (None, Some(queues)) => queues,
            _ => return Ok(store.count_by_command(&filter).await?),
        };
        let (mut all, mut more) = (BTreeMap::new(), false);
        for queue in queues {
            let found = store.count_by_command(&Filter { queue: Some(queue.clone()), ..filter.clone() }).await?;
            more |= found.more;
            for (command, tasks) in found.counts {
                *all.entry(command).or_default() += tasks;
            }
        }
        Ok(ByCommand { counts: all.into_iter().collect(), more })
    }

    /// The children of a task in the order in which they were made.
    pub(crate) async fn children(&self, parent: TaskId, from: u64, limit: usize) -> Seen<Vec<Task>> {
        self.task(parent).await?;
        let children = self.store()?.children(parent, from, limit).await?;
        Ok(children.into_iter().filter_map(|task| self.shown(task)).collect())
    }

    /// How the children of a task are doing.
    pub(crate) async fn tally(&self, parent: TaskId) -> Seen<Tally> {
        self.task(parent).await?;
        Ok(self.store()?.tally(parent).await?)
    }

    /// How the family of a task is doing.
    pub(crate) async fn progress(&self, id: TaskId) -> Seen<Progress> {
        self.task(id).await?;
        Ok(self.store()?.progress(id).await?)
    }

    /// What the handler of a task has recorded.
    pub(crate) async fn history(&self, id: TaskId) -> Seen<History> {
        self.task(id).await?;
        let mut history = self.store()?.history(id).await?;
        for checkpoint in &mut history.checkpoints {
            let value = std::mem::replace(&mut checkpoint.value, Json::null());
            checkpoint.value = self.app.config.redact.apply(value);
        }
        history.results = self.shown_results(history.results).await;
        Ok(history)
    }

    /// The children of a fan-out of this task, in this order, from this one on.
    pub(crate) async fn results(
        &self,
        (id, fan_out): (TaskId, FanOutId),
        by: ReadBy,
        from: u32,
        limit: usize,
    ) -> Seen<Vec<ChildResult>> {
        let history = self.history(id).await?;
        if !history.fan_outs.iter().any(|own| own.id == fan_out) {
            return Err(Problem::not_found("fan-out", fan_out));
        }
        let results = self.store()?.results(fan_out, by, from, limit).await?;
        Ok(self.shown_results(results).await)
    }

    /// Why a task is not running.
    pub(crate) async fn explain(&self, id: TaskId) -> Seen<Explanation> {
        self.task(id).await?;
        Ok(self.store()?.explain(id).await?)
    }
}
