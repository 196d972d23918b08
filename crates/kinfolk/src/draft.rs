//! The options of a task to be, said once for everything that makes tasks.

use kinfolk_core::{CommandName, InputError, Json, Keys, NewTask, QueueName};
use serde::Serialize;

use crate::task::Task;
use crate::trace;

/// A task that is being described. The first mistake made on the way is the answer.
#[derive(Debug)]
pub(crate) struct Draft(Result<NewTask, InputError>);

impl Draft {
    /// A task for a command by its name.
    pub(crate) fn of_command<P: Serialize + ?Sized>(command: &str, payload: &P) -> Self {
        let name = CommandName::new(command);
        Self(name.and_then(|name| Ok(NewTask::new(name, payload_of(payload)?))))
    }

    /// A typed task, with its unique key and its keys in groups.
    pub(crate) fn of_task<T: Task>(task: &T) -> Self {
        Self::of_sub_task(task).with(|new| new.unique = task.unique())
    }

    /// A typed task whose result is awaited: it has no unique key, so that it is its own.
    pub(crate) fn of_sub_task<T: Task>(task: &T) -> Self {
        Self::of_command(T::COMMAND, task).with_keys(task.keys())
    }

    /// The same with the trace context of the current span, else with the maker's, unless another one is given later.
    pub(crate) fn traced(self, maker: Option<&str>) -> Self {
        self.with(|task| task.trace = trace::current().or_else(|| maker.map(str::to_owned)))
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

    /// With these keys too; one that was given before in the same group is replaced.
    pub(crate) fn with_keys(self, keys: Result<Keys, InputError>) -> Self {
        match keys {
            Ok(keys) => self.with(|task| task.keys.0.extend(keys)),
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

/// A payload as it is stored. serde_json's own words about one that is not JSON do not say what they are about.
fn payload_of<P: Serialize + ?Sized>(payload: &P) -> Result<Json, InputError> {
    Json::of(payload).map_err(|fault| match fault {
        InputError::NotJson(why) => InputError::Other(format!("the payload can't be written as JSON: {why}")),
        fault => fault,
    })
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

        /// At most one task of this command under this key, while the key is held: unless its scope says otherwise, while that
        /// task waits to start.
        pub fn unique(self, unique: kinfolk_core::Unique) -> Self {
            self.with(|task| task.unique = Some(unique))
        }

        /// Run under this key of a group that the command declares: it starts when there is room for it.
        pub fn key(self, group: impl AsRef<str>, key: impl Into<String>) -> Self {
            self.keys([(group, key)])
        }

        /// Run under these keys, each the name of a group that the command declares and the value in it: it starts when
        /// there is room under all of them.
        pub fn keys<N: AsRef<str>, K: Into<String>>(mut self, keys: impl IntoIterator<Item = (N, K)>) -> Self {
            self.draft = self.draft.with_keys(kinfolk_core::Keys::of(keys));
            self
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

/// The options of a task that another one makes, for a builder that has those of a task.
macro_rules! made_options {
    () => {
        /// Also run under the keys of the task that makes it, in the groups that its own command has; one that is given
        /// here, or that its type derives, goes before.
        pub fn inherit_keys(self) -> Self {
            self.with(|task| task.inherit_keys = true)
        }
    };
}
pub(crate) use made_options;
