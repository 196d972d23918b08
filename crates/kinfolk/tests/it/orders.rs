//! What comes after what: children in order, and follow-ups.

use std::sync::{Arc, Mutex};

use kinfolk::{ChildOrder, Ctx, FailureKind, Json, State, TaskError, Unique};

use crate::lab::{Lab, noop, on_both_stores, within};

on_both_stores!(
    children_in_order_run_one_after_another,
    children_in_order_can_stop_at_the_first_failure,
    a_follow_up_starts_after_the_whole_family,
    a_follow_up_can_depend_on_success,
);

/// Remembers what was run, in order.
#[derive(Clone, Default)]
struct Diary(Arc<Mutex<Vec<String>>>);

impl Diary {
    fn note(&self, words: impl Into<String>) {
        self.0.lock().unwrap().push(words.into());
    }

    fn read(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }
}

async fn children_in_order_run_one_after_another(lab: &Lab) {
    let diary = Diary::default();
    let notes = diary.clone();
    let child = move |ctx: Ctx, n: u64| {
        let notes = notes.clone();
        async move {
            notes.note(format!("{n} begins"));
            if n == 1 {
                ctx.spawn("grandchild", &n).await?;
            }
            tokio::task::yield_now().await;
            notes.note(format!("{n} ends"));
            if n == 2 { Err(TaskError::new("no").do_not_retry()) } else { Ok(()) }
        }
    };
    let notes = diary.clone();
    let grandchild = move |_: Ctx, n: u64| {
        notes.note(format!("child of {n}"));
        std::future::ready(Ok(()))
    };
    let parent = |ctx: Ctx, _: Json| async move {
        ctx.in_order(ChildOrder::InOrder);
        for n in 0..4 {
            ctx.spawn("child", &n).await?;
        }
        Ok(())
    };
    let worker = lab.worker().handler("parent", parent).handler("child", child).handler("grandchild", grandchild);
    let worker = worker.start().await.unwrap();
    let id = lab.enqueue("parent").await;
    assert_eq!(lab.ended(id).await.state, State::Failed);
    let wanted = ["0 begins", "0 ends", "1 begins", "1 ends", "child of 1", "2 begins", "2 ends", "3 begins", "3 ends"];
    assert_eq!(diary.read(), wanted);
    worker.stop().await.unwrap();
    lab.check().await;
}

async fn children_in_order_can_stop_at_the_first_failure(lab: &Lab) {
    let child = |_: Ctx, n: u64| async move {
        match n {
            1 => Err(TaskError::new("no").do_not_retry()),
            _ => Ok(()),
        }
    };
    let parent = |ctx: Ctx, _: Json| async move {
        ctx.in_order(ChildOrder::InOrderUntilFailure);
        for n in 0..4 {
            ctx.spawn("child", &n).await?;
        }
        Ok(())
    };
    let worker = lab.worker().handler("parent", parent).handler("child", child).start().await.unwrap();
    let id = lab.enqueue("parent").await;
    assert_eq!(lab.ended(id).await.state, State::Failed);
    let children = lab.kinfolk.children(id, 0, 10).await.unwrap();
    let states: Vec<_> = children.iter().map(|child| child.state).collect();
    assert_eq!(states, [State::Completed, State::Failed, State::Cancelled, State::Cancelled]);
    assert_eq!(children[3].failure.as_ref().unwrap().kind, FailureKind::Skipped);
    worker.stop().await.unwrap();
    lab.check().await;
}

async fn a_follow_up_starts_after_the_whole_family(lab: &Lab) {
    let diary = Diary::default();
    let note = |words: &'static str| {
        let diary = diary.clone();
        move |_: Ctx, _: Json| {
            diary.note(words);
            std::future::ready(Ok(()))
        }
    };
    let parent = |ctx: Ctx, _: Json| async move {
        ctx.follow_up("report", &()).unique(Unique::key("report")).await?;
        for _ in 0..20 {
            ctx.spawn("child", &()).await?;
        }
        Ok(())
    };
    let worker = lab.worker().handler("parent", parent);
    let worker = worker.handler("child", note("child")).handler("report", note("report")).start().await.unwrap();
    let id = lab.enqueue("parent").await;
    lab.ended(id).await;
    within(worker.wait_idle()).await;
    let notes = diary.read();
    assert_eq!((notes.len(), notes.last().map(String::as_str)), (21, Some("report")));
    worker.stop().await.unwrap();
    lab.check().await;
}

async fn a_follow_up_can_depend_on_success(lab: &Lab) {
    let parent = |ctx: Ctx, well: bool| async move {
        ctx.follow_up("anyway", &()).await?;
        ctx.follow_up("if_completed", &()).when_completed().await?;
        ctx.spawn("child", &well).await?;
        Ok(())
    };
    let child = |_: Ctx, well: bool| async move { if well { Ok(()) } else { Err(TaskError::validation("no")) } };
    let worker = lab.worker().handler("parent", parent).handler("child", child);
    let worker = worker.handler("anyway", noop).handler("if_completed", noop).start().await.unwrap();
    let count = |command: &'static str, state| async move {
        let counts = lab.store.stats().await.unwrap().counts;
        let of = counts.iter().filter(|count| count.command.as_str() == command && count.state == state);
        of.map(|count| count.tasks).sum::<u64>()
    };
    for well in [true, false] {
        let id = lab.kinfolk.enqueue("parent", &well).await.unwrap().id().unwrap();
        lab.ended(id).await;
    }
    within(worker.wait_idle()).await;
    assert_eq!(count("anyway", State::Completed).await, 2);
    assert_eq!(count("if_completed", State::Completed).await, 1);
    assert_eq!(count("if_completed", State::Cancelled).await, 1);
    worker.stop().await.unwrap();
    lab.check().await;
}
