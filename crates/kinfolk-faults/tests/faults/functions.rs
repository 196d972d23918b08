//! Handlers that are functions in PostgreSQL, and workers killed with -9 while they run: what a function did and that its
//! task is done are one, so every effect is there exactly once.

use std::time::Duration;

use anyhow::{Result, ensure};
use kinfolk_core::{CommandName, Json, NewTask, State};
use kinfolk_faults::bed::{Bed, Kind};
use kinfolk_faults::sound::{all_tasks, assert_unbroken, wait_drained};
use kinfolk_faults::victim::{Orders, made};

use crate::families::Fleet;
use crate::kill_loop::{losses, wait_running};
use crate::{Chance, PATIENCE, worker};

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

#[tokio::test(flavor = "multi_thread")]
async fn workers_killed_while_functions_run_leave_every_effect_exactly_once() -> Result<()> {
    const ROUNDS: u64 = 15;
    const PARENTS_A_ROUND: u64 = 12;
    let bed = Bed::new(Kind::Postgres).await?;
    let store = bed.open().await?;
    let plain = bed.plain().await?;
    plain.batch_execute(FUNCTIONS).await?;
    let mut chance = Chance::new();
    let mut fleet = Fleet::start(&bed, Orders { capacity: 8, functions: true, ..worker(&bed) }, 3)?;
    let mut answered = Vec::new();
    for round in 0..ROUNDS {
        let numbers = (0..PARENTS_A_ROUND).map(|nth| 3 * (round * PARENTS_A_ROUND + nth));
        let task =
            |nth| Ok(NewTask::new(CommandName::new("leave_traces")?, Json::parse(&format!("{{\"nth\":{nth}}}"))?));
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
    let all = i64::try_from(tasks.len())?;
    ensure!(found == [all, all, 0, all - 1], "effects in all, different ones, first, last: {found:?} of {all}");
    assert_unbroken(&*store).await
}
