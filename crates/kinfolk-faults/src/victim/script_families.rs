//! The part of the script that is about families: they are made, cancelled, repaired, swept.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use kinfolk_core::{ChildOrder, State, Store, TaskId};

use super::plan::{FollowUp, MENDED, Plan};
use super::{Orders, made, tell_made};

const PATIENCE: Duration = Duration::from_secs(20);

/// Families of three generations with everything in them. Returns their roots.
pub(super) async fn make(store: &dyn Store) -> Result<Vec<TaskId>> {
    let mut roots = Vec::new();
    for number in 0..3 {
        roots.push(enqueue(store, &large(&format!("p{}.{number}", std::process::id()))).await?);
    }
    Ok(roots)
}

fn large(name: &str) -> Plan {
    let plan = |part: &str| Plan::named(format!("{name}.{part}"));
    let in_order = Plan { order: ChildOrder::InOrderUntilFailure, ..Plan::wide(&format!("{name}.row"), 3) };
    let with_sibling = Plan { siblings: vec![plan("sibling")], ..plan("first") };
    let unsteady = Plan { errors: 1, snoozes: 1, ..plan("unsteady") };
    let follow_up = FollowUp { plan: plan("after"), when_completed: true, key: None };
    Plan { children: vec![with_sibling, in_order, unsteady], follow_ups: vec![follow_up], ..Plan::named(name) }
}

/// A family that waits for a child that is due in an hour is cancelled as a whole.
pub(super) async fn cancel(store: &dyn Store) -> Result<()> {
    let name = format!("p{}.cancelled", std::process::id());
    let mut plan = Plan::wide(&name, 3);
    plan.children[1].later = true;
    plan.children[1].children = vec![Plan::named(format!("{name}.never"))];
    let root = enqueue(store, &plan).await?;
    wait_for(store, root, |state| state == State::Waiting).await?;
    store.cancel(root).await?;
    wait_for(store, root, State::is_terminal).await
}

/// A family fails, is mended and retried.
pub(super) async fn repair(orders: &Orders, store: &dyn Store) -> Result<()> {
    let mut plan = Plan::wide(&format!("p{}.broken", std::process::id()), 3);
    plan.children[1].broken = true;
    let root = enqueue(store, &plan).await?;
    wait_for(store, root, State::is_terminal).await?;
    std::fs::write(orders.ledger.with_file_name(MENDED), "")?;
    // Someone else may have mended it before it could fail.
    if store.task(root).await?.is_some_and(|task| task.state == State::Failed) {
        store.retry_family(root).await?;
    }
    wait_for(store, root, |state| state == State::Completed).await?;
    ensure!(store.sweep().await? == 0, "a parent waited for nothing");
    Ok(())
}

async fn enqueue(store: &dyn Store, plan: &Plan) -> Result<TaskId> {
    let ids = made(&store.enqueue(&[plan.task()?]).await?)?;
    tell_made(&ids);
    Ok(ids[0])
}

async fn wait_for(store: &dyn Store, id: TaskId, is_right: impl Fn(State) -> bool) -> Result<()> {
    let deadline = Instant::now() + PATIENCE;
    while !store.task(id).await?.is_some_and(|task| is_right(task.state)) {
        let task = store.task(id).await?;
        ensure!(Instant::now() < deadline, "not what was waited for within {PATIENCE:?}: {task:#?}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    Ok(())
}
