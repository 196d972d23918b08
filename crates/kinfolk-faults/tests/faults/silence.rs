//! A path to PostgreSQL that goes silent: connections are accepted, and nothing ever comes back on them, old or new. What a
//! stopped server, a pooler without one, or a firewall that has forgotten us looks like.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use kinfolk_core::{Command, CommandName, Inspect as _, QueueName, Store, StoreError, Wake, Work as _, WorkerId};
use kinfolk_faults::bed::{Bed, Kind};
use kinfolk_faults::ledger::Ledger;
use kinfolk_faults::process::Process;
use kinfolk_faults::proxy::Proxy;
use kinfolk_faults::sound::{assert_sound, wait_drained};
use kinfolk_faults::victim::{NOTE, Orders, made, tasks};
use kinfolk_postgres::{PgOptions, PgStore};

use crate::{PATIENCE, ledger, start, worker};

/// Far above the limits that these tests set, and far below for ever.
const BOUND: Duration = Duration::from_secs(20);

fn impatient() -> PgOptions {
    let limit = Duration::from_millis(500);
    PgOptions { connect_timeout: limit, answer_timeout: limit, ..PgOptions::default() }
}

/// It must end with the error that says to try again, and soon.
async fn is_unavailable<T>(what: &str, call: impl Future<Output = Result<T, StoreError>>) -> Result<()> {
    match tokio::time::timeout(BOUND, call).await {
        Err(_) => bail!("{what}: no end within {BOUND:?}"),
        Ok(Err(StoreError::Unavailable { .. })) => Ok(()),
        Ok(Err(other)) => bail!("{what}: not the typed error: {other}"),
        Ok(Ok(_)) => bail!("{what}: an answer came through a path that is mute"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_that_is_accepted_and_never_answered_is_unavailable_in_time() -> Result<()> {
    let bed = Bed::new(Kind::Postgres).await?;
    let proxy = Proxy::start(bed.port()?).await?;
    let plain = bed.url_through(proxy.port())?;
    proxy.mute();
    is_unavailable("the start of the session", PgStore::connect(&plain, impatient())).await?;
    let with_tls = plain.replace("sslmode=disable", "sslmode=require");
    is_unavailable("the start of TLS", PgStore::connect(&with_tls, impatient())).await?;
    let pooled = PgOptions { prepared: false, notify: false, ..impatient() };
    is_unavailable("behind a pooler", PgStore::connect(&plain, pooled)).await
}

#[tokio::test(flavor = "multi_thread")]
async fn whatever_the_silence_begins_with_is_unavailable_in_time() -> Result<()> {
    for text in ["default_transaction_isolation", "kinfolk.schema_version()"] {
        let bed = Bed::new(Kind::Postgres).await?;
        let proxy = Proxy::start(bed.port()?).await?;
        proxy.mute_at(text);
        is_unavailable(text, PgStore::connect(&bed.url_through(proxy.port())?, impatient())).await?;
        ensure!(proxy.is_mute(), "nobody said {text}: the test proves nothing");
    }
    let bed = Bed::new(Kind::Postgres).await?;
    let proxy = Proxy::start(bed.port()?).await?;
    let store = PgStore::connect(&bed.url_through(proxy.port())?, impatient()).await?;
    proxy.mute_at("listen kinfolk");
    let (worker, queue) = (WorkerId(uuid::Uuid::new_v4()), QueueName::new("default")?);
    is_unavailable("a listener", store.wakes(worker, &[queue])).await?;
    ensure!(proxy.is_mute(), "nobody listened: the test proves nothing");
    is_unavailable("a call over the connections of before", store.stats()).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_listener_whose_connection_fell_silent_notices_and_listens_anew() -> Result<()> {
    let bed = Bed::new(Kind::Postgres).await?;
    let proxy = Proxy::start(bed.port()?).await?;
    let store = PgStore::connect(&bed.url_through(proxy.port())?, impatient()).await?;
    let (worker, queue) = (WorkerId(uuid::Uuid::new_v4()), QueueName::new("default")?);
    let mut wakes = store.wakes(worker, &[queue]).await?.context("no wake-ups")?;
    ensure!(proxy.silence() > 1, "the listener does not go through the proxy");
    let wake = tokio::time::timeout(BOUND, wakes.next()).await.context("still deaf")?;
    ensure!(wake == Wake::All, "not everything is looked at again: {wake:?}");
    Ok(())
}

/// A worker behind a proxy, with limits short enough for a test.
async fn behind(bed: &Bed, proxy: &Proxy) -> Result<(std::sync::Arc<dyn Store>, Process)> {
    let direct = bed.open().await?;
    direct.register(&[Command::new(CommandName::new(NOTE)?)]).await?;
    let url = bed.url_through(proxy.port())?;
    let orders =
        Orders { url, lease_ms: 2_000, answer_ms: 1_000, connect_ms: 500, work_ms: 50, capacity: 5, ..worker(bed) };
    let mut victim = start("the worker behind the proxy", &orders)?;
    victim.wait_line("ready", PATIENCE)?;
    Ok((direct, victim))
}

/// Waits until the worker has tried to connect anew, and got no answer.
fn wait_given_up(victim: &mut Process) -> Result<()> {
    let until = Instant::now() + PATIENCE;
    let given_up = |line: &String| line.starts_with("event trouble") && line.contains("was not made within");
    while !victim.lines().iter().any(given_up) {
        ensure!(!victim.ended()?, "the worker ended: {:#?}", victim.lines());
        ensure!(Instant::now() < until, "the worker gave no new connection up: {:#?}", victim.lines());
        std::thread::sleep(Duration::from_millis(10));
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_whose_new_connections_are_swallowed_too_works_on_when_the_path_is_healthy() -> Result<()> {
    let bed = Bed::new(Kind::Postgres).await?;
    let proxy = Proxy::start(bed.port()?).await?;
    let (direct, mut victim) = behind(&bed, &proxy).await?;
    let mut answered = made(&direct.enqueue(&tasks(NOTE, 40)?).await?)?;
    victim.wait_line("event started", PATIENCE)?;
    proxy.mute();
    wait_given_up(&mut victim)?;
    victim.wait_line("event lease_lost", PATIENCE)?;
    ensure!(proxy.heal() > 1, "no connection was swallowed");
    answered.extend(made(&direct.enqueue(&tasks(NOTE, 10)?).await?)?);
    wait_drained(&*direct, PATIENCE).await?;
    victim.signal("TERM")?;
    victim.wait_line("end", PATIENCE)?;
    assert_sound(&*direct, &answered, &Ledger::of_file(&ledger(&bed))?).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_that_gets_no_answer_from_anyone_stops_when_it_is_told() -> Result<()> {
    let bed = Bed::new(Kind::Postgres).await?;
    let proxy = Proxy::start(bed.port()?).await?;
    let (_direct, mut victim) = behind(&bed, &proxy).await?;
    proxy.mute();
    wait_given_up(&mut victim)?;
    victim.signal("TERM")?;
    victim.wait_end(PATIENCE).map(drop)
}
