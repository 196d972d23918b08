//! The tasks that a handler made: checked as a whole, then written with the settle of its attempt.

use kinfolk_core::limits::DEPTH_MAX;
use kinfolk_core::{ChildOrder, FanOutId, Gate, Keys, Made, NewTask, Rejection, Tally, TaskId, Timestamp};

use rusqlite::CachedStatement;

use crate::error::Result;
use crate::family;
use crate::family::ended::TaskFacts;
use crate::family::fan_out::{Awaited, FanOut};
use crate::family::follow_up;
use crate::rows;
use crate::session::Session;
use crate::verb::enqueue::{self, Birth, Origin, Stand, gate_of, holder, joined, put, target};

/// A task that has made something, and what it hands down to that.
pub(crate) struct Maker {
    pub(crate) id: TaskId,
    queue_id: i64,
    fan_out_id: Option<i64>,
    pub(crate) parent_id: Option<i64>,
    pub(crate) root_id: i64,
    depth: u16,
    max_attempts: u16,
    pub(crate) priority: i32,
    pub(crate) position: Timestamp,
    pub(crate) keys: Keys,
}

impl Maker {
    /// The maker, from the facts about a task whose attempt has ended.
    pub(crate) fn of(session: &Session<'_>, task: &TaskFacts) -> Result<Self> {
        let mut statement = session.sql(include_str!("../../sql/settle/maker.sql"))?;
        let (maker, keys) = statement.query_row([task.id.0], |row| {
            let maker = Self {
                id: task.id,
                queue_id: task.queue_id,
                fan_out_id: task.fan_out_id,
                parent_id: row.get(0)?,
                root_id: row.get(1)?,
                depth: row.get(2)?,
                max_attempts: task.max_attempts,
                priority: row.get(3)?,
                position: Timestamp::from_micros(row.get(4)?),
                keys: Keys::new(),
            };
            Ok((maker, row.get::<_, Option<String>>(5)?))
        })?;
        Ok(Self { keys: rows::keys(keys.as_deref())?, ..maker })
    }

    /// A fan-out of this task that has no children yet.
    fn fan_out(&self, order: ChildOrder, awaited: Option<Awaited>) -> FanOut {
        FanOut {
            task_id: self.id.0,
            root_id: self.root_id,
            depth: self.depth,
            order,
            tally: Tally::default(),
            held: 0,
            waits: false,
            awaited,
        }
    }
}

/// Why nothing of this can be made: the first thing that is refused, in the order of making, the children of awaited
/// fan-outs last.
pub(crate) fn refusal<'t>(
    session: &mut Session<'_>,
    maker: &Maker,
    made: Option<&Made>,
    awaited: impl IntoIterator<Item = &'t NewTask>,
) -> Result<Option<Rejection>> {
    let none = Made::default();
    let made = made.unwrap_or(&none);
    if !made.siblings.is_empty() && !may_have_siblings(session, maker)? {
        return Ok(Some(Rejection::NoParent(maker.id)));
    }
    let catalogue = session.catalogue;
    let root_queue = catalogue.queue_by_id(root_queue_id(session, maker)?)?;
    let deepest = root_queue.policy.depth_limit.min(DEPTH_MAX);
    let child = |task: &NewTask, depth: u16| {
        let (_, queue) = target(catalogue, task)?;
        if queue.queue.policy.child_limit == Some(0) {
            return Err(Rejection::NoChildren(queue.queue.name.clone()));
        }
        if depth > deepest { Err(Rejection::TooDeep(root_queue.name.clone())) } else { Ok(()) }
    };
    let siblings = made.siblings.iter().try_for_each(|task| child(task, maker.depth));
    let others = made.follow_ups.iter().map(|follow_up| &follow_up.task).chain(&made.tasks);
    let checked = siblings
        .and_then(|()| made.children.iter().try_for_each(|task| child(task, maker.depth + 1)))
        .and_then(|()| others.into_iter().try_for_each(|task| target(catalogue, task).map(drop)))
        .and_then(|()| awaited.into_iter().try_for_each(|task| child(task, maker.depth + 1)));
    Ok(checked.err())
}

/// Whether a task may give its parent more children: not a root, and not one whose parent has counted what it awaits.
fn may_have_siblings(session: &mut Session<'_>, maker: &Maker) -> Result<bool> {
    let Some(fan_out_id) = maker.fan_out_id else { return Ok(false) };
    Ok(session.fan_out(fan_out_id)?.awaited.is_none())
}

/// Writes what a task has made, nothing of which is refused. Whether it has new children.
pub(crate) fn make(session: &mut Session<'_>, maker: &Maker, made: &Made) -> Result<bool> {
    siblings(session, maker, &made.siblings)?;
    let waits = children(session, maker, &made.children, made.order)?;
    made.follow_ups.iter().try_for_each(|made| follow_up::make(session, maker, made))?;
    enqueue::enqueue(session, &made.tasks, &maker.keys)?;
    Ok(waits)
}

fn siblings(session: &mut Session<'_>, maker: &Maker, tasks: &[NewTask]) -> Result<()> {
    let (Some(parent_id), Some(fan_out_id)) = (maker.parent_id, maker.fan_out_id) else { return Ok(()) };
    if tasks.is_empty() {
        return Ok(());
    }
    let mut statement = session.sql(include_str!("../../sql/settle/maker.sql"))?;
    let priority = statement.query_row([parent_id], |row| row.get(3))?;
    let nest = Nest { parent_id, depth: maker.depth, priority, fan_out_id, ..Nest::of(maker, fan_out_id) };
    let mut fan_out = session.fan_out(fan_out_id)?;
    let mut insert = session.sql(include_str!("../../sql/produce/insert_child.sql"))?;
    for task in tasks {
        // The end of the child that made it opens the first of them.
        let held = fan_out.in_order();
        nest.hatch(session, &mut insert, &mut fan_out, task, held)?;
    }
    session.fan_outs.put(fan_out_id, fan_out);
    Ok(())
}

/// Makes children of a task, beside its present ones; whether there are any new ones.
fn children(session: &mut Session<'_>, maker: &Maker, tasks: &[NewTask], order: ChildOrder) -> Result<bool> {
    if tasks.is_empty() {
        return Ok(false);
    }
    let nest = Nest::of(maker, maker.id.0);
    let known = session.fan_outs.find(session.conn, nest.fan_out_id)?;
    let mut fan_out = known.unwrap_or_else(|| maker.fan_out(order, None));
    let before = fan_out.tally.total;
    let mut insert = session.sql(include_str!("../../sql/produce/insert_child.sql"))?;
    for task in tasks {
        let held = order != ChildOrder::Together && fan_out.tally.open() > 0;
        nest.hatch(session, &mut insert, &mut fan_out, task, held)?;
    }
    if fan_out.tally.total == before {
        return Ok(false);
    }
    fan_out.order = order;
    session.fan_outs.put(nest.fan_out_id, fan_out);
    if !fan_out.in_order() {
        family::release(session, nest.fan_out_id)?;
    }
    Ok(true)
}

/// Begins a fan-out that a task awaits. Its number.
pub(crate) fn fan_out(
    session: &mut Session<'_>,
    maker: &Maker,
    tasks: &[NewTask],
    awaited: Awaited,
) -> Result<FanOutId> {
    let id = session.next_task().0;
    let nest = Nest { awaited: Some(maker.max_attempts), ..Nest::of(maker, id) };
    let mut fan_out = maker.fan_out(ChildOrder::Together, Some(awaited));
    let mut insert = session.sql(include_str!("../../sql/produce/insert_child.sql"))?;
    for task in tasks {
        nest.hatch(session, &mut insert, &mut fan_out, task, false)?;
    }
    session.fan_outs.put(id, fan_out);
    Ok(FanOutId(id))
}

/// Where children come from, and what they inherit.
struct Nest<'m> {
    parent_id: i64,
    /// Of the children.
    depth: u16,
    priority: i32,
    position: Timestamp,
    fan_out_id: i64,
    /// The attempts of their parent, if it awaits them.
    awaited: Option<u16>,
    /// Of the task that makes them.
    keys: &'m Keys,
}

impl<'m> Nest<'m> {
    /// A nest for children of this task.
    fn of(maker: &'m Maker, fan_out_id: i64) -> Self {
        let Maker { id, depth, priority, position, keys, .. } = maker;
        Self {
            parent_id: id.0,
            depth: depth + 1,
            priority: *priority,
            position: *position,
            fan_out_id,
            awaited: None,
            keys,
        }
    }

    /// Makes one more child, unless another task holds its key.
    fn hatch(
        &self,
        session: &mut Session<'_>,
        insert: &mut CachedStatement<'_>,
        fan_out: &mut FanOut,
        task: &NewTask,
        held: bool,
    ) -> Result<()> {
        let Ok((command, queue)) = target(session.catalogue, task) else { return Ok(()) };
        if let Some(unique) = &task.unique
            && let Some(holder) =
                holder(session, include_str!("../../sql/produce/holder.sql"), command.id, &unique.key)?
        {
            return joined(session, &holder, task, unique.on_duplicate).map(drop);
        }
        let due = task.due.at(session.now);
        let stand = Stand {
            gate: if held { Gate::After } else { gate_of(due, session.now) },
            priority: task.priority.unwrap_or(self.priority),
            due,
            position: self.position,
        };
        let birth = Birth {
            parent_id: self.parent_id,
            root_id: fan_out.root_id,
            depth: self.depth,
            fan_out_id: self.fan_out_id,
            nth: fan_out.tally.total,
            awaited: self.awaited,
        };
        put(session, insert, task, command, queue, &stand, Origin { keys: self.keys, birth: Some(&birth) })?;
        fan_out.tally.total += 1;
        fan_out.held += u64::from(held);
        Ok(())
    }
}

fn root_queue_id(session: &Session<'_>, maker: &Maker) -> Result<i64> {
    if maker.root_id == maker.id.0 {
        return Ok(maker.queue_id);
    }
    let mut statement = session.sql(include_str!("../../sql/family/owner.sql"))?;
    Ok(statement.query_row([maker.root_id], |row| row.get(2))?)
}
