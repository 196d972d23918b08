//! The line of a claim: the stretches of all its commands and lanes, and the first suspects, merged in the order of
//! priority, place and number. What has no room is passed over.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap, VecDeque};

use rusqlite::{CachedStatement, OptionalExtension, Row};

use crate::error::Result;
use crate::session::Session;
use crate::verb::admit::Room;
use crate::verb::claim::Look;
use crate::verb::family::Lane;

/// Where a task stands: its priority, place and number.
type Stand = (i64, i64, i64);

const BEFORE_ALL: Stand = (i64::MIN, i64::MIN, i64::MIN);
/// Tasks read ahead of each command at least, when a worker has many.
const READ_AHEAD_MIN: usize = 8;
/// The lanes that are looked at only when there is something in them.
const OTHER_LANES: [Lane; 2] = [Lane::Root, Lane::Child];

/// A task to take, and the lane it stood in.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Taken {
    pub(crate) id: i64,
    pub(crate) lane: Lane,
}

/// Where the head of a line comes from.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Source {
    Stretch(usize),
    Suspect(Lane),
}

/// The tasks to take.
pub(crate) fn pick(
    session: &Session<'_>,
    queue_id: i64,
    commands: &BTreeSet<i64>,
    limit: usize,
    look: &Look,
    mut room: Room,
) -> Result<Vec<Taken>> {
    if limit == 0 || commands.is_empty() {
        return Ok(Vec::new());
    }
    let read_ahead = limit.div_ceil(commands.len()).max(READ_AHEAD_MIN).min(limit);
    let mut statements = Statements {
        top: session.sql(include_str!("../../sql/claim/line.sql"))?,
        other: session.sql(include_str!("../../sql/claim/lane.sql"))?,
    };
    let other = OTHER_LANES.into_iter().filter(|_| look.lanes);
    let lanes = std::iter::once(Lane::Top).chain(other).filter(|lane| room.left(*lane) > 0);
    let mut stretches: Vec<Stretch> = lanes
        .flat_map(|lane| commands.iter().map(move |&command_id| (lane, command_id)))
        .map(|(lane, command_id)| Stretch::new(queue_id, lane, command_id, read_ahead.min(room.left(lane))))
        .collect();
    let mut heads = BinaryHeap::with_capacity(stretches.len() + 3);
    for (number, stretch) in stretches.iter_mut().enumerate() {
        heads.extend(stretch.next(&mut statements)?.map(|stand| Reverse((stand, Source::Stretch(number)))));
    }
    let mut may_take_suspect = look.suspects;
    if may_take_suspect {
        heads.extend(first_suspects(session, queue_id, commands)?);
    }
    let mut taken = Vec::with_capacity(limit);
    while taken.len() < limit
        && let Some(Reverse(((_, _, id), source))) = heads.pop()
    {
        let lane = match source {
            Source::Stretch(number) => stretches[number].lane,
            Source::Suspect(lane) => lane,
        };
        // A lane that is full stays so: the rest of its stretches is not read.
        if room.left(lane) == 0 {
            continue;
        }
        if matches!(source, Source::Suspect(_)) && !std::mem::take(&mut may_take_suspect) {
            continue;
        }
        room.take(lane);
        taken.push(Taken { id, lane });
        if let Source::Stretch(number) = source
            && room.left(lane) > 0
        {
            heads.extend(stretches[number].next(&mut statements)?.map(|stand| Reverse((stand, source))));
        }
    }
    Ok(taken)
}

struct Statements<'a> {
    top: CachedStatement<'a>,
    other: CachedStatement<'a>,
}

/// The open tasks of one command in one lane, read a few at a time.
struct Stretch {
    queue_id: i64,
    lane: Lane,
    command_id: i64,
    read_ahead: usize,
    behind: Stand,
    ready: VecDeque<Stand>,
    ended: bool,
}

impl Stretch {
    fn new(queue_id: i64, lane: Lane, command_id: i64, read_ahead: usize) -> Self {
        Self { queue_id, lane, command_id, read_ahead, behind: BEFORE_ALL, ready: VecDeque::new(), ended: false }
    }

    fn next(&mut self, statements: &mut Statements<'_>) -> Result<Option<Stand>> {
        if self.ready.is_empty() && !self.ended {
            let (priority, place, id) = self.behind;
            let from = (self.queue_id, self.command_id, priority, place, id, self.read_ahead);
            let mut rows = match self.lane {
                Lane::Top => statements.top.query(from)?,
                lane => {
                    let (queue_id, command_id, priority, place, id, page) = from;
                    statements.other.query((queue_id, command_id, priority, place, id, page, lane.as_str()))?
                }
            };
            while let Some(row) = rows.next()? {
                self.ready.push_back(stand(row)?);
            }
            self.ended = self.ready.len() < self.read_ahead;
            self.behind = *self.ready.back().unwrap_or(&self.behind);
        }
        Ok(self.ready.pop_front())
    }
}

/// The first suspect of each lane.
fn first_suspects(
    session: &Session<'_>,
    queue_id: i64,
    commands: &BTreeSet<i64>,
) -> Result<Vec<Reverse<(Stand, Source)>>> {
    let mut statement = session.sql(include_str!("../../sql/claim/suspect.sql"))?;
    let mut firsts = Vec::new();
    for lane in [Lane::Top, Lane::Root, Lane::Child] {
        let mut first = None;
        for command_id in commands {
            let found = statement.query_row((queue_id, lane.as_str(), command_id), stand).optional()?;
            first = first.into_iter().chain(found).min();
        }
        firsts.extend(first.map(|stand| Reverse((stand, Source::Suspect(lane)))));
    }
    Ok(firsts)
}

fn stand(row: &Row<'_>) -> rusqlite::Result<Stand> {
    Ok((row.get(0)?, row.get(1)?, row.get(2)?))
}
