//! Pages and counts of the tasks that match a filter.
//!
//! Candidates come from [`crate::find::candidates`], in the order of the page; each is looked at, until the page is full or enough
//! were looked at.

use kinfolk_core::filter::{Filter, Matches, Order, Page};
use kinfolk_core::limits::LOOK_MAX;
use kinfolk_core::{Json, TaskId};
use rusqlite::{CachedStatement, Connection, params};

use crate::catalogue::Catalogue;
use crate::error::{Result, unreadable};
use crate::find::candidates::{self, Candidates};
use crate::inspect::tasks;
use crate::readers::Snapshot;

/// A count looks at this many tasks, where no set of candidates is small enough: ten times as many as it counts.
const COUNT_LOOK: usize = 10 * LOOK_MAX;

/// A page of tasks.
pub(crate) fn list(snapshot: &Snapshot<'_>, filter: &Filter) -> Result<Page> {
    let limit = filter.page();
    // One more than asked for tells whether there is a next page.
    let Sifted { mut found, stopped_at } = sift(snapshot.conn, &snapshot.catalogue, filter, limit + 1, LOOK_MAX)?;
    let more = found.len() > limit;
    found.truncate(limit);
    let next = if more { found.last().copied() } else { stopped_at };
    let task = |id: &i64| {
        let task = tasks::task(snapshot.conn, &snapshot.catalogue, snapshot.now, TaskId(*id))?;
        task.ok_or_else(|| unreadable("task", &id.to_string()))
    };
    Ok(Page { tasks: found.iter().map(task).collect::<Result<_>>()?, next: next.map(TaskId) })
}

/// How many tasks match, wherever a page begins.
pub(crate) fn count(snapshot: &Snapshot<'_>, filter: &Filter) -> Result<Matches> {
    let all = Filter { before: None, after: None, ..filter.clone() };
    let Sifted { found, stopped_at } = sift(snapshot.conn, &snapshot.catalogue, &all, LOOK_MAX + 1, COUNT_LOOK)?;
    let more = found.len() > LOOK_MAX || stopped_at.is_some();
    Ok(Matches { tasks: found.len().min(LOOK_MAX) as u64, more })
}

/// What a look has found.
#[derive(Default)]
pub(crate) struct Sifted {
    /// What matches, in the order of the page.
    pub(crate) found: Vec<i64>,
    /// The last one looked at, where there may be more behind it.
    pub(crate) stopped_at: Option<i64>,
}

/// The first `most` matching tasks of a page among at most `look` candidates.
pub(crate) fn sift(
    conn: &Connection,
    catalogue: &Catalogue,
    filter: &Filter,
    most: usize,
    look: usize,
) -> Result<Sifted> {
    let Some(mut test) = Test::new(conn, catalogue, filter)? else { return Ok(Sifted::default()) };
    let mut sifted = Sifted::default();
    let (after, before) = candidates::bounds(filter);
    match candidates::choose(conn, catalogue, filter)? {
        Candidates::Set(mut ids) => {
            ids.retain(|id| *id > after && *id < before);
            if filter.order == Order::Newest {
                ids.reverse();
            }
            for id in ids {
                if sifted.found.len() < most && test.passes(id)? {
                    sifted.found.push(id);
                }
            }
        }
        Candidates::Walk(sql) => {
            let mut statement = conn.prepare_cached(sql)?;
            let mut rows = statement.query(params![after, before, look])?;
            let (mut looked, mut last) = (0, None);
            while sifted.found.len() < most
                && let Some(row) = rows.next()?
            {
                let id = row.get(0)?;
                (looked, last) = (looked + 1, Some(id));
                if test.passes(id)? {
                    sifted.found.push(id);
                }
            }
            sifted.stopped_at = last.filter(|_| looked == look);
        }
    }
    Ok(sifted)
}

/// A filter, ready to be asked about task after task.
struct Test<'a> {
    filter: &'a Filter,
    states: Option<String>,
    queue: Option<i64>,
    command: Option<i64>,
    key: Option<Json>,
    matches: CachedStatement<'a>,
    payload: CachedStatement<'a>,
}

impl<'a> Test<'a> {
    /// `None` when it names a command or a queue that is not there.
    fn new(conn: &'a Connection, catalogue: &Catalogue, filter: &'a Filter) -> Result<Option<Self>> {
        let command = filter.command.as_ref().map(|name| catalogue.command(name).map(|known| known.id));
        let queue = filter.queue.as_ref().map(|name| catalogue.queue(name).map(|known| known.id));
        if command == Some(None) || queue == Some(None) {
            return Ok(None);
        }
        let states: Vec<&str> = filter.state.iter().map(|state| state.as_str()).collect();
        Ok(Some(Self {
            filter,
            states: (!states.is_empty()).then(|| states.join(",")),
            queue: queue.flatten(),
            command: command.flatten(),
            key: (!filter.key.is_empty()).then(|| Json::of(&filter.key)).transpose()?,
            matches: conn.prepare_cached(include_str!("../../sql/find/matches.sql"))?,
            payload: conn.prepare_cached(include_str!("../../sql/find/payload.sql"))?,
        }))
    }

    fn passes(&mut self, id: i64) -> Result<bool> {
        let filter = self.filter;
        let there = self.matches.exists(params![
            id,
            self.states,
            self.queue,
            self.command,
            filter.parent.map(|id| id.0),
            filter.root.map(|id| id.0),
            filter.has_children,
            filter.fan_out.map(|id| id.0),
            filter.roots.then_some(true),
            filter.unique,
            self.key.as_ref().map(Json::as_str),
            filter.created_after.map(|then| then.as_micros()),
            filter.created_before.map(|then| then.as_micros()),
            filter.finished_after.map(|then| then.as_micros()),
            filter.finished_before.map(|then| then.as_micros()),
            filter.failure_kind.map(|kind| kind.as_str()),
            filter.failure_text,
        ])?;
        match &filter.payload {
            Some(wanted) if there => {
                let payload: String = self.payload.query_row([id], |row| row.get(0))?;
                Ok(wanted.holds(&Json::trusted(payload)))
            }
            _ => Ok(there),
        }
    }
}
