//! Results as they come: in the order of their ends, page by page, and the same at every run.

use std::sync::{Arc, Mutex};

use kinfolk::core::Verdict;
use kinfolk::testing::TestKit;
use kinfolk::{Ctx, Json, State, Sub, TaskError, TaskId};

use crate::lab::{Lab, on_both_stores};

on_both_stores!(a_stream_takes_in_every_result_once, a_stream_that_fails_hands_out_what_came_before);

async fn a_stream_takes_in_every_result_once(lab: &Lab) {
    const CHILDREN: u64 = 300;
    let folded = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&folded);
    let parent = move |ctx: Ctx, _: Json| {
        let seen = Arc::clone(&seen);
        async move {
            let stream = ctx.fan_out_stream::<u64>((0..CHILDREN).map(|n| Sub::new("child", &n))).page(7);
            let fold = |(results, sum): (u64, u64), result: kinfolk::SubResult<u64>| {
                seen.lock().unwrap().push(result.index);
                (results + 1, sum + result.outcome.unwrap_or(1_000_000))
            };
            let (results, sum) = stream.fold((0, 0), fold).await?;
            // What was folded stays folded.
            ctx.call::<u64>("child", &0).await?;
            Ok((results, sum))
        }
    };
    let child = |_: Ctx, n: u64| async move { Ok(n) };
    let worker = lab.worker().queue("default", 20).handler("parent", parent).handler("child", child);
    let worker = worker.start().await.unwrap();
    let task = lab.ended(lab.enqueue("parent").await).await;
    let sum = CHILDREN * (CHILDREN - 1) / 2;
    assert_eq!(task.result, Some(Json::of(&(CHILDREN, sum)).unwrap()), "{:?}", task.failure);
    let mut folded = folded.lock().unwrap().clone();
    folded.sort_unstable();
    assert!(folded.iter().copied().eq(0..CHILDREN as u32), "each once, however often the handler was resumed");
    let resumed = lab.events.count(|event| event.name() == "resumed");
    assert!(resumed > 2, "resumed {resumed} times");
    worker.stop().await.unwrap();
    lab.check().await;
}

async fn a_stream_that_fails_hands_out_what_came_before(lab: &Lab) {
    let parent = |ctx: Ctx, _: Json| async move {
        let mut stream = ctx.fan_out_stream::<u64>((0..40).map(|n| Sub::new("child", &n))).fail_fast().page(1);
        let mut got = 0;
        let fault = loop {
            match stream.next().await {
                Ok(Some(result)) => got += u64::from(result.outcome.is_ok()),
                Ok(None) => return Err(TaskError::new("it should have failed")),
                Err(fault) => break fault,
            }
        };
        let told = fault.fan_out().ok_or("another error")?;
        assert_eq!((told.verdict, told.total), (Verdict::Failed, 40));
        Ok((got < 40, told.failures.iter().any(|failure| failure.index == 13)))
    };
    let child = |_: Ctx, n: u64| async move {
        match n {
            13 => Err(TaskError::new("thirteen").do_not_retry()),
            n => Ok(n),
        }
    };
    let worker = lab.worker().handler("parent", parent).handler("child", child).start().await.unwrap();
    let task = lab.ended(lab.enqueue("parent").await).await;
    assert_eq!(task.result, Some(Json::parse("[true,true]").unwrap()), "{:?}", task.failure);
    worker.stop().await.unwrap();
    lab.check().await;
}

#[tokio::test]
async fn results_come_in_the_order_of_their_ends_at_every_run() {
    let order = Arc::new(Mutex::new(Vec::<Vec<u32>>::new()));
    let runs = Arc::clone(&order);
    let configure = move |worker: kinfolk::WorkerBuilder| {
        let runs = Arc::clone(&runs);
        worker.handler("parent", move |ctx: Ctx, _: Json| {
            let runs = Arc::clone(&runs);
            async move {
                let run = {
                    let mut runs = runs.lock().unwrap();
                    runs.push(Vec::new());
                    runs.len() - 1
                };
                let mut stream = ctx.fan_out_stream::<u64>((0..4).map(|n| Sub::new("child", &n))).page(1);
                while let Some(result) = stream.next().await? {
                    runs.lock().unwrap()[run].push(result.index);
                }
                Ok(())
            }
        })
    };
    let mut kit = TestKit::new(configure).await.unwrap();
    kit.known("child").await.unwrap();
    let id = kit.kinfolk().enqueue("parent", &()).await.unwrap().id().unwrap();
    kit.run_until_idle().await.unwrap();
    let children: Vec<TaskId> = kit.kinfolk().children(id, 0, 4).await.unwrap().iter().map(|child| child.id).collect();
    for n in [2, 0, 3, 1] {
        kit.complete_sub_task(children[n], &n).await.unwrap();
        kit.run_until_idle().await.unwrap();
    }
    kit.assert_all(id, State::Completed).await;
    let runs = order.lock().unwrap().clone();
    assert_eq!(runs, [vec![], vec![2], vec![2, 0], vec![2, 0, 3], vec![2, 0, 3, 1]]);
    assert_eq!(kit.check().await.unwrap(), []);
}
