//! Handlers that are functions in PostgreSQL, and workers killed with -9, or servers that go away, while they run: what a
//! function did and that its task is done are one, so every effect is there exactly once, and no task fails for the outage.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use kinfolk::Kinfolk;
use kinfolk_core::{CommandName, Inspect as _, Json, NewTask, Operate as _, Produce as _, State};
use kinfolk_faults::bed::{Bed, Kind, open_pooled};
use kinfolk_faults::sound::{all_tasks, assert_unbroken, wait_drained};
use kinfolk_faults::victim::{Orders, made};
use kinfolk_postgres::PgOptions;
use kinfolk_runner::SqlCommands;
use kinfolk_testkit::{Bouncer, Cluster, Stop, Tools, signal};
use tokio_postgres::Client;

use crate::families::Fleet;
use crate::kill_loop::{losses, wait_many_running, wait_running};
use crate::{Chance, PATIENCE, start, worker};

/// Two functions that leave a trace, one of them a parent of two of the other.
const FUNCTIONS: &str = "
    create table public.trace (nth bigint not null);
    create function public.leave_trace(p jsonb) returns jsonb language plpgsql as $$
    begin
        insert into public.trace (nth) values ((p ->> 'nth')::bigint);
        perform pg_sleep(0.01);
        return p;
    end $$;
    create function public.leave_traces(p jsonb) returns void language plpgsql as $$
    begin
        insert into public.trace (nth) values ((p ->> 'nth')::bigint);
        perform kinfolk.spawn('leave_trace', jsonb_build_object('nth', (p ->> 'nth')::bigint + 1));
        perform kinfolk.spawn('leave_trace', jsonb_build_object('nth', (p ->> 'nth')::bigint + 2));
        perform pg_sleep(0.01);
    end $$;
    select kinfolk.register_command('leave_trace', handler => 'public.leave_trace');
    select kinfolk.register_command('leave_traces', handler => 'public.leave_traces');
";

/// A function that leaves a trace and fans out to two that do, and one that goes on and leaves the fourth.
const FAN_OUTS: &str = "
    create function public.gather(p jsonb) returns jsonb language plpgsql as $$
    begin
        insert into public.trace (nth) values ((p ->> 'nth')::bigint);
        perform kinfolk.fan_out(
            (select jsonb_agg(jsonb_build_object('command', 'leave_trace', 'payload',
                jsonb_build_object('nth', (p ->> 'nth')::bigint + n))) from generate_series(1, 2) n),
            and_then => 'public.gathered');
        perform pg_sleep(0.01);
        return p;
    end $$;
    create function public.gathered(told jsonb) returns void language plpgsql as $$
    begin
        assert told -> 'returned' = told -> 'payload' and jsonb_array_length(told -> 'results') = 2;
        insert into public.trace (nth) values ((told -> 'payload' ->> 'nth')::bigint + 3);
        perform pg_sleep(0.01);
    end $$;
    select kinfolk.register_command('gather', handler => 'public.gather');
";

#[tokio::test(flavor = "multi_thread")]
async fn workers_killed_while_functions_run_leave_every_effect_exactly_once() -> Result<()> {
    exactly_once("leave_traces", 3).await
}

#[tokio::test(flavor = "multi_thread")]
async fn workers_killed_between_the_steps_of_functions_that_fan_out_leave_every_effect_exactly_once() -> Result<()> {
    exactly_once("gather", 4).await
}

/// Families of three tasks that leave so many traces each, and workers that are killed meanwhile.
async fn exactly_once(command: &str, traces: u64) -> Result<()> {
    const ROUNDS: u64 = 15;
    const PARENTS_A_ROUND: u64 = 12;
    let bed = Bed::new(Kind::Postgres).await?;
    let store = bed.open().await?;
    let plain = bed.plain().await?;
    plain.batch_execute(FUNCTIONS).await?;
    plain.batch_execute(FAN_OUTS).await?;
    let mut chance = Chance::new();
    let mut fleet = Fleet::start(&bed, Orders { capacity: 8, functions: true, ..worker(&bed) }, 3)?;
    let mut answered = Vec::new();
    for round in 0..ROUNDS {
        let numbers = (0..PARENTS_A_ROUND).map(|nth| traces * (round * PARENTS_A_ROUND + nth));
        let task = |nth| Ok(NewTask::new(CommandName::new(command)?, Json::parse(&format!("{{\"nth\":{nth}}}"))?));
        let tasks = numbers.map(task).collect::<Result<Vec<_>>>()?;
        answered.extend(made(&store.enqueue(&tasks).await?)?);
        wait_running(&*store).await?;
        tokio::time::sleep(Duration::from_millis(chance.below(40))).await;
        fleet.replace(&mut chance)?;
    }
    wait_drained(&*store, PATIENCE).await?;
    fleet.stop()?;
    let tasks = all_tasks(&*store).await?;
    ensure!(tasks.len() == 3 * answered.len(), "{} tasks of {} parents", tasks.len(), answered.len());
    ensure!(losses(&*store, tasks.keys()).await? > ROUNDS / 5, "hardly a task was lost: the kills hit nobody at work");
    let undone = tasks.values().find(|task| task.state != State::Completed);
    ensure!(undone.is_none(), "not completed: {undone:#?}");
    let sql = "select count(*), count(distinct nth), min(nth), max(nth) from public.trace";
    let row = plain.query_one(sql, &[]).await?;
    let found: [i64; 4] = [row.get(0), row.get(1), row.get(2), row.get(3)];
    let all = i64::try_from(traces * ROUNDS * PARENTS_A_ROUND)?;
    ensure!(found == [all, all, 0, all - 1], "effects in all, different ones, first, last: {found:?} of {all}");
    assert_unbroken(&*store).await
}

/// A handler that leaves a trace at once and ends a while later, and is tried once.
const ONE_TRY: &str = "
    create table public.trace (nth bigint not null);
    create function public.trace_slowly(p jsonb) returns void language plpgsql as $$
    begin
        insert into public.trace (nth) values ((p ->> 'nth')::bigint);
        perform pg_sleep(0.1);
    end $$;
    select kinfolk.register_command('trace_slowly', handler => 'public.trace_slowly', max_attempts => 1);
";

/// What becomes of the server.
#[derive(Clone, Copy)]
enum Outage {
    Stopped(Stop),
    /// The session of a neighbour dies, and the server ends all others with it.
    Crashed,
}

impl Outage {
    async fn happen(self, cluster: &Cluster, bed: &Bed) -> Result<()> {
        match self {
            Self::Stopped(how) => {
                cluster.stop(how)?;
                cluster.start()
            }
            Self::Crashed => {
                let neighbour = reach(bed).await?;
                let pid: i32 = neighbour.query_one("select pg_backend_pid()", &[]).await?.get(0);
                signal("KILL", u32::try_from(pid)?)?;
                until(|| async { Ok(neighbour.is_closed()) }).await
            }
        }
    }
}

/// Tasks that are tried once, and a server that goes away again and again while they run: none fails, none is done twice.
async fn none_fails(outage: Outage) -> Result<()> {
    const TASKS: u64 = 60;
    const OUTAGES: usize = 3;
    let cluster = Cluster::new(&Tools::need()?, "")?;
    let bed = Bed::database_in(&cluster.url("postgres")).await?;
    let store = bed.open().await?;
    bed.plain().await?.batch_execute(ONE_TRY).await?;
    let orders = Orders { capacity: 4, lease_ms: 3_000, functions: true, ..worker(&bed) };
    let mut process = start("a worker", &orders)?;
    process.wait_line("ready", PATIENCE)?;
    let task = |nth| Ok(NewTask::new(CommandName::new("trace_slowly")?, Json::parse(&format!("{{\"nth\":{nth}}}"))?));
    let tasks = (0..TASKS).map(task).collect::<Result<Vec<_>>>()?;
    made(&store.enqueue(&tasks).await?)?;
    for _ in 0..OUTAGES {
        until(|| async { Ok(wait_many_running(&*store, 4).await.is_ok()) }).await?;
        outage.happen(&cluster, &bed).await?;
        until(|| async { Ok(store.now().await.is_ok()) }).await?;
    }
    until(|| async { Ok(wait_drained(&*store, PATIENCE).await.is_ok()) }).await?;
    ensure!(!process.ended()?, "the worker did not survive: {:#?}", process.lines());
    let cut = process.lines().iter().any(|line| line.starts_with("event trouble handler"));
    ensure!(cut, "no handler was cut off: the test proves nothing");
    drop(process);
    let tasks = all_tasks(&*store).await?;
    let undone = tasks.values().find(|task| task.state != State::Completed);
    ensure!(undone.is_none(), "not completed: {undone:#?}");
    let plain = reach(&bed).await?;
    let row = plain.query_one("select count(*), count(distinct nth) from public.trace", &[]).await?;
    let (all, different): (i64, i64) = (row.get(0), row.get(1));
    ensure!((all, different) == (60, 60), "{all} effects, {different} different ones, of {TASKS} tasks");
    assert_unbroken(&*store).await
}

/// A connection, when the server is there again.
async fn reach(bed: &Bed) -> Result<Client> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        match bed.plain().await {
            Ok(client) => return Ok(client),
            Err(fault) => ensure!(Instant::now() < deadline, "the server stays away: {fault:#}"),
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// Asks until the answer is yes; errors of the database are none.
async fn until<F: Future<Output = Result<bool>>>(ask: impl Fn() -> F) -> Result<()> {
    let deadline = Instant::now() + PATIENCE;
    while !ask().await? {
        ensure!(Instant::now() < deadline, "waited in vain");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_restarted_in_order_fails_no_function_that_it_cut_off() -> Result<()> {
    none_fails(Outage::Stopped(Stop::Fast)).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_restarted_as_in_a_crash_fails_no_function_that_it_cut_off() -> Result<()> {
    none_fails(Outage::Stopped(Stop::Immediate)).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_neighbour_that_crashes_the_server_fails_no_function() -> Result<()> {
    none_fails(Outage::Crashed).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_function_is_stopped_at_once_behind_a_transaction_pooler_too() -> Result<()> {
    let bed = Bed::new(Kind::Postgres).await?;
    let sleeper = "create function public.sleeper(p jsonb) returns void language sql as $$ select pg_sleep(600) $$;
        select kinfolk.register_command('sleeper', handler => 'public.sleeper')";
    bed.plain().await?.batch_execute(sleeper).await?;
    let bouncer = Bouncer::new(bed.port()?)?;
    let url = bouncer.url(bed.url().rsplit('/').next().unwrap_or_default());
    let store = Arc::new(open_pooled(&url).await?);
    let options = PgOptions { prepared: false, notify: false, pool_size: 2, ..PgOptions::default() };
    let commands = SqlCommands::open_with(&url, &options, kinfolk_runner::Providers::default())?;
    let kinfolk = Kinfolk::new(store.clone());
    // Beyond the patience of this test.
    let builder =
        kinfolk.worker().queue("default", 2).heartbeat(Duration::from_secs(1)).grace(Duration::from_secs(600));
    let running = builder.commands_from(commands).start().await?;
    let task = made(&store.enqueue(&[NewTask::new(CommandName::new("sleeper")?, Json::object())]).await?)?[0];
    let asleep =
        "select count(*) > 0 from pg_stat_activity where wait_event = 'PgSleep' and datname = current_database()";
    let plain = bed.plain().await?;
    until(|| async { Ok(plain.query_one(asleep, &[]).await?.get(0)) }).await?;
    store.cancel(task).await?;
    until(|| async { Ok(store.task(task).await?.is_some_and(|task| task.state == State::Cancelled)) }).await?;
    until(|| async { Ok(!plain.query_one(asleep, &[]).await?.get::<_, bool>(0)) }).await?;
    running.kill().await?;
    assert_unbroken(&*store).await
}
