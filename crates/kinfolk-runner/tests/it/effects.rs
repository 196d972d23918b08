//! An attempt that is over has no effect any more.

use std::time::Duration;

use kinfolk::State;

use crate::lab::Lab;

/// Backends of handlers that run a statement at this moment.
const BUSY: &str = "select count(*)::text from pg_stat_activity
    where application_name = 'kinfolk handler' and state <> 'idle' and datname = current_database()";

#[tokio::test]
async fn a_cancelled_handler_is_stopped_in_the_database_too() {
    let lab = Lab::new(
        "create function app.sleep(p jsonb) returns void language sql as $$
             insert into app.note (what) values ('never'); select pg_sleep(60) $$;
         select kinfolk.register_command('sleep', handler => 'app.sleep')",
    )
    .await;
    let worker = lab.builder().grace(Duration::from_millis(50)).start().await.unwrap();
    let id = lab.enqueue("sleep", "{}").await;
    lab.until(BUSY, "1").await;
    lab.kinfolk.cancel(id).await.unwrap();
    assert_eq!(lab.ended(id).await.state, State::Cancelled);
    lab.until(BUSY, "0").await;
    assert_eq!(lab.notes().await, Vec::<String>::new());
    lab.close(worker).await;
}

#[tokio::test]
async fn the_next_attempt_starts_only_when_the_last_one_is_gone() {
    let lab = Lab::new(
        "create function app.alone(p jsonb) returns void language plpgsql as $$ begin
             perform pg_advisory_xact_lock(77);
             insert into app.note (what) values ('done');
         end $$;
         select kinfolk.register_command('alone', handler => 'app.alone', timeout => '200 ms', backoff_base => '0')",
    )
    .await;
    let (blocker, connection) = tokio_postgres::connect(&lab.database.url, tokio_postgres::NoTls).await.unwrap();
    let connection = tokio::spawn(connection);
    blocker.batch_execute("select pg_advisory_lock(77)").await.unwrap();
    let worker = lab.worker().await;
    let id = lab.enqueue("alone", "{}").await;
    lab.task_that(id, |task| task.attempt >= 2).await;
    let inside =
        "select (count(*) <= 1)::text from pg_locks where locktype = 'advisory' and objid = 77 and not granted";
    assert_eq!(lab.database.texts(inside).await, ["true"]);
    drop(blocker);
    let _ = connection.await;
    assert_eq!(lab.ended(id).await.state, State::Completed);
    assert_eq!(lab.notes().await, ["done"]);
    lab.close(worker).await;
}

#[tokio::test]
async fn recovery_leaves_a_task_alone_while_its_handler_is_still_at_work() {
    let lab = Lab::new(
        "create function app.ok(p jsonb) returns void language sql as $$ select $$;
         select kinfolk.register_command('ok', handler => 'app.ok')",
    )
    .await;
    let id = lab.enqueue("ok", "{}").await;
    // A worker whose lease is over, and whose handler still has its transaction open.
    let (ghost, connection) = tokio_postgres::connect(&lab.database.url, tokio_postgres::NoTls).await.unwrap();
    let connection = tokio::spawn(connection);
    let lost = "00000000-0000-0000-0000-00000000dead";
    let token = "00000000-0000-0000-0000-0000000000aa";
    let claim = format!(
        "select kinfolk.register_worker('{lost}', 'ghost', '{{default}}', '{{ok}}', 1000000);
         select kinfolk.claim('{lost}', '{token}', 'default', '{{ok}}', 1);
         update kinfolk.worker set lease_until = clock_timestamp() - interval '1 minute'"
    );
    ghost.batch_execute(&claim).await.unwrap();
    ghost.batch_execute(&format!("begin; select kinfolk.begin_handling({id}, '{token}')")).await.unwrap();
    let worker =
        lab.builder().lease(Duration::from_secs(3)).heartbeat(Duration::from_millis(200)).start().await.unwrap();
    let judge = worker.id().unwrap();
    lab.until(
        &format!(
            "select (clock_timestamp() - steady_since > interval '3.5 seconds')::text from kinfolk.worker where id = '{judge}'"
        ),
        "true",
    )
    .await;
    lab.kinfolk.store().recover(judge).await.unwrap();
    assert_eq!(lab.task(id).await.state, State::Running, "its handler may still be at work");
    drop(ghost);
    let _ = connection.await;
    assert_eq!(lab.ended(id).await.state, State::Completed);
    lab.close(worker).await;
}

#[tokio::test]
async fn effects_happen_exactly_once_though_connections_are_cut_again_and_again() {
    let lab = Lab::new(
        "create function app.once(p jsonb) returns void language plpgsql as $$ begin
             insert into app.note (what) values (kinfolk.current_task()::text);
             perform pg_sleep(0.02);
         end $$;
         select kinfolk.register_command('once', handler => 'app.once', backoff_base => '0', max_attempts => 1000);
         select count(kinfolk.enqueue('once')) from generate_series(1, 100)",
    )
    .await;
    let worker = lab.worker().await;
    let mut cuts = 0;
    // A task that is cut off again and again is put off for longer each time: this has to end.
    while cuts < 60
        && lab.database.texts("select count(*)::text from kinfolk.tasks where state <> 'completed'").await != ["0"]
    {
        let cut = "select count(pg_terminate_backend(pid))::text from pg_stat_activity
            where application_name = 'kinfolk handler' and state = 'active' and datname = current_database()";
        cuts += lab.database.texts(cut).await[0].parse::<u32>().unwrap();
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert!(cuts > 0, "nothing was cut");
    lab.until("select count(*)::text from kinfolk.tasks where state <> 'completed'", "0").await;
    let once = "select (count(*) = 100 and count(distinct what) = 100)::text from app.note";
    assert_eq!(lab.database.texts(once).await, ["true"]);
    let endings = "select distinct ending::text from kinfolk.attempt where ending <> 'completed' order by 1";
    assert!(lab.database.texts(endings).await.iter().all(|ending| ending == "released" || ending == "snoozed"));
    lab.close(worker).await;
}

/// What a handler that sleeps for a minute is registered as: each way of running one.
const SLEEPERS: &str = "
    create function app.sleep(p jsonb) returns void language sql as $$
        insert into app.note (what) values ('never'); select pg_sleep(60) $$;
    create procedure app.doze(p jsonb) language plpgsql as $$ begin
        perform pg_sleep(60); insert into app.note (what) values ('never'); end $$;
    select kinfolk.register_command('function', handler => 'app.sleep'),
        kinfolk.register_command('bounded', handler => 'app.sleep', statement_timeout => '1 hour'),
        kinfolk.register_command('procedure', handler => 'app.doze'),
        kinfolk.register_command('before', handler => 'app.doze', before => 'app.sleep')";

#[tokio::test]
async fn a_cancelled_handler_is_stopped_at_once_and_not_after_the_grace() {
    let lab = Lab::new(SLEEPERS).await;
    // Longer than any test waits.
    let worker = lab.builder().grace(Duration::from_secs(600)).start().await.unwrap();
    for command in ["function", "bounded", "procedure", "before"] {
        let id = lab.enqueue(command, "{}").await;
        lab.until(BUSY, "1").await;
        lab.kinfolk.cancel(id).await.unwrap();
        let task = lab.ended(id).await;
        assert_eq!((task.state, task.failure.unwrap().kind), (State::Cancelled, kinfolk::FailureKind::Cancelled));
        lab.until(BUSY, "0").await;
    }
    assert_eq!(lab.notes().await, Vec::<String>::new());
    lab.close(worker).await;
}

#[tokio::test]
async fn a_cancellation_that_comes_too_late_hits_no_other_task() {
    let lab = Lab::new(
        "create function app.nap(p jsonb) returns void language sql as $$
             select pg_sleep((p ->> 'ms')::float8 / 1000) $$;
         create procedure app.naps(p jsonb) language plpgsql as $$ begin
             perform pg_sleep((p ->> 'ms')::float8 / 1000); commit; perform pg_sleep(0.001); end $$;
         select kinfolk.register_command('nap', handler => 'app.nap', max_attempts => 1),
             kinfolk.register_command('naps', handler => 'app.naps', max_attempts => 1)",
    )
    .await;
    let worker = lab.worker().await;
    let (mut asked, mut others) = (Vec::new(), Vec::new());
    for round in 0..60 {
        let command = if round % 2 == 0 { "nap" } else { "naps" };
        let payload = format!(r#"{{"ms": {}}}"#, round % 7);
        let id = lab.enqueue(command, &payload).await;
        others.push(lab.enqueue(command, &payload).await);
        lab.task_that(id, |task| task.state != State::Pending).await;
        let asking = lab.kinfolk.cancel(id).await;
        assert!(matches!(asking, Ok(_) | Err(kinfolk::Error::WrongState { .. })), "{asking:?}");
        asked.push(id);
    }
    for id in asked {
        let state = lab.ended(id).await.state;
        assert!(matches!(state, State::Cancelled | State::Completed), "{state:?}");
    }
    for id in others {
        let task = lab.ended(id).await;
        assert_eq!(task.state, State::Completed, "{:?}", task.failure);
    }
    lab.close(worker).await;
}
