//! What a producer may do.

use std::collections::BTreeMap;
use std::time::Duration;

use kinfolk_core::limits::{ENQUEUE_BATCH_MAX, PAYLOAD_BYTES_MAX};
use kinfolk_core::store::Answer;
use kinfolk_core::{
    ChildOrder, Command, Enqueued, FanOutId, Gate, InputError, NewTask, OnDuplicate, Policy, Queue, QueueName,
    Rejection, State, Task, TaskId, Timestamp,
};

use super::{Bug, Engine, Row};

/// What a new task gets from where it comes from.
#[derive(Clone, Copy)]
pub(super) struct Birth {
    /// Its priority, unless it was given one.
    pub(super) priority: i32,
    /// Where it stands in line.
    pub(super) position: Timestamp,
    /// What holds it, if not the time.
    pub(super) gate: Option<Gate>,
    /// The task whose handler makes it, if one does.
    pub(super) maker: Option<TaskId>,
    /// Where it stands in a family, if it is a child.
    pub(super) child_of: Option<ChildOf>,
}

/// Where a child stands in its family.
#[derive(Clone, Copy)]
pub(super) struct ChildOf {
    pub(super) parent: TaskId,
    /// The fan-out it belongs to, if a handler awaits it.
    pub(super) fan_out: Option<FanOutId>,
    /// Which child of that fan-out, or of those that its parent spawned.
    pub(super) nth: u32,
}

impl Engine {
    pub(super) fn register(&mut self, commands: &[Command]) -> Answer<()> {
        commands.iter().try_for_each(Command::check)?;
        for command in commands {
            self.make_queue(&command.queue);
            let handler = self.commands.get(&command.name).and_then(|before| before.handler.clone());
            let handler = command.handler.clone().or(handler);
            let label = self.commands.get(&command.name).and_then(|before| before.label.clone());
            let label = command.label.clone().or(label).filter(|path| !path.is_none());
            self.commands.insert(command.name.clone(), Command { handler, label, groups: None, ..command.clone() });
            if let Some(groups) = &command.groups {
                self.declare(&command.name, groups);
            }
        }
        Ok(())
    }

    pub(super) fn enqueue(&mut self, tasks: &[NewTask]) -> Answer<Vec<Enqueued>> {
        if tasks.len() > ENQUEUE_BATCH_MAX {
            return Err(InputError::Batch { what: "tasks", given: tasks.len(), max: ENQUEUE_BATCH_MAX }.into());
        }
        tasks.iter().try_for_each(NewTask::check)?;
        self.whole(|engine| tasks.iter().map(|task| engine.enqueue_one(task, None)).collect())
    }

    pub(super) fn enqueue_all(&mut self, tasks: &[NewTask]) -> Answer<Vec<Enqueued>> {
        match tasks.iter().find_map(|task| self.rejection(task)) {
            Some(_) if self.has(Bug::EnqueueAllMakesTheRest) => self.enqueue(tasks),
            Some(why) if tasks.iter().all(|task| task.check().is_ok()) => Err(why.into()),
            _ => self.enqueue(tasks),
        }
    }

    /// Enqueues a task, which another one makes or nobody does.
    pub(super) fn enqueue_one(&mut self, new: &NewTask, maker: Option<TaskId>) -> Answer<Enqueued> {
        if let Some(why) = self.rejection(new) {
            return Ok(Enqueued::Rejected(why));
        }
        if let Some(holder) = self.holder(new, |_| true) {
            return self.duplicate(holder, new);
        }
        let priority = self.commands[&new.command].priority;
        let position = new.due.at(self.now).max(self.now);
        Ok(Enqueued::Created(self.insert(new, Birth { priority, position, gate: None, maker, child_of: None })))
    }

    /// Why no such task can be.
    pub(super) fn rejection(&self, new: &NewTask) -> Option<Rejection> {
        let Some(queue) = self.queue_of(new) else {
            return Some(Rejection::UnknownCommand(new.command.clone()));
        };
        let unknown = !self.queues.contains_key(&queue);
        unknown.then_some(Rejection::UnknownQueue(queue)).or_else(|| self.unknown_group(new))
    }

    /// Where the task waits; none if nobody knows its command.
    pub(super) fn queue_of(&self, new: &NewTask) -> Option<QueueName> {
        let command = self.commands.get(&new.command)?;
        Some(new.queue.clone().unwrap_or_else(|| command.queue.clone()))
    }

    /// Makes the task of a known command on a known queue.
    pub(super) fn insert(&mut self, new: &NewTask, birth: Birth) -> TaskId {
        let id = self.next_id();
        let command = &self.commands[&new.command];
        let due = new.due.at(self.now);
        let parent = birth.child_of.map(|child_of| &self.tasks[&child_of.parent].task);
        let is_awaited = birth.child_of.is_some_and(|child_of| child_of.fan_out.is_some());
        let hands_down = is_awaited && !self.has(Bug::SubTaskForgetsItsParentsAttempts);
        let awaited = parent.filter(|_| hands_down).map(|parent| parent.max_attempts);
        let task = Task {
            keys: self.keys_of(new, birth.maker),
            id,
            command: command.name.clone(),
            queue: self.queue_of(new).expect("its command is known"),
            state: State::Pending,
            gate: birth.gate.or(Some(if due > self.now { Gate::Time } else { Gate::Open })),
            priority: new.priority.unwrap_or(birth.priority),
            due,
            position: birth.position,
            attempt: 0,
            max_attempts: new.max_attempts.unwrap_or_else(|| command.retry.attempts(awaited)),
            timeout: new.timeout.or(command.timeout),
            payload: new.payload.clone(),
            result: None,
            failure: None,
            unique_key: None,
            created_at: self.now,
            started_at: None,
            first_started_at: None,
            ran_before: Duration::ZERO,
            finished_at: None,
            cancel_requested_at: None,
            worker: None,
            suspect: false,
            strikes: 0,
            trace: new.trace.clone(),
            parent: parent.map(|parent| parent.id),
            root: parent.map_or(id, |parent| parent.root),
            depth: parent.map_or(0, |parent| parent.depth + 1),
            // Spawned children are in the fan-out that has their parent's number.
            fan_out: birth.child_of.map(|child_of| child_of.fan_out.unwrap_or(FanOutId(child_of.parent.0))),
            index: birth.child_of.map(|child_of| child_of.nth),
            made_by: None,
            follows: None,
            label_path: None,
            outcome: None,
            steps: 0,
            signals: Vec::new(),
            report: None,
        };
        let row = Row {
            task,
            unique: new.unique.clone(),
            key_given_up: false,
            runs: 0,
            token: None,
            attempts: Vec::new(),
            waited_for: BTreeMap::new(),
            done_at_once: None,
            ran_by: None,
            nth: birth.child_of.map_or(0, |child_of| child_of.nth),
            fan_out: birth.child_of.and_then(|child_of| child_of.fan_out),
            order: ChildOrder::Together,
            checkpoints: Vec::new(),
            recorded_at: Vec::new(),
            kept: Vec::new(),
            was_suspended: false,
            at_work: false,
            behind: None,
            failed_tries: 0,
        };
        if let Some(parent) = row.task.parent {
            self.kids.entry(parent).or_default().insert(id);
        }
        self.tasks.insert(id, row);
        id
    }

    /// The task that holds the newcomer's key, among those that may; the oldest when several do.
    pub(super) fn holder(&self, new: &NewTask, may: impl Fn(&Row) -> bool) -> Option<TaskId> {
        let key = &new.unique.as_ref()?.key;
        let mut rows = self.tasks.values();
        rows.find(|row| {
            row.task.command == new.command
                && row.unique.as_ref().is_some_and(|unique| unique.key == *key)
                && row.holds_key(self.now, self.bug)
                && may(row)
        })
        .map(|row| row.task.id)
    }

    pub(super) fn duplicate(&mut self, holder: TaskId, new: &NewTask) -> Answer<Enqueued> {
        let rule = new.unique.as_ref().map_or(OnDuplicate::Keep, |unique| unique.on_duplicate);
        let row = self.row_mut(holder);
        let started = row.task.state != State::Pending || row.runs > 0;
        let payload = match rule {
            OnDuplicate::Replace if !started => new.payload.clone(),
            OnDuplicate::Merge if !started => row.task.payload.merged(&new.payload),
            _ => return Ok(Enqueued::Existing(holder)),
        };
        if payload.bytes() > PAYLOAD_BYTES_MAX {
            let (bytes, max) = (payload.bytes(), PAYLOAD_BYTES_MAX);
            return Err(InputError::TooLarge { what: "payload", bytes, max }.into());
        }
        row.task.payload = payload;
        Ok(Enqueued::Merged(holder))
    }

    pub(super) fn make_queue(&mut self, name: &QueueName) {
        let fresh = || Queue { name: name.clone(), paused_at: None, paused_by: None, policy: Policy::default() };
        self.queues.entry(name.clone()).or_insert_with(fresh);
    }

    pub(super) fn next_fan_out_id(&mut self) -> FanOutId {
        let id = self.fan_out_ids.pop_front().unwrap_or(FanOutId(self.last_id + 1));
        self.last_id = self.last_id.max(id.0);
        id
    }

    fn next_id(&mut self) -> TaskId {
        let id = self.ids.pop_front().unwrap_or(TaskId(self.last_id + 1));
        self.last_id = self.last_id.max(id.0);
        id
    }
}
