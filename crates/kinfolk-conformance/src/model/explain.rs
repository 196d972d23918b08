//! Why a task is not running: every rule that a claim goes by, asked of one task.

use std::collections::BTreeSet;

use kinfolk_core::held::{self, Fact, Held, Pending};
use kinfolk_core::inspect::{Finding, Health};
use kinfolk_core::limits::{HOLDERS_SHOWN_MAX, PAGE_MAX};
use kinfolk_core::store::Answer;
use kinfolk_core::{Claim, Explanation, Gate, QueueName, Reason, State, TaskId, Timestamp};

use super::{Engine, Row, WorkerRow};

impl Engine {
    /// How many pending tasks are held up by what.
    pub(super) fn held_up(&self, queue: Option<&QueueName>) -> Vec<Held> {
        let pending = self.tasks.values().filter(|row| row.task.state == State::Pending);
        let pending = pending.filter(|row| queue.is_none_or(|queue| row.task.queue == *queue));
        held::held(pending.map(|row| self.pending(row)), self.now)
    }

    fn pending(&self, row: &Row) -> Pending {
        let (task, queue) = (&row.task, &self.queues[&row.task.queue]);
        let serves = |worker: &WorkerRow| {
            worker.lease_until >= self.now
                && worker.spec.queues.contains(&task.queue)
                && worker.spec.commands.contains(&task.command)
        };
        let fact = match (task.gate, &row.behind) {
            (Some(Gate::Time), _) if task.due > self.now => Fact::NotDue,
            (Some(Gate::After), _) => Fact::After,
            (Some(Gate::Limit), Some((group, key))) => {
                let until = self.groups[group].until(key, self.now);
                Fact::Key { group: group.clone(), key: key.clone(), until }
            }
            (Some(Gate::Limit), None) => Fact::FamilyLimit,
            _ => Fact::Open {
                command: task.command.clone(),
                fair: queue.policy.fair.is_some(),
                served: self.workers.values().any(serves),
            },
        };
        Pending { queue: task.queue.clone(), paused: queue.paused_at.is_some(), fact, tasks: 1, cut: false }
    }

    /// What the doctor finds of commands with tasks that may run and no live worker for them.
    pub(super) fn unhandled(&self) -> Finding {
        let may_run = |row: &&Row| match row.task.gate {
            Some(Gate::Open | Gate::Limit) => true,
            Some(Gate::Time) => row.task.due <= self.now,
            Some(Gate::After) | None => false,
        };
        let alone = self.tasks.values().filter(may_run).filter_map(|row| match self.no_worker(row.task.id) {
            Some(Reason::NoWorker { queue, command }) => Some(format!("{command} on {queue}")),
            _ => None,
        });
        let alone: Vec<_> = alone.collect::<BTreeSet<_>>().into_iter().collect();
        let (health, found) = match alone.as_slice() {
            [] => (Health::Good, "every task that may run has a live worker".to_owned()),
            alone => (Health::Warning, format!("no live worker handles {}", alone.join(", "))),
        };
        Finding { subject: "handlers".to_owned(), health, found, remedy: "start one".to_owned() }
    }

    pub(super) fn explain(&self, id: TaskId) -> Answer<Explanation> {
        let task = &self.row(id)?.task;
        let reasons = match task.state {
            State::Waiting => self.awaited(id),
            State::Pending => self.held_up_by(id),
            _ => Vec::new(),
        };
        Ok(Explanation { task: id, state: task.state, now: self.now, worker: task.worker, reasons })
    }

    /// What a task waits for whose own work is over, or whose handler is suspended.
    fn awaited(&self, id: TaskId) -> Vec<Reason> {
        let task = &self.tasks[&id].task;
        let mut open: Vec<_> = self.children_of(id).into_iter().filter(|child| self.is_open(*child)).collect();
        open.sort_unstable();
        let children = (!open.is_empty()).then(|| Reason::Children { tally: self.tally_of(id), open: first(open) });
        let signal = (!task.signals.is_empty()).then(|| Reason::Signal { names: task.signals.clone() });
        let asleep = (task.gate == Some(Gate::Time)).then_some(Reason::Asleep { until: task.due });
        children.into_iter().chain(signal).chain(asleep).collect()
    }

    /// What keeps a pending task from being claimed now.
    fn held_up_by(&self, id: TaskId) -> Vec<Reason> {
        let task = &self.tasks[&id].task;
        let not_due = task.gate == Some(Gate::Time) && task.due > self.now;
        let mut reasons = Vec::new();
        reasons.extend(not_due.then_some(Reason::NotDue { until: task.due }));
        reasons.extend(self.not_its_turn(id));
        let queue = &self.queues[&task.queue];
        let paused = |since| Reason::Paused { queue: queue.name.clone(), since, by: queue.paused_by.clone() };
        reasons.extend(queue.paused_at.map(paused));
        reasons.extend(self.no_room_for_family(id));
        reasons.extend(self.no_room_for_child(id));
        reasons.extend(self.no_room_under_keys(id));
        reasons.extend(self.no_worker(id));
        if reasons.is_empty() {
            reasons.push(Reason::InLine { before: self.before(id) });
        }
        reasons
    }

    /// The families that a follow-up waits for, or the one before an in-order child.
    fn not_its_turn(&self, id: TaskId) -> Option<Reason> {
        let row = &self.tasks[&id];
        if row.task.gate != Some(Gate::After) {
            return None;
        }
        let Some(parent) = row.task.parent else {
            let entries = self.follow_ups.get(&id)?.iter();
            let roots: Vec<_> = entries.filter(|(_, entry)| entry.ended.is_none()).map(|(root, _)| *root).collect();
            return (!roots.is_empty()).then(|| Reason::Families { roots: first(roots) });
        };
        let open: Vec<_> = self.spawned_by(parent).into_iter().filter(|sibling| self.is_open(*sibling)).collect();
        let before = open.iter().rfind(|sibling| self.tasks[sibling].nth < row.nth);
        let after = open.iter().find(|sibling| self.tasks[sibling].nth > row.nth);
        before.or(after).map(|task| Reason::Sibling { task: *task })
    }

    fn no_room_for_family(&self, id: TaskId) -> Option<Reason> {
        let row = &self.tasks[&id];
        let root = &self.tasks[&row.task.root];
        let queue = &root.task.queue;
        let limit = self.queues[queue].policy.family_limit?;
        let roots = self.all(|row| row.at_work && row.task.queue == *queue);
        let new_family = row.task.parent.is_none() && !row.at_work && roots.len() >= limit as usize;
        let shut_out = row.task.gate == Some(Gate::Limit) && row.behind.is_none();
        (new_family || shut_out).then(|| Reason::FamilyLimit { queue: queue.clone(), limit, roots: first(roots) })
    }

    fn no_room_for_child(&self, id: TaskId) -> Option<Reason> {
        let task = &self.tasks[&id].task;
        task.parent?;
        let limit = self.queues[&task.queue].policy.child_limit?;
        let holders = self.children_running(&task.queue);
        let full = holders.len() >= limit as usize;
        full.then(|| Reason::ChildLimit { queue: task.queue.clone(), limit, holders: first(holders) })
    }

    fn children_running(&self, queue: &QueueName) -> Vec<TaskId> {
        let runs = |row: &Row| row.task.parent.is_some() && row.task.state == State::Running;
        self.all(|row| runs(row) && row.task.queue == *queue)
    }

    /// For each key, whether its slots are taken, its room is kept for another, or its rate is used up.
    fn no_room_under_keys(&self, id: TaskId) -> Vec<Reason> {
        let (mut full, mut kept, mut rate) = (Vec::new(), Vec::new(), Vec::new());
        let mut needs = self.needs(id);
        needs.sort_by_key(|need| need.key.0.name.clone());
        for need in needs {
            let room = self.room(&need.key);
            let slots = room.slots.filter(|_| need.takes_slot);
            let (group, key) = need.key;
            let row = &self.groups[&group];
            if slots == Some(0) {
                let (limit, holders) = (row.limit(&key).unwrap_or_default(), row.holders(&key));
                let (group, key, held) = (group.clone(), key.clone(), holders.len() as u64);
                full.push(Reason::KeyFull { group, key, limit, held, holders: first(holders) });
            }
            let other = room.kept_for.filter(|other| *other != id);
            if let Some(task) = other.filter(|_| slots == Some(1) || room.starts == Some(1)) {
                kept.push(Reason::KeyKept { group: group.clone(), key: key.clone(), task });
            }
            if let Some(until) = row.until(&key, self.now) {
                rate.push(Reason::KeyRate { group, key, until });
            }
        }
        full.into_iter().chain(kept).chain(rate).collect()
    }

    fn no_worker(&self, id: TaskId) -> Option<Reason> {
        let task = &self.tasks[&id].task;
        let (queue, command) = (task.queue.clone(), task.command.clone());
        let live = self.workers.values().filter(|worker| worker.lease_until >= self.now).map(|worker| &worker.spec);
        let live: Vec<_> =
            live.filter(|spec| spec.queues.contains(&queue) && spec.commands.contains(&command)).collect();
        if live.is_empty() {
            return Some(Reason::NoWorker { queue, command });
        }
        let has_suspect = |id| self.running_on(id).iter().any(|other| self.tasks[other].task.suspect);
        (task.suspect && live.iter().all(|spec| has_suspect(spec.id))).then_some(Reason::Suspect)
    }

    pub(super) fn must_look_by(&self, claim: &Claim) -> Option<Timestamp> {
        if self.queues.get(&claim.queue).is_none_or(|queue| queue.paused_at.is_some()) {
            return None;
        }
        let here = |row: &&Row| row.task.queue == claim.queue && claim.commands.contains(&row.task.command);
        let latest = |row: &Row| match row.task.gate {
            Some(Gate::Time) => Some(row.task.due),
            Some(Gate::Open | Gate::Limit) => self.rates_alone(row.task.id),
            _ => None,
        };
        self.tasks.values().filter(here).filter_map(latest).min()
    }

    /// When a task that nothing but rates hold up may start.
    fn rates_alone(&self, id: TaskId) -> Option<Timestamp> {
        let mut reasons = self.held_up_by(id);
        reasons.retain(|reason| !matches!(reason, Reason::NoWorker { .. }));
        let until = |reason: Reason| match reason {
            Reason::KeyRate { until, .. } => Some(until),
            _ => None,
        };
        let untils: Option<Vec<_>> = reasons.into_iter().map(until).collect();
        untils?.into_iter().max()
    }

    /// How many open tasks of its queue stand before it.
    fn before(&self, id: TaskId) -> u64 {
        let task = &self.tasks[&id].task;
        let line = self.line(|row| row.task.gate == Some(Gate::Open) && row.task.queue == task.queue);
        let mine = (task.priority, task.position, id);
        let ahead = line
            .iter()
            .map(|id| &self.tasks[id].task)
            .filter(|other| (other.priority, other.position, other.id) < mine);
        ahead.take(PAGE_MAX).count() as u64
    }

    fn all(&self, matches: impl Fn(&Row) -> bool) -> Vec<TaskId> {
        self.tasks.values().filter(|row| matches(row)).map(|row| row.task.id).collect()
    }
}

/// As many as are shown.
fn first(mut tasks: Vec<TaskId>) -> Vec<TaskId> {
    tasks.truncate(HOLDERS_SHOWN_MAX);
    tasks
}
