//! What a producer may do.

use kinfolk_core::limits::{ENQUEUE_BATCH_MAX, PAYLOAD_BYTES_MAX};
use kinfolk_core::store::Answer;
use kinfolk_core::{
    Command, Enqueued, Gate, InputError, NewTask, OnDuplicate, Policy, Queue, QueueName, Rejection, State, Task, TaskId,
};

use super::{Engine, Row};

impl Engine {
    pub(super) fn register(&mut self, commands: &[Command]) -> Answer<()> {
        commands.iter().try_for_each(Command::check)?;
        for command in commands {
            self.make_queue(&command.queue);
            self.commands.insert(command.name.clone(), command.clone());
        }
        Ok(())
    }

    pub(super) fn enqueue(&mut self, tasks: &[NewTask]) -> Answer<Vec<Enqueued>> {
        if tasks.len() > ENQUEUE_BATCH_MAX {
            return Err(InputError::Batch { what: "tasks", given: tasks.len(), max: ENQUEUE_BATCH_MAX }.into());
        }
        tasks.iter().try_for_each(NewTask::check)?;
        self.whole(|engine| tasks.iter().map(|task| engine.enqueue_one(task)).collect())
    }

    pub(super) fn enqueue_one(&mut self, new: &NewTask) -> Answer<Enqueued> {
        let Some(command) = self.commands.get(&new.command).cloned() else {
            return Ok(Enqueued::Rejected(Rejection::UnknownCommand(new.command.clone())));
        };
        let queue = new.queue.clone().unwrap_or_else(|| command.queue.clone());
        if !self.queues.contains_key(&queue) {
            return Ok(Enqueued::Rejected(Rejection::UnknownQueue(queue)));
        }
        if let Some(holder) = self.holder(new) {
            return self.duplicate(holder, new);
        }
        let id = self.next_id();
        let due = new.due.at(self.now);
        let task = Task {
            id,
            command: command.name,
            queue,
            state: State::Pending,
            gate: Some(if due > self.now { Gate::Time } else { Gate::Open }),
            priority: new.priority.unwrap_or(command.priority),
            due,
            place: due.max(self.now),
            attempt: 0,
            max_attempts: new.max_attempts.unwrap_or(command.retry.max_attempts),
            timeout: new.timeout.or(command.timeout),
            payload: new.payload.clone(),
            result: None,
            failure: None,
            unique_key: None,
            created_at: self.now,
            started_at: None,
            finished_at: None,
            cancel_requested_at: None,
            worker: None,
            suspect: false,
            strikes: 0,
            trace: new.trace.clone(),
            parent: None,
            root: id,
            depth: 0,
            outcome: None,
        };
        let row =
            Row { task, unique: new.unique.clone(), key_given_up: false, runs: 0, token: None, attempts: Vec::new() };
        self.tasks.insert(id, row);
        Ok(Enqueued::Created(id))
    }

    /// The task that holds the newcomer's key; the oldest when several do.
    fn holder(&self, new: &NewTask) -> Option<TaskId> {
        let key = &new.unique.as_ref()?.key;
        let mut rows = self.tasks.values();
        rows.find(|row| {
            row.task.command == new.command
                && row.unique.as_ref().is_some_and(|unique| unique.key == *key)
                && row.holds_key(self.now, self.bug)
        })
        .map(|row| row.task.id)
    }

    fn duplicate(&mut self, holder: TaskId, new: &NewTask) -> Answer<Enqueued> {
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
        let fresh = || Queue { name: name.clone(), paused_at: None, policy: Policy::default() };
        self.queues.entry(name.clone()).or_insert_with(fresh);
    }

    fn next_id(&mut self) -> TaskId {
        let id = self.ids.pop_front().unwrap_or(TaskId(self.last_id + 1));
        self.last_id = self.last_id.max(id.0);
        id
    }
}
