//! The room of a queue for families at work and for running children, and which may have it.
//!
//! A claim counts the room from the tasks that hold it, and no stored number could drift.

use crate::catalogue::KnownQueue;
use crate::error::Result;
use crate::family::Lane;
use crate::session::Session;

/// How many tasks a claim may take from each lane.
#[derive(Clone, Copy, Debug)]
pub(crate) struct QueueRoom {
    families: Option<usize>,
    children: Option<usize>,
}

impl QueueRoom {
    /// The room that a queue has now. A queue without limits is not looked at.
    pub(crate) fn of(session: &Session<'_>, known: &KnownQueue) -> Result<Self> {
        let left = |limit: Option<u32>, sql: &str| -> Result<Option<usize>> {
            let Some(limit) = limit else { return Ok(None) };
            let taken: usize = session.sql(sql)?.query_row([known.id], |row| row.get(0))?;
            Ok(Some((limit as usize).saturating_sub(taken)))
        };
        let policy = &known.queue.policy;
        Ok(Self {
            families: left(policy.family_limit, include_str!("../sql/claim/at_work.sql"))?,
            children: left(policy.child_limit, include_str!("../sql/claim/child_slots.sql"))?,
        })
    }

    /// How many tasks of a lane may still be taken.
    pub(crate) fn left(&self, lane: Lane) -> usize {
        let left = match lane {
            Lane::Top => self.families,
            Lane::Root => None,
            Lane::Child => self.children,
        };
        left.unwrap_or(usize::MAX)
    }

    /// One task of a lane is taken.
    pub(crate) fn take(&mut self, lane: Lane) {
        let left = match lane {
            Lane::Top => &mut self.families,
            Lane::Root => return,
            Lane::Child => &mut self.children,
        };
        if let Some(left) = left {
            *left -= 1;
        }
    }

    /// How a task taken from a lane holds the room it needs: its lane from now on, and whether it takes a slot. `None`
    /// for a root that needs none.
    pub(crate) fn held(&self, lane: Lane) -> Option<(Lane, bool)> {
        match lane {
            Lane::Top => self.families.map(|_| (Lane::Root, false)),
            Lane::Root => Some((Lane::Root, false)),
            Lane::Child => Some((Lane::Child, self.children.is_some())),
        }
    }
}

/// Lets families in whose root waits outside, while there is room; whether any came in.
pub(crate) fn admit_families(session: &mut Session<'_>, queue_id: i64, room: &mut QueueRoom) -> Result<bool> {
    if room.families.is_none() || room.left(Lane::Top) == 0 {
        return Ok(false);
    }
    let roots = outside(session, queue_id, room.left(Lane::Top))?;
    for &root in &roots {
        admit_family(session, root, Lane::Root)?;
        room.take(Lane::Top);
    }
    Ok(!roots.is_empty())
}

/// Lets all families in whose root is outside: the queue limits them no longer.
pub(crate) fn admit_all_families(session: &mut Session<'_>, queue_id: i64) -> Result<()> {
    for root in outside(session, queue_id, usize::MAX)? {
        admit_family(session, root, Lane::Top)?;
    }
    let mut statement = session.sql(include_str!("../sql/limits/limited_families.sql"))?;
    let roots: Vec<i64> = statement.query_map([queue_id], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
    roots.into_iter().try_for_each(|root| open_family(session, root))
}

fn outside(session: &Session<'_>, queue_id: i64, page: usize) -> Result<Vec<i64>> {
    let page = i64::try_from(page).unwrap_or(i64::MAX);
    let mut statement = session.sql(include_str!("../sql/claim/outside.sql"))?;
    let roots = statement.query_map((queue_id, page), |row| row.get(0))?;
    Ok(roots.collect::<rusqlite::Result<_>>()?)
}

/// The family of a root that waits outside may run, from this lane.
fn admit_family(session: &mut Session<'_>, root: i64, lane: Lane) -> Result<()> {
    session.sql(include_str!("../sql/claim/admit_family.sql"))?.execute((root, lane.as_str()))?;
    open_family(session, root)
}

/// Lets the tasks of a family run that waited until it may; most have none.
pub(crate) fn open_family(session: &mut Session<'_>, root: i64) -> Result<()> {
    let mut statement = session.sql(include_str!("../sql/claim/limited_queues.sql"))?;
    let queues = statement.query_map([root], |row| row.get(0))?.collect::<rusqlite::Result<Vec<i64>>>()?;
    if queues.is_empty() {
        return Ok(());
    }
    session.news.queues.extend(queues);
    session.sql(include_str!("../sql/claim/open_family.sql"))?.execute((root, session.micros()))?;
    Ok(())
}
