//! The line of a claim: the stretches of all its commands and lanes, the first suspects, and the tasks behind keys that may have
//! room, merged in the order of priority, position and number. A claim passes over a task without room.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap, VecDeque};

use rusqlite::CachedStatement;

use crate::admission::blocked::{self, LinePoint};
use crate::admission::entry::{Entry, Fate};
use crate::error::Result;
use crate::family::Lane;
use crate::limits::QueueRoom;
use crate::session::Session;
use crate::turns::{Turn, Turns};
use crate::verb::claim::Look;

/// The stand of a task: its priority, position and number.
type Stand = (i64, i64, i64);

const BEFORE_ALL: Stand = (i64::MIN, i64::MIN, i64::MIN);
/// Tasks read ahead of each command at least, when a worker has many.
const READ_AHEAD_MIN: usize = 8;
const LANES: [Lane; 3] = [Lane::Top, Lane::Root, Lane::Child];

/// A task to take, the lane it stood in, and what it has of keys: most have none.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Picked {
    pub(crate) id: i64,
    pub(crate) lane: Lane,
    /// It holds slots of keys.
    pub(crate) holds_slots: bool,
    /// It waited behind a key.
    pub(crate) blocked: bool,
}

/// Where the head of a line comes from.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Source {
    Stretch(usize),
    /// Behind a key that still had room when the one before it was looked at.
    Behind(usize),
    /// Its turn has come.
    Turn,
}

/// The scope of a claim: a queue, and commands with and without groups.
pub(crate) struct From<'c> {
    pub(crate) queue_id: i64,
    pub(crate) commands: &'c BTreeSet<i64>,
    pub(crate) limit: usize,
    /// Its tasks take turns.
    pub(crate) fair: bool,
    /// Some of the commands have groups.
    pub(crate) grouped: bool,
}

/// The tasks to take, and what was found of keys, if a task of a command with groups was come across.
pub(crate) fn pick<'a>(
    session: &mut Session<'a>,
    from: &From<'_>,
    look: &Look,
    mut room: QueueRoom,
) -> Result<(Vec<Picked>, Option<Entry<'a>>)> {
    if from.limit == 0 || from.commands.is_empty() {
        return Ok((Vec::new(), None));
    }
    let mut entry: Option<Entry<'a>> = None;
    let mut line = MergedLine::new(session, from, look, &room)?;
    let mut may_take_suspect = look.may_take_suspect;
    let mut taken = Vec::with_capacity(from.limit);
    while taken.len() < from.limit
        && entry.as_ref().is_none_or(|entry| !entry.is_over())
        && let Some((stand, source)) = line.next(&room, may_take_suspect)?
    {
        let head = line.head(stand, source);
        // A lane that is full stays so: the rest of its stretches is not read.
        if room.left(head.lane) == 0 || (head.suspect && !may_take_suspect) {
            line.pass_over(session, source)?;
            continue;
        }
        let mut fate = Fate::Starts { holds_slots: false, blocked: false };
        if from.grouped && !session.catalogue.groups_of(head.command_id).is_empty() {
            let entry = match &mut entry {
                Some(entry) => entry,
                None => entry.insert(Entry::new(session)?),
            };
            let looked = entry.look(session, &head)?;
            fate = looked.fate;
            if let Some((key, rides)) = looked.next {
                let (group_id, key) = entry.rooms.name(key);
                line.look_behind(session, &head, group_id, key, rides)?;
            }
        }
        if let Fate::Starts { holds_slots, blocked } = fate {
            room.take(head.lane);
            may_take_suspect &= !head.suspect;
            line.has_had_its_turn(source);
            taken.push(Picked { id: stand.2, lane: head.lane, holds_slots, blocked });
        }
        if room.left(head.lane) > 0 {
            line.advance(source)?;
        }
    }
    line.end(session, from.queue_id)?;
    Ok((taken, entry))
}

/// The heads of all stretches, merged.
struct MergedLine<'a> {
    statements: Statements<'a>,
    stretches: Vec<Stretch>,
    behind: Vec<LinePoint>,
    heads: BinaryHeap<Reverse<(Stand, Source)>>,
    /// On a queue whose tasks take turns: the open tasks.
    turns: Option<Turns<'a>>,
    /// The last task that was looked at in its turn, and the value of the last turn that was taken.
    turn: Turn,
    last_turn: Option<String>,
}

impl<'a> MergedLine<'a> {
    fn new(session: &Session<'a>, from: &From<'_>, look: &Look, room: &QueueRoom) -> Result<Self> {
        let read_ahead = from.limit.div_ceil(from.commands.len()).max(READ_AHEAD_MIN).min(from.limit);
        let statements = Statements {
            top: session.sql(include_str!("../../sql/claim/line.sql"))?,
            other: session.sql(include_str!("../../sql/claim/lane.sql"))?,
            suspect: session.sql(include_str!("../../sql/claim/suspect.sql"))?,
            ready: session.sql(include_str!("../../sql/admission/blocked/ready.sql"))?,
        };
        let turns = if from.fair { Some(Turns::new(session, from.queue_id, from.commands)?) } else { None };
        let mut line = Self {
            statements,
            stretches: Vec::new(),
            behind: Vec::new(),
            heads: BinaryHeap::new(),
            turns,
            turn: Turn::nobodys(),
            last_turn: None,
        };
        for lane in LANES.into_iter().filter(|lane| room.left(*lane) > 0) {
            let page = read_ahead.min(room.left(lane));
            for &command_id in from.commands {
                let mut read = |sort, suspect, read_ahead| {
                    let point = LinePoint { queue_id: from.queue_id, command_id, suspect, lane, stand: BEFORE_ALL };
                    line.read(Stretch::new(point, sort, read_ahead))
                };
                if !from.fair && (lane == Lane::Top || look.lanes) {
                    read(Sort::Open, false, page)?;
                }
                if !from.fair && look.suspects && look.may_take_suspect {
                    read(Sort::Open, true, 1)?;
                }
                if look.has_ready && !session.catalogue.groups_of(command_id).is_empty() {
                    read(Sort::Ready, false, page)?;
                    if look.may_take_suspect {
                        read(Sort::Ready, true, 1)?;
                    }
                }
            }
        }
        Ok(line)
    }

    fn read(&mut self, stretch: Stretch) -> Result<()> {
        self.stretches.push(stretch);
        self.advance(Source::Stretch(self.stretches.len() - 1))
    }

    /// The next one. Inside a priority, turns come behind tasks that waited behind a key.
    fn next(&mut self, room: &QueueRoom, may_take_suspect: bool) -> Result<Option<(Stand, Source)>> {
        if let Some(turns) = &mut self.turns
            && let Some(priority) = turns.peek(room, may_take_suspect)?
            && self.heads.peek().is_none_or(|Reverse(((waits, ..), _))| *waits > priority)
        {
            self.turn = turns.next().unwrap_or_else(Turn::nobodys);
            return Ok(Some((self.turn.point.stand, Source::Turn)));
        }
        Ok(self.heads.pop().map(|Reverse(head)| head))
    }

    /// The stand of a head, and the facts about it.
    fn head(&self, stand: Stand, source: Source) -> LinePoint {
        match source {
            Source::Stretch(number) => LinePoint { stand, ..self.stretches[number].point },
            Source::Behind(number) => self.behind[number],
            Source::Turn => self.turn.point,
        }
    }

    /// A head is taken; if it was its turn, the next claim goes on behind its value.
    fn has_had_its_turn(&mut self, source: Source) {
        if source == Source::Turn {
            self.last_turn = Some(std::mem::take(&mut self.turn.value));
        }
    }

    /// The next one of a stretch.
    fn advance(&mut self, source: Source) -> Result<()> {
        if let Source::Stretch(number) = source {
            let next = self.stretches[number].next(&mut self.statements)?;
            self.heads.extend(next.map(|stand| Reverse((stand, source))));
        }
        Ok(())
    }

    /// The one behind a task that waited behind a key, which has room for more.
    fn look_behind(
        &mut self,
        session: &Session<'_>,
        head: &LinePoint,
        group_id: i64,
        key: &str,
        rides: bool,
    ) -> Result<()> {
        if let Some(next) = blocked::next(session.conn, head, group_id, key, rides)? {
            self.heads.push(Reverse((next.stand, Source::Behind(self.behind.len()))));
            self.behind.push(next);
        }
        Ok(())
    }

    /// A head that this claim can't take: the next claim looks at tasks behind a key with room.
    fn pass_over(&self, session: &mut Session<'_>, source: Source) -> Result<()> {
        match source {
            Source::Stretch(_) | Source::Turn => Ok(()),
            Source::Behind(number) => self.behind[number].put(session),
        }
    }

    /// This claim takes no more.
    fn end(self, session: &mut Session<'_>, queue_id: i64) -> Result<()> {
        if let Some(value) = &self.last_turn {
            session.sql(include_str!("../../sql/turns/move_cursor.sql"))?.execute((queue_id, value))?;
        }
        self.heads.iter().try_for_each(|Reverse((_, source))| self.pass_over(session, *source))
    }
}

struct Statements<'a> {
    top: CachedStatement<'a>,
    other: CachedStatement<'a>,
    suspect: CachedStatement<'a>,
    ready: CachedStatement<'a>,
}

/// The sort of the tasks of a stretch.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sort {
    Open,
    /// They wait behind keys that may have room.
    Ready,
}

/// The tasks of one sort and command in one lane, read a few at a time.
struct Stretch {
    /// The facts about all of them; its stand is the last one that was read.
    point: LinePoint,
    sort: Sort,
    read_ahead: usize,
    ready: VecDeque<Stand>,
    ended: bool,
}

impl Stretch {
    fn new(point: LinePoint, sort: Sort, read_ahead: usize) -> Self {
        Self { point, sort, read_ahead, ready: VecDeque::new(), ended: false }
    }

    fn next(&mut self, statements: &mut Statements<'_>) -> Result<Option<Stand>> {
        if self.ready.is_empty() && !self.ended {
            let LinePoint { queue_id, command_id, suspect, lane, stand: (priority, position, id) } = self.point;
            let (word, page) = (lane.as_str(), self.read_ahead);
            let mut rows = match (self.sort, suspect, lane) {
                (Sort::Open, false, Lane::Top) => {
                    statements.top.query((queue_id, command_id, priority, position, id, page))?
                }
                (Sort::Open, false, _) => {
                    statements.other.query((queue_id, command_id, priority, position, id, page, word))?
                }
                (Sort::Open, true, _) => {
                    statements.suspect.query((queue_id, command_id, priority, position, id, page, word))?
                }
                (Sort::Ready, ..) => {
                    statements.ready.query((queue_id, command_id, priority, position, id, page, word, suspect))?
                }
            };
            while let Some(row) = rows.next()? {
                self.ready.push_back(blocked::stand(row, 0)?);
            }
            self.ended = self.ready.len() < self.read_ahead;
            self.point.stand = *self.ready.back().unwrap_or(&self.point.stand);
        }
        Ok(self.ready.pop_front())
    }
}
