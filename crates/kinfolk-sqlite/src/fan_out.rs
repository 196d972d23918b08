//! The fan-outs that a call touches. Their counts are read once, changed in memory, and written once at the call's end:
//! a thousand children that settle together cost their parent one write.
//!
//! The writer is alone and a call is part of one transaction, so what is remembered here is what is true. Nothing else
//! may write the counts of a fan-out that is remembered.

use std::collections::HashMap;

use kinfolk_core::{ChildOrder, Tally};
use rusqlite::{Connection, OptionalExtension, Row};

use crate::error::{Result, unreadable};

/// Children made at once, and how they are doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FanOut {
    /// Whose children they are.
    pub(crate) task_id: i64,
    pub(crate) root_id: i64,
    /// Of the task whose children they are.
    pub(crate) depth: u16,
    pub(crate) order: ChildOrder,
    pub(crate) tally: Tally,
    /// Those that wait for an earlier one.
    pub(crate) held: u64,
    /// The task is waiting for them.
    pub(crate) waits: bool,
}

impl FanOut {
    /// Whether its children run one after another.
    pub(crate) fn in_order(&self) -> bool {
        self.order != ChildOrder::Together
    }

    fn from_row(row: &Row<'_>) -> rusqlite::Result<(Self, String)> {
        let tally = Tally { total: row.get(4)?, completed: row.get(5)?, failed: row.get(6)?, cancelled: row.get(7)? };
        let fan_out = Self {
            task_id: row.get(0)?,
            root_id: row.get(1)?,
            depth: row.get(2)?,
            order: ChildOrder::default(),
            tally,
            held: row.get(8)?,
            waits: row.get(9)?,
        };
        Ok((fan_out, row.get(3)?))
    }
}

/// What a call knows of fan-outs.
#[derive(Default)]
pub(crate) struct FanOuts(HashMap<i64, Known>);

struct Known {
    now: FanOut,
    changed: bool,
}

impl FanOuts {
    /// A fan-out that must be there.
    pub(crate) fn get(&mut self, conn: &Connection, id: i64) -> Result<FanOut> {
        self.find(conn, id)?.ok_or_else(|| unreadable("fan-out", &id.to_string()))
    }

    /// A fan-out, if there is one.
    pub(crate) fn find(&mut self, conn: &Connection, id: i64) -> Result<Option<FanOut>> {
        if let Some(known) = self.0.get(&id) {
            return Ok(Some(known.now));
        }
        let mut statement = conn.prepare_cached(include_str!("../sql/family/fan_out.sql"))?;
        let Some((fan_out, order)) = statement.query_row([id], FanOut::from_row).optional()? else {
            return Ok(None);
        };
        let order = ChildOrder::from_word(&order).ok_or_else(|| unreadable("order of children", &order))?;
        let now = FanOut { order, ..fan_out };
        self.0.insert(id, Known { now, changed: false });
        Ok(Some(now))
    }

    /// Remembers how a fan-out is from now on.
    pub(crate) fn put(&mut self, id: i64, now: FanOut) {
        self.0.insert(id, Known { now, changed: true });
    }

    /// Forgets a fan-out that is removed.
    pub(crate) fn forget(&mut self, id: i64) {
        self.0.remove(&id);
    }

    /// Writes what has changed.
    pub(crate) fn keep(&mut self, conn: &Connection) -> Result<()> {
        if self.0.is_empty() {
            return Ok(());
        }
        let mut statement = conn.prepare_cached(include_str!("../sql/family/keep.sql"))?;
        for (id, Known { now, .. }) in self.0.drain().filter(|(_, known)| known.changed) {
            statement.execute((
                id,
                now.task_id,
                now.root_id,
                now.depth,
                now.order.as_str(),
                now.tally.total,
                now.tally.completed,
                now.tally.failed,
                now.tally.cancelled,
                now.held,
                now.waits,
            ))?;
        }
        Ok(())
    }
}
