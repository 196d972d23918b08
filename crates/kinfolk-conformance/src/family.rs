//! Short verbs about families, so that a contract is a few lines.
//!
//! Roots are of the command `mail` and children of `report`, both on the queue `default`, unless told otherwise.

use kinfolk_core::{
    ChildOrder, Claim, ClaimedTask, FollowUp, Gate, Made, NewTask, Outcome, Policy, QueueName, Retry, Settle, Settled,
    State, StatusName, Tally, TaskId, When, WorkerId,
};

use crate::world::{World, claim_of, failed, ids, json, new_task, queue_name, settle_of};

impl World {
    /// Completes a task with the result `1` and leaves this behind.
    pub async fn leave_behind(&self, task: &ClaimedTask, made: Made) -> Settled {
        self.store.settle(&[done_with(task, made)]).await.unwrap().remove(0)
    }

    /// A root, fresh from its first claim, on a worker of its own.
    pub async fn root(&self) -> ClaimedTask {
        self.start(self.enqueue("mail").await).await
    }

    /// A root that waits for what it left behind.
    pub async fn waiting(&self, made: Made) -> TaskId {
        let root = self.root().await;
        assert_eq!(self.leave_behind(&root, made).await, Settled::Recorded(State::Waiting));
        root.id
    }

    /// A root that waits for this many children, and they.
    pub async fn parent_of(&self, many: usize) -> (TaskId, Vec<TaskId>) {
        let root = self.waiting(children(many)).await;
        (root, self.kids(root).await)
    }

    /// A root that failed because of its only child, and that child.
    pub async fn failed_family(&self) -> (TaskId, TaskId) {
        let (root, kids) = self.parent_of(1).await;
        self.work(kids[0], failed(Retry::Never)).await;
        assert_eq!(self.state(root).await, State::Failed);
        (root, kids[0])
    }

    /// A chain of this many generations below a root: the root first, the one that runs last.
    pub async fn chain(&self, deep: usize) -> (Vec<TaskId>, ClaimedTask) {
        let mut task = self.root().await;
        let mut line = vec![task.id];
        let worker = self.worker().await;
        for _ in 0..deep {
            assert_eq!(self.leave_behind(&task, children(1)).await, Settled::Recorded(State::Waiting));
            task = self.take(worker).await;
            line.push(task.id);
        }
        (line, task)
    }

    /// Claims this task, which must be the next of its command on its queue, and ends it so.
    pub async fn work(&self, id: TaskId, outcome: Outcome) -> Settled {
        let task = self.start(id).await;
        self.settle(&task, outcome).await
    }

    /// Claims this task, which must be the next of its command on its queue, on a worker of its own.
    pub async fn start(&self, id: TaskId) -> ClaimedTask {
        let (worker, task) = (self.worker().await, self.get(id).await);
        let claim = Claim { queue: task.queue, commands: vec![task.command], ..claim_of(worker, 1) };
        let task = self.store.claim(&claim).await.unwrap().tasks.pop().expect("there is a task to claim");
        assert_eq!(task.id, id, "another one is next in line");
        task
    }

    /// Claims up to `limit` tasks of all commands from a queue.
    pub async fn claim_on(&self, queue: &str, worker: WorkerId, limit: usize) -> Vec<ClaimedTask> {
        let claim = Claim { queue: queue_name(queue), ..claim_of(worker, limit) };
        self.store.claim(&claim).await.unwrap().tasks
    }

    /// What a new worker could claim now from the queue `default`; it gives everything back at once.
    pub async fn claimable(&self) -> Vec<TaskId> {
        let worker = self.worker().await;
        let taken = ids(&self.claim(worker, 1_000).await);
        self.store.leave(worker).await.unwrap();
        taken
    }

    /// The children of a task, first made first.
    pub async fn kids(&self, id: TaskId) -> Vec<TaskId> {
        self.store.children(id, 0, 1_000).await.unwrap().iter().map(|task| task.id).collect()
    }

    /// The only task of a command.
    pub async fn only(&self, command: &str) -> TaskId {
        let found: Vec<_> = self.all().await.into_iter().filter(|task| task.command.as_str() == command).collect();
        assert_eq!(found.len(), 1, "one task of {command}: {found:?}");
        found[0].id
    }

    /// What holds a pending task.
    pub async fn gate(&self, id: TaskId) -> Option<Gate> {
        self.get(id).await.gate
    }

    /// What holds the children of a task, first made first.
    pub async fn gates(&self, id: TaskId) -> Vec<Option<Gate>> {
        self.store.children(id, 0, 1_000).await.unwrap().iter().map(|task| task.gate).collect()
    }

    /// The states of the children of a task, first made first.
    pub async fn states(&self, id: TaskId) -> Vec<State> {
        self.store.children(id, 0, 1_000).await.unwrap().iter().map(|task| task.state).collect()
    }

    /// How the children of a task are doing.
    pub async fn tally(&self, id: TaskId) -> Tally {
        self.store.tally(id).await.unwrap()
    }

    /// Sets a queue's policy.
    pub async fn limit(&self, queue: &str, policy: Policy) {
        self.store.set_queue(&queue_name(queue), &policy).await.unwrap();
    }

    /// Lets this many families work at once on the queue `default`.
    pub async fn serial(&self, families: u32) {
        self.limit("default", families_at_once(families)).await;
    }
}

/// A settle that completes a task with the result `1` and leaves this behind.
pub fn done_with(task: &ClaimedTask, made: Made) -> Settle {
    Settle { made: Some(Box::new(made)), ..settle_of(task, Outcome::Done(Some(json("1")))) }
}

/// This many children, side by side.
pub fn children(many: usize) -> Made {
    Made { children: vec![new_task("report"); many], ..Made::default() }
}

/// This many children, in this order.
pub fn in_order(many: usize, order: ChildOrder) -> Made {
    Made { order, ..children(many) }
}

/// These children.
pub fn these(tasks: impl IntoIterator<Item = NewTask>) -> Made {
    Made { children: tasks.into_iter().collect(), ..Made::default() }
}

/// This many siblings.
pub fn siblings(many: usize) -> Made {
    Made { siblings: vec![new_task("report"); many], ..Made::default() }
}

/// One follow-up.
pub fn follow_up(task: NewTask, when: When) -> Made {
    Made { follow_ups: vec![FollowUp { task, when }], ..Made::default() }
}

/// A child of the command `report` on a queue.
pub fn on(queue: &str) -> NewTask {
    NewTask { queue: Some(queue_name(queue)), ..new_task("report") }
}

/// A queue on which this many families work at once.
pub fn families_at_once(families: u32) -> Policy {
    Policy { family_limit: Some(families), ..Policy::default() }
}

/// A queue on which this many children run at once.
pub fn children_at_once(many: u32) -> Policy {
    Policy { child_limit: Some(many), ..Policy::default() }
}

/// A queue whose families grow this deep.
pub fn deep(depth_limit: u16) -> Policy {
    Policy { depth_limit, ..Policy::default() }
}

/// A status name.
pub fn status_name(name: &str) -> StatusName {
    StatusName::new(name).unwrap()
}

/// The queue `default`.
pub fn home() -> QueueName {
    queue_name("default")
}

/// Counts of children: all, completed, failed, cancelled.
pub fn counts(total: u64, completed: u64, failed: u64, cancelled: u64) -> Tally {
    Tally { total, completed, failed, cancelled }
}
