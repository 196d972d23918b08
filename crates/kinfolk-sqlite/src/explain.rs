//! Why a task is not running: every rule that a claim goes by, asked of one task at one moment. The notes of claims
//! are not trusted.

use kinfolk_core::limits::{HOLDERS_SHOWN_MAX, PAGE_MAX};
use kinfolk_core::task::Task;
use kinfolk_core::{Explanation, Gate, Reason, State, StoreError, TaskId, admit};
use rusqlite::{OptionalExtension, Params};

use crate::admission::rate;
use crate::admission::reserve;
use crate::error::Result;
use crate::family::Lane;
use crate::inspect::family;
use crate::inspect::groups;
use crate::inspect::stats;
use crate::inspect::tasks;
use crate::known_group::DeclaredGroup;
use crate::readers::Snapshot;
use crate::slots::{self, GivenKeys};

/// Why a task is not running.
pub(crate) fn explain(snapshot: &Snapshot<'_>, id: TaskId) -> Result<Explanation> {
    let task = tasks::task(snapshot.conn, &snapshot.catalogue, snapshot.now, id)?;
    let task = task.ok_or_else(|| StoreError::not_found("task", id))?;
    let reasons = match task.state {
        State::Waiting => awaited(snapshot, &task)?,
        State::Pending => Pending::of(snapshot, &task)?.held_up_by()?,
        _ => Vec::new(),
    };
    Ok(Explanation { task: id, state: task.state, now: snapshot.now, worker: task.worker, reasons })
}

/// The waits of a task whose own work is over, or whose handler is suspended.
fn awaited(snapshot: &Snapshot<'_>, task: &Task) -> Result<Vec<Reason>> {
    let open = numbers(snapshot, include_str!("../sql/explain/children.sql"), (task.id.0, HOLDERS_SHOWN_MAX))?;
    let mut reasons = Vec::new();
    if !open.is_empty() {
        reasons.push(Reason::Children { tally: family::tally(snapshot, task.id)?, open });
    }
    if !task.signals.is_empty() {
        reasons.push(Reason::Signal { names: task.signals.clone() });
    }
    if task.gate == Some(Gate::Time) {
        reasons.push(Reason::Asleep { until: task.due });
    }
    Ok(reasons)
}

/// A pending task, and what is to be known of it beyond what is shown.
struct Pending<'s> {
    snapshot: &'s Snapshot<'s>,
    task: &'s Task,
    lane: Lane,
    /// It waits behind a key.
    blocked: bool,
    /// The fan-out that it is a child of, and its `nth` there; `None` for a root.
    birth: Option<(i64, i64)>,
    command_id: i64,
    queue_id: i64,
    keys: GivenKeys,
}

impl<'s> Pending<'s> {
    fn of(snapshot: &'s Snapshot<'s>, task: &'s Task) -> Result<Self> {
        let mut statement = snapshot.conn.prepare_cached(include_str!("../sql/explain/task.sql"))?;
        let mut rows = statement.query([task.id.0])?;
        let row = rows.next()?.ok_or_else(|| StoreError::not_found("task", task.id))?;
        let lane: String = row.get(0)?;
        let (fan_out_id, nth): (Option<i64>, Option<i64>) = (row.get(2)?, row.get(3)?);
        Ok(Self {
            snapshot,
            task,
            lane: Lane::from_word(&lane).unwrap_or(Lane::Top),
            blocked: row.get(1)?,
            birth: fan_out_id.zip(nth),
            command_id: row.get(4)?,
            queue_id: row.get(5)?,
            keys: GivenKeys::read(row.get::<_, Option<String>>(6)?.as_deref())?,
        })
    }

    /// The reasons why no claim takes it now, in their order.
    fn held_up_by(&self) -> Result<Vec<Reason>> {
        let mut reasons = Vec::new();
        if self.task.gate == Some(Gate::Time) && self.task.due > self.snapshot.now {
            reasons.push(Reason::NotDue { until: self.task.due });
        }
        reasons.extend(self.not_its_turn()?);
        let queue = self.snapshot.catalogue.queue_by_id(self.queue_id)?;
        let paused = |since| Reason::Paused { queue: queue.name.clone(), since, by: queue.paused_by.clone() };
        reasons.extend(queue.paused_at.map(paused));
        reasons.extend(self.no_room_for_family()?);
        reasons.extend(self.no_room_for_child()?);
        reasons.extend(self.no_room_under_keys()?);
        reasons.extend(self.no_worker()?);
        if reasons.is_empty() {
            reasons.push(Reason::InLine { before: self.before()? });
        }
        Ok(reasons)
    }

    /// The families that a follow-up waits for, or the one before an in-order child.
    fn not_its_turn(&self) -> Result<Option<Reason>> {
        if self.task.gate != Some(Gate::After) {
            return Ok(None);
        }
        let Some(birth) = self.birth else {
            let sql = include_str!("../sql/explain/families.sql");
            let roots = numbers(self.snapshot, sql, (self.task.id.0, HOLDERS_SHOWN_MAX))?;
            return Ok((!roots.is_empty()).then_some(Reason::Families { roots }));
        };
        for sql in [include_str!("../sql/explain/before.sql"), include_str!("../sql/explain/behind.sql")] {
            if let [task] = numbers(self.snapshot, sql, birth)?[..] {
                return Ok(Some(Reason::Sibling { task }));
            }
        }
        Ok(None)
    }

    fn no_room_for_family(&self) -> Result<Option<Reason>> {
        let catalogue = &self.snapshot.catalogue;
        let mut statement = self.snapshot.conn.prepare_cached(include_str!("../sql/family/owner.sql"))?;
        let queue_id: i64 = statement.query_row([self.task.root.0], |row| row.get(2))?;
        let queue = catalogue.queue_by_id(queue_id)?;
        let Some(limit) = queue.policy.family_limit else { return Ok(None) };
        let mut statement = self.snapshot.conn.prepare_cached(include_str!("../sql/claim/at_work.sql"))?;
        let at_work: u32 = statement.query_row([queue_id], |row| row.get(0))?;
        let new_family = self.lane == Lane::Top && at_work >= limit;
        let shut_out = self.task.gate == Some(Gate::Limit) && !self.blocked;
        if !new_family && !shut_out {
            return Ok(None);
        }
        let sql = include_str!("../sql/explain/at_work.sql");
        let roots = numbers(self.snapshot, sql, (queue_id, HOLDERS_SHOWN_MAX))?;
        Ok(Some(Reason::FamilyLimit { queue: queue.name.clone(), limit, roots }))
    }

    fn no_room_for_child(&self) -> Result<Option<Reason>> {
        let queue = self.snapshot.catalogue.queue_by_id(self.queue_id)?;
        let Some(limit) = queue.policy.child_limit.filter(|_| self.task.parent.is_some()) else { return Ok(None) };
        let mut statement = self.snapshot.conn.prepare_cached(include_str!("../sql/claim/child_slots.sql"))?;
        let running: u32 = statement.query_row([self.queue_id], |row| row.get(0))?;
        if running < limit {
            return Ok(None);
        }
        let sql = include_str!("../sql/explain/child_slots.sql");
        let holders = numbers(self.snapshot, sql, (self.queue_id, HOLDERS_SHOWN_MAX))?;
        Ok(Some(Reason::ChildLimit { queue: queue.name.clone(), limit, holders }))
    }

    /// For each key, by the name of its group, whether its slots are taken, its room is kept for another, or its rate is
    /// used up.
    fn no_room_under_keys(&self) -> Result<Vec<Reason>> {
        let mut declared: Vec<&DeclaredGroup> = self.snapshot.catalogue.groups_of(self.command_id).iter().collect();
        declared.sort_by(|one, other| one.name.cmp(&other.name));
        let (mut full, mut kept, mut rate) = (Vec::new(), Vec::new(), Vec::new());
        for declared in declared {
            let Some(key) = self.keys.of(declared) else { continue };
            let known = self.snapshot.catalogue.group(declared.id)?;
            let allowed = known.allows_now(self.snapshot.conn, key)?;
            let (group, key) = (known.group.clone(), key.to_owned());
            let mut left = None;
            if let Some(limit) = allowed.limit
                && self.takes_slot(declared, &key)?
            {
                let held = groups::held(self.snapshot, known, &key)?;
                left = Some(u64::from(limit).saturating_sub(held));
                if left == Some(0) {
                    let holders = groups::holders(self.snapshot, known, &key)?;
                    full.push(Reason::KeyFull { group: group.clone(), key: key.clone(), limit, held, holders });
                }
            }
            let until = groups::until(self.snapshot, known, &key)?;
            let (spent, _) = rate::spent(self.snapshot.conn, known.id, &key)?;
            let starts = allowed.rate.map(|rate| admit::starts(rate, spent, self.snapshot.now));
            let one_left = left == Some(1) || (until.is_none() && starts == Some(1));
            if let Some(task) = self.kept_for_another(known.id, &key)?.filter(|_| one_left) {
                kept.push(Reason::KeyKept { group: group.clone(), key: key.clone(), task });
            }
            rate.extend(until.map(|until| Reason::KeyRate { group, key, until }));
        }
        Ok(full.into_iter().chain(kept).chain(rate).collect())
    }

    /// Whether it needs a slot of a key: not if it holds one, or one above it does for the whole family.
    fn takes_slot(&self, group: &DeclaredGroup, key: &str) -> Result<bool> {
        let holders = slots::held_above(self.snapshot.conn, group.id, key, self.task.id.0)?;
        Ok(!holders.iter().any(|holder| group.hold || *holder == self.task.id.0))
    }

    /// The task that room of a key is kept for, if that is another one.
    fn kept_for_another(&self, group_id: i64, key: &str) -> Result<Option<TaskId>> {
        let mut statement = self.snapshot.conn.prepare_cached(include_str!("../sql/admission/reserve/of_key.sql"))?;
        let kept = statement.query_row((group_id, key), |row| Ok(TaskId(row.get(0)?))).optional()?;
        let Some(other) = kept.filter(|other| *other != self.task.id) else { return Ok(None) };
        let Snapshot { conn, now, catalogue, .. } = self.snapshot;
        Ok(reserve::keeps_room(conn, catalogue, *now, other.0)?.then_some(other))
    }

    fn no_worker(&self) -> Result<Option<Reason>> {
        let Task { queue, command, .. } = self.task;
        let mut live = stats::workers(self.snapshot)?;
        live.retain(|worker| worker.lease_until >= self.snapshot.now);
        live.retain(|worker| worker.queues.contains(queue) && worker.commands.contains(command));
        if live.is_empty() {
            return Ok(Some(Reason::NoWorker { queue: queue.clone(), command: command.clone() }));
        }
        let mut statement = self.snapshot.conn.prepare_cached(include_str!("../sql/explain/suspect.sql"))?;
        for worker in live {
            if !self.task.suspect || !statement.exists([worker.id.0.as_bytes()])? {
                return Ok(None);
            }
        }
        Ok(Some(Reason::Suspect))
    }

    /// How many open tasks of its queue are before it in line.
    fn before(&self) -> Result<u64> {
        let mut statement = self.snapshot.conn.prepare_cached(include_str!("../sql/explain/ahead.sql"))?;
        let (position, id) = (self.task.position.as_micros(), self.task.id.0);
        let most = PAGE_MAX as u64;
        let mut before = 0;
        for command_id in self.snapshot.catalogue.command_ids() {
            let stand = (self.queue_id, command_id, self.task.priority, position, id, most);
            before += statement.query_row(stand, |row| row.get::<_, u64>(0))?;
        }
        Ok(before.min(most))
    }
}

fn numbers(snapshot: &Snapshot<'_>, sql: &str, params: impl Params) -> Result<Vec<TaskId>> {
    let mut statement = snapshot.conn.prepare_cached(sql)?;
    let found = statement.query_map(params, |row| Ok(TaskId(row.get(0)?)))?;
    Ok(found.collect::<rusqlite::Result<_>>()?)
}
