//! Where a listing looks: the smallest set of tasks that an index gives for a filter, or all tasks by number.
//!
//! A set of at most [`LOOK_MAX`] tasks is read whole. Where all sets are larger, what matches is not rare, or no index tells
//! where it is: then tasks are walked through by number, and a page ends after so many.

use std::collections::BTreeSet;

use kinfolk_core::filter::{Filter, Order};
use kinfolk_core::limits::LOOK_MAX;
use kinfolk_core::{State, TaskId};
use rusqlite::{Connection, Params, params};

use crate::catalogue::Catalogue;
use crate::error::Result;

/// Where to look.
pub(crate) enum Candidates {
    /// At these, in the order of their numbers: no others match.
    Set(Vec<i64>),
    /// At the tasks that this statement gives, between two numbers, in the order of the page.
    Walk(&'static str),
}

macro_rules! sql {
    ($name:literal) => {
        include_str!(concat!("../../sql/find/", $name, ".sql"))
    };
}

/// Where to look for what matches. Sets that are small by nature are tried first.
pub(crate) fn choose(conn: &Connection, catalogue: &Catalogue, filter: &Filter) -> Result<Candidates> {
    let mut set = Set { conn, catalogue, ids: BTreeSet::new() };
    let page = LOOK_MAX + 1;
    if let Some(key) = &filter.unique
        && set.gather(sql!("unique"), params![key, page])?
    {
        return Ok(set.whole());
    }
    if let Some(root) = filter.follows
        && set.again().gather(sql!("follows"), params![root.0, page])?
    {
        return Ok(set.whole());
    }
    if let Some(fan_out) = filter.fan_out
        && set.again().gather(sql!("fan_out"), params![fan_out.0, page])?
    {
        return Ok(set.whole());
    }
    if let Some(parent) = filter.parent
        && set.again().gather(sql!("parent"), params![parent.0, page])?
    {
        return Ok(set.whole());
    }
    if let Some(root) = filter.root
        && set.again().gather(sql!("root"), params![root.0, page])?
    {
        set.ids.insert(root.0);
        return Ok(set.whole());
    }
    if !filter.state.is_empty() && set.again().by_state(filter)? {
        return Ok(set.whole());
    }
    Ok(Candidates::Walk(match (filter.has_children, filter.order) {
        (Some(true), Order::Newest) => sql!("newest_parents"),
        (Some(true), Order::Oldest) => sql!("oldest_parents"),
        (_, Order::Newest) => sql!("newest"),
        (_, Order::Oldest) => sql!("oldest"),
    }))
}

/// How many tasks match a filter that asks for nothing but states that an index has to the task, counted so far; `None` for any
/// other. Without a look at a task: where one of them is asked for by every page there are.
pub(crate) fn count(conn: &Connection, catalogue: &Catalogue, filter: &Filter) -> Result<Option<usize>> {
    let ended = |state: &State| matches!(state, State::Failed | State::Cancelled);
    let spans = filter.finished_after.is_none() && filter.finished_before.is_none();
    let plain = Filter {
        state: filter.state.clone(),
        finished_after: filter.finished_after,
        finished_before: filter.finished_before,
        order: filter.order,
        limit: filter.limit,
        ..Filter::default()
    };
    if *filter != plain || filter.state.is_empty() || !(spans || filter.state.iter().all(ended)) {
        return Ok(None);
    }
    let mut set = Set { conn, catalogue, ids: BTreeSet::new() };
    set.by_state(filter)?;
    Ok(Some(set.ids.len()))
}

/// The numbers between which a page lies, both excluded. No task has a larger number than one below it.
pub(crate) fn bounds(filter: &Filter) -> (i64, i64) {
    let above = [filter.parent, filter.root.map(|root| TaskId(root.0.saturating_sub(1))), filter.after];
    let after = above.into_iter().flatten().map(|id| id.0).max().unwrap_or(i64::MIN);
    (after, filter.before.map_or(i64::MAX, |id| id.0))
}

struct Set<'a> {
    conn: &'a Connection,
    catalogue: &'a Catalogue,
    ids: BTreeSet<i64>,
}

impl Set<'_> {
    fn again(&mut self) -> &mut Self {
        self.ids.clear();
        self
    }

    fn whole(self) -> Candidates {
        Candidates::Set(self.ids.into_iter().collect())
    }

    /// Adds what a statement gives. `false` when the set becomes too large to be read whole.
    fn gather(&mut self, sql: &str, params: impl Params) -> Result<bool> {
        let mut statement = self.conn.prepare_cached(sql)?;
        let mut rows = statement.query(params)?;
        while let Some(row) = rows.next()? {
            self.ids.insert(row.get(0)?);
        }
        Ok(self.ids.len() <= LOOK_MAX)
    }

    /// Adds all that are in one of the states, on the queue and of the command, if they are given. Tasks of another
    /// queue or command may be among them.
    fn by_state(&mut self, filter: &Filter) -> Result<bool> {
        let catalogue = self.catalogue;
        let Some(queues) = catalogue.queues_named(filter.queue.as_ref()) else { return Ok(true) };
        let command = filter.command.as_ref().map(|name| catalogue.command(name).map_or(0, |known| known.id));
        let (least, largest) = command.map_or((i64::MIN, i64::MAX), |id| (id, id));
        for &state in &filter.state {
            let small = match state {
                State::Running => self.gather(sql!("running"), [LOOK_MAX + 1])?,
                State::Pending => self.pending(&queues, least, largest)?,
                State::Waiting => self.in_buckets(&["waiting", "outside", "asleep"], &queues, least, largest)?,
                State::Completed => {
                    self.in_buckets(&["completed"], &queues, least, largest)? && self.completed(&queues, filter)?
                }
                State::Failed | State::Cancelled => self.not_completed(state, filter)?,
            };
            if !small {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn pending(&mut self, queues: &[i64], least: i64, largest: i64) -> Result<bool> {
        let page = LOOK_MAX + 1;
        for queue in queues {
            if !self.gather(sql!("open"), params![queue, least, largest, page])?
                || !self.gather(sql!("due"), params![queue, least, largest, page])?
            {
                return Ok(false);
            }
            for lane in ["top", "root", "child"] {
                if !self.gather(sql!("suspects"), params![queue, least, largest, page, lane])? {
                    return Ok(false);
                }
            }
        }
        self.in_buckets(&["root", "child", "after", "limit", "key", "turn"], queues, least, largest)
    }

    fn in_buckets(&mut self, buckets: &[&str], queues: &[i64], least: i64, largest: i64) -> Result<bool> {
        for (bucket, queue) in buckets.iter().flat_map(|bucket| queues.iter().map(move |queue| (bucket, queue))) {
            if !self.gather(sql!("bucket"), params![queue, least, largest, LOOK_MAX + 1, bucket])? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Roots that have completed.
    fn completed(&mut self, queues: &[i64], filter: &Filter) -> Result<bool> {
        let (after, before) = finished(filter);
        for queue in queues {
            let completed = params![queue, State::Completed.as_str(), after, before, LOOK_MAX + 1];
            if !self.gather(sql!("ended"), completed)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn not_completed(&mut self, state: State, filter: &Filter) -> Result<bool> {
        let (after, before) = finished(filter);
        self.gather(sql!("not_completed"), params![state.as_str(), after, before, LOOK_MAX + 1])
    }
}

/// Between which moments a filter wants tasks to have ended.
fn finished(filter: &Filter) -> (i64, i64) {
    let after = filter.finished_after.map_or(i64::MIN, |then| then.as_micros());
    (after, filter.finished_before.map_or(i64::MAX, |then| then.as_micros()))
}
