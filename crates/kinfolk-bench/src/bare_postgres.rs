//! What PostgreSQL itself can do: the same work as the engine's, by the fewest and best statements one would write by
//! hand, with nothing of what makes an engine (no fence, no retry, no history of attempts, no dedup, no lease).
//!
//! Commits are durable, rows are as wide as the engine's, batches as large, statements prepared, arrays typed, two
//! connections where work can go in parallel. `--verbose` prints the statements below.

use std::time::{Duration, Instant};

use anyhow::Context as _;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio_postgres::{AsyncMessage, Client, NoTls};

use super::load::{ENQUEUE_BATCH, Timed, payload};

/// Tasks taken by one claim.
pub(super) const CLAIM_BATCH: i64 = 500;
/// Connections that enqueue, and that drain.
const CONNECTIONS: usize = 2;

// A claim of 500 from a small table would else be joined to the whole of it.
const SETTINGS: &str = "\
set enable_seqscan = off;
set enable_hashjoin = off;
set enable_mergejoin = off;
set jit = off";
const TABLE: &str = "\
create table bare_task (
  id bigint generated always as identity (cache 100) primary key,
  state smallint not null default 0,
  priority integer not null default 0,
  position timestamptz not null default clock_timestamp(),
  claimed_at timestamptz,
  finished_at timestamptz,
  payload text not null,
  filler text not null default repeat('x', {filler})
)";
const INDEX: &str = "create index bare_ready on bare_task (priority, position, id) where state = 0";
const ENQUEUE: &str = "\
insert into bare_task (payload)
select payload from unnest($1::text[]) as new (payload)
returning id";
const ENQUEUE_NOTIFY: &str = "\
with made as (insert into bare_task (payload) values ($1) returning id)
select pg_notify('bare_task', '') from made";
const CLAIM: &str = "\
with picked as materialized (
  select id from bare_task where state = 0 order by priority, position, id limit $1 for update skip locked
)
update bare_task set state = 1, claimed_at = clock_timestamp()
from picked
where bare_task.id = picked.id
returning bare_task.id, bare_task.payload";
const COMPLETE: &str = "\
update bare_task set state = 2, finished_at = clock_timestamp()
where id = any($1::bigint[])";

/// The statements, with what each is for.
pub(super) const STATEMENTS: [(&str, &str); 7] = [
    ("settings", SETTINGS),
    ("table", TABLE),
    ("index", INDEX),
    ("enqueue, 1,000 at once, on 2 connections", ENQUEUE),
    ("enqueue one and notify", ENQUEUE_NOTIFY),
    ("claim, 500 at once, on 2 connections", CLAIM),
    ("complete, 500 at once", COMPLETE),
];

/// The bare loop on one database.
pub(super) struct BarePostgres {
    url: String,
    clients: Vec<Client>,
}

impl BarePostgres {
    /// Connects and makes the table, with rows that are `filler` bytes wider than their own columns.
    pub(super) async fn open(url: &str, filler: usize) -> anyhow::Result<Self> {
        let mut clients = Vec::new();
        for _ in 0..CONNECTIONS {
            let (client, _) = connect(url).await?;
            client.batch_execute(SETTINGS).await?;
            clients.push(client);
        }
        clients[0].batch_execute("drop table if exists bare_task").await?;
        clients[0].batch_execute(&TABLE.replace("{filler}", &filler.to_string())).await?;
        clients[0].batch_execute(INDEX).await?;
        Ok(Self { url: url.to_owned(), clients })
    }

    /// Enqueues `n` tasks in batches; the time of each call comes along.
    pub(super) async fn enqueue(&self, n: usize) -> anyhow::Result<Timed> {
        let batches: Vec<Vec<String>> = (0..n)
            .map(payload)
            .collect::<Vec<_>>()
            .chunks(ENQUEUE_BATCH)
            .map(|batch| batch.iter().map(|payload| payload.as_str().to_owned()).collect())
            .collect();
        let batches = &batches;
        let start = Instant::now();
        let connection = async |of: usize| {
            let client = &self.clients[of];
            let enqueue = client.prepare(ENQUEUE).await?;
            let mut calls = Vec::new();
            for batch in batches.iter().skip(of).step_by(CONNECTIONS) {
                let call = Instant::now();
                let made = client.query(&enqueue, &[batch]).await?;
                anyhow::ensure!(made.len() == batch.len(), "the bare enqueue made {} of {}", made.len(), batch.len());
                calls.push(call.elapsed());
            }
            anyhow::Ok(calls)
        };
        let (mut calls, more) = tokio::try_join!(connection(0), connection(1))?;
        calls.extend(more);
        Ok(Timed { took: start.elapsed(), calls })
    }

    /// Claims and completes all there is, `n` tasks.
    pub(super) async fn drain(&self, n: usize) -> anyhow::Result<Duration> {
        let start = Instant::now();
        let connection = async |client: &Client| {
            let claim = client.prepare(CLAIM).await?;
            let complete = client.prepare(COMPLETE).await?;
            let mut done = 0;
            loop {
                let claimed = client.query(&claim, &[&CLAIM_BATCH]).await?;
                if claimed.is_empty() {
                    return anyhow::Ok(done);
                }
                let ids: Vec<i64> = claimed.iter().map(|row| row.get(0)).collect();
                done += client.execute(&complete, &[&ids]).await?;
            }
        };
        let (one, other) = tokio::try_join!(connection(&self.clients[0]), connection(&self.clients[1]))?;
        let took = start.elapsed();
        anyhow::ensure!(one + other == n as u64, "the bare drain completed {} of {n}", one + other);
        Ok(took)
    }

    /// Claims and completes all there is, `n` tasks, one after another.
    pub(super) async fn one_by_one(&self, n: usize) -> anyhow::Result<Duration> {
        let client = &self.clients[0];
        let claim = client.prepare(CLAIM).await?;
        let complete = client.prepare(COMPLETE).await?;
        let start = Instant::now();
        for done in 0..n {
            let claimed = client.query(&claim, &[&1i64]).await?;
            anyhow::ensure!(claimed.len() == 1, "the bare loop completed {done} of {n}");
            client.execute(&complete, &[&vec![claimed[0].get::<_, i64>(0)]]).await?;
        }
        Ok(start.elapsed())
    }

    /// From an insert with a notification until a listener has claimed the task, `samples` times.
    pub(super) async fn latency(&self, samples: usize, idle: Duration) -> anyhow::Result<Vec<Duration>> {
        let (claimer, mut notified) = connect(&self.url).await?;
        claimer.batch_execute("listen bare_task").await?;
        let producer = &self.clients[0];
        let enqueue = producer.prepare(ENQUEUE_NOTIFY).await?;
        let claim = self.clients[1].prepare(CLAIM).await?;
        let complete = self.clients[1].prepare(COMPLETE).await?;
        let mut taken = Vec::with_capacity(samples);
        for n in 0..samples {
            tokio::time::sleep(idle).await;
            let payload = payload(n);
            let start = Instant::now();
            let made = async { anyhow::Ok(producer.query(&enqueue, &[&payload.as_str()]).await?) };
            let claimed = async {
                notified.recv().await.context("the listening connection was closed")?;
                let claimed = self.clients[1].query(&claim, &[&1i64]).await?;
                anyhow::ensure!(claimed.len() == 1, "a notification without a task");
                anyhow::Ok((start.elapsed(), claimed[0].get::<_, i64>(0)))
            };
            let (_, (took, id)) = tokio::try_join!(made, claimed)?;
            taken.push(took);
            self.clients[1].execute(&complete, &[&vec![id]]).await?;
        }
        Ok(taken)
    }
}

/// Connects; notifications arrive on the receiver.
pub(super) async fn connect(url: &str) -> anyhow::Result<(Client, mpsc::UnboundedReceiver<()>)> {
    let (client, mut connection) = tokio_postgres::connect(url, NoTls).await.context("connecting for the bare loop")?;
    let (send, receive) = mpsc::unbounded_channel();
    let _driver: JoinHandle<()> = tokio::spawn(async move {
        while let Some(Ok(message)) = std::future::poll_fn(|cx| connection.poll_message(cx)).await {
            if let AsyncMessage::Notification(_) = message {
                let _ = send.send(());
            }
        }
    });
    Ok((client, receive))
}
