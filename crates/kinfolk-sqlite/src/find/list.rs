//! Pages and counts of the tasks that match a filter.
//!
//! Candidates come from [`crate::find::candidates`], in the order of the page; each is looked at, until the page is full or enough
//! were looked at.

use std::collections::BTreeMap;

use kinfolk_core::filter::{ByCommand, Filter, Matches, Order, Page};
use kinfolk_core::limits::LOOK_MAX;
use kinfolk_core::{CommandName, Json, TaskId};
use rusqlite::{CachedStatement, Connection, params};

use crate::catalogue::Catalogue;
use crate::error::{Result, unreadable};
use crate::find::candidates::{self, Candidates};
use crate::inspect::tasks;
use crate::readers::Snapshot;

/// A count looks at this many tasks, where no set of candidates is small enough: twice as many as it counts.
const COUNT_LOOK: usize = 2 * LOOK_MAX;
/// Candidates that are looked at by one statement.
const AT_ONCE: usize = 500;

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
    if let Some(tasks) = candidates::count(snapshot.conn, &snapshot.catalogue, &all)? {
        return Ok(Matches { tasks: tasks.min(LOOK_MAX) as u64, more: tasks > LOOK_MAX });
    }
    let Sifted { found, stopped_at } = sift(snapshot.conn, &snapshot.catalogue, &all, LOOK_MAX + 1, COUNT_LOOK)?;
    let more = found.len() > LOOK_MAX || stopped_at.is_some();
    Ok(Matches { tasks: found.len().min(LOOK_MAX) as u64, more })
}

/// How many of them each command has.
pub(crate) fn count_by_command(snapshot: &Snapshot<'_>, filter: &Filter) -> Result<ByCommand> {
    let all = Filter { before: None, after: None, ..filter.clone() };
    let Sifted { found, stopped_at } = sift(snapshot.conn, &snapshot.catalogue, &all, LOOK_MAX + 1, COUNT_LOOK)?;
    let more = found.len() > LOOK_MAX || stopped_at.is_some();
    let mut command = snapshot.conn.prepare_cached(include_str!("../../sql/find/command.sql"))?;
    let mut counts: BTreeMap<CommandName, u64> = BTreeMap::new();
    for id in found.iter().take(LOOK_MAX) {
        let name = snapshot.catalogue.command_name(command.query_row([id], |row| row.get(0))?)?;
        *counts.entry(name.clone()).or_default() += 1;
    }
    Ok(ByCommand { counts: counts.into_iter().collect(), more })
}

/// The result of a look.
#[derive(Default)]
pub(crate) struct Sifted {
    /// The matches, in the order of the page.
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
            for page in ids.chunks(AT_ONCE) {
                test.sift(page, most, &mut sifted.found)?;
            }
        }
        Candidates::Walk(sql) => {
            let mut statement = conn.prepare_cached(sql)?;
            let mut rows = statement.query_map(params![after, before, look], |row| row.get(0))?;
            let mut looked = 0;
            while sifted.found.len() < most {
                let page: Vec<i64> = rows.by_ref().take(AT_ONCE).collect::<rusqlite::Result<_>>()?;
                let Some(last) = page.last() else { break };
                looked += page.len();
                test.sift(&page, most, &mut sifted.found)?;
                sifted.stopped_at = Some(*last).filter(|_| looked == look);
            }
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

    /// Adds the matches of a page, in its order, until there are so many.
    fn sift(&mut self, page: &[i64], most: usize, found: &mut Vec<i64>) -> Result<()> {
        let filter = self.filter;
        let mut rows = self.matches.query(params![
            format!("{page:?}"),
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
            filter.follows.map(|id| id.0),
        ])?;
        while found.len() < most
            && let Some(row) = rows.next()?
        {
            let id = row.get(0)?;
            let wanted = match &filter.payload {
                Some(wanted) => {
                    let payload: String = self.payload.query_row([id], |row| row.get(0))?;
                    wanted.holds(&Json::trusted(payload))
                }
                None => true,
            };
            if wanted {
                found.push(id);
            }
        }
        Ok(())
    }
}
