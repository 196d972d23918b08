//! Short verbs about durable handlers, so that a contract is a few lines.
//!
//! Handlers are of the command `mail` and the children they await of `report`, both on the queue `default`, unless told
//! otherwise.

use kinfolk_core::{
    Await, Checkpoint, ChildResult, ClaimedTask, FanOut, FanOutId, History, Json, Key, Made, NewFanOut, NewTask,
    Outcome, ReadBy, Record, Recorded, Retry, Rule, Settled, SignalName, Signalled, State, StepKind, Suspend,
    TakenSignal, TaskId, Timestamp, Token,
};

use crate::world::{World, failed, json, new_task};

/// A handler that was suspended for one fan-out.
pub struct Flow {
    /// The handler's task, as it was claimed.
    pub task: ClaimedTask,
    /// The fan-out it awaits.
    pub fan_out: FanOutId,
    /// The children of that.
    pub kids: Vec<TaskId>,
}

impl Flow {
    /// The number of the handler's task.
    pub const fn id(&self) -> TaskId {
        self.task.id
    }
}

impl World {
    /// Writes checkpoints.
    pub async fn record(&self, task: &ClaimedTask, checkpoints: &[Checkpoint]) -> Recorded {
        self.store.record(&[record_of(task, checkpoints)]).await.unwrap().remove(0)
    }

    /// Suspends a handler.
    pub async fn suspend(&self, suspend: Suspend) -> Settled {
        self.store.suspend(&[suspend]).await.unwrap().remove(0)
    }

    /// Suspends a handler, which must wait then.
    pub async fn suspend_and_wait(&self, suspend: Suspend) {
        assert_eq!(self.suspend(suspend).await, Settled::Recorded(State::Waiting));
    }

    /// A root that awaits this many children.
    pub async fn flow(&self, many: usize, rule: Rule) -> Flow {
        self.flow_of(fan_out("items", many, rule)).await
    }

    /// A root that awaits this fan-out.
    pub async fn flow_of(&self, new: NewFanOut) -> Flow {
        let root = self.root().await;
        self.await_in(root, new).await
    }

    /// Lets a running handler await a fan-out.
    pub async fn await_in(&self, task: ClaimedTask, new: NewFanOut) -> Flow {
        self.suspend_and_wait(waiting_for(&task, new)).await;
        let fan_out = self.latest(task.id).await;
        let kids = self.children_in(fan_out).await;
        Flow { task, fan_out, kids }
    }

    /// The latest fan-out that a task awaits.
    pub async fn latest(&self, id: TaskId) -> FanOutId {
        self.history(id).await.fan_outs.last().expect("it awaits a fan-out").id
    }

    /// The children of a fan-out, first to last.
    pub async fn children_in(&self, fan_out: FanOutId) -> Vec<TaskId> {
        self.results(fan_out, ReadBy::Index).await.iter().map(|result| result.task).collect()
    }

    /// What was recorded by a task's handler.
    pub async fn history(&self, id: TaskId) -> History {
        self.store.history(id).await.unwrap()
    }

    /// A fan-out as it is now.
    pub async fn fan_out(&self, flow: &Flow) -> FanOut {
        let all = self.history(flow.id()).await.fan_outs;
        all.into_iter().find(|fan_out| fan_out.id == flow.fan_out).expect("it is there")
    }

    /// The first page of a fan-out's children.
    pub async fn results(&self, fan_out: FanOutId, by: ReadBy) -> Vec<ChildResult> {
        self.store.results(fan_out, by, 0, 1_000).await.unwrap()
    }

    /// Which children of a fan-out have ended, in that order.
    pub async fn ended(&self, fan_out: FanOutId) -> Vec<u32> {
        self.results(fan_out, ReadBy::Ended).await.iter().map(|result| result.index).collect()
    }

    /// Completes a child that is next in line.
    pub async fn complete(&self, id: TaskId) {
        assert_eq!(self.work(id, Outcome::Done(Some(json("1")))).await, Settled::Recorded(State::Completed));
    }

    /// Lets a child fail for good that is next in line.
    pub async fn let_fail(&self, id: TaskId) {
        assert_eq!(self.work(id, failed(Retry::Never)).await, Settled::Recorded(State::Failed));
    }

    /// Gives up a fan-out, which must be there.
    pub async fn expire(&self, task: &ClaimedTask, fan_out: FanOutId) -> FanOut {
        self.store.expire(task.id, task.token, fan_out).await.unwrap().expect("the token holds")
    }

    /// Sends a signal.
    pub async fn signal(&self, id: TaskId, name: &str, value: &str) -> Signalled {
        self.store.signal(id, &signal_name(name), &json(value)).await.unwrap()
    }

    /// Takes a signal and records it as a step of this name.
    pub async fn take_signal(&self, task: &ClaimedTask, step: &str, name: &str) -> TakenSignal {
        self.store.take_signal(task.id, task.token, &key(step), &signal_name(name)).await.unwrap()
    }
}

/// A key in the handler itself.
pub fn key(name: &str) -> Key {
    Key { branch: String::new(), name: name.to_owned(), occurrence: 0 }
}

/// A recorded step.
pub fn step(name: &str, value: &str) -> Checkpoint {
    Checkpoint { key: key(name), kind: StepKind::Step, digest: String::new(), value: json(value) }
}

/// The checkpoint that a fan-out leaves.
pub fn begun(name: &str, fan_out: FanOutId) -> Checkpoint {
    let value = Json::of(&fan_out).unwrap();
    Checkpoint { key: key(name), kind: StepKind::FanOut, digest: "d".to_owned(), value }
}

/// Checkpoints of a claimed task.
pub fn record_of(task: &ClaimedTask, checkpoints: &[Checkpoint]) -> Record {
    Record { task: task.id, token: task.token, checkpoints: checkpoints.to_vec() }
}

/// A fan-out of this many children that is awaited whole.
pub fn fan_out(name: &str, many: usize, rule: Rule) -> NewFanOut {
    fan_out_of(name, vec![new_task("report"); many], rule)
}

/// A fan-out of these children that is awaited whole.
pub fn fan_out_of(name: &str, children: Vec<NewTask>, rule: Rule) -> NewFanOut {
    NewFanOut {
        key: key(name),
        digest: "d".to_owned(),
        wake_at: u32::try_from(children.len()).unwrap(),
        children: children.into(),
        rule,
        timeout: None,
        cancel_on_failure: false,
    }
}

/// A suspension of a claimed task that waits for nothing yet.
pub const fn suspend_of(task: &ClaimedTask) -> Suspend {
    Suspend::new(task.id, task.token)
}

/// A suspension that waits for a new fan-out.
pub fn waiting_for(task: &ClaimedTask, new: NewFanOut) -> Suspend {
    Suspend { fan_outs: vec![new], ..suspend_of(task) }
}

/// A suspension that waits for a fan-out begun before, until this many of its children have ended.
pub fn waiting_again(task: &ClaimedTask, fan_out: FanOutId, wake_at: u32) -> Suspend {
    Suspend { awaits: vec![Await { fan_out, wake_at }], ..suspend_of(task) }
}

/// A suspension until a moment.
pub fn sleeping(task: &ClaimedTask, until: Timestamp) -> Suspend {
    Suspend { until: Some(until), ..suspend_of(task) }
}

/// A suspension until a signal of this name.
pub fn listening(task: &ClaimedTask, name: &str) -> Suspend {
    Suspend { signals: vec![signal_name(name)], ..suspend_of(task) }
}

/// The same suspension, and this was made before it.
pub fn having_made(suspend: Suspend, made: Made) -> Suspend {
    Suspend { made: Some(Box::new(made)), ..suspend }
}

/// The same suspension under another token.
pub fn under(suspend: Suspend, token: Token) -> Suspend {
    Suspend { token, ..suspend }
}

/// A signal name.
pub fn signal_name(name: &str) -> SignalName {
    SignalName::new(name).unwrap()
}
