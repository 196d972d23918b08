//! The engine's side: a store opened as any program opens it, and a real [`kinfolk::Worker`] in this process.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::Context as _;
use kinfolk::{
    Command, CommandName, Ctx, Due, Event, Json, Kinfolk, NewTask, QueueName, State, TaskId, WorkerBuilder, WorkerId,
};
use kinfolk_core::limits::MINUTES_KEPT;
use kinfolk_core::{SqlHandler, WorkerSpec};
use kinfolk_runner::SqlCommands;
use serde::de::{DeserializeOwned, IgnoredAny};
use tokio::sync::mpsc;
use uuid::Uuid;

use super::bare_postgres;
use super::load::{ENQUEUE_BATCH, Timed, payload};
use super::scratch::Scratch;

/// What the worker handles, and does nothing about.
pub(super) const NOOP: &str = "bench.noop";
/// What no worker handles here.
pub(super) const OTHER: &str = "bench.other";
/// What a function in the database handles, by doing nothing.
pub(super) const SQL_NOOP: &str = "bench.sql";
/// What spawns, or awaits, as many children as its payload says.
pub(super) const PARENT: &str = "bench.parent";
pub(super) const QUEUE: &str = "default";
/// A queue that runs one family at a time.
pub(super) const SERIAL: &str = "bench-serial";
const PAUSED: &str = "bench-paused";
/// Enqueue calls under way at once, as many as the bare loop has.
const PRODUCERS: usize = 2;
/// Tasks of the one claim whose buffers are counted.
pub(super) const CLAIM_BATCH: usize = 500;
/// The capacity of a worker that runs one task at a time.
const IDLE_CAPACITY: usize = 100;
/// Into how many parts the time of a steady load is cut, to see whether it falls behind.
const PARTS: usize = 10;
/// How often a steady load is topped up.
const TICK: Duration = Duration::from_millis(20);

/// A store with the commands of the bench in it.
pub(super) struct Engine {
    kinfolk: Kinfolk,
    url: String,
}

/// What became of a steady load.
pub(super) struct Steady {
    /// Tasks offered until its end.
    pub offered: usize,
    /// Tasks completed until its end.
    pub completed: usize,
    /// For each part of the time, how much of what was offered in it was completed in it.
    pub shares: Vec<f64>,
}

impl Engine {
    /// Opens and migrates a store.
    pub(super) async fn open(url: &str) -> anyhow::Result<Self> {
        let kinfolk = Kinfolk::open(url).await?;
        kinfolk.migrate().await?;
        let commands = [NOOP, OTHER, PARENT].map(|name| CommandName::new(name).map(Command::new));
        kinfolk.register(&commands.into_iter().collect::<Result<Vec<_>, _>>()?).await?;
        let serial = kinfolk::Policy { family_limit: Some(1), ..kinfolk::Policy::default() };
        kinfolk.store().set_queue(&QueueName::new(SERIAL)?, &serial).await?;
        kinfolk.store().set_queue(&QueueName::new(PAUSED)?, &kinfolk::Policy::default()).await?;
        if kinfolk.store().kind() == "postgres" {
            let (client, _) = bare_postgres::connect(url).await?;
            client
                .batch_execute("create function public.bench_noop(payload jsonb) returns void language sql as ''")
                .await?;
            let handler = Some(SqlHandler::new("public.bench_noop"));
            kinfolk.register(&[Command { handler, ..Command::new(CommandName::new(SQL_NOOP)?) }]).await?;
        }
        Ok(Self { kinfolk, url: url.to_owned() })
    }

    /// Enqueues `n` tasks that the worker handles; the time of each call comes along.
    pub(super) async fn enqueue(&self, n: usize) -> anyhow::Result<Timed> {
        let noop = CommandName::new(NOOP)?;
        self.enqueue_all((0..n).map(|n| NewTask::new(noop.clone(), payload(n))).collect()).await
    }

    pub(super) async fn enqueue_all(&self, tasks: Vec<NewTask>) -> anyhow::Result<Timed> {
        let start = Instant::now();
        let producer = async |of: usize| {
            let mut calls = Vec::new();
            for batch in tasks.chunks(ENQUEUE_BATCH).skip(of).step_by(PRODUCERS) {
                let call = Instant::now();
                let answers = self.kinfolk.enqueue_many(batch).await?;
                calls.push(call.elapsed());
                anyhow::ensure!(answers.len() == batch.len(), "{} answers to {} tasks", answers.len(), batch.len());
            }
            anyhow::Ok(calls)
        };
        let (mut calls, more) = tokio::try_join!(producer(0), producer(1))?;
        calls.extend(more);
        Ok(Timed { took: start.elapsed(), calls })
    }

    /// Runs all open tasks, `n` of them, through one worker: from its start until every completion is durable.
    pub(super) async fn drain(&self, n: usize, capacity: usize) -> anyhow::Result<Duration> {
        self.drain_of(&[NOOP], n, capacity).await
    }

    /// The same by a worker that handles these commands.
    pub(super) async fn drain_of(&self, commands: &[&str], n: usize, capacity: usize) -> anyhow::Result<Duration> {
        self.drain_by(self.worker_of(commands, capacity), n).await
    }

    async fn drain_by(&self, worker: WorkerBuilder, n: usize) -> anyhow::Result<Duration> {
        let before = self.completed().await?;
        let start = Instant::now();
        let worker = worker.start().await?;
        worker.wait_idle().await;
        let took = start.elapsed();
        worker.stop().await?;
        let done = self.completed().await? - before;
        anyhow::ensure!(done == n as u64, "{done} of {n} tasks are completed in the store");
        Ok(took)
    }

    /// One parent with `width` children: from its enqueue until it is completed.
    pub(super) async fn fan_out(&self, width: usize, capacity: usize) -> anyhow::Result<Duration> {
        let spawn = |ctx: Ctx, width: usize| async move {
            for n in 0..width {
                ctx.spawn(NOOP, &payload(n)).await?;
            }
            Ok(())
        };
        let worker = self.worker(capacity, || {}).handler(PARENT, spawn).start().await?;
        worker.wait_idle().await;
        let start = Instant::now();
        let parent = self.kinfolk.enqueue(PARENT, &width).await?.id()?;
        self.kinfolk.wait(parent).await?;
        let took = start.elapsed();
        worker.stop().await?;
        let done = self.kinfolk.tally(parent).await?.completed;
        anyhow::ensure!(done == width as u64, "{done} of {width} children are completed in the store");
        Ok(took)
    }

    /// Enqueues `n` tasks onto the queue that runs one family at a time.
    pub(super) async fn enqueue_serial(&self, n: usize, command: &str) -> anyhow::Result<()> {
        let (noop, serial) = (CommandName::new(command)?, QueueName::new(SERIAL)?);
        let task = |n| NewTask { queue: Some(serial.clone()), ..NewTask::new(noop.clone(), payload(n)) };
        for from in (0..n).step_by(100_000) {
            self.enqueue_all((from..n.min(from + 100_000)).map(task).collect()).await?;
        }
        Ok(())
    }

    /// Runs `n` tasks of the queue that runs one family at a time. How long it took, and how long the handlers did.
    pub(super) async fn serial(&self, n: usize, capacity: usize) -> anyhow::Result<(Duration, Duration)> {
        let handled = Arc::new(AtomicU64::new(0));
        let sum = Arc::clone(&handled);
        let listener = move |event: &Event| {
            if let Event::Completed { took, .. } = event {
                sum.fetch_add(u64::try_from(took.as_nanos()).unwrap_or(u64::MAX), Ordering::Relaxed);
            }
        };
        let mut worker = self.worker(capacity, || {}).queue(SERIAL, capacity).on_event(listener);
        if self.kinfolk.store().kind() == "postgres" {
            worker = worker.commands_from(SqlCommands::open(&self.url, 2)?);
        }
        let took = self.drain_by(worker, n).await?;
        Ok((took, Duration::from_nanos(handled.load(Ordering::Relaxed))))
    }

    /// A family at work on the serial queue: a root that waits for a child that is not due for a day.
    pub(super) async fn start_family(&self) -> anyhow::Result<()> {
        let spawn = |ctx: Ctx, _: IgnoredAny| async move {
            ctx.spawn(NOOP, &payload(0)).delay(Duration::from_secs(24 * 3600)).await?;
            Ok(())
        };
        let worker = self.kinfolk.worker().queue(SERIAL, 1).handler(PARENT, spawn).start().await?;
        let root = self.kinfolk.enqueue(PARENT, &0).queue(SERIAL).await?.id()?;
        worker.wait_idle().await;
        worker.stop().await?;
        let root = self.kinfolk.task(root).await?;
        anyhow::ensure!(root.state == State::Waiting, "the root of the family is {}", root.state);
        Ok(())
    }

    /// From enqueue until the handler starts, on a worker with nothing else to do, `samples` times.
    pub(super) async fn latency(&self, samples: usize, idle: Duration) -> anyhow::Result<Vec<Duration>> {
        let (send, mut started) = mpsc::unbounded_channel();
        let begun = move || {
            let _ = send.send(Instant::now());
        };
        let worker = self.worker(IDLE_CAPACITY, begun).start().await?;
        worker.wait_idle().await;
        let noop = CommandName::new(NOOP)?;
        let mut taken = Vec::with_capacity(samples);
        for n in 0..samples {
            tokio::time::sleep(idle).await;
            let task = [NewTask::new(noop.clone(), payload(n))];
            let start = Instant::now();
            let made = async { anyhow::Ok(self.kinfolk.enqueue_many(&task).await?) };
            let ran = async { started.recv().await.context("the worker has ended") };
            let (_, began) = tokio::try_join!(made, ran)?;
            taken.push(began.duration_since(start));
        }
        worker.stop().await?;
        Ok(taken)
    }

    /// Offers `rate` tasks a second for a while, to a worker in the same process; counts what is completed by its end.
    pub(super) async fn steady(&self, rate: f64, span: Duration, capacity: usize) -> anyhow::Result<Steady> {
        let completed = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&completed);
        let listener = move |event: &Event| {
            if let Event::Completed { .. } = event {
                count.fetch_add(1, Ordering::Relaxed);
            }
        };
        let worker = self.worker(capacity, || {}).on_event(listener).start().await?;
        let noop = CommandName::new(NOOP)?;
        let start = Instant::now();
        let (mut sent, mut parts) = (0, vec![0]);
        while start.elapsed() < span {
            let owed = offered(rate, start.elapsed()).saturating_sub(sent);
            let tasks = (sent..sent + owed).map(|n| NewTask::new(noop.clone(), payload(n))).collect();
            self.enqueue_all(tasks).await?;
            sent += owed;
            if start.elapsed() >= span.mul_f64(parts.len() as f64 / PARTS as f64) {
                parts.push(completed.load(Ordering::Relaxed));
            }
            tokio::time::sleep(TICK).await;
        }
        let done = completed.load(Ordering::Relaxed);
        // The figure is taken: a worker that can't leave in time, among millions of dead entries, must not lose it.
        if let Err(fault) = worker.stop().await {
            tracing::warn!(%fault, "the worker of the steady load did not leave in order");
        }
        // What the producers could not send in time was offered all the same.
        let offered = offered(rate, span).max(1);
        parts.truncate(PARTS);
        parts.push(done);
        let part = offered as f64 / PARTS as f64;
        let shares = parts.windows(2).map(|pair| (pair[1] - pair[0]) as f64 / part).collect();
        Ok(Steady { offered, completed: done, shares })
    }

    /// Fills the store with tasks that are not to be run: finished, scheduled for later, of a command that nobody
    /// handles, `load` each; and a tenth of that on a paused queue.
    pub(super) async fn fill(&self, load: usize, capacity: usize) -> anyhow::Result<()> {
        let (noop, other) = (CommandName::new(NOOP)?, CommandName::new(OTHER)?);
        let paused = QueueName::new(PAUSED)?;
        self.enqueue(load).await?;
        self.drain(load, capacity).await?;
        self.kinfolk.pause(&paused, None).await?;
        let later =
            |n| NewTask { due: Due::After(Duration::from_secs(24 * 3600)), ..NewTask::new(noop.clone(), payload(n)) };
        let paused = |n| NewTask { queue: Some(paused.clone()), ..NewTask::new(noop.clone(), payload(n)) };
        for from in (0..load).step_by(100_000) {
            let page = from..load.min(from + 100_000);
            self.enqueue_all(page.clone().map(later).collect()).await?;
            self.enqueue_all(page.map(|n| NewTask::new(other.clone(), payload(n))).collect()).await?;
        }
        self.enqueue_all((0..load / 10).map(paused).collect()).await?;
        Ok(())
    }

    /// Buffers that one claim of [`CLAIM_BATCH`] tasks of these commands looks at, hit or read, with all it calls; rolled
    /// back.
    pub(super) async fn buffers_per_claim(
        &self,
        scratch: &Scratch,
        queue: &str,
        commands: &[&str],
    ) -> anyhow::Result<Option<f64>> {
        let Scratch::Postgres { url, .. } = scratch else { return Ok(None) };
        let worker = WorkerId(Uuid::new_v4());
        let spec = WorkerSpec {
            id: worker,
            name: "bench".to_owned(),
            version: String::new(),
            queues: vec![QueueName::new(queue)?],
            commands: commands.iter().map(|name| CommandName::new(name)).collect::<Result<_, _>>()?,
            lease: Duration::from_secs(60),
        };
        self.kinfolk.store().register_worker(&spec).await?;
        let names = commands.join("', '");
        let claim = format!(
            "explain (analyze, buffers, timing off, format json)
             select * from kinfolk.claim('{worker}', '{}', '{queue}', array['{names}'], {CLAIM_BATCH})",
            Uuid::new_v4()
        );
        let (client, _) = bare_postgres::connect(url).await?;
        let mut buffers = 0.0;
        // Once to have the plans made, once to count.
        for _ in 0..2 {
            client.batch_execute("begin").await?;
            let plan: serde_json::Value = client.query_one(&claim, &[]).await?.try_get(0)?;
            client.batch_execute("rollback").await?;
            let blocks = |which: &str| plan[0]["Plan"][which].as_f64().context("explain tells of buffers");
            buffers = blocks("Shared Hit Blocks")? + blocks("Shared Read Blocks")?;
        }
        self.kinfolk.store().leave(worker).await?;
        Ok(Some(buffers))
    }

    /// Enqueues so many tasks of a command that is told how many children to have.
    pub(super) async fn enqueue_parents(
        &self,
        command: &str,
        many: usize,
        width: usize,
    ) -> anyhow::Result<Vec<TaskId>> {
        let task = NewTask::new(CommandName::new(command)?, Json::of(&width)?);
        let answers = self.kinfolk.enqueue_many(&vec![task; many]).await?;
        Ok(answers.iter().map(kinfolk::Enqueued::id).collect::<Result<_, _>>()?)
    }

    /// Waits until a task has ended.
    pub(super) async fn wait(&self, task: TaskId) -> anyhow::Result<()> {
        self.kinfolk.wait(task).await?;
        Ok(())
    }

    /// What a task has ended with.
    pub(super) async fn result<T: DeserializeOwned>(&self, task: TaskId) -> anyhow::Result<Option<T>> {
        Ok(self.kinfolk.task(task).await?.result.map(|result| result.to()).transpose()?)
    }

    /// A worker that handles these commands by doing nothing.
    pub(super) fn worker_of(&self, commands: &[&str], capacity: usize) -> WorkerBuilder {
        let worker = self.kinfolk.worker().queue(QUEUE, capacity).queue(PAUSED, capacity).capacity(capacity);
        let nothing = |_, _: IgnoredAny| std::future::ready(Ok(()));
        commands.iter().fold(worker, |worker, name| worker.handler(*name, nothing))
    }

    /// The way to the store.
    pub(super) fn kinfolk(&self) -> &Kinfolk {
        &self.kinfolk
    }

    /// A worker that handles [`NOOP`] by calling this.
    pub(super) fn worker(&self, capacity: usize, begun: impl Fn() + Send + Sync + 'static) -> WorkerBuilder {
        self.worker_of(&[], capacity).handler(NOOP, move |_, _: IgnoredAny| {
            begun();
            std::future::ready(Ok(()))
        })
    }

    async fn completed(&self) -> anyhow::Result<u64> {
        // As the worker has noted: statistics do not count that far.
        let minutes = self.kinfolk.store().minutes(MINUTES_KEPT).await?;
        Ok(minutes.iter().map(|minute| minute.figures.completed).sum())
    }
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "tasks of a bench")]
fn offered(rate: f64, span: Duration) -> usize {
    (rate * span.as_secs_f64()) as usize
}
