//! Hooks that are told how an attempt ended, and functions that a payload names.

use kinfolk::core::error_log::ErrorFilter;
use kinfolk::{CommandName, FailureKind, Json, NewTask, State};

use crate::lab::Lab;

const HANDLERS: &str = "
    create table app.told (what jsonb);
    create function app.work(p jsonb) returns jsonb language plpgsql as $$ begin
        if p ? 'fail' then
            return jsonb_build_object('success', false, 'error', p ->> 'fail');
        end if;
        return jsonb_build_object('success', true, 'payload', p -> 'n');
    end $$;
    create function app.tell(p jsonb) returns void language sql as $$ insert into app.told values (p) $$;
    create function app.refuse(p jsonb) returns void language plpgsql as $$ begin
        perform kinfolk.give_up('not to be told');
    end $$;
    select kinfolk.register_command('db_function', handler => 'db_function', max_attempts => 1);
    select kinfolk.register_command('work', handler => 'app.work', on_success => 'app.tell', on_error => 'app.tell',
        max_attempts => 3, backoff_base => '0', backoff_cap => '0')";

const TOLD: &str =
    "select (what - 'failure' - 'task' - 'run')::text from app.told order by what -> 'task', what -> 'attempt'";

#[tokio::test]
async fn each_ended_attempt_is_told_once_after_it() {
    let lab = Lab::new(HANDLERS).await;
    let worker = lab.worker().await;
    let good = lab.enqueue("work", r#"{"n": 7}"#).await;
    assert_eq!(lab.ended(good).await.state, State::Completed);
    let bad = lab.enqueue("work", r#"{"fail": "away"}"#).await;
    assert_eq!(lab.ended(bad).await.state, State::Failed);
    lab.until("select count(*)::text from app.told", "4").await;
    let told = lab.database.texts(TOLD).await;
    let success = r#"{"attempt": 1, "task_type": "db_function", "db_function": "app.tell", "worker_payload": 7, "original_payload": {"n": 7}}"#;
    assert_eq!(told[0], success);
    for (nth, told) in told[1..].iter().enumerate() {
        let error = format!(
            r#"{{"error": "away", "attempt": {}, "task_type": "db_function", "db_function": "app.tell", "original_payload": {{"fail": "away"}}}}"#,
            nth + 1
        );
        assert_eq!(*told, error);
    }
    lab.until("select count(*)::text from kinfolk.tasks where state in ('pending', 'running')", "0").await;
    assert_eq!(lab.database.texts("select count(*)::text from app.told").await, ["4"]);
    lab.close(worker).await;
}

/// A worker that takes a task and is never heard of again, and another one that takes care of what it held.
const LOSE: &str = "
    select kinfolk.register_worker(w, 'lost', '{default}', '{work}', 1000000) from (select gen_random_uuid() as w) g;
    select kinfolk.claim(w.id, gen_random_uuid(), 'default', '{work}', 1) from kinfolk.worker w where w.name = 'lost';
    update kinfolk.worker set lease_until = now() - interval '1 s' where name = 'lost';
    select kinfolk.register_worker(w, 'heir', '{default}', '{work}', 1000000) from (select gen_random_uuid() as w) g;
    update kinfolk.worker set steady_since = now() - interval '1 h', lease_until = now() + interval '1 h' where name = 'heir'";
const RECOVER: &str = "do $$ begin perform kinfolk.recover(w.id) from kinfolk.worker w where w.name = 'heir'; end $$";

#[tokio::test]
async fn a_lost_attempt_is_told_once_and_the_one_after_it_too() {
    let lab = Lab::new(HANDLERS).await;
    lab.enqueue("work", r#"{"n": 7}"#).await;
    lab.database.run(LOSE).await;
    for _ in 0..2 {
        lab.database.run(RECOVER).await;
    }
    lab.database.run("call kinfolk.process_tasks(until_idle => true)").await;
    let told = "select format('%s %s %s', what -> 'attempt', what -> 'run', coalesce(what #>> '{failure,kind}', 'well')) \
        from app.told order by what -> 'run'";
    assert_eq!(lab.database.texts(told).await, ["1 1 lost", "1 2 well"]);
}

#[tokio::test]
async fn a_cancelled_attempt_is_told_once_and_a_task_that_never_ran_is_not() {
    let lab = Lab::new(HANDLERS).await;
    let slow = "create function app.slow(p jsonb) returns void language sql as $$ select pg_sleep(600) $$;
        select kinfolk.register_command('slow', handler => 'app.slow', on_error => 'app.tell')";
    lab.database.run(slow).await;
    let later = lab.enqueue("slow", "{}").await;
    lab.kinfolk.cancel(later).await.unwrap();
    let worker = lab.worker().await;
    let task = lab.enqueue("slow", "{}").await;
    lab.task_that(task, |task| task.state == State::Running).await;
    lab.kinfolk.cancel(task).await.unwrap();
    assert_eq!(lab.ended(task).await.state, State::Cancelled);
    lab.until("select count(*)::text from kinfolk.tasks where state in ('pending', 'running')", "0").await;
    let told =
        lab.database.texts("select format('%s %s', what -> 'task', what #>> '{failure,kind}') from app.told").await;
    assert_eq!(told, [format!("{task} cancelled")]);
    lab.close(worker).await;
}

#[tokio::test]
async fn a_task_that_is_cancelled_and_lost_at_once_is_told_once() {
    let lab = Lab::new(HANDLERS).await;
    let task = lab.enqueue("work", r#"{"n": 7}"#).await;
    lab.database.run(LOSE).await;
    lab.kinfolk.cancel(task).await.unwrap();
    lab.database.run(RECOVER).await;
    assert_eq!(lab.task(task).await.state, State::Cancelled);
    lab.database.run("call kinfolk.process_tasks(until_idle => true)").await;
    assert_eq!(lab.database.texts("select what #>> '{failure,kind}' from app.told").await, ["lost"]);
}

#[tokio::test]
async fn a_hook_lives_and_dies_with_the_settle_that_it_tells_of() {
    let lab = Lab::new(HANDLERS).await;
    lab.enqueue("work", r#"{"n": 7}"#).await;
    // Rolled back: neither the end of the task nor the hook is there.
    lab.database.run("begin; call kinfolk.process_tasks(); rollback").await;
    assert_eq!(lab.database.texts("select count(*)::text from kinfolk.tasks").await, ["1"]);
    lab.database.run("call kinfolk.process_tasks()").await;
    assert_eq!(
        lab.database.texts("select count(*)::text from kinfolk.tasks where command = 'db_function'").await,
        ["1"]
    );
    lab.database.run("call kinfolk.process_tasks(until_idle => true)").await;
    assert_eq!(lab.database.texts("select count(*)::text from app.told").await, ["1"]);
}

#[tokio::test]
async fn a_hook_that_fails_is_a_failure_of_its_own() {
    let lab = Lab::new(HANDLERS).await;
    lab.database.run("select kinfolk.register_command('work', on_success => 'app.refuse')").await;
    let task = lab.enqueue("work", r#"{"n": 7}"#).await;
    lab.database.run("call kinfolk.process_tasks(until_idle => true)").await;
    assert_eq!(lab.task(task).await.state, State::Completed);
    let logged = lab.kinfolk.store().errors(&ErrorFilter::newest(10)).await.unwrap();
    assert_eq!(logged.len(), 1);
    assert_eq!((logged[0].handler.as_deref(), logged[0].failure.kind), (Some("app.refuse"), FailureKind::Validation));
}

#[tokio::test]
async fn what_a_hook_would_not_get_is_left_out_and_what_can_not_be_told_is_refused() {
    let lab = Lab::new(HANDLERS).await;
    let large = format!(r#"{{"n": "{}"}}"#, "x".repeat(200_000));
    lab.enqueue("work", &large).await;
    lab.database.run("call kinfolk.process_tasks(until_idle => true)").await;
    let told = lab.database.texts("select (what - 'task' - 'run')::text from app.told").await;
    assert_eq!(told, [r#"{"attempt": 1, "task_type": "db_function", "db_function": "app.tell"}"#]);
    for (sql, words) in [
        ("select kinfolk.register_command('db_function', on_error => 'app.tell')", "it is what runs them"),
        ("select kinfolk.register_command('bare', on_error => 'app.tell')", "no handler"),
        ("select kinfolk.register_command('work', on_error => 'app.nothing')", "there is no function"),
        (
            "select kinfolk.register_command('db_function', handler => ''); \
          select kinfolk.register_command('work', on_error => 'app.tell')",
            "nothing would run it",
        ),
    ] {
        let fault = lab.database.try_run(sql).await.unwrap_err().to_string();
        assert!(fault.contains(words), "{sql}: {fault}");
    }
}

/// Names that try to be more than a name.
fn hostile() -> Vec<String> {
    let ends = [
        "",
        "()",
        "(jsonb)",
        "; drop table app.note",
        "' or true --",
        "\"; delete from app.note; --",
        "\0",
        "(1) /*",
        "::regproc",
        "\u{202e}",
    ];
    let names = [
        "app.note",
        "app",
        "note",
        ".",
        "..",
        "app..tell",
        "\"app\".\"no such\"",
        "pg_catalog.jsonb_pretty",
        "kinfolk.prune",
        "kinfolk.run_function",
        "information_schema._pg_truetypid",
        "pg_temp.tell",
        "pg_toast.x",
        "select 1",
        "app.tell, app.tell",
        "app.tell(p) union select app.tell",
        "$$app.tell$$",
        "E'app.tell'",
        "U&\"app\".tell",
        "app.\"tell\"\"\"",
        "app.tell\nx",
        "app . tell . x",
        "public.dblink",
        "pg_catalog.pg_read_file",
        "pg_catalog.lo_import",
        "app.sum",
        "app.trig",
        "set role postgres",
        "copy app.note to program 'true'",
        "app.tell--",
        "app.\u{2060}tell",
        "ａpp.tell",
        "app.tell; app.tell",
        "1.2",
        "*.*",
        "%s.%I",
        "app.{tell}",
        "app.(select 'tell')",
        "..app.tell",
        "app.tell.",
        "postgres.app.note",
    ];
    names.iter().flat_map(|name| ends.iter().map(move |end| format!("{name}{end}"))).collect()
}

/// Takes every name to every entry. One that is let in ends it.
const EVERY_ENTRY: &str = "do $hostile$
    declare
        v_name text;
        v_entry text;
    begin
        for v_name in select jsonb_array_elements_text('NAMES') loop
            foreach v_entry in array array[
                'select kinfolk.run_function($1, ''{}'')', 'select kinfolk.call_function($1, ''{}'', true)',
                'select kinfolk.call_handler($1, null, null, ''{}'', true)', 'select kinfolk.register_command(''c'', handler => $1)',
                'select kinfolk.register_command(''work'', before => $1)', 'select kinfolk.register_command(''work'', on_error => $1)']
            loop
                begin
                    execute v_entry using v_name;
                    raise exception '% let % in', v_entry, v_name using errcode = 'P9999';
                exception
                    when sqlstate 'P9999' then
                        raise;
                    when others then
                        null;
                end;
            end loop;
        end loop;
    end $hostile$";

#[tokio::test]
async fn no_hostile_name_is_ever_executed() {
    let lab = Lab::new(HANDLERS).await;
    lab.database.run("insert into app.note (what) values ('here')").await;
    let names = hostile();
    assert!(names.len() >= 400, "{}", names.len());
    // No store keeps `\0` in a payload.
    let names: Vec<String> = names.iter().map(|name| name.replace('\0', "")).collect();
    let command: CommandName = "db_function".parse().unwrap();
    let task =
        |name: &String| NewTask::new(command.clone(), Json::of(&serde_json::json!({ "db_function": name })).unwrap());
    lab.kinfolk.enqueue_many(&names.iter().map(task).collect::<Vec<_>>()).await.unwrap();
    let quoted = serde_json::to_string(&names).unwrap().replace('\'', "''");
    lab.database.run(&EVERY_ENTRY.replace("NAMES", &quoted)).await;
    lab.database.run("call kinfolk.process_tasks(until_idle => true)").await;
    let ended = "select count(*)::text from kinfolk.tasks where state <> 'failed'";
    assert_eq!(lab.database.texts(ended).await, ["0"]);
    assert_eq!(lab.notes().await, ["here"]);
    assert_eq!(lab.database.texts("select count(*)::text from app.told").await, ["0"]);
}
