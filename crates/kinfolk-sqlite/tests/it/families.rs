//! Families on the embedded store: what is special to it, and that large ones cost time in proportion.

use kinfolk_core::operate::Cancelled;
use kinfolk_core::{
    ChildOrder, Command, Failure, FailureKind, FollowUp, Gate, Inspect, Made, NewTask, Operate, Outcome, Produce,
    Retried, Retry, Settle, Settled, SqlHandler, State, StoreError, TaskId, Unique, When, Work, WorkerId,
};
use rusqlite::Connection;

use crate::support::{Lab, claim, enqueue, ids, register, settle, task, worker};

/// A worker, and a root of the command `echo` that it has claimed.
async fn root(lab: &Lab) -> (WorkerId, Settle) {
    register(&lab.store, &["echo"]).await;
    let worker = worker(&lab.store).await;
    enqueue(&lab.store, &[task("echo")]).await;
    let taken = claim(&lab.store, worker, &["echo"], 1).await;
    (worker, Settle::new(taken.tasks[0].id, taken.tasks[0].token, Outcome::Done(None)))
}

fn children(count: usize, order: ChildOrder) -> Option<Box<Made>> {
    Some(Box::new(Made { children: vec![task("echo"); count], order, ..Made::default() }))
}

async fn state(lab: &Lab, id: TaskId) -> State {
    lab.store.task(id).await.unwrap().unwrap().state
}

/// Claims and completes everything there is, a thousand at a time; how many tasks that were.
async fn drain(lab: &Lab, worker: WorkerId) -> usize {
    let mut done = 0;
    loop {
        let taken = claim(&lab.store, worker, &["echo"], 1000).await;
        if taken.tasks.is_empty() {
            return done;
        }
        settle(&lab.store, &taken, Outcome::Done(None)).await;
        done += taken.tasks.len();
    }
}

#[tokio::test]
async fn a_thousand_children_that_settle_together_write_their_parents_counts_once() {
    let lab = Lab::new();
    let (worker, mut parent) = root(&lab).await;
    parent.made = children(1000, ChildOrder::Together);
    assert_eq!(lab.store.settle(&[parent.clone()]).await.unwrap(), [Settled::Recorded(State::Waiting)]);
    let spy = Connection::open(lab.path()).unwrap();
    spy.execute_batch(
        "create table writes (n integer);
        create trigger spy after update on fan_out begin insert into writes values (1); end",
    )
    .unwrap();
    assert_eq!(drain(&lab, worker).await, 1000);
    let writes: i64 = spy.query_row("select count(*) from writes", (), |row| row.get(0)).unwrap();
    assert_eq!(writes, 1);
    assert_eq!(state(&lab, parent.task).await, State::Completed);
    assert_eq!(lab.store.check().await.unwrap(), []);
}

#[tokio::test]
async fn children_in_order_are_claimed_one_at_a_time() {
    let lab = Lab::new();
    let (worker, mut parent) = root(&lab).await;
    parent.made = children(3, ChildOrder::InOrder);
    lab.store.settle(&[parent.clone()]).await.unwrap();
    for nth in 1..=3 {
        let taken = claim(&lab.store, worker, &["echo"], 10).await;
        assert_eq!(ids(&taken), [TaskId(parent.task.0 + nth)]);
        settle(&lab.store, &taken, Outcome::Done(None)).await;
    }
    assert_eq!(state(&lab, parent.task).await, State::Completed);
    assert_eq!(lab.store.check().await.unwrap(), []);
}

#[tokio::test]
async fn a_cancelled_family_ends_with_its_last_running_child() {
    let lab = Lab::new();
    let (worker, mut parent) = root(&lab).await;
    parent.made = children(3, ChildOrder::Together);
    lab.store.settle(&[parent.clone()]).await.unwrap();
    let running = claim(&lab.store, worker, &["echo"], 1).await;
    assert_eq!(lab.store.cancel(parent.task).await.unwrap(), Cancelled::Requested);
    assert_eq!(state(&lab, parent.task).await, State::Waiting);
    assert_eq!(lab.store.heartbeat(worker).await.unwrap().cancel.len(), 1);
    settle(&lab.store, &running, Outcome::Done(None)).await;
    assert_eq!(state(&lab, parent.task).await, State::Cancelled);
    assert_eq!(lab.store.check().await.unwrap(), []);
}

#[tokio::test]
async fn cancelling_a_child_in_line_leaves_the_line_whole() {
    let lab = Lab::new();
    let (worker, mut parent) = root(&lab).await;
    parent.made = children(3, ChildOrder::InOrder);
    lab.store.settle(&[parent.clone()]).await.unwrap();
    let child = |nth| TaskId(parent.task.0 + nth);
    assert_eq!(lab.store.cancel(child(2)).await.unwrap(), Cancelled::Now);
    assert_eq!(lab.store.task(child(3)).await.unwrap().unwrap().gate, Some(Gate::After));
    assert_eq!(lab.store.cancel(child(1)).await.unwrap(), Cancelled::Now);
    assert_eq!(ids(&claim(&lab.store, worker, &["echo"], 10).await), [child(3)]);
    assert_eq!(lab.store.check().await.unwrap(), []);
}

#[tokio::test]
async fn a_follow_up_remembers_only_the_families_that_may_still_matter() {
    const FAMILIES: usize = 20;
    let lab = Lab::new();
    register(&lab.store, &["echo", "flush"]).await;
    let worker = worker(&lab.store).await;
    enqueue(&lab.store, &vec![task("echo"); FAMILIES]).await;
    let roots = claim(&lab.store, worker, &["echo"], FAMILIES).await;
    let flush = FollowUp { task: NewTask { unique: Some(Unique::key("one")), ..task("flush") }, when: When::Completed };
    let made = Made { children: vec![task("echo")], follow_ups: vec![flush], ..Made::default() };
    let settles: Vec<_> = roots
        .tasks
        .iter()
        .map(|root| Settle::new(root.id, root.token, Outcome::Done(None)))
        .map(|settle| Settle { made: Some(Box::new(made.clone())), ..settle })
        .collect();
    lab.store.settle(&settles).await.unwrap();
    let spy = Connection::open(lab.path()).unwrap();
    let entries = || spy.query_row("select count(*) from follow_up", (), |row| row.get::<_, usize>(0)).unwrap();
    assert_eq!(entries(), FAMILIES);
    for left in (1..FAMILIES).rev() {
        let child = claim(&lab.store, worker, &["echo"], 1).await;
        settle(&lab.store, &child, Outcome::Done(None)).await;
        assert_eq!(entries(), left);
        assert!(claim(&lab.store, worker, &["flush"], 1).await.tasks.is_empty());
    }
    let child = claim(&lab.store, worker, &["echo"], 1).await;
    settle(&lab.store, &child, Outcome::Done(None)).await;
    assert_eq!(claim(&lab.store, worker, &["flush"], 1).await.tasks.len(), 1);
    assert_eq!(entries(), 0);
    assert_eq!(lab.store.check().await.unwrap(), []);
}

#[tokio::test]
async fn the_sweep_ends_a_parent_that_someone_left_waiting() {
    let lab = Lab::new();
    let (worker, mut parent) = root(&lab).await;
    parent.made = children(2, ChildOrder::Together);
    lab.store.settle(&[parent.clone()]).await.unwrap();
    assert_eq!(lab.store.sweep().await.unwrap(), 0);
    let spy = Connection::open(lab.path()).unwrap();
    spy.execute("update fan_out set total = 3", ()).unwrap();
    drain(&lab, worker).await;
    assert_eq!(state(&lab, parent.task).await, State::Waiting);
    assert_eq!(lab.store.sweep().await.unwrap(), 1);
    assert_eq!(state(&lab, parent.task).await, State::Completed);
    assert_eq!(lab.store.sweep().await.unwrap(), 0);
    assert_eq!(lab.store.check().await.unwrap(), []);
}

#[tokio::test]
async fn a_handler_in_sql_is_refused_with_a_remedy() {
    let lab = Lab::new();
    let handler = SqlHandler::new("app.do");
    let command = Command { handler: Some(handler), ..Command::new(crate::support::command("echo")) };
    let fault = lab.store.register(&[command]).await.unwrap_err();
    assert!(matches!(fault, StoreError::Unsupported { store: "sqlite", .. }), "{fault}");
    assert_eq!(lab.store.commands().await.unwrap(), []);
}

#[tokio::test]
async fn a_family_with_a_hundred_thousand_children_settles() {
    const WIDTH: usize = 100_000;
    let lab = Lab::new();
    let (worker, mut parent) = root(&lab).await;
    parent.made = children(WIDTH, ChildOrder::Together);
    lab.store.settle(&[parent.clone()]).await.unwrap();
    assert_eq!(lab.store.tally(parent.task).await.unwrap().total, WIDTH as u64);
    assert_eq!(drain(&lab, worker).await, WIDTH);
    assert_eq!(state(&lab, parent.task).await, State::Completed);
    assert_eq!(lab.store.sweep().await.unwrap(), 0);
}

#[tokio::test]
async fn a_wide_family_is_cancelled_and_repaired_whole() {
    const WIDTH: usize = 20_000;
    let lab = Lab::new();
    let (worker, mut parent) = root(&lab).await;
    parent.made = children(WIDTH, ChildOrder::InOrderUntilFailure);
    lab.store.settle(&[parent.clone()]).await.unwrap();
    let first = claim(&lab.store, worker, &["echo"], 10).await;
    let failure = Failure::new(FailureKind::Validation, "no");
    settle(&lab.store, &first, Outcome::Failed { failure, retry: Retry::Never }).await;
    assert_eq!(state(&lab, parent.task).await, State::Failed);
    assert_eq!(lab.store.check().await.unwrap(), []);
    let retried = lab.store.retry_family(parent.task).await.unwrap();
    assert_eq!(retried, Retried { pending: WIDTH as u64, waiting: 1 });
    assert_eq!(lab.store.check().await.unwrap(), []);
    assert_eq!(ids(&claim(&lab.store, worker, &["echo"], 10).await), ids(&first), "only the first is open");
    assert_eq!(lab.store.cancel(parent.task).await.unwrap(), Cancelled::Requested);
    assert_eq!(lab.store.tally(parent.task).await.unwrap().open(), 1);
    assert_eq!(lab.store.check().await.unwrap(), []);
}
