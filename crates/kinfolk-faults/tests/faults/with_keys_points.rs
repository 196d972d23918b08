//! A death right before and right after every commit that takes or frees slots, or changes what a group allows: none is
//! leaked, none is given twice, and whoever waits for one gets it.

use std::collections::BTreeSet;
use std::sync::Arc;

use anyhow::{Context, Result};
use kinfolk_core::crash::GROUP_POINTS;
use kinfolk_core::{Command, GroupSpec, Groups, Keys, NewTask};
use kinfolk_faults::bed::{Bed, Kind};
use kinfolk_faults::sound::wait_drained;
use kinfolk_faults::victim::{Mode, Orders, Room, SPARE, WITH_KEYS, WithKeys, command_with_keys, made};
use kinfolk_faults::with_keys::assert_limits;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use crate::{PATIENCE, ledger, start, start_doomed, worker};

/// The first claim and settle, some between others, and the recovery of slots that a dead worker held.
const DEATHS: &[&str] = &[
    "claim.before",
    "claim.after",
    "claim.after:3",
    "settle.before",
    "settle.after",
    "settle.after:3",
    "recover.before",
    "recover.after",
];
/// How many walks run side by side: they wait most of the time.
const SIDE_BY_SIDE: usize = 4;
const TASKS: u16 = 16;

/// One at a time of a message, also while it waits to be tried again; three of a tenant; and what may be gone one day.
fn groups() -> Result<Groups> {
    let spare = GroupSpec::limit(1);
    let (message, tenant) = (GroupSpec::limit(1).hold(), GroupSpec::limit(3).shared());
    Ok(Groups::of([("message", message), ("tenant", tenant), (SPARE, spare)])?)
}

fn task(number: u16) -> Result<NewTask> {
    let (command, message) = (WITH_KEYS[usize::from(number % 2)], format!("m{}", number % 3));
    let rooms = vec![
        Room { name: format!("{command}.{message}"), limit: 1, hold: true },
        Room { name: "acme".to_owned(), limit: 3, hold: false },
    ];
    let (errors, slows) = (u16::from(number.is_multiple_of(4)), Some("tenant".to_owned()));
    let keys = Keys::of([("message", message.as_str()), ("tenant", "acme"), (SPARE, "any")])?;
    WithKeys { rooms, errors, slows, ..WithKeys::default() }.task(command, keys)
}

async fn die_at(kind: Kind, point: &'static str) -> Result<()> {
    let bed = Bed::new(kind).await?;
    let store = bed.open().await?;
    let command = |name: &str| anyhow::Ok(Command { groups: Some(groups()?), ..command_with_keys(name)? });
    store.register(&[command(WITH_KEYS[0])?, command(WITH_KEYS[1])?]).await?;
    let tasks = (0..TASKS).map(task).collect::<Result<Vec<_>>>()?;
    let answered = made(&store.enqueue(&tasks).await?)?;
    let orders = Orders { capacity: 4, with_keys: true, ..worker(&bed) };
    let deaths = tokio::task::spawn_blocking(move || -> Result<_> {
        // Someone dies with slots in hand, so that there is something to recover.
        start_doomed("the first victim", &orders, "handler.before:2")?.wait_abort(PATIENCE)?;
        let mode = if is_of_an_operator(point) { Mode::Regroup } else { Mode::Work };
        let second = Orders { mode, ..orders.clone() };
        start_doomed("the second victim", &second, point)?.wait_abort(PATIENCE)?;
        start("the survivor", &orders)
    });
    let survivor = deaths.await??;
    wait_drained(&*store, PATIENCE).await?;
    drop(survivor);
    assert_limits(&*store, &answered, &ledger(&bed), &BTreeSet::new()).await.map(drop)
}

fn is_of_an_operator(point: &str) -> bool {
    point.starts_with("set_group") || point.starts_with("remove_group")
}

async fn walk(kind: Kind) -> Result<()> {
    let turns = Arc::new(Semaphore::new(SIDE_BY_SIDE));
    let mut walks = JoinSet::new();
    for point in DEATHS.iter().chain(GROUP_POINTS) {
        let turns = Arc::clone(&turns);
        walks.spawn(async move {
            let _turn = turns.acquire_owned().await?;
            die_at(kind, point).await.with_context(|| format!("at the crash point {point} on {kind:?}"))
        });
    }
    walks.join_all().await.into_iter().collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_death_at_any_commit_that_takes_or_frees_slots_leaks_none_on_sqlite() -> Result<()> {
    walk(Kind::Sqlite).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_death_at_any_commit_that_takes_or_frees_slots_leaks_none_on_postgres() -> Result<()> {
    walk(Kind::Postgres).await
}
