//! How much room the keys have that a claim comes across: slots that are free, starts that their rates allow, and room that is
//! kept for a task. It is counted when a key is first needed, from the holders of its slots.

use std::collections::HashMap;

use kinfolk_core::admit::{self, KeyRoom, Need};
use kinfolk_core::{Rate, TaskId, Timestamp};
use rusqlite::{CachedStatement, OptionalExtension};

use crate::admission::blocked;
use crate::admission::rate;
use crate::admission::reserve;
use crate::error::Result;
use crate::session::Session;

/// The keys of one claim, each under a number of its own.
pub(crate) struct Rooms<'a> {
    held: CachedStatement<'a>,
    numbers: HashMap<i64, HashMap<String, usize>>,
    keys: Vec<Key>,
    rooms: HashMap<usize, KeyRoom>,
    /// The reservations, by group.
    reserved: HashMap<i64, (String, i64)>,
    /// Whether any rate is spent, or any key slowed down.
    any_spent: bool,
}

/// One key.
struct Key {
    group_id: i64,
    key: String,
    rate: Option<Rate>,
    spent_until: Option<Timestamp>,
    paused_until: Option<Timestamp>,
    wakes_at: Option<Timestamp>,
    /// How many this claim has started.
    started: u64,
}

/// A number that no task has.
const ANYONE: TaskId = TaskId(i64::MIN);

impl<'a> Rooms<'a> {
    pub(crate) fn new(session: &Session<'a>) -> Result<Self> {
        let reserved = blocked::reserved(session)?;
        Ok(Self {
            held: session.sql(include_str!("../../sql/slots/held.sql"))?,
            numbers: HashMap::new(),
            keys: Vec::new(),
            rooms: HashMap::new(),
            reserved: reserved.into_iter().map(|(group_id, key, id)| (group_id, (key, id))).collect(),
            any_spent: session.sql(include_str!("../../sql/admission/rate/any.sql"))?.exists(())?,
        })
    }

    /// The number of a key; how much room it has is looked up when it is first asked for.
    pub(crate) fn number(&mut self, session: &Session<'_>, group_id: i64, key: &str) -> Result<usize> {
        if let Some(number) = self.numbers.get(&group_id).and_then(|keys| keys.get(key)) {
            return Ok(*number);
        }
        let number = self.keys.len();
        let known = self.look(session, group_id, key, number)?;
        self.keys.push(known);
        self.numbers.entry(group_id).or_default().insert(key.to_owned(), number);
        Ok(number)
    }

    fn look(&mut self, session: &Session<'_>, group_id: i64, key: &str, number: usize) -> Result<Key> {
        let group = session.catalogue.group(group_id)?;
        let allowed = group.allows_now(session.conn, key)?;
        let slots = match allowed.limit {
            None => None,
            Some(limit) => {
                let held: u64 = self.held.query_row((group_id, key), |row| row.get(0))?;
                Some(u64::from(limit).saturating_sub(held))
            }
        };
        let (mut spent_until, mut paused_until, mut wakes_at) = (None, None, None);
        if self.any_spent {
            let mut statement = session.sql(include_str!("../../sql/admission/rate/spent.sql"))?;
            let spent =
                statement.query_row((group_id, key), |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?))).optional()?;
            let at = |micros: Option<i64>| micros.map(Timestamp::from_micros);
            if let Some((spent, paused, wakes)) = spent {
                (spent_until, paused_until, wakes_at) = (at(spent), at(paused), at(wakes));
            }
        }
        let starts = match allowed.rate {
            _ if paused_until > Some(session.now) => Some(0),
            None => None,
            Some(rate) => Some(admit::starts(rate, spent_until, session.now)),
        };
        let kept_for = match self.reserved.get(&group_id).filter(|(kept, _)| kept == key) {
            Some((_, id)) if keeps_room(session, *id)? => Some(TaskId(*id)),
            _ => None,
        };
        self.rooms.insert(number, KeyRoom { slots, starts, kept_for });
        Ok(Key { group_id, key: key.to_owned(), rate: allowed.rate, spent_until, paused_until, wakes_at, started: 0 })
    }

    /// The group and the key of a number.
    pub(crate) fn name(&self, number: usize) -> (i64, &str) {
        (self.keys[number].group_id, &self.keys[number].key)
    }

    /// Whether a key has room for a task, or (for `None`) for any that nothing is kept for.
    pub(crate) fn has(&self, number: usize, task: Option<i64>, takes_slot: bool) -> bool {
        self.rooms[&number].has(task.map_or(ANYONE, TaskId), takes_slot)
    }

    /// Takes what a task needs, or says behind which key it is to wait.
    pub(crate) fn admit(&mut self, task: i64, needs: &[Need<usize>]) -> std::result::Result<(), usize> {
        admit::admit(TaskId(task), needs, &mut self.rooms)?;
        needs.iter().for_each(|need| self.keys[need.key].started += 1);
        Ok(())
    }

    /// Keeps room of all these keys for a task from the next claim on, unless something is kept in one of their groups
    /// already for a task that could start.
    pub(crate) fn keep(&mut self, session: &mut Session<'_>, task: i64, needs: &[Need<usize>]) -> Result<()> {
        let kept = |need: &Need<usize>| Some(self.reserved.get(&self.keys[need.key].group_id)?.1);
        let others: Vec<i64> = needs.iter().filter_map(kept).collect();
        for other in &others {
            if *other == task || keeps_room(session, *other)? {
                return Ok(());
            }
        }
        for other in others {
            blocked::end_reservation(session, other)?;
            self.unkeep(other);
        }
        let mut statement = session.sql(include_str!("../../sql/admission/reserve/keep.sql"))?;
        for need in needs {
            let Key { group_id, key, .. } = &self.keys[need.key];
            statement.execute((group_id, key, task))?;
            self.reserved.insert(*group_id, (key.clone(), task));
            if let Some(room) = self.rooms.get_mut(&need.key) {
                room.kept_for = Some(TaskId(task));
            }
        }
        Ok(())
    }

    /// A task has started or gone for which room was kept.
    pub(crate) fn unkeep(&mut self, task: i64) {
        self.reserved.retain(|_, (_, id)| *id != task);
    }

    /// Writes what this claim has spent of rates, and when a claim looks again at the tasks that wait for one.
    pub(crate) fn keep_spent(&self, session: &Session<'_>) -> Result<()> {
        for (number, key) in self.keys.iter().enumerate() {
            let room = &self.rooms[&number];
            let spent_until = match key.rate.filter(|_| key.started > 0) {
                Some(rate) => Some(admit::spend(rate, key.spent_until, session.now, key.started)),
                None => key.spent_until,
            };
            let needed = 1 + u64::from(room.kept_for.is_some());
            let wakes_at = match room.starts.is_some_and(|starts| starts < needed) && key.has_waiters(session)? {
                true => key.next_start(session.now, spent_until, needed),
                false => None,
            };
            if spent_until != key.spent_until || wakes_at != key.wakes_at {
                rate::keep(session, (key.group_id, &key.key), spent_until, key.paused_until, wakes_at)?;
            }
        }
        Ok(())
    }
}

fn keeps_room(session: &Session<'_>, task: i64) -> Result<bool> {
    reserve::keeps_room(session.conn, session.catalogue, session.now, task)
}

impl Key {
    fn has_waiters(&self, session: &Session<'_>) -> Result<bool> {
        let mut statement = session.sql(include_str!("../../sql/admission/blocked/any_of_key.sql"))?;
        Ok(statement.exists((self.group_id, &self.key))?)
    }

    /// When so many may start, if time alone brings that.
    fn next_start(&self, now: Timestamp, spent_until: Option<Timestamp>, needed: u64) -> Option<Timestamp> {
        let paused = self.paused_until.filter(|until| *until > now);
        let by_rate = match (self.rate, spent_until) {
            // One start is kept: the rate must allow one more.
            (Some(rate), _) if u64::from(rate.burst) < needed => return paused,
            (Some(rate), Some(spent)) => {
                let more = i64::try_from(needed - 1).unwrap_or(0).saturating_mul(rate.interval_us());
                let next = admit::next_start(rate, spent).as_micros().saturating_add(more);
                Some(Timestamp::from_micros(next)).filter(|next| *next > now)
            }
            _ => None,
        };
        paused.max(by_rate)
    }
}
