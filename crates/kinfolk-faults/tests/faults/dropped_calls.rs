//! Calls whose future is dropped half-way, as a timeout or a `select!` does: a call is carried out whole or not at all, can
//! be repeated, and the store goes on working.

use std::collections::BTreeMap;
use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use anyhow::{Result, ensure};
use kinfolk_core::store::Answer;
use kinfolk_core::{
    Claim, ClaimedTask, Command, CommandName, Made, Outcome, QueueName, Settle, Settled, State, Store, TaskId, Token,
    WorkerId, WorkerSpec,
};
use kinfolk_faults::bed::{Bed, Kind};
use kinfolk_faults::sound::all_tasks;
use kinfolk_faults::victim::{NOTE, tasks};
use uuid::Uuid;

const ROUNDS: u64 = 150;
const BATCH: usize = 5;
const CHILDREN: usize = 2;

/// How often calls were dropped, and how often they were answered first.
#[derive(Debug, Default)]
struct Count {
    dropped: u64,
    answered: u64,
}

impl Count {
    /// Makes a call, and drops it when it has no answer after being asked 2 to the power of `patience` times. (A timer
    /// would not do: it counts in milliseconds, and many calls are answered within one.)
    async fn hurried<T>(&mut self, patience: u64, call: impl Future<Output = Answer<T>>) -> Result<Option<T>> {
        let mut call = pin!(call);
        for _ in 0..1_u64 << patience {
            if let Poll::Ready(answer) = poll_fn(|context| Poll::Ready(call.as_mut().poll(context))).await {
                self.answered += 1;
                return Ok(Some(answer?));
            }
            tokio::task::yield_now().await;
        }
        self.dropped += 1;
        Ok(None)
    }
}

async fn drop_calls(kind: Kind) -> Result<()> {
    let bed = Bed::new(kind).await?;
    let store = bed.open().await?;
    let (command, queue) = (CommandName::new(NOTE)?, QueueName::default());
    store.register(&[Command::new(command.clone())]).await?;
    let id = WorkerId(Uuid::now_v7());
    let lease = Duration::from_secs(600);
    let (queues, commands) = (vec![queue.clone()], vec![command]);
    let spec =
        WorkerSpec { id, name: "a test".to_owned(), version: String::new(), queues, commands: commands.clone(), lease };
    store.register_worker(&spec).await?;

    let mut count = Count::default();
    for round in 0..ROUNDS {
        let patience = round % 18;
        count.hurried(patience, store.enqueue(&tasks(NOTE, BATCH)?)).await?;
        let token = Token(Uuid::new_v4());
        let claim =
            Claim { worker: id, token, queue: queue.clone(), commands: commands.clone(), limit: 7, repeated: false };
        let claimed = match count.hurried(patience, store.claim(&claim)).await? {
            Some(claimed) => claimed,
            None => store.claim(&Claim { repeated: true, ..claim }).await?,
        };
        let settles = claimed.tasks.iter().map(settled).collect::<Result<Vec<_>>>()?;
        let answers = match count.hurried(patience, store.settle(&settles)).await? {
            Some(answers) => answers,
            None => store.settle(&settles).await?,
        };
        ensure!(!answers.contains(&Settled::Stale), "a settle of our own is stale: {answers:?}");
    }
    ensure!(count.dropped > ROUNDS / 5 && count.answered > ROUNDS / 5, "one-sided: {count:?}");
    sound(&*store, id).await
}

/// Roots leave children behind, one in three of them.
fn settled(task: &ClaimedTask) -> Result<Settle> {
    let done = Settle::new(task.id, task.token, Outcome::Done(None));
    if task.parent.is_some() || task.id.0 % 3 > 0 {
        return Ok(done);
    }
    Ok(Settle { made: Some(Box::new(Made { children: tasks(NOTE, CHILDREN)?, ..Made::default() })), ..done })
}

/// Batches and families are whole, nothing runs that its worker does not know of, and no invariant is broken.
async fn sound(store: &dyn Store, worker: WorkerId) -> Result<()> {
    let tasks = all_tasks(store).await?;
    let mut families: BTreeMap<TaskId, usize> = BTreeMap::new();
    for parent in tasks.values().filter_map(|task| task.parent) {
        *families.entry(parent).or_default() += 1;
    }
    let roots = tasks.values().filter(|task| task.parent.is_none()).count();
    ensure!(roots % BATCH == 0, "{roots} roots: a batch was torn");
    ensure!(!families.is_empty(), "no family was made");
    for (parent, children) in families {
        ensure!(children == CHILDREN, "task {parent} has {children} children");
    }
    let running = tasks.values().filter(|task| task.state == State::Running).count();
    ensure!(running == 0, "{running} tasks run that nobody was told of");
    let broken = store.check().await?;
    ensure!(broken.is_empty(), "the store is not sound: {broken:#?}");
    store.leave(worker).await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_dropped_half_way_are_whole_or_not_at_all_on_sqlite() -> Result<()> {
    drop_calls(Kind::Sqlite).await
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_dropped_half_way_are_whole_or_not_at_all_on_postgres() -> Result<()> {
    drop_calls(Kind::Postgres).await
}
