//! Which tasks are meant: the options that `list` and the bulk actions share. Their names are those of the filter everywhere.

use std::time::Duration;

use kinfolk_core::filter::{Filter, PayloadIs};
use kinfolk_core::{
    CommandName, FailureKind, FanOutId, InputError, QueueName, State, Store, StoreError, TaskId, Timestamp,
};

use crate::fault::Fault;
use crate::group::{GivenKeys, keys_of, parse_keys};
use crate::session::quoted;
use crate::span;

/// Which tasks are meant.
#[derive(clap::Args, Debug, Default, PartialEq)]
pub(crate) struct FilterOptions {
    /// In this state: pending, running, waiting, completed, failed or cancelled; may be given several times
    #[arg(long, value_name = "STATE", value_delimiter = ',')]
    state: Vec<State>,

    /// Of this command
    #[arg(long, value_name = "NAME")]
    command: Option<CommandName>,

    /// On this queue
    #[arg(long, value_name = "NAME")]
    queue: Option<QueueName>,

    /// The children of this task
    #[arg(long, value_name = "ID")]
    parent: Option<TaskId>,

    /// The family of this root
    #[arg(long, value_name = "ID")]
    root: Option<TaskId>,

    /// The children in this fan-out
    #[arg(long, value_name = "ID")]
    fan_out: Option<FanOutId>,

    /// Those that have children; with =false those that have none
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    has_children: Option<bool>,

    /// The follow-ups that the family of this root has made
    #[arg(long, value_name = "ID")]
    follows: Option<TaskId>,

    /// Only tasks without a parent
    #[arg(long)]
    roots: bool,

    /// Holding, or having held, this unique key
    #[arg(long, value_name = "KEY")]
    unique: Option<String>,

    /// With this key in a group: tenant=acme; may be given several times
    #[arg(long, value_name = "GROUP=KEY", value_parser = parse_keys)]
    key: Vec<GivenKeys>,

    /// Enqueued then or later: a time like 2026-01-31T12:00:00Z, or how long ago, like 2h
    #[arg(long, value_name = "TIME", value_parser = When::parse)]
    created_after: Option<When>,

    /// Enqueued before then
    #[arg(long, value_name = "TIME", value_parser = When::parse)]
    created_before: Option<When>,

    /// Ended then or later
    #[arg(long, value_name = "TIME", value_parser = When::parse)]
    finished_after: Option<When>,

    /// Ended before then
    #[arg(long, value_name = "TIME", value_parser = When::parse)]
    finished_before: Option<When>,

    /// Whose last failure is of this kind: error, timeout, panic, validation…
    #[arg(long, value_name = "KIND")]
    failure_kind: Option<FailureKind>,

    /// Whose last failure has these letters in its message
    #[arg(long, value_name = "TEXT")]
    failure_text: Option<String>,

    /// With this value at this place of the payload: customer.id=17
    #[arg(long, value_name = "PATH=VALUE")]
    payload: Option<PayloadIs>,
}

/// A moment, as people give it.
#[derive(Clone, Copy, Debug, PartialEq)]
enum When {
    At(Timestamp),
    Ago(Duration),
}

impl When {
    fn parse(text: &str) -> Result<Self, InputError> {
        let ago = text.strip_suffix(" ago").unwrap_or(text);
        span::parse(ago).map(Self::Ago).or_else(|_| text.parse().map(Self::At))
    }

    fn at(self, now: Timestamp) -> Timestamp {
        match self {
            Self::At(time) => time,
            Self::Ago(span) => now.minus(span),
        }
    }
}

impl FilterOptions {
    /// The filter. A misspelt command or queue is an error, not an empty list.
    pub(crate) async fn filter(&self, store: &dyn Store) -> Result<Filter, Fault> {
        must_exist(store, self.command.as_ref(), self.queue.as_ref()).await?;
        let times = [self.created_after, self.created_before, self.finished_after, self.finished_before];
        let now = if times.iter().any(Option::is_some) { store.now().await? } else { Timestamp::default() };
        let [created_after, created_before, finished_after, finished_before] =
            times.map(|time| time.map(|time| time.at(now)));
        Ok(Filter {
            state: self.state.clone(),
            queue: self.queue.clone(),
            command: self.command.clone(),
            parent: self.parent,
            root: self.root,
            has_children: self.has_children,
            fan_out: self.fan_out,
            follows: self.follows,
            roots: self.roots,
            unique: self.unique.clone(),
            key: keys_of(self.key.iter().flatten())?,
            created_after,
            created_before,
            finished_after,
            finished_before,
            failure_kind: self.failure_kind,
            failure_text: self.failure_text.clone(),
            payload: self.payload.clone(),
            ..Filter::default()
        })
    }
}

/// Refuses a command or a queue that is not there: nothing is found of a name that is misspelt.
pub(crate) async fn must_exist(
    store: &dyn Store,
    command: Option<&CommandName>,
    queue: Option<&QueueName>,
) -> Result<(), Fault> {
    if let Some(name) = command
        && !store.commands().await?.iter().any(|known| known.name == *name)
    {
        return Err(StoreError::not_found("command", format!("{name}; see `kinfolk commands`")).into());
    }
    if let Some(name) = queue
        && !store.queues().await?.iter().any(|known| known.name == *name)
    {
        return Err(StoreError::not_found("queue", format!("{name}; see `kinfolk queue list`")).into());
    }
    Ok(())
}

/// A filter as the options that make it.
pub(crate) fn words(filter: &Filter) -> Vec<String> {
    let mut words = Vec::new();
    let mut add = |option: &str, value: Option<String>| {
        words.extend(value.map(|value| format!("--{option} {}", quoted(&value))));
    };
    let states = filter.state.iter().map(|state| state.as_str()).collect::<Vec<_>>().join(",");
    add("state", Some(states).filter(|states| !states.is_empty()));
    add("command", filter.command.as_ref().map(ToString::to_string));
    add("queue", filter.queue.as_ref().map(ToString::to_string));
    add("parent", filter.parent.map(|id| id.to_string()));
    add("root", filter.root.map(|id| id.to_string()));
    add("fan-out", filter.fan_out.map(|id| id.to_string()));
    add("follows", filter.follows.map(|id| id.to_string()));
    add("unique", filter.unique.clone());
    for (group, key) in &filter.key.0 {
        add("key", Some(format!("{group}={key}")));
    }
    add("created-after", filter.created_after.map(|time| time.to_string()));
    add("created-before", filter.created_before.map(|time| time.to_string()));
    add("finished-after", filter.finished_after.map(|time| time.to_string()));
    add("finished-before", filter.finished_before.map(|time| time.to_string()));
    add("failure-kind", filter.failure_kind.map(|kind| kind.to_string()));
    add("failure-text", filter.failure_text.clone());
    add("payload", filter.payload.as_ref().map(|is| format!("{}={}", is.path.join("."), is.value)));
    words.extend(filter.has_children.map(|has| format!("--has-children={has}")));
    words.extend(filter.roots.then(|| "--roots".to_owned()));
    words
}
