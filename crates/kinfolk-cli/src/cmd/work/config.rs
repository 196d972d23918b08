//! The file that says what a worker works on, and how its queues are to be: `kinfolk work --config kinfolk.toml`.
//!
//! ```toml
//! capacity = 16              # tasks at once, over all queues
//! lease = "30s"              # how long it is believed alive after its last heartbeat
//!
//! [queues.analytics]
//! capacity = 4               # of this queue at once, in this process
//! family_limit = 1           # from here on: set in the database when the worker starts
//! child_limit = 3
//! depth_limit = 1
//! fair = "tenant"            # values of this key take turns; "none" ends that
//! keep_failed = "30d"
//! paused = false
//!
//! [commands.send.groups]     # all groups of a command, declared when the worker starts
//! tenant = 20
//! provider = { rate = "100/1s:20", shared = true }
//! ```
//!
//! What is not said stays as it is in the database. A key that is not known is an error: it may be a slip of the pen.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use kinfolk_core::limits::{LEASE_MAX, LEASE_MIN};
use kinfolk_core::{
    Command, CommandName, GroupName, GroupSpec, Groups, InputError, Policy, QueueName, Store, StoreError,
};
use serde::Deserialize;

use crate::cmd::serve::WebConfig;
use crate::fault::Fault;
use crate::session::login_name;
use crate::{builtin, group, span};

/// The whole file.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Config {
    /// How many tasks run at once, over all queues; 16 by default.
    pub(crate) capacity: Option<u32>,
    /// How long a worker counts as alive after its last heartbeat; `30s` by default.
    lease: Option<String>,
    /// The queues to claim from, and their settings.
    #[serde(default)]
    pub(crate) queues: BTreeMap<QueueName, QueueConfig>,
    /// The groups of commands.
    #[serde(default)]
    commands: BTreeMap<CommandName, CommandConfig>,
    /// The providers that carry messages out of the database.
    #[serde(default)]
    pub(crate) providers: kinfolk_providers::Config,
    /// The server: names, redaction, tokens.
    #[serde(default)]
    pub(crate) web: WebConfig,
}

/// One queue.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct QueueConfig {
    /// How many tasks of this queue run at once in this process.
    pub(crate) capacity: Option<usize>,
    /// How many families are at work at once, over all workers; with 1 top-level tasks run one after another.
    family_limit: Option<Limit>,
    /// How many children run at once, over all families and workers; 0 refuses children.
    child_limit: Option<Limit>,
    /// How many generations families may have below the root; 32 is the most.
    depth_limit: Option<u16>,
    /// The values of this key take turns.
    fair: Option<GroupName>,
    /// How long completed families are kept, such as `7d`, or `forever`.
    keep_completed: Option<String>,
    /// How long failed families are kept.
    keep_failed: Option<String>,
    /// How long cancelled families are kept.
    keep_cancelled: Option<String>,
    /// Whether the queue is paused.
    paused: Option<bool>,
}

/// One command.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct CommandConfig {
    /// How many of its tasks run at once: a number for all of them, or its groups by name.
    groups: Declared,
}

/// The groups of a command; a bare number is its total.
#[derive(Debug, Deserialize)]
#[serde(
    untagged,
    expecting = "groups are a number for the whole command, or a table of groups; a group is a number, or a table with limit, rate, hold and shared"
)]
enum Declared {
    Total(u32),
    Named(BTreeMap<GroupName, GroupConfig>),
}

/// A group; a bare number is its limit.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum GroupConfig {
    Limit(u32),
    Whole(WholeGroup),
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct WholeGroup {
    /// How many run at once under one key. A group that has nothing but a limit can be that number alone.
    limit: Option<u32>,
    /// How many start in a span, and how many of them at once: `100/1s:20`.
    rate: Option<String>,
    /// Whether a task holds its slot until it has ended, also while it waits.
    #[serde(default)]
    hold: bool,
    /// Whether commands with a shared group of this name count together.
    #[serde(default)]
    shared: bool,
}

/// A limit, or the word that there is to be none.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(untagged, expecting = "a limit is a number, 0 or more, or \"none\"")]
enum Limit {
    At(u32),
    Not(NoLimit),
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
enum NoLimit {
    None,
}

impl Config {
    /// Reads a file.
    pub(crate) fn read(path: &Path) -> Result<Self, Fault> {
        let name = path.display().to_string();
        let text = std::fs::read_to_string(path).map_err(|fault| Fault::unreadable("config file", &name, &fault))?;
        Self::parse(&text).map_err(|fault| fault.about(&name))
    }

    fn parse(text: &str) -> Result<Self, Fault> {
        let config: Self = toml::from_str(text).map_err(|fault| unreadable(text, &fault))?;
        if config.capacity == Some(0) || config.queues.values().any(|queue| queue.capacity == Some(0)) {
            return Err(Fault::input("a capacity of 0 would run nothing; give 1 or more, or say paused = true"));
        }
        config.lease()?;
        for (name, queue) in &config.queues {
            queue.policy(Policy::default()).map_err(|fault| fault.about(&format!("queues.{name}")))?;
        }
        for (name, command) in &config.commands {
            command.groups().map_err(|fault| Fault::input(format!("commands.{name}: {fault}")))?;
        }
        Ok(config)
    }

    /// How long the worker is believed alive after its last heartbeat, if the file says so.
    pub(crate) fn lease(&self) -> Result<Option<Duration>, Fault> {
        let Some(text) = &self.lease else { return Ok(None) };
        let lease = span::parse(text).map_err(|fault| Fault::input(format!("lease: {fault}")))?;
        match (LEASE_MIN..=LEASE_MAX).contains(&lease) {
            true => Ok(Some(lease)),
            false => Err(Fault::input(format!("a lease of {text}; give 1s to 1h"))),
        }
    }

    /// Sets in the database what the file says about queues and commands. The file's mistakes are found first, and nothing is set
    /// then. Each queue is set in a transaction of its own: one that the database refuses leaves those before it set.
    pub(crate) async fn apply(&self, store: &dyn Store) -> Result<(), Fault> {
        let commands = self.changed_commands(store).await?;
        self.apply_queues(store).await?;
        if !commands.is_empty() {
            store.register(&commands).await?;
        }
        Ok(())
    }

    /// The commands whose groups are not as the file says, with those that it says.
    async fn changed_commands(&self, store: &dyn Store) -> Result<Vec<Command>, Fault> {
        if self.commands.is_empty() {
            return Ok(Vec::new());
        }
        let there = store.commands().await?;
        let mut changed = Vec::new();
        for (name, wanted) in &self.commands {
            let groups = wanted.groups()?;
            match there.iter().find(|command| command.name == *name) {
                Some(known) if known.groups.as_ref() == Some(&groups) => {}
                // The handler stays: naming a handler needs more rights than declaring groups.
                Some(known) => changed.push(Command { groups: Some(groups), handler: None, ..known.clone() }),
                // The worker registers these itself, a moment later.
                None if builtin::names(true).contains(&name.as_str()) => {
                    changed.push(Command { groups: Some(groups), ..Command::new(name.clone()) });
                }
                None => {
                    let message = format!("{name}, which the config file gives groups; register it first");
                    return Err(StoreError::not_found("command", message).into());
                }
            }
        }
        Ok(changed)
    }

    async fn apply_queues(&self, store: &dyn Store) -> Result<(), Fault> {
        let there = store.queues().await?;
        for (name, wanted) in &self.queues {
            let now = there.iter().find(|queue| queue.name == *name);
            let policy = wanted.policy(now.map_or_else(Policy::default, |queue| queue.policy.clone()))?;
            if now.is_none_or(|queue| queue.policy != policy) {
                store.set_queue(name, &policy).await?;
            }
            match (wanted.paused, now.is_some_and(|queue| queue.paused_at.is_some())) {
                (Some(true), false) => store.pause(name, login_name().as_deref()).await?,
                (Some(false), true) => store.resume(name).await?,
                _ => {}
            }
        }
        Ok(())
    }
}

impl QueueConfig {
    fn policy(&self, mut policy: Policy) -> Result<Policy, Fault> {
        let limit = |wanted: Option<Limit>, now| match wanted {
            None => now,
            Some(Limit::At(limit)) => Some(limit),
            Some(Limit::Not(NoLimit::None)) => None,
        };
        policy.family_limit = limit(self.family_limit, policy.family_limit);
        policy.child_limit = limit(self.child_limit, policy.child_limit);
        policy.depth_limit = self.depth_limit.unwrap_or(policy.depth_limit);
        if let Some(fair) = &self.fair {
            policy.fair = Some(fair.clone()).filter(|fair| fair.as_str() != "none");
        }
        policy.retention.completed = kept(self.keep_completed.as_deref(), policy.retention.completed)?;
        policy.retention.failed = kept(self.keep_failed.as_deref(), policy.retention.failed)?;
        policy.retention.cancelled = kept(self.keep_cancelled.as_deref(), policy.retention.cancelled)?;
        policy.check().map_err(|fault| Fault::input(fault.to_string()))?;
        Ok(policy)
    }
}

impl CommandConfig {
    fn groups(&self) -> Result<Groups, InputError> {
        let groups = match &self.groups {
            Declared::Total(limit) => Groups::total(*limit),
            Declared::Named(groups) => {
                let specs = groups.iter().map(|(name, group)| Ok((name.clone(), group.spec()?)));
                Groups(specs.collect::<Result<_, InputError>>()?)
            }
        };
        groups.check()?;
        Ok(groups)
    }
}

impl GroupConfig {
    fn spec(&self) -> Result<GroupSpec, InputError> {
        Ok(match self {
            Self::Limit(limit) => GroupSpec::limit(*limit),
            Self::Whole(WholeGroup { limit, rate, hold, shared }) => GroupSpec {
                limit: *limit,
                rate: rate.as_deref().map(group::parse_rate).transpose()?,
                hold: *hold,
                shared: *shared,
            },
        })
    }
}

/// What is wrong, and in which line.
fn unreadable(text: &str, fault: &toml::de::Error) -> Fault {
    match fault.span().and_then(|span| text.get(..span.start)) {
        Some(before) => Fault::input(format!("line {}: {}", before.matches('\n').count() + 1, fault.message())),
        None => Fault::input(fault.message()),
    }
}

fn kept(wanted: Option<&str>, now: Option<Duration>) -> Result<Option<Duration>, Fault> {
    match wanted {
        None => Ok(now),
        Some("forever") => Ok(None),
        Some(text) => span::parse(text).map(Some).map_err(|fault| Fault::input(fault.to_string())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_said_stays_as_it_is() {
        let config =
            Config::parse("[queues.q]\nchild_limit = 3\nfamily_limit = \"none\"\nkeep_failed = \"forever\"").unwrap();
        let now = Policy { family_limit: Some(1), depth_limit: 5, ..Policy::default() };
        let policy = config.queues.values().next().unwrap().policy(now.clone()).unwrap();
        assert_eq!((policy.family_limit, policy.child_limit, policy.depth_limit), (None, Some(3), 5));
        assert_eq!((policy.retention.failed, policy.retention.completed), (None, now.retention.completed));
    }

    #[test]
    fn a_command_declares_a_total_or_groups_by_name() {
        let groups =
            |text: &str| Config::parse(text).map(|config| config.commands.values().next().unwrap().groups().unwrap());
        assert_eq!(groups("[commands.send]\ngroups = 5").unwrap(), Groups::total(5));
        let text = "[commands.send.groups]\ntenant = 20\nprovider = { rate = \"100/1s:20\", shared = true }";
        let expected = r#"{"tenant": 20,
            "provider": {"rate": {"count": 100, "per_us": 1000000, "burst": 20}, "shared": true}}"#;
        assert_eq!(groups(text).unwrap(), serde_json::from_str(expected).unwrap());
        assert!(Config::parse("[commands.send]\ngroups = {}").is_ok(), "none at all");
    }

    #[test]
    fn what_can_not_be_read_is_told_with_its_line_and_without_words_of_the_parser() {
        for (text, words) in [
            ("capacity = 3\ncapcity = 3", "line 2: unknown field `capcity`"),
            ("[queues.q]\nfamily_limit = -1", "line 2: a limit is a number, 0 or more, or \"none\""),
            ("[commands.c.groups]\nt = -3", "line 1: groups are a number"),
            ("[queues.q]\nkeep_failed = \"forevr\"", "queues.q: not a span of time: \"forevr\""),
            ("[queues.q]\nfamily_limit = 0", "queues.q: a family_limit of 0 would run nothing"),
            ("[queues.q]\nfair = \"total\"", "queues.q: the group total has no keys"),
        ] {
            let said = format!("{:?}", Config::parse(text).unwrap_err());
            assert!(said.replace("\\\"", "\"").contains(words), "{text}: {said}");
            assert!(!said.contains("untagged"), "{said}");
        }
    }

    #[test]
    fn slips_of_the_pen_are_refused() {
        for text in [
            "capacitty = 1",
            "[queues.q]\ncapacity = 0",
            "lease = \"2h\"",
            "lease = \"soon\"",
            "[queues.q]\nfamily_limit = \"some\"",
            "[queues.\"a b\"]",
            "[commands.c]\ngroup = 5",
            "[commands.c.groups]\nt = { limits = 3 }",
            "[commands.c.groups]\nt = { rate = \"soon\" }",
            "[commands.c.groups]\nt = { hold = true }",
            "[commands.c.groups]\n\"a b\" = 1",
            "[providers.fax]\nkind = \"outbox\"",
            "[providers.email]\nkind = \"pigeon\"",
        ] {
            assert!(Config::parse(text).is_err(), "{text}");
        }
    }
}
