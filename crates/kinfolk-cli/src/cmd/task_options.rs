//! The options of a task to be, shared by `enqueue` and `schedule put`.

use std::time::Duration;

use clap::ValueEnum;
use kinfolk_core::{CommandName, InputError, Json, NewTask, OnDuplicate, QueueName, Unique, UniqueScope};

use crate::group::GivenKeys;
use crate::{group, span};

/// The options of a task; an option that is left out comes from its command.
#[derive(clap::Args, Clone, Debug)]
pub(crate) struct TaskOptions {
    /// The queue it waits on, instead of its command's
    #[arg(long, value_name = "NAME")]
    pub(crate) queue: Option<QueueName>,

    /// Lower goes first
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub(crate) priority: Option<i32>,

    /// Its key in a group of its command, like tenant=acme; several with commas, or by giving it several times
    #[arg(long = "key", value_name = "GROUP=KEY", value_parser = group::parse_keys)]
    pub(crate) keys: Vec<GivenKeys>,

    /// Make none while a task of this command waits to start under this key; --scope holds the key for longer
    #[arg(long, value_name = "KEY")]
    pub(crate) unique: Option<String>,

    /// How long the key is held: pending, while the task waits to start (the default); active, until it has ended; or
    /// window=5m, for so long after its enqueue
    #[arg(long, value_name = "SCOPE", value_parser = span::parse_scope, requires = "unique")]
    pub(crate) scope: Option<UniqueScope>,

    /// The effect of an enqueue under a held key
    #[arg(long, value_enum, value_name = "RULE", requires = "unique")]
    pub(crate) on_duplicate: Option<Duplicate>,

    /// Attempts in all
    #[arg(long, value_name = "N")]
    pub(crate) max_attempts: Option<u16>,

    /// How long one attempt may run, like 90s
    #[arg(long, value_name = "SPAN", value_parser = span::parse, allow_hyphen_values = true)]
    pub(crate) timeout: Option<Duration>,
}

/// The effect of an enqueue under a held key.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Duplicate {
    /// The task in place stays as it is.
    Keep,
    /// The new payload takes the old one's place.
    Replace,
    /// The payloads are merged.
    Merge,
}

impl TaskOptions {
    /// The task these options ask for, due at once.
    pub(crate) fn task(&self, command: CommandName, payload: Json) -> Result<NewTask, InputError> {
        let unique = self.unique.clone().map(|key| {
            Unique::key(key).scope(self.scope.unwrap_or_default()).on_duplicate(match self.on_duplicate {
                None | Some(Duplicate::Keep) => OnDuplicate::Keep,
                Some(Duplicate::Replace) => OnDuplicate::Replace,
                Some(Duplicate::Merge) => OnDuplicate::Merge,
            })
        });
        Ok(NewTask {
            queue: self.queue.clone(),
            priority: self.priority,
            unique,
            max_attempts: self.max_attempts,
            timeout: self.timeout,
            keys: group::keys_of(self.keys.iter().flatten())?,
            ..NewTask::new(command, payload)
        })
    }
}
