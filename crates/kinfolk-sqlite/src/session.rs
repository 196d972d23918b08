//! The state of a verb while it runs: the open transaction, the time, the catalogue, and the news it makes.

use std::collections::{BTreeMap, BTreeSet};

use kinfolk_core::{TaskId, Timestamp, WorkerId};
use rusqlite::{CachedStatement, Connection};

use crate::admission::blocked;
use crate::catalogue::Catalogue;
use crate::error::Result;
use crate::family::fan_out::{FanOut, FanOuts};
use crate::locks::Locks;

/// One request inside the writer's transaction.
pub(crate) struct Session<'a> {
    /// The writer's connection, inside its transaction.
    pub(crate) conn: &'a Connection,
    /// The one time of this call.
    pub(crate) now: Timestamp,
    /// Commands and queues as they are.
    pub(crate) catalogue: &'a Catalogue,
    /// Which workers' processes live.
    pub(crate) locks: &'a Locks,
    /// The highest task number given out.
    pub(crate) last_task: &'a mut i64,
    /// The fan-outs this call has looked at, and its changes to them.
    pub(crate) fan_outs: FanOuts,
    /// The keys, by group, that may have room since this call: its end wakes the tasks behind them.
    pub(crate) freed: BTreeMap<i64, BTreeSet<String>>,
    /// The fan-outs that are to end with their owners, which have failed in this call.
    pub(crate) doomed: Vec<i64>,
    /// The statement that gives slots back, once it is needed: a settle asks for it again and again.
    pub(crate) give_back: Option<CachedStatement<'a>>,
    /// The news for others once this is committed.
    pub(crate) news: News,
}

/// The news for listeners after a commit.
#[derive(Default)]
pub(crate) struct News {
    /// Queues that may have something to claim.
    pub(crate) queues: BTreeSet<i64>,
    /// Workers that have a task whose end is asked for.
    pub(crate) cancels: BTreeSet<WorkerId>,
    /// A command or a queue was made or changed.
    pub(crate) catalogue: bool,
    /// Workers that are no more: their lock files go.
    pub(crate) gone: Vec<WorkerId>,
}

impl<'a> Session<'a> {
    /// A statement, prepared once per connection.
    pub(crate) fn sql(&self, text: &str) -> Result<CachedStatement<'a>> {
        Ok(self.conn.prepare_cached(text)?)
    }

    /// A fresh task number.
    pub(crate) fn next_task(&mut self) -> TaskId {
        *self.last_task += 1;
        TaskId(*self.last_task)
    }

    /// The time as it is stored.
    pub(crate) fn micros(&self) -> i64 {
        self.now.as_micros()
    }

    /// A fan-out as it is now.
    pub(crate) fn fan_out(&mut self, id: i64) -> Result<FanOut> {
        self.fan_outs.get(self.conn, id)
    }

    /// A key may have room from now on.
    pub(crate) fn free(&mut self, group_id: i64, key: impl Into<String>) {
        self.freed.entry(group_id).or_default().insert(key.into());
    }

    /// Writes what is still only remembered: the last thing a call does.
    pub(crate) fn keep(&mut self) -> Result<()> {
        blocked::wake_freed(self)?;
        self.fan_outs.keep(self.conn)
    }
}

impl News {
    /// Takes over the news of a request that went well.
    pub(crate) fn absorb(&mut self, other: Self) {
        self.queues.extend(other.queues);
        self.cancels.extend(other.cancels);
        self.catalogue |= other.catalogue;
        self.gone.extend(other.gone);
    }
}
