//! Admission where commands have groups: each candidate of a claim takes a slot of all its keys, or waits behind the
//! first that has no room. The decision is `kinfolk_core::admit`.
//!
//! A task of a command without groups is never brought here.

use std::collections::HashSet;

use kinfolk_core::admit::Need;
use kinfolk_core::limits::{CLAIM_BATCH_MAX, FAILED_TRIES_MAX};

use rusqlite::CachedStatement;

use crate::admission::blocked::{self, LinePoint};
use crate::admission::rooms::Rooms;
use crate::error::Result;
use crate::known_group::DeclaredGroup;
use crate::session::Session;
use crate::slots::{self, GivenKeys};

/// Tasks that one claim blocks at most: the rest is left to the next.
const BLOCKED_MAX: usize = 2 * CLAIM_BATCH_MAX;

/// Lets candidates in while their keys have room.
pub(crate) struct Entry<'a> {
    candidate: CachedStatement<'a>,
    take: CachedStatement<'a>,
    block: CachedStatement<'a>,
    pub(crate) rooms: Rooms<'a>,
    seen: HashSet<i64>,
    blocked: usize,
    /// The starved tasks and their keys: room is reserved for them once this claim is over.
    patient: Vec<(i64, Vec<Need<usize>>)>,
    /// Slots that this claim has given out: the holder and the key of each.
    fresh: HashSet<(i64, usize)>,
}

/// The answer about a candidate.
pub(crate) struct Looked {
    pub(crate) fate: Fate,
    /// The key it waited behind, if that still has room for the one behind it, and whether that needs no slot there.
    pub(crate) next: Option<(usize, bool)>,
}

/// Whether a candidate starts.
pub(crate) enum Fate {
    /// It has taken what it needs. `holds_slots`: it holds slots; `blocked`: it waited behind a key.
    Starts { holds_slots: bool, blocked: bool },
    /// It waits, or has been looked at before.
    Waits,
}

/// The facts about a candidate.
struct Candidate {
    keys: Option<String>,
    holds_slots: bool,
    parent_id: Option<i64>,
    blocked: Option<(i64, String)>,
    rides: bool,
    failed_tries: u16,
}

impl<'a> Entry<'a> {
    pub(crate) fn new(session: &Session<'a>) -> Result<Self> {
        Ok(Self {
            candidate: session.sql(include_str!("../../sql/admission/blocked/candidate.sql"))?,
            take: session.sql(include_str!("../../sql/slots/take.sql"))?,
            block: session.sql(include_str!("../../sql/admission/blocked/block.sql"))?,
            rooms: Rooms::new(session)?,
            seen: HashSet::new(),
            blocked: 0,
            patient: Vec::new(),
            fresh: HashSet::new(),
        })
    }

    /// Whether this claim has blocked as many as it may.
    pub(crate) fn is_over(&self) -> bool {
        self.blocked >= BLOCKED_MAX
    }

    /// The claim is over: writes what it has left to others.
    pub(crate) fn end(&mut self, session: &mut Session<'_>) -> Result<()> {
        for (id, needs) in std::mem::take(&mut self.patient) {
            self.rooms.keep(session, id, &needs)?;
        }
        self.rooms.keep_spent(session)
    }

    /// Looks at one candidate.
    pub(crate) fn look(&mut self, session: &mut Session<'_>, point: &LinePoint) -> Result<Looked> {
        let (_, _, id) = point.stand;
        if !self.seen.insert(id) {
            return Ok(Looked { fate: Fate::Waits, next: None });
        }
        let candidate = Candidate::read(&mut self.candidate, id)?;
        let was = match &candidate.blocked {
            Some((group_id, key)) => {
                point.remove(session)?;
                Some(self.rooms.number(session, *group_id, key)?)
            }
            None => None,
        };
        // It stays where it is: that is no reason to send it elsewhere.
        if was.is_some_and(|key| !self.rooms.has(key, Some(id), !candidate.rides)) {
            return Ok(Looked { fate: Fate::Waits, next: None });
        }
        let needs = self.needs(session, id, point.command_id, &candidate)?;
        let fate = match self.rooms.admit(id, &needs) {
            Ok(()) => self.start(session, id, &candidate, &needs)?,
            Err(key) => self.block(point, &candidate, needs, key)?,
        };
        let next = was.map(|key| (key, candidate.rides)).filter(|(key, rides)| self.rooms.has(*key, None, !rides));
        Ok(Looked { fate, next })
    }

    /// The keys that a task needs, in the order of the groups' numbers.
    fn needs(
        &mut self,
        session: &Session<'_>,
        id: i64,
        command_id: i64,
        candidate: &Candidate,
    ) -> Result<Vec<Need<usize>>> {
        let keys = GivenKeys::read(candidate.keys.as_deref())?;
        let mut needs = Vec::new();
        for group in session.catalogue.groups_of(command_id) {
            let Some(key) = keys.of(group) else { continue };
            let number = self.rooms.number(session, group.id, key)?;
            let takes_slot = !self.is_provided(session, id, candidate, group, (number, key))?;
            needs.push(Need { key: number, takes_slot });
        }
        Ok(needs)
    }

    /// Whether a task holds a slot of a key already, or one above it does for its whole family. The slots that this claim has given
    /// out do not count: tasks that start together count together.
    fn is_provided(
        &self,
        session: &Session<'_>,
        id: i64,
        candidate: &Candidate,
        group: &DeclaredGroup,
        (number, key): (usize, &str),
    ) -> Result<bool> {
        if candidate.holds_slots && slots::holds(session, group.id, key, id)? {
            return Ok(true);
        }
        let Some(parent) = candidate.parent_id.filter(|_| group.hold) else { return Ok(false) };
        let above = slots::held_above(session.conn, group.id, key, parent)?;
        Ok(above.into_iter().any(|holder| !self.fresh.contains(&(holder, number))))
    }

    /// A candidate starts: the slots are its own.
    fn start(
        &mut self,
        session: &mut Session<'_>,
        id: i64,
        candidate: &Candidate,
        needs: &[Need<usize>],
    ) -> Result<Fate> {
        let mut holds_slots = candidate.holds_slots;
        for need in needs.iter().filter(|need| need.takes_slot) {
            let (group_id, key) = self.rooms.name(need.key);
            self.take.execute((group_id, key, id))?;
            self.fresh.insert((id, need.key));
            holds_slots = true;
        }
        if candidate.failed_tries >= FAILED_TRIES_MAX {
            blocked::end_reservation(session, id)?;
            self.rooms.unkeep(id);
        }
        Ok(Fate::Starts { holds_slots, blocked: candidate.blocked.is_some() })
    }

    /// A candidate waits behind a key. One that has been sent from key to key for long has room kept for it.
    fn block(
        &mut self,
        point: &LinePoint,
        candidate: &Candidate,
        needs: Vec<Need<usize>>,
        behind: usize,
    ) -> Result<Fate> {
        let rides = needs.iter().any(|need| need.key == behind && !need.takes_slot);
        let (group_id, key) = self.rooms.name(behind);
        let same = candidate.blocked.as_ref().is_some_and(|(group, blocked)| *group == group_id && blocked == key);
        let failed_tries = candidate.failed_tries.saturating_add(u16::from(!same));
        let (_, _, id) = point.stand;
        self.block.execute((id, group_id, key, blocked::blocked_as_what(point.suspect, rides), failed_tries))?;
        self.blocked += 1;
        if failed_tries >= FAILED_TRIES_MAX {
            self.patient.push((id, needs));
        }
        Ok(Fate::Waits)
    }
}

impl Candidate {
    fn read(statement: &mut CachedStatement<'_>, id: i64) -> Result<Self> {
        Ok(statement.query_row([id], |row| {
            let group: Option<i64> = row.get(3)?;
            let key: Option<String> = row.get(4)?;
            Ok(Self {
                keys: row.get(0)?,
                holds_slots: row.get(1)?,
                parent_id: row.get(2)?,
                blocked: group.zip(key),
                rides: row.get::<_, i64>(5)? & 2 == 2,
                failed_tries: row.get(6)?,
            })
        })?)
    }
}
