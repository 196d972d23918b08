//! Reading the children of a fan-out, page by page.

use kinfolk_core::{FanOutId, Outcome, ReadBy, Rule, State, StoreError};

use crate::flow::fan_out_of;
use crate::world::{World, json, new_task, settle_of};

/// By index: all of them, those that have not ended too. By end: those that have, in that order.
pub async fn they_are_read_by_index_or_by_end(w: &World) {
    let commands = ["report", "export", "report", "export"];
    let flow = w.flow_of(fan_out_of("items", commands.map(new_task).to_vec(), Rule::CollectAll)).await;
    w.complete(flow.kids[1]).await;
    w.let_fail(flow.kids[0]).await;
    let by_index = w.results(flow.fan_out, ReadBy::Index).await;
    let seen: Vec<_> = by_index.iter().map(|result| (result.index, result.task, result.ended)).collect();
    let kids = &flow.kids;
    assert_eq!(seen, [(0, kids[0], Some(1)), (1, kids[1], Some(0)), (2, kids[2], None), (3, kids[3], None)]);
    assert_eq!(by_index.iter().map(|result| result.fan_out).collect::<Vec<_>>(), [flow.fan_out; 4]);
    let by_end = w.results(flow.fan_out, ReadBy::Ended).await;
    assert_eq!(by_end, [by_index[1].clone(), by_index[0].clone()]);
    let states: Vec<_> = by_index.iter().map(|result| result.state).collect();
    assert_eq!(states, [State::Failed, State::Completed, State::Pending, State::Pending]);
}

/// Pages go on where the last one ended, in either order.
pub async fn pages_go_on_where_the_last_one_ended(w: &World) {
    const MANY: u32 = 25;
    let flow = w.flow(MANY as usize, Rule::CollectAll).await;
    let worker = w.worker().await;
    let mut tasks = w.claim(worker, 100).await;
    tasks.reverse();
    for part in tasks.chunks(4) {
        let batch: Vec<_> = part.iter().map(|task| settle_of(task, Outcome::Done(Some(json("7"))))).collect();
        w.store.settle(&batch).await.unwrap();
    }
    for by in [ReadBy::Index, ReadBy::Ended] {
        let all = w.results(flow.fan_out, by).await;
        assert_eq!(all.len(), MANY as usize);
        let mut read = Vec::new();
        for from in (0..MANY + 7).step_by(7) {
            read.extend(w.store.results(flow.fan_out, by, from, 7).await.unwrap());
        }
        assert_eq!(read, all);
        assert_eq!(w.store.results(flow.fan_out, by, MANY, 10).await.unwrap(), []);
    }
    let by_end: Vec<_> = w.results(flow.fan_out, ReadBy::Ended).await.iter().map(|result| result.ended).collect();
    assert_eq!(by_end, (0..MANY).map(Some).collect::<Vec<_>>());
}

/// When children ended is read by their indexes in the order of ends: an index that none has yet is left out.
pub async fn ends_are_read_by_their_indexes(w: &World) {
    let flow = w.flow(3, Rule::CollectAll).await;
    assert_eq!(w.store.ended_at(flow.fan_out, &[0, 1]).await.unwrap(), []);
    let worker = w.worker().await;
    let tasks = w.claim(worker, 3).await;
    for nth in [2, 0] {
        w.store.settle(&[settle_of(&tasks[nth], Outcome::Done(None))]).await.unwrap();
    }
    let finished = async |nth: usize| w.get(flow.kids[nth]).await.finished_at.unwrap();
    let (first, second) = (finished(2).await, finished(0).await);
    assert_eq!(w.store.ended_at(flow.fan_out, &[1, 0, 2, 0]).await.unwrap(), [second, first, first]);
    let many: Vec<u32> = (0..1_001).collect();
    let refused = w.store.ended_at(flow.fan_out, &many).await;
    assert!(matches!(refused, Err(StoreError::Input(_))), "{refused:?}");
    let unknown = w.store.ended_at(FanOutId(i64::MAX), &[0]).await;
    assert!(matches!(unknown, Err(StoreError::NotFound { what: "fan-out", .. })), "{unknown:?}");
}

/// A page has at most a thousand.
pub async fn a_page_has_a_most(w: &World) {
    let flow = w.flow(1_001, Rule::CollectAll).await;
    assert_eq!(w.store.results(flow.fan_out, ReadBy::Index, 0, 100_000).await.unwrap().len(), 1_000);
    assert_eq!(w.store.results(flow.fan_out, ReadBy::Index, 1_000, 100_000).await.unwrap().len(), 1);
    assert_eq!(w.results(flow.fan_out, ReadBy::Ended).await, []);
}

/// A fan-out that never was is not found, and neither is one that nobody awaits.
pub async fn an_unknown_fan_out_is_not_found(w: &World) {
    let (root, _) = w.parent_of(2).await;
    for id in [FanOutId(i64::MAX), FanOutId(root.0)] {
        let answer = w.store.results(id, ReadBy::Index, 0, 10).await;
        assert!(matches!(answer, Err(StoreError::NotFound { what: "fan-out", .. })), "{answer:?}");
    }
}
