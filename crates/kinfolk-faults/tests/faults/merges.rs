//! Many transactions that merge into tasks of the same keys while workers claim those tasks: every payload that was
//! committed is handed to a handler, once, and nobody deadlocks.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use kinfolk_core::{
    Claim, Command, CommandName, Outcome, QueueName, Settle, Settled, Store, Token, WorkerId, WorkerSpec,
};
use kinfolk_faults::bed::{Bed, Kind};
use kinfolk_faults::sound::wait_drained;
use uuid::Uuid;

use crate::PATIENCE;

const PRODUCERS: u64 = 6;
const TRANSACTIONS: u64 = 80;
const CLAIMERS: usize = 3;
const COMMANDS: [&str; 2] = ["merge_a", "merge_b"];
const ENQUEUE: &str = "select outcome from kinfolk.enqueue($1, jsonb_build_object($2::text, 1), unique_key => $3, \
                       on_duplicate => 'merge')";

/// Commits transactions of one to four merges over a few keys, in any order, some of them held open for a while. Returns
/// the tags of what was committed.
async fn produce(bed: Arc<Bed>, number: u64) -> Result<Vec<String>> {
    let mut client = bed.plain().await?;
    let mut tags = Vec::new();
    let mut chance = number + 1;
    let mut below = |end: u64| {
        chance = chance.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (chance >> 33) % end
    };
    for round in 0..TRANSACTIONS {
        let transaction = client.transaction().await?;
        let mut merged = Vec::new();
        for part in 0..=below(4) {
            let tag = format!("p{number}_{round}_{part}");
            let command = COMMANDS[usize::try_from(below(2))?];
            let key = format!("key{}", below(4));
            let row = transaction.query_one(ENQUEUE, &[&command, &tag, &key]).await.context("an enqueue")?;
            let outcome: String = row.get(0);
            ensure!(matches!(outcome.as_str(), "created" | "merged"), "{outcome}");
            merged.push(tag);
        }
        tokio::time::sleep(Duration::from_millis(below(20))).await;
        transaction.commit().await.context("a commit")?;
        tags.append(&mut merged);
    }
    Ok(tags)
}

/// Claims and completes until told to end. Returns the tags that the payloads held.
async fn consume(store: Arc<dyn Store>, end: Arc<AtomicBool>) -> Result<Vec<String>> {
    let id = WorkerId(Uuid::now_v7());
    let commands: Vec<_> = COMMANDS.iter().map(|name| CommandName::new(name)).collect::<Result<_, _>>()?;
    let (queue, lease) = (QueueName::default(), Duration::from_secs(600));
    let queues = vec![queue.clone()];
    store
        .register_worker(&WorkerSpec {
            id,
            name: "a test".into(),
            version: String::new(),
            queues,
            commands: commands.clone(),
            lease,
        })
        .await?;
    let mut seen = Vec::new();
    while !end.load(Ordering::Relaxed) {
        let (token, limit) = (Token(Uuid::new_v4()), 3);
        let (queue, commands) = (queue.clone(), commands.clone());
        let claim = Claim { worker: id, token, queue, commands, limit, repeated: false };
        let claimed = store.claim(&claim).await.context("a claim")?;
        let mut settles = Vec::new();
        for task in claimed.tasks {
            seen.extend(task.payload.to::<BTreeMap<String, u64>>()?.into_keys());
            settles.push(Settle::new(task.id, token, Outcome::Done(None)));
        }
        let answers = store.settle(&settles).await.context("a settle")?;
        ensure!(!answers.contains(&Settled::Stale), "a settle of our own is stale");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    store.leave(id).await?;
    Ok(seen)
}

#[tokio::test(flavor = "multi_thread")]
async fn every_payload_merged_under_load_reaches_a_handler_once() -> Result<()> {
    let bed = Arc::new(Bed::new(Kind::Postgres).await?);
    let store = bed.open().await?;
    let commands = COMMANDS.iter().map(|name| Ok(Command::new(CommandName::new(name)?)));
    store.register(&commands.collect::<Result<Vec<_>>>()?).await?;
    let end = Arc::new(AtomicBool::new(false));
    let mut claimers = tokio::task::JoinSet::new();
    for _ in 0..CLAIMERS {
        claimers.spawn(consume(bed.open().await?, Arc::clone(&end)));
    }
    let mut producers = tokio::task::JoinSet::new();
    for number in 0..PRODUCERS {
        producers.spawn(produce(Arc::clone(&bed), number));
    }
    let committed = producers.join_all().await.into_iter().collect::<Result<Vec<_>>>()?.concat();
    wait_drained(&*store, PATIENCE).await?;
    // What was merged into a task that had just started becomes a task at one of the next claims.
    tokio::time::sleep(Duration::from_millis(500)).await;
    wait_drained(&*store, PATIENCE).await?;
    end.store(true, Ordering::Relaxed);
    let mut seen = BTreeMap::new();
    for tag in claimers.join_all().await.into_iter().collect::<Result<Vec<_>>>()?.concat() {
        *seen.entry(tag).or_insert(0) += 1;
    }
    let lost: Vec<_> = committed.iter().filter(|tag| !seen.contains_key(*tag)).collect();
    ensure!(lost.is_empty(), "{} of {} payloads reached no handler: {lost:?}", lost.len(), committed.len());
    let doubled: Vec<_> = seen.iter().filter(|(_, times)| **times > 1).collect();
    ensure!(doubled.is_empty(), "payloads reached handlers more than once: {doubled:?}");
    let broken = store.check().await?;
    ensure!(broken.is_empty(), "the store is not sound: {broken:#?}");
    Ok(())
}
