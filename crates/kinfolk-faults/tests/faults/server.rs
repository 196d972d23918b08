//! Trouble with the PostgreSQL server: restarted as in a crash, connections cut, read-only, other isolation levels, behind a
//! transaction pooler.

use std::collections::{BTreeSet, HashMap};
use std::time::Duration;

use anyhow::{Result, ensure};
use kinfolk_core::{Advice, ChildOrder, Command, CommandName, State, Store, StoreError, TaskId};
use kinfolk_core::{GroupName, GroupSpec, Groups, Keys};
use kinfolk_faults::bed::{Bed, Kind, open_pooled};
use kinfolk_faults::families::assert_whole;
use kinfolk_faults::journal;
use kinfolk_faults::ledger::{Ledger, TABLE};
use kinfolk_faults::sound::{all_tasks, assert_sound, wait_drained};
use kinfolk_faults::victim::{EFFECT, FAMILY, FollowUp, NOTE, Orders, Plan, both, made, tasks};
use kinfolk_faults::victim::{Room, WITH_KEYS, WithKeys, command_with_keys};
use kinfolk_faults::with_keys::assert_limits;
use kinfolk_testkit::{Bouncer, Cluster, Stop, Tools, signal};
use tokio::task::JoinSet;

use crate::families::{Fleet, Shapes};
use crate::kill_loop::wait_many_running;
use crate::{PATIENCE, journal, ledger, start, worker};

/// Makes the victims' commands known, and the table that one of them writes to.
pub(crate) async fn prepare(bed: &Bed, store: &dyn Store) -> Result<()> {
    bed.plain().await?.batch_execute(TABLE).await?;
    store.register(&[Command::new(CommandName::new(NOTE)?), Command::new(CommandName::new(EFFECT)?)]).await?;
    Ok(())
}

/// Enqueues, and lets trouble with the connection pass. What was not answered may or may not be there.
pub(crate) async fn enqueue_some(store: &dyn Store, answered: &mut Vec<TaskId>) -> Result<()> {
    match store.enqueue(&both(10)?).await {
        Ok(answers) => answered.extend(made(&answers)?),
        Err(fault) => ensure!(fault.advice() == Advice::Retry, "not a matter of waiting: {fault}"),
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_restarted_as_in_a_crash_loses_and_doubles_nothing() -> Result<()> {
    const RESTARTS: usize = 5;
    let cluster = Cluster::new(&Tools::need()?, "")?;
    let bed = Bed::database_in(&cluster.url("postgres")).await?;
    let store = bed.open().await?;
    prepare(&bed, &*store).await?;
    let orders = Orders { lease_ms: 3_000, ..worker(&bed) };
    let mut fleet = [start("a worker", &orders)?, start("a worker", &orders)?];
    for process in &mut fleet {
        process.wait_line("ready", PATIENCE)?;
    }
    let mut answered = Vec::new();
    for restart in 0..RESTARTS {
        for _ in 0..10 {
            enqueue_some(&*store, &mut answered).await?;
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        cluster.stop(Stop::Immediate)?;
        if restart == 2 {
            // Once it stays away for longer than any lease.
            tokio::time::sleep(Duration::from_millis(orders.lease_ms * 3 / 2)).await;
        }
        cluster.start()?;
    }
    ensure!(!answered.is_empty(), "nothing was enqueued between the restarts");
    wait_drained(&*store, PATIENCE).await?;
    for process in &mut fleet {
        ensure!(!process.ended()?, "a worker did not survive the restarts: {:#?}", process.lines());
        ensure!(
            process.lines().iter().any(|line| line.starts_with("event trouble")),
            "a worker noticed no restart: the test proves nothing"
        );
    }
    drop(fleet);
    cluster.assert_no_deadlock()?;
    let open = all_tasks(&*store).await?.into_values().find(|task| task.state != State::Completed);
    ensure!(open.is_none(), "a restart of the server is no fault of a task: {open:#?}");
    assert_sound(&*store, &answered, &Ledger::of_both(&ledger(&bed), &bed.plain().await?).await?).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_restarted_as_in_a_crash_leaves_every_family_whole() -> Result<()> {
    const RESTARTS: usize = 4;
    let cluster = Cluster::new(&Tools::need()?, "")?;
    let bed = Bed::database_in(&cluster.url("postgres")).await?;
    let store = bed.open().await?;
    let mut shapes = Shapes::new();
    let orders = Orders { lease_ms: 3_000, work_ms: 10, ..worker(&bed) };
    let fleet = Fleet::start(&bed, orders, 2)?;
    let mut answered = Vec::new();
    for _ in 0..RESTARTS {
        for _ in 0..5 {
            let roots = (0..6).map(|_| shapes.next().task()).collect::<Result<Vec<_>>>()?;
            match store.enqueue(&roots).await {
                Ok(answers) => answered.extend(made(&answers)?),
                Err(fault) => ensure!(fault.advice() == Advice::Retry, "not a matter of waiting: {fault}"),
            }
            tokio::time::sleep(Duration::from_millis(shapes.chance.below(20))).await;
        }
        cluster.stop(Stop::Immediate)?;
        cluster.start()?;
    }
    ensure!(!answered.is_empty(), "nothing was enqueued between the restarts");
    wait_drained(&*store, PATIENCE).await?;
    ensure!(fleet.has_had_trouble(), "a worker noticed no restart: the test proves nothing");
    fleet.stop()?;
    cluster.assert_no_deadlock()?;
    assert_whole(&*store, &answered, &journal::read(&journal(&bed))?).await
}

/// A claim of so many is not waited for by the disk while it holds the admission locks, but flushed behind them.
const MANY: u64 = 50;

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_crashes_behind_a_claim_lets_no_key_past_its_limit() -> Result<()> {
    let cluster = Cluster::new(&Tools::need()?, "")?;
    let bed = Bed::database_in(&cluster.url("postgres")).await?;
    let store = bed.open().await?;
    let (group, limit) = (GroupName::new("wall")?, 90);
    let groups = Some(Groups::default().and(group.clone(), GroupSpec::limit(limit)));
    store.register(&[Command { groups, ..command_with_keys(WITH_KEYS[0])? }]).await?;
    let task = || {
        let rooms = vec![Room { name: "wall".to_owned(), limit, hold: false }];
        WithKeys { rooms, errors: 0, snoozes: false, blocks: false, slows: None }
            .task(WITH_KEYS[0], Keys::new().and(group.clone(), "k"))
    };
    let orders = Orders { lease_ms: 30_000, work_ms: 3_000, capacity: 100, with_keys: true, ..worker(&bed) };
    let mut fleet = [start("a worker", &orders)?, start("a worker", &orders)?];
    for process in &mut fleet {
        process.wait_line("ready", PATIENCE)?;
    }
    // Who writes down what nobody waits for is stopped, so that it is lost when the server goes down with him.
    let writer = "select pid from pg_stat_activity where backend_type = 'walwriter'";
    let writer = u32::try_from(bed.plain().await?.query_one(writer, &[]).await?.get::<_, i32>(0))?;
    signal("STOP", writer)?;
    let answered = made(&store.enqueue(&(0..200).map(|_| task()).collect::<Result<Vec<_>>>()?).await?)?;
    wait_many_running(&*store, MANY).await?;
    signal("KILL", writer)?;
    cluster.stop(Stop::Immediate)?;
    cluster.start()?;
    wait_drained(&*store, PATIENCE).await?;
    drop(fleet);
    cluster.assert_no_deadlock()?;
    let mut claims = HashMap::new();
    for task in all_tasks(&*store).await?.into_values() {
        *claims.entry(task.started_at).or_insert(0) += 1;
    }
    ensure!(claims.into_values().max() >= Some(MANY), "no claim took as many as are flushed behind the locks");
    assert_limits(&*store, &answered, &ledger(&bed), &BTreeSet::new()).await.map(drop)
}

#[tokio::test(flavor = "multi_thread")]
async fn connections_that_are_terminated_under_load_lose_and_double_nothing() -> Result<()> {
    let bed = Bed::new(Kind::Postgres).await?;
    let store = bed.open().await?;
    prepare(&bed, &*store).await?;
    let admin = bed.plain().await?;
    let mut victim = start("the worker", &worker(&bed))?;
    victim.wait_line("ready", PATIENCE)?;
    let mut answered = Vec::new();
    let mut cut = 0;
    for _ in 0..30 {
        enqueue_some(&*store, &mut answered).await?;
        let sql = "select count(*) filter (where pg_terminate_backend(pid)) from pg_stat_activity
            where datname = current_database() and pid <> pg_backend_pid()";
        cut += admin.query_one(sql, &[]).await?.get::<_, i64>(0);
        tokio::time::sleep(Duration::from_millis(30)).await;
    }
    ensure!(cut > 30, "only {cut} connections were cut");
    wait_drained(&*store, PATIENCE).await?;
    drop(victim);
    assert_sound(&*store, &answered, &Ledger::of_both(&ledger(&bed), &admin).await?).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_set_read_only_gives_the_typed_error_and_works_again_afterwards() -> Result<()> {
    let bed = Bed::new(Kind::Postgres).await?;
    let store = bed.open().await?;
    prepare(&bed, &*store).await?;
    set_default(&bed, "default_transaction_read_only", "on").await?;
    let fault = bed.open().await?.enqueue(&tasks(NOTE, 1)?).await.err();
    ensure!(matches!(fault, Some(StoreError::ReadOnly { .. })), "not the typed error: {fault:?}");
    set_default(&bed, "default_transaction_read_only", "off").await?;
    made(&bed.open().await?.enqueue(&tasks(NOTE, 1)?).await?)?;
    ensure!(all_tasks(&*store).await?.len() == 1, "the refused enqueue left something behind");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn stricter_default_isolation_levels_change_nothing() -> Result<()> {
    for level in ["repeatable read", "serializable"] {
        let bed = Bed::new(Kind::Postgres).await?;
        prepare(&bed, &*bed.open().await?).await?;
        set_default(&bed, "default_transaction_isolation", level).await?;
        let store = bed.open().await?;
        drain(&bed, &*store, &[worker(&bed), worker(&bed)]).await?;
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_behind_a_transaction_pooler_drains() -> Result<()> {
    let bed = Bed::new(Kind::Postgres).await?;
    prepare(&bed, &*bed.open().await?).await?;
    let bouncer = Bouncer::new(bed.port()?)?;
    let name = bed.url().rsplit('/').next().unwrap_or_default();
    let url = bouncer.url(name);
    let store = open_pooled(&url).await?;
    let orders = Orders { url, pooled: true, ..worker(&bed) };
    drain(&bed, &store, &[orders.clone(), orders]).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_behind_a_transaction_pooler_drains_whatever_the_default_isolation_level_is() -> Result<()> {
    let bed = Bed::new(Kind::Postgres).await?;
    prepare(&bed, &*bed.open().await?).await?;
    set_default(&bed, "default_transaction_isolation", "repeatable read").await?;
    let bouncer = Bouncer::new(bed.port()?)?;
    let url = bouncer.url(bed.url().rsplit('/').next().unwrap_or_default());
    let store = open_pooled(&url).await?;
    let orders = Orders { url, pooled: true, ..worker(&bed) };
    drain(&bed, &store, &[orders.clone(), orders]).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_transaction_pooler_that_nobody_told_us_of_is_a_clear_error() -> Result<()> {
    let bed = Bed::new(Kind::Postgres).await?;
    prepare(&bed, &*bed.open().await?).await?;
    let bouncer = Bouncer::new(bed.port()?)?;
    let url = bouncer.url(bed.url().rsplit('/').next().unwrap_or_default());
    // As if it were a plain server: statements prepared on one connection are looked for on another.
    let mut calls = JoinSet::new();
    for _ in 0..20 {
        let url = url.clone();
        calls.spawn(async move {
            let store = kinfolk::open(&url).await?;
            for _ in 0..10 {
                store.enqueue(&tasks(NOTE, 1)?).await?;
            }
            Ok::<_, anyhow::Error>(())
        });
    }
    let faults: Vec<_> = calls.join_all().await.into_iter().filter_map(Result::err).collect();
    ensure!(!faults.is_empty(), "twenty clients of a pooler did not get in each other's way: the test proves nothing");
    for fault in faults {
        ensure!(fault.to_string().contains("--pooler"), "the error does not say what to do: {fault}");
    }
    Ok(())
}

/// Two workers drain tasks of both commands and families; all is sound afterwards.
async fn drain(bed: &Bed, store: &dyn Store, orders: &[Orders]) -> Result<()> {
    let mut fleet = orders.iter().map(|orders| start("a worker", orders)).collect::<Result<Vec<_>>>()?;
    for process in &mut fleet {
        process.wait_line("ready", PATIENCE)?;
    }
    let mut answered = Vec::new();
    let mut roots = Vec::new();
    for round in 0..10 {
        answered.extend(made(&store.enqueue(&both(30)?).await?)?);
        let mut plan = Plan { order: ChildOrder::InOrder, ..Plan::wide(&format!("family{round}"), 3) };
        plan.children[0] = Plan::wide(&plan.children[0].name, 5);
        let after = Plan::named(format!("after{round}"));
        plan.follow_ups.push(FollowUp { plan: after, when_completed: true, key: None });
        roots.extend(made(&store.enqueue(&[plan.task()?]).await?)?);
    }
    wait_drained(store, PATIENCE).await?;
    for process in &mut fleet {
        process.signal("TERM")?;
        process.wait_line("end", PATIENCE)?;
    }
    let plain = all_tasks(store).await?.into_values().filter(|task| task.command.as_str() != FAMILY);
    ensure!(plain.count() == answered.len(), "more or fewer tasks than were enqueued");
    assert_whole(store, &roots, &journal::read(&journal(bed))?).await?;
    assert_sound(store, &answered, &Ledger::of_both(&ledger(bed), &bed.plain().await?).await?).await
}

/// Sets a default of the database, for connections made from now on.
async fn set_default(bed: &Bed, setting: &str, value: &str) -> Result<()> {
    let name = bed.url().rsplit('/').next().unwrap_or_default();
    let admin = kinfolk_faults::bed::connect(&kinfolk_faults::bed::cluster_url()?).await?;
    admin.batch_execute(&format!("alter database {name} set {setting} = '{value}'")).await?;
    Ok(())
}
