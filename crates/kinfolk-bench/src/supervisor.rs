//! Business processes: emails through an outbox, each of which fails once, from the start of a worker to their terminal facts,
//! beside the same facts written by hand. What is told beside the speed is how many tasks a process takes: three runs of its supervisor and two attempts,
//! since facts wake supervisors and nothing polls.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use kinfolk::Kinfolk;
use kinfolk_postgres::{Connections, PgOptions};
use kinfolk_providers::{Outbox, Provider, Providers, SendError};
use kinfolk_runner::{Module, SqlCommands};
use serde_json::Value;
use tokio_postgres::Client;

use super::BenchArgs;
use super::bare_postgres;
use super::figure::{Figure, Output};
use super::rounds::{Sample, interleave};
use super::scratch::Scratch;
use super::site::Sites;
use super::stats::{median, per_second};

/// Handlers that run at once, and connections that write by hand.
const AT_ONCE: usize = 16;

const KICKOFF: &str = "select comms.kickoff_send_email_task(comms.create_email_message(format('a%s@example.org', n), 'Paid', 'Thank you.'),
    recheck_delay => '1 day') from generate_series(1, $1::bigint) n";
const COUNTS: &str = "select (select count(*) from comms.send_email_task_succeeded), (select count(*) from comms.send_email_task_failed),
    (select count(*) from comms.send_email_task_scheduled), count(*) filter (where command = 'db_function'), count(*)
    from kinfolk.tasks where state = 'completed'";

/// The tables of the same process, and nothing else.
const BY_HAND: &str = "
    create schema by_hand;
    create table by_hand.email (id bigint generated always as identity primary key, receiver text not null, subject text not null,
        body text not null);
    create table by_hand.task (id bigint generated always as identity primary key, email bigint not null references by_hand.email,
        max_attempts integer not null default 2, at timestamptz not null default now());
    create table by_hand.scheduled (task bigint not null references by_hand.task, attempt integer not null,
        at timestamptz not null default now(), primary key (task, attempt));
    create table by_hand.failed (task bigint not null references by_hand.task, attempt integer not null, error text not null,
        at timestamptz not null default now(), primary key (task, attempt));
    create table by_hand.succeeded (task bigint primary key references by_hand.task, at timestamptz not null default now());
    create table by_hand.run (task bigint not null references by_hand.task, run integer not null,
        at timestamptz not null default now(), primary key (task, run))";
const MAKE: &str = "with made as (
        insert into by_hand.email (receiver, subject, body)
        select format('a%s@example.org', n), 'Paid', 'Thank you.' from generate_series(1, $1::bigint) n
        returning id)
    insert into by_hand.task (email) select id from made";
const DECIDE: &str = "with root as materialized (select id from by_hand.task where id = $1 for update),
    facts as (select r.id, (select count(*) from by_hand.failed f where f.task = r.id)::integer as failures,
        (select count(*) from by_hand.scheduled f where f.task = r.id)::integer as attempts,
        exists (select from by_hand.succeeded f where f.task = r.id) as is_over from root r),
    ran as (insert into by_hand.run select id, attempts + 1 from facts where not is_over)
    insert into by_hand.scheduled select id, attempts + 1 from facts where not is_over and attempts <= failures";
const READ: &str =
    "select e.receiver, e.subject, e.body from by_hand.task t join by_hand.email e on e.id = t.email where t.id = $1";
const FAIL: &str = "insert into by_hand.failed (task, attempt, error) values ($1, 1, 'away')";
const SUCCEED: &str = "insert into by_hand.succeeded (task) values ($1)";

/// Half of N processes a round.
pub(super) async fn supervisor(args: &BenchArgs, sites: &Sites, output: &mut Output) -> anyhow::Result<()> {
    let n = (args.n / 2).max(1);
    output.progress(&format!("supervisor: {n} emails that fail once each a round"));
    let mut tasks = Vec::new();
    let rounds = interleave(
        args.rounds,
        "supervisor",
        output,
        async || {
            let (scratch, _engine) = sites.engine().await?;
            let took = by_hand(&scratch.url(), n).await;
            scratch.remove().await?;
            Ok(Sample { rate: per_second(n, took?), times: Vec::new() })
        },
        async || {
            let (scratch, _engine) = sites.engine().await?;
            let played = play(&scratch, n).await;
            scratch.remove().await?;
            let (took, each) = played?;
            tasks.push(each);
            Ok(Sample { rate: per_second(n, took), times: Vec::new() })
        },
    )
    .await?;
    let baseline = "the same facts by hand: 7 statements a process, each its own transaction, 16 connections";
    let (runs, all): (Vec<f64>, Vec<f64>) = tasks.into_iter().unzip();
    let note = format!("{:.2} tasks a process, {:.2} of them runs of its supervisor", median(all), median(runs));
    output.figure(Figure::new("supervisor", sites.store(), n, baseline, rounds.comparison()).note(note))
}

/// Carries the processes out. Answers how long that took from the start of the worker, and how many runs of supervisors and how many tasks
/// in all each process took.
async fn play(scratch: &Scratch, n: usize) -> anyhow::Result<(Duration, (f64, f64))> {
    let url = scratch.url();
    let options = PgOptions { pool_size: AT_ONCE, ..PgOptions::default() };
    let connections = Connections::open(&url, &options)?;
    Module::named("comms")?.install(&connections).await?;
    let (client, _) = bare_postgres::connect(&url).await?;
    let many = i64::try_from(n)?;
    client.execute(KICKOFF, &[&many]).await?;
    scratch.rest().await?;
    let outbox = tempfile::tempdir()?;
    let email: Arc<dyn Provider> = Arc::new(FailsOnce {
        outbox: Outbox::emails(outbox.path(), Some("shop@example.org".to_owned())),
        seen: Mutex::default(),
    });
    let commands = SqlCommands::open_with(&url, &options, Providers { email: Some(email), ..Providers::default() })?;
    let worker = Kinfolk::open(&url).await?.worker().queue("default", AT_ONCE).commands_from(commands);
    let start = Instant::now();
    let worker = worker.start().await?;
    worker.wait_idle().await;
    let took = start.elapsed();
    worker.stop().await?;
    let row = client.query_one(COUNTS, &[]).await?;
    let [succeeded, failed, scheduled, runs, all]: [i64; 5] = std::array::from_fn(|index| row.get(index));
    let files = std::fs::read_dir(outbox.path())?.count();
    anyhow::ensure!(
        (succeeded, failed, scheduled, files) == (many, many, 2 * many, n),
        "of {n} processes {succeeded} succeeded, after {failed} failures of {scheduled} attempts; {files} messages went out"
    );
    #[allow(clippy::cast_precision_loss, reason = "counts are small")]
    let each = |count: i64| count as f64 / n as f64;
    Ok((took, (each(runs), each(all))))
}

/// Writes the same facts.
async fn by_hand(url: &str, n: usize) -> anyhow::Result<Duration> {
    let (client, _) = bare_postgres::connect(url).await?;
    client.batch_execute(BY_HAND).await?;
    client.execute(MAKE, &[&i64::try_from(n)?]).await?;
    client.batch_execute("vacuum analyze").await?;
    let mut clients = Vec::new();
    for _ in 0..AT_ONCE {
        clients.push(bare_postgres::connect(url).await?.0);
    }
    let start = Instant::now();
    let mut hands = tokio::task::JoinSet::new();
    for (hand, client) in clients.into_iter().enumerate() {
        hands.spawn(async move { write(&client, (1..=n).skip(hand).step_by(AT_ONCE)).await });
    }
    hands.join_all().await.into_iter().collect::<anyhow::Result<()>>()?;
    Ok(start.elapsed())
}

async fn write(client: &Client, processes: impl Iterator<Item = usize>) -> anyhow::Result<()> {
    let [decide, read] = [client.prepare(DECIDE).await?, client.prepare(READ).await?];
    let [fail, succeed] = [client.prepare(FAIL).await?, client.prepare(SUCCEED).await?];
    for process in processes {
        let task = i64::try_from(process)?;
        for record in [&fail, &succeed] {
            client.execute(&decide, &[&task]).await?;
            client.query_one(&read, &[&task]).await?;
            client.execute(record, &[&task]).await?;
        }
        client.execute(&decide, &[&task]).await?;
    }
    Ok(())
}

/// An outbox that refuses the first message to each receiver.
#[derive(Debug)]
struct FailsOnce {
    outbox: Outbox,
    seen: Mutex<HashSet<String>>,
}

#[async_trait]
impl Provider for FailsOnce {
    async fn send(&self, message: &Value, key: &str) -> Result<Value, SendError> {
        let receiver = message["to"].to_string();
        if self.seen.lock().unwrap_or_else(PoisonError::into_inner).insert(receiver) {
            return Err(SendError::passing("away"));
        }
        self.outbox.send(message, key).await
    }
}
