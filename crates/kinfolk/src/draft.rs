//! The options of a task to be, said once for everything that makes tasks.

use kinfolk_core::{CommandName, InputError, Json, NewTask, QueueName};
use serde::Serialize;

use crate::task::Task;

/// A task that is being described. The first mistake made on the way is the answer.
#[derive(Debug)]
pub(crate) struct Draft(Result<NewTask, InputError>);

impl Draft {
    /// A task for a command by its name.
    pub(crate) fn of_command<P: Serialize + ?Sized>(command: &str, payload: &P) -> Self {
        let name = CommandName::new(command);
        Self(name.and_then(|name| Ok(NewTask::new(name, Json::of(payload)?))))
    }

    /// A typed task, with its unique key.
    pub(crate) fn of_task<T: Task>(task: &T) -> Self {
        Self::of_command(T::COMMAND, task).with(|new| new.unique = task.unique())
    }

    /// The same with the maker's trace context, unless another one is given later.
    pub(crate) fn traced(self, trace: Option<&str>) -> Self {
        self.with(|task| task.trace = trace.map(str::to_owned))
    }

    pub(crate) fn with(mut self, change: impl FnOnce(&mut NewTask)) -> Self {
        if let Ok(task) = &mut self.0 {
            change(task);
        }
        self
    }

    pub(crate) fn on_queue(self, queue: &str) -> Self {
        match QueueName::new(queue) {
            Ok(queue) => self.with(|task| task.queue = Some(queue)),
            Err(fault) => Self(self.0.and(Err(fault))),
        }
    }

    /// The command, if it was named well.
    pub(crate) fn command(&self) -> Option<&CommandName> {
        self.0.as_ref().ok().map(|task| &task.command)
    }

    pub(crate) fn into_task(self) -> Result<NewTask, InputError> {
        self.0
    }
}

/// The options of a task, for a builder that keeps a [`Draft`] in its field `draft`.
macro_rules! task_options {
    () => {
        fn with(mut self, change: impl FnOnce(&mut kinfolk_core::NewTask)) -> Self {
            self.draft = self.draft.with(change);
            self
        }

        /// Wait on this queue.
        pub fn queue(mut self, queue: impl AsRef<str>) -> Self {
            self.draft = self.draft.on_queue(queue.as_ref());
            self
        }

        /// Lower goes first.
        pub fn priority(self, priority: i32) -> Self {
            self.with(|task| task.priority = Some(priority))
        }

        /// Not before this span from now has passed, by the store's clock.
        pub fn delay(self, delay: std::time::Duration) -> Self {
            self.with(|task| task.due = kinfolk_core::Due::After(delay))
        }

        /// Not before this moment.
        pub fn at(self, moment: impl Into<kinfolk_core::Timestamp>) -> Self {
            self.with(|task| task.due = kinfolk_core::Due::At(moment.into()))
        }

        /// At most one task of this command under this key.
        pub fn unique(self, unique: kinfolk_core::Unique) -> Self {
            self.with(|task| task.unique = Some(unique))
        }

        /// Attempts in all.
        pub fn max_attempts(self, attempts: u16) -> Self {
            self.with(|task| task.max_attempts = Some(attempts))
        }

        /// How long one attempt may run.
        pub fn timeout(self, timeout: std::time::Duration) -> Self {
            self.with(|task| task.timeout = Some(timeout))
        }

        /// Take this W3C trace context (`traceparent`) along, for the spans of the attempts.
        pub fn trace(self, trace: impl Into<String>) -> Self {
            self.with(|task| task.trace = Some(trace.into()))
        }
    };
}
pub(crate) use task_options;
