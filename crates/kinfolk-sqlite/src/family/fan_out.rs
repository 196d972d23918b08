//! The fan-outs that a call touches. Their counts are read once, changed in memory, and written once at the call's end:
//! a thousand children that settle together cost their parent one write.
//!
//! The writer is alone and a call is part of one transaction, so this memory is true. Nothing else
//! may write a fan-out that is remembered. The file's row of one may be older meanwhile, in one way only: there,
//! children may look open that have ended, and tasks suspended that are resumed. So a look-up of open or awaited
//! fan-outs in the file finds all of them, and each one found is looked at here.

use std::collections::HashMap;

use kinfolk_core::{ChildOrder, Rule, Tally, Verdict};
use rusqlite::{Connection, OptionalExtension, Row, ToSql, params_from_iter};

use crate::error::{Result, unreadable};
use crate::family::ended_page;

/// Children made at once, and how they are doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FanOut {
    /// The owner: they are the children of this task.
    pub(crate) task_id: i64,
    pub(crate) root_id: i64,
    /// The depth of the owner.
    pub(crate) depth: u16,
    pub(crate) order: ChildOrder,
    pub(crate) tally: Tally,
    /// The children that wait for an earlier one.
    pub(crate) held: u64,
    /// The task has done its own work and waits for its open children here.
    pub(crate) waits: bool,
    /// More facts about a fan-out that a handler awaits; `None` for spawned children.
    pub(crate) awaited: Option<Awaited>,
}

/// The facts about a fan-out that a handler awaits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Awaited {
    pub(crate) rule: Rule,
    pub(crate) verdict: Option<Verdict>,
    /// With a verdict, `None` only until the end of the call that came to it.
    pub(crate) decided_at: Option<u64>,
    pub(crate) decided_step: Option<u32>,
    /// The task is suspended, and is resumed when this many children have ended.
    pub(crate) wake_at: Option<u32>,
    pub(crate) deadline: Option<i64>,
    pub(crate) cancel_on_failure: bool,
    pub(crate) created_at: i64,
    pub(crate) settled_at: Option<i64>,
}

impl FanOut {
    /// Whether its children run one after another.
    pub(crate) fn in_order(&self) -> bool {
        self.order != ChildOrder::Together
    }

    /// A fan-out, from the columns of `sql/family/fan_out.sql`.
    pub(crate) fn from_row(row: &Row<'_>) -> Result<Self> {
        let order: String = row.get(3)?;
        let rule: Option<String> = row.get(10)?;
        Ok(Self {
            task_id: row.get(0)?,
            root_id: row.get(1)?,
            depth: row.get(2)?,
            order: ChildOrder::from_word(&order).ok_or_else(|| unreadable("order of children", &order))?,
            tally: Tally { total: row.get(4)?, completed: row.get(5)?, failed: row.get(6)?, cancelled: row.get(7)? },
            held: row.get(8)?,
            waits: row.get(9)?,
            awaited: rule.map(|rule| Awaited::from_row(&rule, row)).transpose()?,
        })
    }
}

impl Awaited {
    fn from_row(rule: &str, row: &Row<'_>) -> Result<Self> {
        let rule = match (rule, row.get::<_, Option<u32>>(11)?) {
            ("fail_fast", _) => Rule::FailFast,
            ("collect_all", _) => Rule::CollectAll,
            ("threshold", Some(parts)) => Rule::Threshold(parts),
            _ => return Err(unreadable("rule of a fan-out", rule)),
        };
        let verdict: Option<String> = row.get(12)?;
        let read = |word: String| Verdict::from_word(&word).ok_or_else(|| unreadable("verdict", &word));
        Ok(Self {
            rule,
            verdict: verdict.map(read).transpose()?,
            decided_at: row.get(13)?,
            decided_step: row.get(14)?,
            wake_at: row.get(15)?,
            deadline: row.get(16)?,
            cancel_on_failure: row.get(17)?,
            created_at: row.get(18)?,
            settled_at: row.get(20)?,
        })
    }
}

/// A call's memory of fan-outs.
#[derive(Default)]
pub(crate) struct FanOuts(HashMap<i64, Known>);

struct Known {
    now: FanOut,
    changed: bool,
    /// The children of an awaited one that have ended in this call.
    ended: Vec<u32>,
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
        let mut statement = conn.prepare_cached(include_str!("../../sql/family/fan_out.sql"))?;
        let found = statement.query_row([id], |row| Ok(FanOut::from_row(row))).optional()?.transpose()?;
        if let Some(now) = found {
            self.0.insert(id, Known { now, changed: false, ended: Vec::new() });
        }
        Ok(found)
    }

    /// Remembers how a fan-out is from now on.
    pub(crate) fn put(&mut self, id: i64, now: FanOut) {
        let known = self.0.entry(id).or_insert(Known { now, changed: true, ended: Vec::new() });
        (known.now, known.changed) = (now, true);
    }

    /// Remembers which children of an awaited fan-out have ended. Their places follow at the call's end.
    pub(crate) fn ended(&mut self, id: i64, nths: impl IntoIterator<Item = u32>) {
        if let Some(known) = self.0.get_mut(&id) {
            known.ended.extend(nths);
        }
    }

    /// Forgets a fan-out that is removed.
    pub(crate) fn forget(&mut self, id: i64) {
        self.0.remove(&id);
    }

    /// Writes what has changed, so that the file says it too.
    pub(crate) fn flush(&mut self, conn: &Connection) -> Result<()> {
        for (id, known) in self.0.iter_mut().filter(|(_, known)| known.changed) {
            write(conn, *id, &known.now)?;
            known.changed = false;
        }
        Ok(())
    }

    /// Writes what has changed, gives the children that have ended their places, and forgets everything. Verdicts of
    /// this call are over all children that have ended in it.
    pub(crate) fn keep(&mut self, conn: &Connection) -> Result<()> {
        for (id, mut known) in self.0.drain() {
            if !known.ended.is_empty() {
                known.ended.sort_unstable();
                let before = known.now.tally.ended() - known.ended.len() as u64;
                ended_page::append(conn, id, before, &known.ended)?;
            }
            if let Some(awaited) = &mut known.now.awaited
                && awaited.verdict.is_some()
                && awaited.decided_at.is_none()
            {
                awaited.decided_at = Some(known.now.tally.ended());
                known.changed = true;
            }
            if known.changed {
                write(conn, id, &known.now)?;
            }
        }
        Ok(())
    }
}

fn write(conn: &Connection, id: i64, now: &FanOut) -> Result<()> {
    let order = now.order.as_str();
    let counted: [&dyn ToSql; 11] = [
        &id,
        &now.task_id,
        &now.root_id,
        &now.depth,
        &order,
        &now.tally.total,
        &now.tally.completed,
        &now.tally.failed,
        &now.tally.cancelled,
        &now.held,
        &now.waits,
    ];
    let Some(awaited) = &now.awaited else {
        conn.prepare_cached(include_str!("../../sql/family/keep.sql"))?.execute(counted.as_slice())?;
        return Ok(());
    };
    let parts = match awaited.rule {
        Rule::Threshold(parts) => Some(parts),
        _ => None,
    };
    let (rule, verdict) = (awaited.rule.as_str(), awaited.verdict.map(Verdict::as_str));
    let decided: [&dyn ToSql; 10] = [
        &rule,
        &parts,
        &verdict,
        &awaited.decided_at,
        &awaited.decided_step,
        &awaited.wake_at,
        &awaited.deadline,
        &awaited.cancel_on_failure,
        &awaited.created_at,
        &awaited.settled_at,
    ];
    let mut statement = conn.prepare_cached(include_str!("../../sql/family/keep_awaited.sql"))?;
    statement.execute(params_from_iter(counted.into_iter().chain(decided)))?;
    Ok(())
}
