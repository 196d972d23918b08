//! Turns: on a queue with a fair key, its values come one after another inside a priority, so that none with many tasks
//! keeps the others waiting.
//!
//! A claim goes on behind the value whose turn was last: one task of each value, then the second of each, and so on. Only as
//! many values are looked at as the claim takes tasks. A task without room in its lane, or a suspect that the worker may not
//! take, is passed over, and its value keeps its turn.

use std::collections::BTreeSet;

use rusqlite::{CachedStatement, OptionalExtension};

use crate::admission::blocked::{self, LinePoint};
use crate::error::Result;
use crate::family::Lane;
use crate::limits::QueueRoom;
use crate::session::Session;

const BEFORE_ALL: (i64, i64) = (i64::MIN, i64::MIN);

/// The open tasks of a queue, in turns.
pub(crate) struct Turns<'a> {
    queue_id: i64,
    commands: Vec<i64>,
    /// The value that had the last turn.
    cursor: Option<String>,
    /// The last priority that was begun.
    priority: i64,
    level: Option<Level>,
    ready: Option<Turn>,
    statements: Statements<'a>,
}

/// A task whose turn it is, and its value.
pub(crate) struct Turn {
    pub(crate) point: LinePoint,
    pub(crate) value: String,
}

impl Turn {
    /// Before anyone's turn has come.
    pub(crate) const fn nobodys() -> Self {
        let (stand, lane) = ((i64::MIN, i64::MIN, i64::MIN), Lane::Top);
        Self { point: LinePoint { queue_id: 0, command_id: 0, suspect: false, lane, stand }, value: String::new() }
    }
}

/// Which tasks a claim may still take.
#[derive(Clone, Copy)]
struct Open {
    tops: bool,
    children: bool,
    suspects: bool,
}

impl Open {
    fn has(self, point: &LinePoint) -> bool {
        let in_lane = match point.lane {
            Lane::Top => self.tops,
            Lane::Root => true,
            Lane::Child => self.children,
        };
        in_lane && (self.suspects || !point.suspect)
    }
}

struct Statements<'a> {
    priority: CachedStatement<'a>,
    value: CachedStatement<'a>,
    next: CachedStatement<'a>,
}

/// The tasks of one priority.
struct Level {
    /// The commands that have some.
    commands: Vec<i64>,
    /// From which value on the first round goes; `None` when it is over.
    from: Option<String>,
    /// The first round has come past the last value, and goes on to `begun_behind`.
    wrapped: bool,
    /// The value that had the last turn when the priority was begun.
    begun_behind: Option<String>,
    /// The values in their order, each with the last task that had its turn.
    ring: Vec<(String, (i64, i64))>,
    /// In a later round: the index in `ring` of the value that has its turn.
    nth: usize,
}

impl<'a> Turns<'a> {
    pub(crate) fn new(session: &Session<'a>, queue_id: i64, commands: &BTreeSet<i64>) -> Result<Self> {
        let mut statement = session.sql(include_str!("../sql/turns/cursor.sql"))?;
        Ok(Self {
            queue_id,
            commands: commands.iter().copied().collect(),
            cursor: statement.query_row([queue_id], |row| row.get(0))?,
            priority: i64::MIN,
            level: None,
            ready: None,
            statements: Statements {
                priority: session.sql(include_str!("../sql/turns/priority.sql"))?,
                value: session.sql(include_str!("../sql/turns/value.sql"))?,
                next: session.sql(include_str!("../sql/turns/next.sql"))?,
            },
        })
    }

    /// The priority of the next one that may be taken: its lane has room, and it is no suspect where none may be.
    pub(crate) fn peek(&mut self, room: &QueueRoom, may_take_suspect: bool) -> Result<Option<i64>> {
        let open =
            Open { tops: room.left(Lane::Top) > 0, children: room.left(Lane::Child) > 0, suspects: may_take_suspect };
        // Lanes fill up between two looks.
        while let Some(turn) = self.ready.take_if(|turn| !open.has(&turn.point)) {
            self.ready = self.instead_of(&turn, open)?;
        }
        if self.ready.is_none() {
            self.ready = self.read(open)?;
        }
        Ok(self.ready.as_ref().map(|turn| turn.point.stand.0))
    }

    /// The one that was peeked at.
    pub(crate) fn next(&mut self) -> Option<Turn> {
        let turn = self.ready.take()?;
        self.cursor = Some(turn.value.clone());
        Some(turn)
    }

    fn read(&mut self, open: Open) -> Result<Option<Turn>> {
        loop {
            if self.level.is_none() && !self.next_level()? {
                return Ok(None);
            }
            if let Some(value) = self.next_value()? {
                if let Some(turn) = self.first_of(value, BEFORE_ALL, open)? {
                    return Ok(Some(turn));
                }
                continue;
            }
            let Some(Level { ring, nth, .. }) = &mut self.level else { continue };
            if ring.is_empty() {
                self.level = None;
                continue;
            }
            *nth %= ring.len();
            let (value, behind) = ring[*nth].clone();
            if let Some(turn) = self.first_of(value, behind, open)? {
                return Ok(Some(turn));
            }
        }
    }

    /// The next one of the same value, in its place.
    fn instead_of(&mut self, turn: &Turn, open: Open) -> Result<Option<Turn>> {
        let Some(level) = &mut self.level else { return Ok(None) };
        let Some(at) = level.ring.iter().position(|(value, _)| *value == turn.value) else { return Ok(None) };
        level.nth = at;
        let (_, position, id) = turn.point.stand;
        self.first_of(turn.value.clone(), (position, id), open)
    }

    /// Begins the next priority; false when there is none.
    fn next_level(&mut self) -> Result<bool> {
        let mut found: Vec<(i64, i64)> = Vec::new();
        for &command_id in &self.commands {
            let next = (self.queue_id, command_id, self.priority);
            let next = self.statements.priority.query_row(next, |row| row.get(0)).optional()?;
            found.extend(next.map(|priority| (priority, command_id)));
        }
        let Some(priority) = found.iter().map(|(priority, _)| *priority).min() else { return Ok(false) };
        let commands = found.into_iter().filter(|(other, _)| *other == priority).map(|(_, command_id)| command_id);
        let begun_behind = self.cursor.clone();
        let from = Some(begun_behind.as_deref().map_or_else(String::new, behind));
        let commands = commands.collect();
        let level = Level { commands, from, wrapped: false, begun_behind, ring: Vec::new(), nth: 0 };
        (self.priority, self.level) = (priority, Some(level));
        Ok(true)
    }

    /// The next value of the first round.
    fn next_value(&mut self) -> Result<Option<String>> {
        let Some(level) = &mut self.level else { return Ok(None) };
        while let Some(from) = level.from.take() {
            let mut first: Option<String> = None;
            for &command_id in &level.commands {
                let next = (self.queue_id, command_id, self.priority, &from);
                let next = self.statements.value.query_row(next, |row| row.get(0)).optional()?;
                first = first.into_iter().chain(next).min();
            }
            match first.filter(|value| !level.wrapped || Some(value) <= level.begun_behind.as_ref()) {
                Some(value) => {
                    level.from = Some(behind(&value));
                    return Ok(Some(value));
                }
                None if !level.wrapped && level.begun_behind.is_some() => {
                    level.wrapped = true;
                    level.from = Some(String::new());
                }
                None => level.nth = 0,
            }
        }
        Ok(None)
    }

    /// The first task of a value behind a given one that may be taken. The value keeps its place in the ring, or
    /// leaves it.
    fn first_of(&mut self, value: String, after: (i64, i64), open: Open) -> Result<Option<Turn>> {
        let Some(level) = &mut self.level else { return Ok(None) };
        let mut first: Option<((i64, i64), LinePoint)> = None;
        for &command_id in &level.commands {
            let Open { tops, children, suspects } = open;
            let next = (self.queue_id, command_id, self.priority, &value, after.0, after.1, tops, children, suspects);
            let found = self.statements.next.query_row(next, |row| {
                let (position, id) = (row.get(0)?, row.get(1)?);
                let (lane, suspect) = (blocked::lane_from(row, 2)?, row.get(3)?);
                let stand = (self.priority, position, id);
                Ok(((position, id), LinePoint { queue_id: self.queue_id, command_id, suspect, lane, stand }))
            });
            first = first.into_iter().chain(found.optional()?).min_by_key(|(stand, _)| *stand);
        }
        let later = after != BEFORE_ALL;
        match first {
            Some((stand, point)) => {
                if later {
                    level.ring[level.nth].1 = stand;
                    level.nth += 1;
                } else {
                    level.ring.push((value.clone(), stand));
                }
                Ok(Some(Turn { point, value }))
            }
            None => {
                if later {
                    level.ring.remove(level.nth);
                }
                Ok(None)
            }
        }
    }
}

/// The first text behind this one. No key has this character.
fn behind(value: &str) -> String {
    format!("{value}\0")
}
