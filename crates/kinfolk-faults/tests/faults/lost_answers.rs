//! The answer to a commit is lost on the way: the call is repeated, and nothing is doubled or lost.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use kinfolk_core::store::Answer;
use kinfolk_core::{
    Advice, Claim, ClaimedTask, Command, CommandName, FollowUp, Made, Outcome, QueueName, Schedule, ScheduleName,
    Settle, Settled, State, Store, Token, When, WorkerId, WorkerSpec,
};
use kinfolk_faults::bed::{Bed, Kind};
use kinfolk_faults::ledger::{Ledger, TABLE};
use kinfolk_faults::proxy::Proxy;
use kinfolk_faults::sound::{all_tasks, assert_sound, wait_drained};
use kinfolk_faults::victim::{EFFECT, NOTE, Orders, both, made, tasks};
use uuid::Uuid;

use crate::{PATIENCE, ledger, start, worker};

/// A store behind a proxy, and the same one without it.
pub(crate) struct ProxiedStore {
    pub(crate) bed: Bed,
    pub(crate) proxy: Proxy,
    through: Arc<dyn Store>,
    pub(crate) direct: Arc<dyn Store>,
}

impl ProxiedStore {
    pub(crate) async fn new() -> Result<Self> {
        let bed = Bed::new(Kind::Postgres).await?;
        let proxy = Proxy::start(bed.port()?).await?;
        let through = kinfolk::open(&bed.url_through(proxy.port())?).await?;
        let direct = bed.open().await?;
        direct.register(&[Command::new(CommandName::new(NOTE)?)]).await?;
        Ok(Self { bed, proxy, through, direct })
    }

    /// Makes a call whose answer is lost, and repeats it as a caller would. The call is told whether it is a repetition.
    async fn lose<T>(&self, sql: &str, call: impl AsyncFn(bool) -> Answer<T>) -> Result<T> {
        let before = self.proxy.lost();
        self.proxy.lose_answer(sql, 1);
        let mut answer = call(false).await;
        for _ in 0..5 {
            match answer {
                Err(fault) if fault.advice() == Advice::Retry => answer = call(true).await,
                _ => break,
            }
        }
        ensure!(self.proxy.lost() == before + 1, "no answer to {sql} was lost: the test proves nothing");
        answer.with_context(|| format!("after the answer to {sql} was lost"))
    }

    async fn register(&self, lease: Duration) -> Result<WorkerId> {
        let id = WorkerId(Uuid::now_v7());
        let commands = vec![CommandName::new(NOTE)?];
        let queues = vec![QueueName::default()];
        self.direct
            .register_worker(&WorkerSpec {
                id,
                name: "a test".to_owned(),
                version: String::new(),
                queues,
                commands,
                lease,
            })
            .await?;
        Ok(id)
    }

    fn claim(&self, worker: WorkerId) -> Result<Claim> {
        let (queue, commands) = (QueueName::default(), vec![CommandName::new(NOTE)?]);
        Ok(Claim { worker, token: Token(Uuid::new_v4()), queue, commands, limit: 100, repeated: false })
    }
}

const LONG: Duration = Duration::from_secs(600);

#[tokio::test(flavor = "multi_thread")]
async fn an_enqueue_whose_answer_was_lost_makes_its_tasks_once() -> Result<()> {
    let line = ProxiedStore::new().await?;
    let batch = tasks(NOTE, 7)?;
    let answers = line.lose("kinfolk.enqueue", async |_| line.through.enqueue(&batch).await).await?;
    let ids = made(&answers)?;
    let found = all_tasks(&*line.direct).await?;
    assert_eq!(found.keys().copied().collect::<Vec<_>>(), ids);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_claim_whose_answer_was_lost_gives_the_same_tasks_again() -> Result<()> {
    let line = ProxiedStore::new().await?;
    let ids = made(&line.direct.enqueue(&tasks(NOTE, 7)?).await?)?;
    let claim = line.claim(line.register(LONG).await?)?;
    let call = async |repeated| line.through.claim(&Claim { repeated, limit: 5, ..claim.clone() }).await;
    let claimed = line.lose("kinfolk.claim", call).await?;
    let taken: Vec<_> = claimed.tasks.iter().map(|task| task.id).collect();
    assert_eq!(taken, ids[..5]);
    let running = all_tasks(&*line.direct).await?.values().filter(|task| task.state == State::Running).count();
    assert_eq!(running, 5, "the repeated claim took more");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_settle_whose_answer_was_lost_is_recognised() -> Result<()> {
    let line = ProxiedStore::new().await?;
    line.direct.enqueue(&tasks(NOTE, 3)?).await?;
    let claimed = line.direct.claim(&line.claim(line.register(LONG).await?)?).await?;
    let done = |task: &ClaimedTask| Settle::new(task.id, task.token, Outcome::Done(None));
    let settles: Vec<_> = claimed.tasks.iter().map(done).collect();
    let answers = line.lose("kinfolk.settle", async |_| line.through.settle(&settles).await).await?;
    assert_eq!(answers, vec![Settled::Repeated(State::Completed); 3]);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_settle_that_made_children_and_whose_answer_was_lost_makes_them_once() -> Result<()> {
    let line = ProxiedStore::new().await?;
    line.direct.enqueue(&tasks(NOTE, 2)?).await?;
    let claimed = line.direct.claim(&line.claim(line.register(LONG).await?)?).await?;
    let follow_up = FollowUp { task: tasks(NOTE, 1)?.remove(0), when: When::Settled };
    let family =
        Made { children: tasks(NOTE, 3)?, follow_ups: vec![follow_up], tasks: tasks(NOTE, 1)?, ..Made::default() };
    let parent = |task: &ClaimedTask| Settle {
        made: Some(Box::new(family.clone())),
        ..Settle::new(task.id, task.token, Outcome::Done(None))
    };
    let settles: Vec<_> = claimed.tasks.iter().map(parent).collect();
    let answers = line.lose("kinfolk.settle", async |_| line.through.settle(&settles).await).await?;
    assert_eq!(answers, vec![Settled::Repeated(State::Waiting); 2]);
    for parent in &claimed.tasks {
        assert_eq!(line.direct.tally(parent.id).await?.total, 3, "children of {}", parent.id);
    }
    assert_eq!(all_tasks(&*line.direct).await?.len(), 2 + 2 * family.len(), "something was made twice, or not at all");
    let broken = line.direct.check().await?;
    ensure!(broken.is_empty(), "the store is not sound: {broken:#?}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_recovery_whose_answer_was_lost_returns_each_task_once() -> Result<()> {
    let line = ProxiedStore::new().await?;
    let ids = made(&line.direct.enqueue(&tasks(NOTE, 3)?).await?)?;
    let lost = line.register(Duration::from_secs(1)).await?;
    let judge = line.register(Duration::from_secs(1)).await?;
    line.direct.claim(&line.claim(lost)?).await?;
    // Until the lease of the one has ended, while the other renews its own.
    let from = line.direct.now().await?;
    while line.direct.now().await? < from.plus(Duration::from_millis(1_300)) {
        line.direct.heartbeat(judge).await?;
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    line.lose("kinfolk.recover", async |_| line.through.recover(judge).await).await?;
    for id in ids {
        let attempts = line.direct.attempts(id).await?;
        assert_eq!(attempts.len(), 1, "task {id} was recovered once: {attempts:?}");
        assert!(line.direct.task(id).await?.is_some_and(|task| task.state == State::Pending && task.suspect));
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tick_whose_answer_was_lost_is_fired_once() -> Result<()> {
    let line = ProxiedStore::new().await?;
    let schedule = Schedule::new(ScheduleName::new("each_second")?, "* * * * * *", tasks(NOTE, 1)?.remove(0));
    let armed = line.direct.put_schedule(&schedule).await?;
    let next = armed.next_at.context("not armed")?;
    while line.direct.now().await? < next {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let plan = armed.plan(line.direct.now().await?)?.context("not due")?;
    line.lose("kinfolk.fire", async |_| line.through.fire(&plan).await).await?;
    assert_eq!(all_tasks(&*line.direct).await?.len(), plan.ticks.len());
    Ok(())
}

/// What the worker calls, each lost in turn while it drains.
const CALLS: &[&str] = &["kinfolk.claim", "kinfolk.settle", "kinfolk.heartbeat", "kinfolk.recover"];

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_whose_answers_are_lost_again_and_again_finishes_everything_once() -> Result<()> {
    let line = ProxiedStore::new().await?;
    let plain = line.bed.plain().await?;
    plain.batch_execute(TABLE).await?;
    line.direct.register(&[Command::new(CommandName::new(EFFECT)?)]).await?;
    let orders = Orders { url: line.bed.url_through(line.proxy.port())?, ..worker(&line.bed) };
    let mut victim = start("the worker behind the proxy", &orders)?;
    victim.wait_line("ready", PATIENCE)?;
    let mut answered = Vec::new();
    for round in 0..20 {
        answered.extend(made(&line.direct.enqueue(&both(20)?).await?)?);
        line.proxy.lose_answer(CALLS[round % CALLS.len()], 1);
        line.proxy.wait_lost(u32::try_from(round)? + 1, PATIENCE).await?;
    }
    wait_drained(&*line.direct, PATIENCE).await?;
    drop(victim);
    assert_eq!(all_tasks(&*line.direct).await?.len(), answered.len());
    assert_sound(&*line.direct, &answered, &Ledger::of_both(&ledger(&line.bed), &plain).await?).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_whose_network_drops_every_packet_connects_anew_and_finishes() -> Result<()> {
    let line = ProxiedStore::new().await?;
    let url = line.bed.url_through(line.proxy.port())?;
    let orders = Orders { url, lease_ms: 2_000, answer_ms: 2_000, work_ms: 50, capacity: 5, ..worker(&line.bed) };
    let mut victim = start("the worker behind the proxy", &orders)?;
    victim.wait_line("ready", PATIENCE)?;
    let answered = made(&line.direct.enqueue(&tasks(NOTE, 40)?).await?)?;
    victim.wait_line("event started", PATIENCE)?;
    ensure!(line.proxy.silence() > 0, "the worker does not go through the proxy");
    let from = std::time::Instant::now();
    wait_drained(&*line.direct, PATIENCE).await?;
    println!("drained {:?} after the silence began", from.elapsed());
    drop(victim);
    assert_sound(&*line.direct, &answered, &Ledger::of_file(&ledger(&line.bed))?).await
}
