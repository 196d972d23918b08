//! A worker that dies at every point of an attempt to send a message, and the messages that a real server on this machine received,
//! counted. A provider that takes an idempotency key never delivers one twice; one that takes none may, in the moment between the send
//! and its record, and nowhere else.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use kinfolk_core::Store;
use kinfolk_core::crash::RUNNER_POINTS;
use kinfolk_faults::bed::{Bed, Kind};
use kinfolk_faults::sound::{assert_unbroken, wait_drained};
use kinfolk_faults::victim::Orders;
use kinfolk_postgres::{Connections, PgOptions};
use kinfolk_runner::Module;
use kinfolk_testkit::{HttpSite, Mail, MailSite, Reply, message_id};
use serde_json::{Value, json};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use crate::{PATIENCE, start, start_doomed, worker};

/// How many walks run side by side: they wait most of the time.
const SIDE_BY_SIDE: usize = 4;
const EMAIL: &str =
    "select comms.kickoff_send_email_task(comms.create_email_message('ann@example.org', 'Paid', 'Thank you.'))";
const SMS: &str = "select comms.kickoff_send_sms_task(comms.create_sms_message('+47', 'Thank you.'))";
const FACTS: &str = "select concat((select count(*) from TASK_scheduled), ' ', (select count(*) from TASK_failed), ' ',
    (select count(*) from TASK_succeeded), ' ', (select count(*) from TASK_stuck))";

/// A process whose supervisor runs three times, since its first message fails: every point of the runner, and those around the record of
/// what the provider said, at each of their passings.
fn every_passing() -> Vec<String> {
    let of = |point: &str| match point {
        point if point.starts_with("function") => 3,
        _ => 2,
    };
    let points = RUNNER_POINTS.iter().chain(&["record.before", "record.after"]);
    points.flat_map(|point| (1..=of(point)).map(move |nth| format!("{point}:{nth}"))).collect()
}

/// The points around the first send.
fn around_the_send() -> Vec<String> {
    ["provider.before", "provider.after", "record.before", "record.after", "end_send.before", "end_send.after"]
        .map(str::to_owned)
        .to_vec()
}

/// Whether a death there leaves nobody who knows that the message was sent.
fn is_unknown(point: &str) -> bool {
    point.starts_with("provider.after") || point.starts_with("record.before")
}

/// Has a worker die there in the middle of a process, and another one carry on.
async fn die_at(point: &str, providers: Value, kickoff: &str, task: &str, facts: &str) -> Result<()> {
    let bed = Bed::new(Kind::Postgres).await?;
    let store: Arc<dyn Store> = bed.open().await?;
    Module::named("comms")?.install(&Connections::open(bed.url(), &PgOptions::default())?).await?;
    let plain = bed.plain().await?;
    plain.batch_execute(kickoff).await?;
    let orders = Orders { capacity: 4, functions: true, providers, ..worker(&bed) };
    let point = point.to_owned();
    let deaths = tokio::task::spawn_blocking(move || -> Result<_> {
        start_doomed("the victim", &orders, &point)?.wait_abort(PATIENCE)?;
        start("the survivor", &orders)
    });
    let survivor = deaths.await??;
    wait_drained(&*store, PATIENCE).await?;
    drop(survivor);
    let found: String = plain.query_one(&FACTS.replace("TASK", task), &[]).await?.get(0);
    ensure!(found == facts, "scheduled, failed, succeeded and stuck are {found}, not {facts}");
    assert_unbroken(&*store).await
}

/// Walks these points side by side.
async fn walk<F: Future<Output = Result<()>> + Send + 'static>(
    points: Vec<String>,
    die: fn(String) -> F,
) -> Result<()> {
    let turns = Arc::new(Semaphore::new(SIDE_BY_SIDE));
    let mut walks = JoinSet::new();
    for point in points {
        let turns = Arc::clone(&turns);
        walks.spawn(async move {
            let _turn = turns.acquire_owned().await?;
            die(point.clone()).await.with_context(|| format!("at the crash point {point}"))
        });
    }
    walks.join_all().await.into_iter().collect()
}

/// A secret in a file, for a configuration.
fn secret() -> Result<(tempfile::NamedTempFile, Value)> {
    let file = tempfile::NamedTempFile::new()?;
    std::fs::write(file.path(), "hush")?;
    let at = json!({"file": file.path()});
    Ok((file, at))
}

async fn by_resend(point: String) -> Result<()> {
    // As Resend does, it answers a key that it knows as it did before: the first one always fails.
    let mut first = None;
    let site = HttpSite::by(move |asked| {
        let is_first = *first.get_or_insert_with(|| asked.key().to_owned()) == asked.key();
        if is_first { Reply::broken() } else { Reply::fine() }
    })?;
    let (_file, key) = secret()?;
    let email =
        json!({"kind": "resend", "base": site.url(), "key": key, "from": "shop@example.org", "allow_private": true});
    die_at(&point, json!({ "email": email }), EMAIL, "comms.send_email_task", "2 1 1 0").await?;
    let mut requests: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for asked in site.asked() {
        requests.entry(asked.key().to_owned()).or_default().push(asked.body);
    }
    ensure!(requests.len() == 2, "not one key for each attempt of the process: {requests:?}");
    for bodies in requests.values() {
        let different: BTreeSet<_> = bodies.iter().collect();
        ensure!(different.len() == 1, "two messages under one key: {bodies:?}");
    }
    let all: usize = requests.values().map(Vec::len).sum();
    ensure!(all == 2 + usize::from(is_unknown(&point)), "{all} requests: {requests:?}");
    Ok(())
}

async fn by_smtp(point: String) -> Result<()> {
    let mut first = None;
    let site = MailSite::by(move |letter| {
        let is_first = *first.get_or_insert_with(|| message_id(letter).to_owned()) == message_id(letter);
        if is_first { Mail::Return("451 later") } else { Mail::Take }
    })?;
    let email =
        json!({"kind": "smtp", "host": "127.0.0.1", "port": site.port(), "tls": "none", "from": "shop@example.org"});
    // The second send: its letter is taken.
    let second = format!("{point}:2");
    die_at(&second, json!({ "email": email }), EMAIL, "comms.send_email_task", "2 1 1 0").await?;
    let letters = site.letters();
    let ids: BTreeSet<&str> = letters.iter().map(|letter| message_id(letter)).collect();
    ensure!(ids.len() == 1, "a reader can't tell that it is one letter: {letters:?}");
    ensure!(letters.len() == 1 + usize::from(is_unknown(&point)), "{} letters", letters.len());
    Ok(())
}

async fn by_twilio(point: String) -> Result<()> {
    let site = HttpSite::new(Vec::new())?;
    let (_file, token) = secret()?;
    let sms = json!({"kind": "twilio", "base": site.url(), "account": "AC1", "token": token, "from": "+1", "allow_private": true});
    die_at(&point, json!({ "sms": sms }), SMS, "comms.send_sms_task", "1 0 1 0").await?;
    let all = site.asked().len();
    ensure!(all == 1 + usize::from(is_unknown(&point)), "{all} text messages");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn an_email_by_a_provider_that_takes_a_key_goes_out_once_whenever_its_worker_dies() -> Result<()> {
    walk(every_passing(), by_resend).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_letter_goes_out_twice_only_if_its_worker_dies_before_it_knows_that_it_was_taken() -> Result<()> {
    walk(around_the_send(), by_smtp).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_text_message_goes_out_twice_only_if_its_worker_dies_before_it_knows_that_it_was_taken() -> Result<()> {
    walk(around_the_send(), by_twilio).await
}
