//! Settling inside the handler's own PostgreSQL transaction.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use kinfolk::pg::testing::TestDatabase;
use kinfolk::{Ctx, Done, Event, FailureKind, Json, OpenStep, State, Tally, TaskError};
use tokio_postgres::{Client, NoTls, Transaction};

use crate::lab::{Lab, noop, quick, within};

/// A lab on PostgreSQL whose database also has a table of the user's own.
async fn lab() -> (Lab, String) {
    let database = TestDatabase::create().await;
    let url = database.url.clone();
    let client = connect(&url).await;
    client.batch_execute("create table effect (task bigint, note text)").await.unwrap();
    (Lab::on_postgres(database).await, url)
}

async fn connect(url: &str) -> Client {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await.unwrap();
    tokio::spawn(connection);
    client
}

/// A handler with a connection of its own to the database.
fn connected<R, F, W>(url: &str, work: F) -> impl Fn(Ctx, Json) -> Work<R> + Send + Sync + 'static
where
    F: Fn(Ctx, Client) -> W + Clone + Send + Sync + 'static,
    W: Future<Output = Result<R, TaskError>> + Send + 'static,
{
    let url = url.to_owned();
    move |ctx, _| {
        let (url, work) = (url.clone(), work.clone());
        Box::pin(async move { work(ctx, connect(&url).await).await })
    }
}

type Work<R> = Pin<Box<dyn Future<Output = Result<R, TaskError>> + Send>>;

/// A transaction of the handler in which it has written its effect.
async fn with_effect<'a>(client: &'a mut Client, ctx: &Ctx) -> Result<Transaction<'a>, TaskError> {
    let transaction = client.transaction().await?;
    transaction.execute("insert into effect values ($1, 'done')", &[&ctx.task().0]).await?;
    Ok(transaction)
}

async fn effects(url: &str) -> i64 {
    connect(url).await.query_one("select count(*) from effect", &[]).await.unwrap().get(0)
}

#[tokio::test(flavor = "multi_thread")]
async fn the_effects_and_the_end_of_a_task_are_one_transaction() {
    let (lab, url) = lab().await;
    let handler = connected(&url, |ctx, mut client| async move {
        let transaction = with_effect(&mut client, &ctx).await?;
        if ctx.attempt() == 1 {
            return Err(TaskError::new("the first attempt fails after its writes"));
        }
        ctx.commit(transaction, "written").await
    });
    let worker = lab.worker().handler(quick("write", 5), handler).start().await.unwrap();
    let ids = lab.enqueue_many("write", 5).await;
    for id in ids {
        let task = lab.ended(id).await;
        assert_eq!((task.state, task.attempt), (State::Completed, 2));
        assert_eq!(task.result, Some(Json::of("written").unwrap()));
    }
    within(worker.wait_idle()).await;
    worker.stop().await.unwrap();
    assert_eq!(effects(&url).await, 5, "the writes of failed attempts are gone");
    assert_eq!(lab.events.count(|event| event.name() == "completed"), 5);
    lab.check().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_commit_after_a_cancellation_leaves_no_effects() {
    let (lab, url) = lab().await;
    let handler = connected(&url, |ctx, mut client| async move {
        let transaction = with_effect(&mut client, &ctx).await?;
        ctx.cancelled().await;
        ctx.commit(transaction, ()).await
    });
    let worker = lab.worker().grace(Duration::from_secs(60)).handler(quick("write", 5), handler).start().await.unwrap();
    let id = lab.enqueue("write").await;
    lab.events.wait_for("started").await;
    lab.kinfolk.cancel(id).await.unwrap();
    assert_eq!(lab.ended(id).await.state, State::Cancelled);
    worker.stop().await.unwrap();
    assert_eq!(effects(&url).await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_error_after_the_commit_does_not_undo_or_repeat_it() {
    let (lab, url) = lab().await;
    let runs = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&runs);
    let handler = connected(&url, move |ctx, mut client| {
        count.fetch_add(1, Ordering::SeqCst);
        async move {
            let transaction = with_effect(&mut client, &ctx).await?;
            let _committed = ctx.commit(transaction, 7).await?;
            // As when the answer to the commit is lost: the handler can't know.
            Err::<Done<i32>, _>(TaskError::new("the connection broke"))
        }
    });
    let worker = lab.worker().handler(quick("write", 5), handler).start().await.unwrap();
    let id = lab.enqueue("write").await;
    let done = lab.events.wait_for("completed").await;
    assert!(matches!(done, Event::Completed { task, .. } if task == id));
    within(worker.wait_idle()).await;
    worker.stop().await.unwrap();
    let task = lab.task(id).await;
    assert_eq!((task.state, task.result, task.failure), (State::Completed, Some(Json::of(&7).unwrap()), None));
    assert_eq!((effects(&url).await, runs.load(Ordering::SeqCst)), (1, 1));
    lab.check().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_commit_that_the_database_refuses_is_an_error_like_any_other() {
    let (lab, url) = lab().await;
    let client = connect(&url).await;
    let deferred = "create table once (task bigint unique deferrable initially deferred); insert into once values (0)";
    client.batch_execute(deferred).await.unwrap();
    let handler = connected(&url, |ctx, mut client| async move {
        let transaction = client.transaction().await?;
        let number = if ctx.attempt() == 1 { 0 } else { ctx.task().0 };
        transaction.execute("insert into once values ($1)", &[&number]).await?;
        ctx.commit(transaction, ()).await
    });
    let worker = lab.worker().handler(quick("write", 5), handler).start().await.unwrap();
    let id = lab.enqueue("write").await;
    let task = lab.ended(id).await;
    assert_eq!((task.state, task.attempt), (State::Completed, 2));
    let first = lab.store.attempts(id).await.unwrap()[0].failure.clone().unwrap();
    assert!(first.message.contains("could not commit"), "{}", first.message);
    worker.stop().await.unwrap();
    lab.check().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn children_are_made_in_the_transaction_that_writes_the_effects() {
    let (lab, url) = lab().await;
    let handler = connected(&url, |ctx, mut client| async move {
        let transaction = with_effect(&mut client, &ctx).await?;
        for _ in 0..3 {
            ctx.spawn("child", &()).await?;
        }
        if ctx.attempt() == 1 {
            return Err(TaskError::new("the first attempt fails after its writes"));
        }
        let done = ctx.commit(transaction, "written").await?;
        assert!(ctx.spawn("child", &()).await.is_err(), "what comes after the commit is too late");
        Ok(done)
    });
    let worker = lab.worker().handler(quick("write", 5), handler).handler("child", noop).start().await.unwrap();
    let id = lab.enqueue("write").await;
    let task = lab.ended(id).await;
    assert_eq!((task.state, task.result), (State::Completed, Some(Json::of("written").unwrap())));
    assert_eq!(lab.kinfolk.tally(id).await.unwrap(), Tally { total: 3, completed: 3, ..Tally::default() });
    worker.stop().await.unwrap();
    assert_eq!((effects(&url).await, lab.events.count(|event| event.name() == "waiting")), (1, 1));
    lab.check().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_commit_whose_children_are_refused_leaves_no_effects_and_says_why() {
    let (lab, url) = lab().await;
    let handler = connected(&url, |ctx, mut client| async move {
        let transaction = with_effect(&mut client, &ctx).await?;
        ctx.spawn("nobody", &()).await?;
        ctx.commit(transaction, ()).await
    });
    let worker = lab.worker().handler(quick("write", 2), handler).start().await.unwrap();
    let id = lab.enqueue("write").await;
    let task = lab.ended(id).await;
    let failure = task.failure.unwrap();
    assert_eq!((task.state, task.attempt, failure.kind), (State::Failed, 2, FailureKind::Refused));
    assert!(failure.message.contains("unknown command nobody"), "{}", failure.message);
    assert_eq!(effects(&url).await, 0);
    worker.stop().await.unwrap();
    lab.check().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_effect_and_the_checkpoint_of_a_step_are_one_transaction() {
    let (lab, url) = lab().await;
    let handler = connected(&url, |ctx, mut client| async move {
        let booked: String = match ctx.open_step("book").await? {
            OpenStep::Recorded(booked) => booked,
            OpenStep::New(step) => {
                let transaction = with_effect(&mut client, &ctx).await?;
                if ctx.attempt() == 1 {
                    return Err(TaskError::new("the first attempt fails after its writes"));
                }
                step.commit(transaction, format!("attempt {}", ctx.attempt())).await?
            }
        };
        if ctx.attempt() == 2 {
            return Err(TaskError::new("the second attempt fails after its step"));
        }
        ctx.call::<()>("noop", &()).await?;
        Ok(booked)
    });
    let worker = lab.worker().handler(quick("write", 5), handler).handler("noop", noop).start().await.unwrap();
    let id = lab.enqueue("write").await;
    let task = lab.ended(id).await;
    assert_eq!((task.state, task.attempt), (State::Completed, 3), "{:?}", task.failure);
    assert_eq!(task.result, Some(Json::of("attempt 2").unwrap()));
    assert_eq!(effects(&url).await, 1);
    worker.stop().await.unwrap();
    lab.check().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_commit_stands_though_a_child_spawned_before_has_failed() {
    let (lab, url) = lab().await;
    let handler = connected(&url, |ctx, mut client| async move {
        ctx.spawn("bad", &()).await?;
        ctx.call::<()>("noop", &()).await?;
        while ctx.kinfolk().tally(ctx.task()).await?.failed == 0 {
            tokio::task::yield_now().await;
        }
        let transaction = with_effect(&mut client, &ctx).await?;
        ctx.commit(transaction, "written").await
    });
    let bad = |_: Ctx, _: Json| async { Err::<(), _>(TaskError::validation("bad")) };
    let worker = lab.worker().handler("write", handler).handler("noop", noop).handler("bad", bad);
    let worker = worker.start().await.unwrap();
    let task = lab.ended(lab.enqueue("write").await).await;
    assert_eq!((task.state, task.failure.unwrap().kind), (State::Failed, FailureKind::Children));
    assert_eq!(effects(&url).await, 1);
    worker.stop().await.unwrap();
    lab.check().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_task_with_keys_gives_its_slots_back_with_the_commit_and_keys_go_along() {
    let (lab, url) = lab().await;
    let at = url.clone();
    let handler = move |ctx: Ctx, first: bool| {
        let at = at.clone();
        async move {
            if first {
                ctx.spawn("write", &false).inherit_keys().await?;
            }
            let mut client = connect(&at).await;
            ctx.commit(client.transaction().await?, ()).await
        }
    };
    let worker = lab.worker().poll(Duration::from_secs(600)).handler("write", handler);
    let worker = worker.groups("write", [("tenant", 1)]).start().await.unwrap();
    let mut client = connect(&url).await;
    let transaction = client.transaction().await.unwrap();
    let task = lab.kinfolk.enqueue("write", &true).key("tenant", "acme").into_task().unwrap();
    let answers = kinfolk::pg::enqueue_in(&transaction, &vec![task.clone(); 10]).await.unwrap();
    transaction.commit().await.unwrap();
    for answer in answers {
        let id = answer.id().unwrap();
        assert_eq!(lab.ended(id).await.state, State::Completed);
        let children = lab.kinfolk.children(id, 0, 10).await.unwrap();
        assert_eq!(children.len(), 1);
        assert_eq!((&children[0].keys, &lab.task(id).await.keys), (&task.keys, &task.keys));
    }
    worker.stop().await.unwrap();
    lab.check().await;
}
