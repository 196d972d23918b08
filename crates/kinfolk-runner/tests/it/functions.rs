//! Functions as handlers: results, hooks, errors, endings.

use kinfolk::{FailureKind, Json, State};

use crate::lab::{Lab, within};

#[tokio::test]
async fn a_function_runs_in_one_transaction_with_its_hooks_and_its_settle() {
    let lab = Lab::new(
        "create function app.note(p jsonb) returns void language sql as $$
             insert into app.note (what) values (current_setting('kinfolk.task') || ' ' || kinfolk.current_task()) $$;
         create function app.double(p jsonb) returns jsonb language sql as $$
             select jsonb_build_object('twice', (p ->> 'n')::numeric * 2, 'xid', pg_current_xact_id()::text) $$;
         select kinfolk.register_command('double', handler => 'app.double', before => 'app.note', after => 'app.note')",
    )
    .await;
    let worker = lab.worker().await;
    let id = lab.enqueue("double", r#"{"n": 12345678901234567890.5}"#).await;
    let task = lab.ended(id).await;
    assert_eq!(task.state, State::Completed);
    let result: serde_json::Value = task.result.unwrap().to().unwrap();
    assert!(task.payload.as_str().contains("12345678901234567890"), "{}", task.payload);
    assert_eq!(lab.notes().await, [format!("{id} {id}"), format!("{id} {id}")]);
    let settled_by = format!("select xmin::text from kinfolk.task where id = {id}");
    assert_eq!(lab.database.texts(&settled_by).await, [result["xid"].as_str().unwrap()]);
    lab.close(worker).await;
}

#[tokio::test]
async fn what_a_function_enqueues_wakes_a_worker_that_sleeps_on_its_queue() {
    let lab = Lab::new(
        "create function app.pass(p jsonb) returns void language plpgsql security definer as $$ begin
             perform kinfolk.enqueue('noop', '{}', queue => 'other'); end $$;
         select kinfolk.set_queue('other', null, null, null), kinfolk.register_command('pass', handler => 'app.pass'),
             kinfolk.register_command('noop')",
    )
    .await;
    let worker = lab.worker().await;
    let sleeper = lab.kinfolk.worker().queue("other", 1).handler("noop", |_, _: Json| async { Ok(()) });
    let sleeper = sleeper.start().await.unwrap();
    let asleep = "select count(*)::text from kinfolk.worker_queue w join kinfolk.queue q on q.id = w.queue_id
        where q.name = 'other' and w.idle";
    lab.until(asleep, "1").await;
    let mut notes = lab.database.listen("kinfolk").await;
    lab.enqueue("pass", "{}").await;
    within(async { while notes.next().await != "q:other" {} }).await;
    within(sleeper.stop()).await.unwrap();
    lab.close(worker).await;
}

#[tokio::test]
async fn a_function_reads_the_keys_of_its_task() {
    let lab = Lab::new(
        "create function app.keys(p jsonb) returns jsonb language sql as 'select kinfolk.current_keys()';
         select kinfolk.register_command('keys', groups => '{\"tenant\": 5}', handler => 'app.keys')",
    )
    .await;
    let worker = lab.worker().await;
    let with_keys = lab.kinfolk.enqueue("keys", &()).key("tenant", "acme").await.unwrap().id().unwrap();
    for (id, keys) in [(with_keys, r#"{"tenant": "acme"}"#), (lab.enqueue("keys", "{}").await, "{}")] {
        assert_eq!(lab.ended(id).await.result.unwrap().as_str(), keys);
    }
    lab.close(worker).await;
}

#[tokio::test]
async fn an_error_carries_everything_the_database_said_and_undoes_the_handler() {
    let lab = Lab::new(
        "create function app.fail(p jsonb) returns void language plpgsql as $$ begin
             insert into app.note (what) values ('never');
             raise exception 'no such unit' using errcode = 'P0042', detail = 'unit 7', hint = 'import it first';
         end $$;
         create table app.one (n int constraint only_one primary key);
         create function app.break(p jsonb) returns void language sql as $$
             insert into app.one values (1), (1) $$;
         select kinfolk.register_command('fail', handler => 'app.fail', max_attempts => 1);
         select kinfolk.register_command('break', handler => 'app.break', max_attempts => 1)",
    )
    .await;
    let worker = lab.worker().await;
    let id = lab.enqueue("fail", "{}").await;
    let failure = lab.ended(id).await.failure.unwrap();
    assert_eq!((failure.kind, failure.message.as_str()), (FailureKind::Error, "no such unit"));
    let detail: serde_json::Value = failure.detail.unwrap().to().unwrap();
    assert_eq!(detail["sqlstate"], "P0042");
    assert_eq!(detail["detail"], "unit 7");
    assert_eq!(detail["hint"], "import it first");
    assert!(detail["context"].as_str().unwrap().contains("app.fail"), "{detail}");
    assert_eq!(lab.notes().await, Vec::<String>::new());

    let id = lab.enqueue("break", "{}").await;
    let failure = lab.ended(id).await.failure.unwrap();
    let detail: serde_json::Value = failure.detail.unwrap().to().unwrap();
    assert_eq!((&detail["sqlstate"], &detail["constraint"]), (&"23505".into(), &"only_one".into()));
    lab.close(worker).await;
}

#[tokio::test]
async fn a_hook_that_fails_fails_the_attempt() {
    let lab = Lab::new(
        "create function app.ok(p jsonb) returns void language sql as $$ insert into app.note (what) values ('ran') $$;
         create function app.no(p jsonb) returns void language plpgsql as $$ begin raise 'hook'; end $$;
         select kinfolk.register_command('a', handler => 'app.ok', before => 'app.no', max_attempts => 1);
         select kinfolk.register_command('b', handler => 'app.ok', after => 'app.no', max_attempts => 1)",
    )
    .await;
    let worker = lab.worker().await;
    for command in ["a", "b"] {
        let id = lab.enqueue(command, "{}").await;
        let task = lab.ended(id).await;
        assert_eq!((task.state, task.failure.unwrap().message), (State::Failed, "hook".to_owned()));
    }
    assert_eq!(lab.notes().await, Vec::<String>::new());
    lab.close(worker).await;
}

#[tokio::test]
async fn a_handler_may_snooze_ask_for_a_later_try_or_give_up() {
    let lab = Lab::new(
        "create function app.end(p jsonb) returns void language plpgsql as $$ begin
             case p ->> 'how'
                 when 'snooze' then perform kinfolk.snooze('1 hour');
                 when 'later' then perform kinfolk.retry_after('2 hours', 'not yet');
                 else perform kinfolk.give_up('never');
             end case;
         end $$;
         select kinfolk.register_command('end', handler => 'app.end')",
    )
    .await;
    let worker = lab.worker().await;
    let snoozed = lab.enqueue("end", r#"{"how": "snooze"}"#).await;
    let later = lab.enqueue("end", r#"{"how": "later"}"#).await;
    let never = lab.enqueue("end", r#"{"how": "never"}"#).await;

    let task = lab.ended(never).await;
    assert_eq!((task.state, task.failure.unwrap().kind), (State::Failed, FailureKind::Validation));
    let task = lab.task_that(snoozed, |task| task.started_at.is_some() && task.state == State::Pending).await;
    assert_eq!((task.attempt, task.due > task.started_at.unwrap()), (0, true));
    let task = lab.task_that(later, |task| task.failure.is_some()).await;
    assert_eq!((task.attempt, task.failure.unwrap().message.as_str()), (1, "not yet"));
    assert!(task.due.since(task.started_at.unwrap()).as_secs() >= 7200);
    lab.close(worker).await;
}

/// Commands that slow down their key for an hour, and end as their payload says.
const CALL: &str = "create function app.end(how text) returns void language plpgsql as $$ begin
        perform kinfolk.slow_down_for('provider', '1 minute'), kinfolk.slow_down('provider', now() + interval '1 hour');
        case how
            when 'snooze' then perform kinfolk.snooze('2 hours');
            when 'later' then perform kinfolk.retry_after('2 hours', 'asked to slow down');
            when 'never' then perform kinfolk.give_up('asked to slow down');
            when 'error' then raise 'an error of its own';
            else null;
        end case;
    end $$;
    create function app.call(p jsonb) returns void language sql as $$ select app.end(p ->> 'how') $$;
    create procedure app.commits(p jsonb) language plpgsql as $$ begin
        perform kinfolk.slow_down_for('provider', '1 hour');
        commit;
        perform app.end(p ->> 'how');
    end $$;
    select kinfolk.register_command('call', groups => '{\"provider\": 9, \"zone\": 9}', handler => 'app.call', max_attempts => 1),
        kinfolk.register_command('commits', groups => '{\"provider\": 9}', handler => 'app.commits', max_attempts => 1)";

/// Whether a key of the command's group `provider` is paused for about an hour.
async fn is_slowed_down(lab: &Lab, command: &str, key: &str) -> bool {
    let sql = format!(
        "select extract(epoch from until - now())::int::text from kinfolk.keys('provider', '{command}') where key = '{key}'"
    );
    lab.database.texts(&sql).await.first().is_some_and(|left| (3500..=3600).contains(&left.parse::<i32>().unwrap()))
}

#[tokio::test]
async fn a_handler_slows_down_its_key_however_it_ends_but_by_an_error() {
    let lab = Lab::new(CALL).await;
    let worker = lab.worker().await;
    for command in ["call", "commits"] {
        for (how, state) in [
            ("return", State::Completed),
            ("snooze", State::Pending),
            ("later", State::Failed),
            ("never", State::Failed),
            ("error", State::Failed),
        ] {
            let task = lab.kinfolk.enqueue(command, &serde_json::json!({ "how": how })).key("provider", how);
            let id = task.await.unwrap().id().unwrap();
            lab.task_that(id, |task| task.started_at.is_some() && task.state == state).await;
            assert_eq!(is_slowed_down(&lab, command, how).await, how != "error", "{command}, {how}");
        }
    }
    let held = lab.kinfolk.enqueue("call", &()).key("provider", "return").await.unwrap().id().unwrap();
    let words: Vec<_> = lab.kinfolk.explain(held).await.unwrap().reasons.iter().map(|reason| reason.word()).collect();
    assert_eq!(words, ["key_rate"]);
    let other = lab.kinfolk.enqueue("call", &()).key("provider", "another").await.unwrap().id().unwrap();
    assert_eq!(lab.ended(other).await.state, State::Completed);
    lab.close(worker).await;
}

#[tokio::test]
async fn a_handler_slows_down_nothing_but_keys_of_its_own_task() {
    let lab = Lab::new(
        "create function app.try(p jsonb) returns void language plpgsql as $$ begin
             perform kinfolk.slow_down(p ->> 'group', (p ->> 'until')::timestamptz);
         end $$;
         select kinfolk.register_command('try', groups => '{\"provider\": 9, \"zone\": 9}', handler => 'app.try', max_attempts => 1),
             kinfolk.register_command('other', groups => '{\"theirs\": 9}')",
    )
    .await;
    let worker = lab.worker().await;
    for (group, until, sqlstate) in [
        (Some("zone"), "2030-01-01", "KF002"),
        (Some("theirs"), "2030-01-01", "KF002"),
        (Some("total"), "2030-01-01", "KF002"),
        (Some("provider"), "2130-01-01", "KF001"),
        (Some("provider"), "infinity", "KF001"),
        (None, "2030-01-01", "KF001"),
    ] {
        let wish = serde_json::json!({ "group": group, "until": until });
        let id = lab.kinfolk.enqueue("try", &wish).key("provider", "acme").await.unwrap().id().unwrap();
        let failure = lab.ended(id).await.failure.unwrap();
        let detail: serde_json::Value = failure.detail.unwrap().to().unwrap();
        assert_eq!(detail["sqlstate"], sqlstate, "{wish}: {}", failure.message);
    }
    let passed = serde_json::json!({ "group": "provider", "until": "-infinity" });
    let id = lab.kinfolk.enqueue("try", &passed).key("provider", "acme").await.unwrap().id().unwrap();
    assert_eq!(lab.ended(id).await.state, State::Completed);
    assert!(lab.database.texts("select key from kinfolk.keys()").await.is_empty());
    lab.close(worker).await;
}

#[tokio::test]
async fn a_deadlock_or_a_serialization_failure_is_retried_within_the_attempt_three_times() {
    let lab = Lab::new(
        "create sequence app.tries;
         create function app.collide(p jsonb) returns jsonb language plpgsql as $$ begin
             if nextval('app.tries') % 10 < (p ->> 'losses')::int then
                 raise exception 'lost' using errcode = p ->> 'code';
             end if;
             return to_jsonb(currval('app.tries'));
         end $$;
         select kinfolk.register_command('collide', handler => 'app.collide', max_attempts => 1)",
    )
    .await;
    let worker = lab.worker().await;
    let id = lab.enqueue("collide", r#"{"losses": 4, "code": "40P01"}"#).await;
    let task = lab.ended(id).await;
    assert_eq!((task.state, task.attempt, task.result.unwrap().as_str()), (State::Completed, 1, "4"));

    lab.database.run("alter sequence app.tries restart with 10").await;
    let id = lab.enqueue("collide", r#"{"losses": 9, "code": "40001"}"#).await;
    let task = lab.ended(id).await;
    assert_eq!((task.state, task.failure.unwrap().message.as_str()), (State::Failed, "lost"));
    assert_eq!(lab.database.texts("select last_value::text from app.tries").await, ["13"], "once and three times more");
    lab.close(worker).await;
}

#[tokio::test]
async fn a_statement_that_runs_too_long_is_a_timeout() {
    let lab = Lab::new(
        "create function app.sleep(p jsonb) returns void language sql as $$ select pg_sleep(60) $$;
         select kinfolk.register_command('sleep', handler => 'app.sleep', statement_timeout => '50 ms', max_attempts => 1)",
    )
    .await;
    let worker = lab.worker().await;
    let id = lab.enqueue("sleep", "{}").await;
    let failure = lab.ended(id).await.failure.unwrap();
    assert_eq!(failure.kind, FailureKind::Timeout, "{failure:?}");
    lab.close(worker).await;
}

#[tokio::test]
async fn what_a_handler_leaves_in_its_session_does_not_spoil_the_next_one() {
    let lab = Lab::new(
        "create function app.spoil(p jsonb) returns void language plpgsql as $$ begin
             perform set_config('search_path', 'nowhere', false), set_config('statement_timeout', '1ms', false),
                 set_config('default_transaction_read_only', 'on', false), pg_advisory_lock(1, 2);
             create temp table note (what text);
         end $$;
         create function app.innocent(p jsonb) returns jsonb language sql as $$
             select jsonb_build_object('path', current_setting('search_path'), 'timeout', current_setting('statement_timeout'),
                 'read_only', current_setting('default_transaction_read_only'), 'temp', to_regclass('pg_temp.note'))
         $$;
         select kinfolk.register_command('spoil', handler => 'app.spoil', max_attempts => 1),
             kinfolk.register_command('innocent', handler => 'app.innocent', max_attempts => 1)",
    )
    .await;
    let worker = lab.worker().await;
    for _ in 0..4 {
        let id = lab.enqueue("spoil", "{}").await;
        assert_eq!(lab.ended(id).await.state, kinfolk::State::Completed);
        let id = lab.enqueue("innocent", "{}").await;
        let found: serde_json::Value = lab.ended(id).await.result.expect("a result").to().unwrap();
        let clean = serde_json::json!({
            "path": "\"$user\", public", "timeout": "0", "read_only": "off", "temp": null
        });
        assert_eq!(found, clean);
    }
    lab.close(worker).await;
}

#[tokio::test]
async fn commands_that_are_registered_or_changed_later_are_run_without_a_restart() {
    let lab = Lab::new(
        "create function app.one(p jsonb) returns jsonb language sql as $$ select '1'::jsonb $$;
         create function app.two(p jsonb) returns jsonb language sql as $$ select '2'::jsonb $$",
    )
    .await;
    let worker = lab.worker().await;
    lab.database.run("select kinfolk.register_command('late', handler => 'app.one')").await;
    let id = lab.enqueue("late", "{}").await;
    assert_eq!(lab.ended(id).await.result.unwrap().as_str(), "1");
    lab.until("select (commands @> '{late}')::text from kinfolk.worker", "true").await;

    lab.database.run("select kinfolk.register_command('late', handler => 'app.two')").await;
    let id = lab.enqueue("late", "{}").await;
    assert_eq!(lab.ended(id).await.result.unwrap().as_str(), "2", "what is called is looked up at each call");

    lab.database.run("select kinfolk.register_command('late', handler => '')").await;
    lab.until("select (commands @> '{late}')::text from kinfolk.worker", "false").await;
    let id = lab.enqueue("late", "{}").await;
    assert_eq!(lab.task(id).await.state, State::Pending);
    lab.close(worker).await;
}
