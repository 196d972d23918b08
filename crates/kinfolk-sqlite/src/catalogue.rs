//! The writer's memory of commands, queues and groups, so that hot verbs need not look them up.
//!
//! It is loaded whole, and loaded again when anyone, in any process, has changed it: the store's row counts the changes.

use std::collections::HashMap;
use std::time::Duration;

use kinfolk_core::{Command, CommandName, GroupName, Policy, Queue, QueueName, Retention, RetryPolicy, Timestamp};
use rusqlite::{Connection, Row};

use crate::error::{Result, unreadable};
use crate::known_group::{DeclaredGroup, KnownGroup, KnownGroups};
use crate::rows::{span, span_from};

/// A command with its number.
pub(crate) struct KnownCommand {
    pub(crate) id: i64,
    pub(crate) command: Command,
}

/// A queue with its number.
pub(crate) struct KnownQueue {
    pub(crate) id: i64,
    pub(crate) queue: Queue,
}

/// All commands, queues and groups, by name and by number.
#[derive(Default)]
pub(crate) struct Catalogue {
    groups: KnownGroups,
    commands: HashMap<CommandName, KnownCommand>,
    command_names: HashMap<i64, CommandName>,
    queues: HashMap<QueueName, KnownQueue>,
    queue_names: HashMap<i64, QueueName>,
}

impl Catalogue {
    /// Everything as it is in the file.
    pub(crate) fn load(conn: &Connection) -> Result<Self> {
        let mut catalogue = Self { groups: KnownGroups::load(conn)?, ..Self::default() };
        let mut statement = conn.prepare_cached(include_str!("../sql/register/queues.sql"))?;
        let mut rows = statement.query(())?;
        while let Some(row) = rows.next()? {
            let known = queue(row)?;
            catalogue.queue_names.insert(known.id, known.queue.name.clone());
            catalogue.queues.insert(known.queue.name.clone(), known);
        }
        let mut statement = conn.prepare_cached(include_str!("../sql/register/commands.sql"))?;
        let mut rows = statement.query(())?;
        while let Some(row) = rows.next()? {
            let mut known = command(row)?;
            known.command.groups = catalogue.groups.declared_by(known.id);
            catalogue.command_names.insert(known.id, known.command.name.clone());
            catalogue.commands.insert(known.command.name.clone(), known);
        }
        Ok(catalogue)
    }

    pub(crate) fn command(&self, name: &CommandName) -> Option<&KnownCommand> {
        self.commands.get(name)
    }

    pub(crate) fn queue(&self, name: &QueueName) -> Option<&KnownQueue> {
        self.queues.get(name)
    }

    pub(crate) fn command_name(&self, id: i64) -> Result<&CommandName> {
        self.command_names.get(&id).ok_or_else(|| unreadable("command number", &id.to_string()))
    }

    pub(crate) fn queue_name(&self, id: i64) -> Result<&QueueName> {
        self.queue_names.get(&id).ok_or_else(|| unreadable("queue number", &id.to_string()))
    }

    pub(crate) fn queue_by_id(&self, id: i64) -> Result<&Queue> {
        let name = self.queue_name(id)?;
        self.queues.get(name).map(|known| &known.queue).ok_or_else(|| unreadable("queue", name.as_str()))
    }

    pub(crate) fn command_by_id(&self, id: i64) -> Result<&Command> {
        let name = self.command_name(id)?;
        self.commands.get(name).map(|known| &known.command).ok_or_else(|| unreadable("command", name.as_str()))
    }

    /// The groups that a command declares, in the order of their numbers. Most declare none.
    pub(crate) fn groups_of(&self, command_id: i64) -> &[DeclaredGroup] {
        self.groups.of_command(command_id)
    }

    /// A group by its number.
    pub(crate) fn group(&self, id: i64) -> Result<&KnownGroup> {
        self.groups.by_id(id).ok_or_else(|| unreadable("group number", &id.to_string()))
    }

    /// All groups.
    pub(crate) fn groups(&self) -> &KnownGroups {
        &self.groups
    }

    /// The numbers of all commands.
    pub(crate) fn command_ids(&self) -> impl Iterator<Item = i64> {
        self.command_names.keys().copied()
    }

    /// The number of a queue, or those of all; `None` when there is no such queue.
    pub(crate) fn queues_named(&self, name: Option<&QueueName>) -> Option<Vec<i64>> {
        match name {
            None => Some(self.queue_names.keys().copied().collect()),
            Some(name) => self.queue(name).map(|known| vec![known.id]),
        }
    }

    /// All commands, by name.
    pub(crate) fn all_commands(&self) -> Vec<Command> {
        let mut all: Vec<_> = self.commands.values().map(|known| known.command.clone()).collect();
        all.sort_by(|one, other| one.name.cmp(&other.name));
        all
    }

    /// All queues, by name.
    pub(crate) fn all_queues(&self) -> Vec<Queue> {
        let mut all: Vec<_> = self.queues.values().map(|known| known.queue.clone()).collect();
        all.sort_by(|one, other| one.name.cmp(&other.name));
        all
    }

    /// Every queue with its number.
    pub(crate) fn queues(&self) -> impl Iterator<Item = &KnownQueue> {
        self.queues.values()
    }
}

fn queue(row: &Row<'_>) -> Result<KnownQueue> {
    let keep = |column: &str| -> Result<Option<Duration>> { Ok(row.get::<_, Option<i64>>(column)?.map(span_from)) };
    Ok(KnownQueue {
        id: row.get("id")?,
        queue: Queue {
            name: QueueName::new(row.get_ref("name")?.as_str().map_err(rusqlite::Error::from)?)?,
            paused_at: row.get::<_, Option<i64>>("paused_at")?.map(Timestamp::from_micros),
            paused_by: row.get("paused_by")?,
            policy: Policy {
                retention: Retention {
                    completed: keep("keep_completed")?,
                    failed: keep("keep_failed")?,
                    cancelled: keep("keep_cancelled")?,
                },
                family_limit: row.get("family_limit")?,
                child_limit: row.get("child_limit")?,
                depth_limit: row.get("depth_limit")?,
                fair: row.get::<_, Option<String>>("fair")?.map(|name| GroupName::new(&name)).transpose()?,
            },
        },
    })
}

fn command(row: &Row<'_>) -> Result<KnownCommand> {
    let name: String = row.get("name")?;
    let queue: String = row.get("queue")?;
    Ok(KnownCommand {
        id: row.get("id")?,
        command: Command {
            name: CommandName::new(&name)?,
            queue: QueueName::new(&queue)?,
            priority: row.get("priority")?,
            retry: RetryPolicy {
                max_attempts: row.get("max_attempts")?,
                base_ms: row.get("base_ms")?,
                cap_ms: row.get("cap_ms")?,
                jitter_pct: row.get("jitter_pct")?,
                max_strikes: row.get("max_strikes")?,
            },
            timeout: row.get::<_, Option<i64>>("timeout")?.map(span_from),
            groups: None,
            label: row.get::<_, Option<String>>("label")?.map(|path| path.parse()).transpose()?,
            handler: None,
        },
    })
}

/// Makes a queue with this policy, and gives back its number.
pub(crate) fn make_queue(conn: &Connection, name: &QueueName, policy: &Policy) -> Result<i64> {
    let mut statement = conn.prepare_cached(include_str!("../sql/register/make_queue.sql"))?;
    let keep = &policy.retention;
    let id = statement.query_row(
        (
            name.as_str(),
            keep.completed.map(span),
            keep.failed.map(span),
            keep.cancelled.map(span),
            policy.family_limit,
            policy.child_limit,
            policy.depth_limit,
            policy.fair.as_ref().map(GroupName::as_str),
        ),
        |row| row.get(0),
    )?;
    Ok(id)
}
