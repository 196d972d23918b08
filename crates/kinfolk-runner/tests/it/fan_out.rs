//! Functions that fan out, and the functions that go on with the results.

use kinfolk::{Error, Failure, FailureKind, State, TaskId};

use crate::lab::Lab;

/// A parent that has its parts doubled and then summed up. What it is given says which rule, and which parts fail.
const HANDLERS: &str = "
    create function app.total(p jsonb) returns jsonb language plpgsql as $$ begin
        insert into app.note (what) values ('total');
        perform kinfolk.fan_out(
            (select coalesce(jsonb_agg(jsonb_build_object('command', 'double', 'payload', part)), '[]')
             from jsonb_array_elements(p -> 'parts') part),
            coalesce(p ->> 'rule', 'fail_fast'), 'app.sum', p ->> 'otherwise', (p ->> 'share')::numeric, (p ->> 'timeout')::interval);
        assert kinfolk.has_pending_children();
        return '\"kept\"';
    end $$;
    create function app.double(p jsonb) returns jsonb language plpgsql as $$ begin
        if p = '0' then raise 'nothing to double'; end if;
        return to_jsonb(2 * (p #>> '{}')::int);
    end $$;
    create function app.sum(told jsonb) returns jsonb language plpgsql as $$ begin
        insert into app.note (what) values ('sum');
        return jsonb_build_object('sum', (select sum((r ->> 'result')::int) from jsonb_array_elements(told -> 'results') r),
            'states', (select jsonb_agg(r -> 'state') from jsonb_array_elements(told -> 'results') r),
            'told', told - 'results' - 'payload', 'payload', told -> 'payload');
    end $$;
    create function app.instead(told jsonb) returns jsonb language sql as $$
        select jsonb_build_object('verdict', told -> 'verdict', 'results', jsonb_array_length(told -> 'results')) $$;
    select kinfolk.register_command(c, handler => 'app.' || c, max_attempts => 1) from unnest('{total,double}'::text[]) c";

async fn failure(lab: &Lab, id: TaskId) -> Failure {
    let task = lab.ended(id).await;
    assert_eq!(task.state, State::Failed, "{task:?}");
    task.failure.unwrap()
}

#[tokio::test]
async fn a_function_fans_out_and_another_one_goes_on_with_the_results() {
    let lab = Lab::new(HANDLERS).await;
    let worker = lab.worker().await;
    let id = lab.enqueue("total", r#"{"parts": [3, 1, 2]}"#).await;
    let task = lab.ended(id).await;
    assert_eq!((task.state, task.attempt, task.steps), (State::Completed, 1, 2));
    assert_eq!(
        task.result.unwrap().as_str(),
        r#"{"sum": 12, "told": {"total": 3, "verdict": "completed", "returned": "kept"}, "states": ["completed", "completed", "completed"], "payload": {"parts": [3, 1, 2]}}"#
    );
    assert_eq!(lab.notes().await, ["total", "sum"]);
    let children = lab.kinfolk.store().children(id, 0, 10).await.unwrap();
    assert_eq!(children.len(), 3);
    let runs = format!("select string_agg(ending, ' ' order by run) from kinfolk.attempt where task_id = {id}");
    assert_eq!(lab.database.texts(&runs).await, ["suspended completed"]);
    lab.close(worker).await;
}

#[tokio::test]
async fn a_fan_out_without_sub_tasks_goes_on_at_once() {
    let lab = Lab::new(HANDLERS).await;
    let worker = lab.worker().await;
    let task = lab.ended(lab.enqueue("total", r#"{"parts": []}"#).await).await;
    let result: serde_json::Value = task.result.unwrap().to().unwrap();
    assert_eq!((&result["sum"], &result["told"]["total"]), (&().into(), &0.into()));
    lab.close(worker).await;
}

#[tokio::test]
async fn the_rule_decides_whether_it_goes_on_fails_or_is_told_otherwise() {
    let lab = Lab::new(HANDLERS).await;
    let worker = lab.worker().await;
    // The first that fails is the end of it.
    let id = lab.enqueue("total", r#"{"parts": [0]}"#).await;
    let failed = failure(&lab, id).await;
    assert_eq!(failed.kind, FailureKind::Children);
    assert!(failed.message.starts_with("nothing to double (error of sub-task 0, task "), "{failed:?}");
    assert!(failed.message.contains("; 1 of 1 sub-tasks of fan-out "), "{failed:?}");
    let detail: serde_json::Value = failed.detail.unwrap().to().unwrap();
    assert_eq!(
        (&detail["rule"], &detail["verdict"], &detail["failed"]),
        (&"fail_fast".into(), &"failed".into(), &1.into())
    );
    assert_eq!(detail["failures"][0]["failure"]["message"], "nothing to double");
    assert_eq!(lab.notes().await, ["total"], "nothing went on, and nothing was tried again");
    // Another function may take that.
    let task = lab.ended(lab.enqueue("total", r#"{"parts": [0], "otherwise": "app.instead"}"#).await).await;
    assert_eq!(task.result.unwrap().as_str(), r#"{"results": 1, "verdict": "failed"}"#);
    // All are looked at, however they ended.
    let task = lab.ended(lab.enqueue("total", r#"{"parts": [4, 0], "rule": "collect_all"}"#).await).await;
    let result: serde_json::Value = task.result.unwrap().to().unwrap();
    assert_eq!((&result["sum"], &result["states"]), (&8.into(), &serde_json::json!(["completed", "failed"])));
    // Enough of them.
    for (share, state) in [(0.5, State::Completed), (0.6, State::Failed)] {
        let payload = format!(r#"{{"parts": [4, 0], "rule": "threshold", "share": {share}}}"#);
        assert_eq!(lab.ended(lab.enqueue("total", &payload).await).await.state, state, "{share}");
    }
    lab.close(worker).await;
}

#[tokio::test]
async fn a_fan_out_whose_time_is_up_is_given_up() {
    let lab = Lab::new(HANDLERS).await;
    // Nothing here handles it.
    lab.database.run("select kinfolk.register_command('double', handler => '')").await;
    let worker = lab.worker().await;
    let id = lab.enqueue("total", r#"{"parts": [1, 2], "timeout": "10 ms"}"#).await;
    let failed = failure(&lab, id).await;
    assert!(failed.message.contains(" of 2 sub-tasks took longer than it may; 2 of 2 "), "{failed:?}");
    let children = lab.kinfolk.store().children(id, 0, 10).await.unwrap();
    assert!(children.iter().all(|child| child.state == State::Cancelled), "{children:?}");
    let told = r#"{"parts": [1], "timeout": "10 ms", "otherwise": "app.instead"}"#;
    let task = lab.ended(lab.enqueue("total", told).await).await;
    assert_eq!(task.result.unwrap().as_str(), r#"{"results": 0, "verdict": "timed_out"}"#);
    lab.close(worker).await;
}

#[tokio::test]
async fn a_function_that_goes_on_may_fan_out_again_and_is_tried_again_alone() {
    let lab = Lab::new(
        "create sequence app.tries;
         create function app.begin(p jsonb) returns jsonb language plpgsql as $$ begin
             insert into app.note (what) values ('begin');
             perform kinfolk.fan_out('[{\"command\": \"leaf\"}]', and_then => 'app.round');
             return '1';
         end $$;
         create function app.round(told jsonb) returns jsonb language plpgsql as $$ begin
             insert into app.note (what) values ('round ' || (told ->> 'returned'));
             -- A sequence forgets nothing: the first try of the second round fails.
             if told ->> 'returned' = '2' and nextval('app.tries') = 1 then raise 'once more'; end if;
             if told ->> 'returned' <> '3' then
                 perform kinfolk.fan_out('[{\"command\": \"leaf\"}, {\"command\": \"leaf\"}]', and_then => 'app.round');
                 return to_jsonb((told ->> 'returned')::int + 1);
             end if;
             return told -> 'total';
         end $$;
         create function app.leaf(p jsonb) returns void language sql as '';
         select kinfolk.register_command(c, handler => 'app.' || c, backoff_base => '0') from unnest('{begin,leaf}'::text[]) c",
    )
    .await;
    let worker = lab.worker().await;
    let id = lab.enqueue("begin", "{}").await;
    let task = lab.ended(id).await;
    assert_eq!((task.state, task.attempt, task.steps), (State::Completed, 2, 6));
    assert_eq!(task.result.unwrap().as_str(), "2");
    assert_eq!(lab.notes().await, ["begin", "round 1", "round 2", "round 3"], "nothing that was done is done again");
    assert_eq!(lab.kinfolk.store().children(id, 0, 10).await.unwrap().len(), 5);
    lab.close(worker).await;
}

#[tokio::test]
async fn hooks_are_around_each_step_and_the_end_is_told_once() {
    let lab = Lab::new(HANDLERS).await;
    lab.database
        .run(
            "create function app.before(p jsonb) returns jsonb language plpgsql as $$ begin
                 insert into app.note (what) values ('before');
                 return p || '{\"tenant\": 7}';
             end $$;
             create function app.after(p jsonb) returns void language sql as $$ insert into app.note (what) values ('after') $$;
             create function app.tell(p jsonb) returns void language sql as $$
                 insert into app.note (what) values ('told ' || (p #>> '{worker_payload}')) $$;
             create function app.add(told jsonb) returns jsonb language sql as $$
                 select jsonb_build_object('success', true, 'payload', told -> 'payload' -> 'tenant') $$;
             create function app.enveloped(p jsonb) returns jsonb language plpgsql as $$ begin
                 perform kinfolk.fan_out('[{\"command\": \"double\", \"payload\": 1}]', and_then => 'app.add');
                 return '{\"success\": true, \"payload\": 1}';
             end $$;
             select kinfolk.register_command('db_function', handler => 'db_function');
             select kinfolk.register_command('around', handler => 'app.enveloped', before => 'app.before', after => 'app.after',
                 on_success => 'app.tell')",
        )
        .await;
    let worker = lab.worker().await;
    let task = lab.ended(lab.enqueue("around", "{}").await).await;
    assert_eq!(
        task.result.unwrap().as_str(),
        "7",
        "what goes on gets what the hook before it answers, and may answer an envelope"
    );
    lab.until("select count(*)::text from app.note", "5").await;
    assert_eq!(lab.notes().await, ["before", "after", "before", "after", "told 7"]);
    lab.close(worker).await;
}

#[tokio::test]
async fn what_can_not_be_fanned_out_is_refused_and_nothing_is_made() {
    let lab = Lab::new(HANDLERS).await;
    let call = |what: &str| {
        format!(
            "create or replace function app.total(p jsonb) returns jsonb language plpgsql as
             $$ begin perform {what}; return null; end $$"
        )
    };
    let leaf = r#"'[{"command": "double", "payload": 1}]'"#;
    let worker = lab.worker().await;
    for (what, words) in [
        (format!("kinfolk.fan_out({leaf})"), "and_then is missing"),
        (format!("kinfolk.fan_out({leaf}, and_then => 'app.nothing')"), "there is no function app.nothing(jsonb)"),
        (format!("kinfolk.fan_out({leaf}, 'all', 'app.sum')"), "unknown rule 'all'"),
        (format!("kinfolk.fan_out({leaf}, 'threshold', 'app.sum', share => 2)"), "a threshold of 2 is out of range"),
        (
            format!("kinfolk.fan_out({leaf}, 'fail_fast', 'app.sum', share => 1)"),
            "a share of 1 with the rule fail_fast",
        ),
        (format!("kinfolk.fan_out({leaf}, and_then => 'app.sum', timeout => '-1 s')"), "a timeout of -00:00:01"),
        ("kinfolk.fan_out('{}', and_then => 'app.sum')".to_owned(), "subs is not an array of objects"),
        (r#"kinfolk.fan_out('[{"command": "no"}]', and_then => 'app.sum')"#.to_owned(), "unknown command no"),
        (
            r#"kinfolk.fan_out('[{"command": "double", "unique_key": "k"}]', and_then => 'app.sum')"#.to_owned(),
            "unknown key 'unique_key' in a sub-task",
        ),
        (r#"kinfolk.fan_out('[{"payload": 1}]', and_then => 'app.sum')"#.to_owned(), "a sub-task has no command"),
        (
            r#"kinfolk.fan_out('[{"command": "double", "priority": "x"}]', and_then => 'app.sum')"#.to_owned(),
            "a sub-task has invalid input",
        ),
        (
            r#"kinfolk.fan_out('[{"command": "double", "max_attempts": 0}]', and_then => 'app.sum')"#.to_owned(),
            "attempts",
        ),
        (format!("kinfolk.fan_out({leaf}, and_then => 'app.sum'), kinfolk.spawn('double')"), "makes something else"),
        (
            format!("kinfolk.fan_out({leaf}, and_then => 'app.sum'), kinfolk.fan_out({leaf}, and_then => 'app.sum')"),
            "makes something else",
        ),
    ] {
        lab.database.run(&call(&what)).await;
        let id = lab.enqueue("total", "{}").await;
        let failed = failure(&lab, id).await;
        assert!(failed.message.contains(words), "{what}: {failed:?}");
        assert_eq!(lab.kinfolk.store().children(id, 0, 1).await.unwrap(), []);
    }
    lab.database
        .run(&format!(
            "create procedure app.steps(p jsonb) language plpgsql as $$ begin
                 perform kinfolk.fan_out({leaf}, and_then => 'app.sum'); end $$;
             select kinfolk.register_command('steps', handler => 'app.steps', max_attempts => 1)"
        ))
        .await;
    let id = lab.enqueue("steps", "{}").await;
    assert!(failure(&lab, id).await.message.contains("is no function"));
    let outside = lab.database.try_run(&format!("select kinfolk.fan_out({leaf}, and_then => 'app.sum')")).await;
    assert!(outside.unwrap_err().to_string().contains("not inside a handler"));
    lab.close(worker).await;
}

#[tokio::test]
async fn a_handler_names_nothing_that_runs_with_more_rights_than_its_own() {
    let lab = Lab::new(HANDLERS).await;
    let owner = format!("clerk_{}", lab.database.name());
    lab.database
        .run(&format!(
            "create role {owner} in role kinfolk_handler;
             grant usage, create on schema app to {owner};
             grant insert on app.note to {owner}; grant usage on sequence app.note_at_seq to {owner};
             create function app.secret(told jsonb) returns jsonb language sql as $$ select '1'::jsonb $$;
             revoke execute on function app.secret(jsonb) from public;
             grant execute on function app.secret(jsonb) to kinfolk_lab_worker;
             create function app.as_clerk(p jsonb) returns void language plpgsql security definer as $$ begin
                 perform kinfolk.fan_out('[]', and_then => p ->> 'name'); end $$;
             create function app.sealed(told jsonb) returns jsonb language sql security definer as $$ select to_jsonb(current_user::text) $$;
             alter function app.as_clerk(jsonb) owner to {owner};
             alter function app.sealed(jsonb) owner to {owner};
             select kinfolk.register_command('as_clerk', handler => 'app.as_clerk', max_attempts => 1)"
        ))
        .await;
    let worker = lab.worker().await;
    for (name, words) in
        [("app.secret", "may not execute app.secret"), ("app.sum", "would run with the rights of kinfolk_lab_worker")]
    {
        let id = lab.enqueue("as_clerk", &format!(r#"{{"name": "{name}"}}"#)).await;
        let failed = failure(&lab, id).await;
        assert!(failed.message.contains(words), "{name}: {failed:?}");
    }
    let task = lab.ended(lab.enqueue("as_clerk", r#"{"name": "app.sealed"}"#).await).await;
    assert_eq!(task.result.unwrap().as_str(), format!("\"{owner}\""));
    // What the worker may not execute, it does not go on with, although the handler may.
    lab.database.run("revoke execute on function app.sealed(jsonb) from public").await;
    let id = lab.enqueue("as_clerk", r#"{"name": "app.sealed"}"#).await;
    let failed = failure(&lab, id).await;
    assert!(failed.message.contains("permission denied for function sealed"), "{failed:?}");
    let forged = format!(
        "set role {owner}; insert into kinfolk.continuation (subs, and_then, caller) values ('[]', 'app.sum', 'postgres')"
    );
    assert!(matches!(lab.database.try_run(&forged).await, Err(Error::Forbidden { .. })));
    lab.database.run(&format!("drop owned by {owner} cascade; drop role {owner}")).await;
    lab.close(worker).await;
}

#[tokio::test]
async fn a_repaired_family_goes_on_with_the_results_that_were_missing() {
    let lab = Lab::new(HANDLERS).await;
    let worker = lab.worker().await;
    let id = lab.enqueue("total", r#"{"parts": [0, 5]}"#).await;
    failure(&lab, id).await;
    lab.database
        .run("create or replace function app.double(p jsonb) returns jsonb language sql as $$ select to_jsonb(2 * (p #>> '{}')::int) $$")
        .await;
    lab.kinfolk.retry_family(id).await.unwrap();
    let task = lab.ended(id).await;
    assert_eq!(task.state, State::Completed, "{task:?}");
    let result: serde_json::Value = task.result.unwrap().to().unwrap();
    assert_eq!(result["sum"], 10);
    assert_eq!(lab.notes().await, ["total", "sum"]);
    lab.close(worker).await;
}

#[tokio::test]
async fn a_waiting_parent_is_cancelled_with_its_sub_tasks() {
    let lab = Lab::new(HANDLERS).await;
    lab.database.run("select kinfolk.register_command('double', handler => '')").await;
    let worker = lab.worker().await;
    let id = lab.enqueue("total", r#"{"parts": [1]}"#).await;
    lab.task_that(id, |task| task.state == State::Waiting).await;
    lab.kinfolk.cancel(id).await.unwrap();
    assert_eq!(lab.ended(id).await.state, State::Cancelled);
    assert_eq!(lab.notes().await, ["total"]);
    lab.close(worker).await;
}

#[tokio::test]
async fn process_tasks_runs_what_goes_on_too() {
    let lab = Lab::new(HANDLERS).await;
    let good = lab.enqueue("total", r#"{"parts": [3, 4]}"#).await;
    let empty = lab.enqueue("total", r#"{"parts": []}"#).await;
    let bad = lab.enqueue("total", r#"{"parts": [0]}"#).await;
    lab.database.run("call kinfolk.process_tasks()").await;
    assert_eq!((lab.task(good).await.state, lab.task(empty).await.state), (State::Waiting, State::Pending));
    lab.database.run("call kinfolk.process_tasks(until_idle => true)").await;
    let task = lab.task(good).await;
    let result: serde_json::Value = task.result.unwrap().to().unwrap();
    assert_eq!((task.state, &result["sum"]), (State::Completed, &14.into()));
    assert_eq!(lab.task(empty).await.state, State::Completed);
    let failed = failure(&lab, bad).await;
    assert!(failed.message.starts_with("nothing to double (error of sub-task 0"), "{failed:?}");
    assert_eq!(lab.kinfolk.store().check().await.unwrap(), []);
}

#[tokio::test]
async fn the_error_log_names_the_function_that_failed() {
    let lab = Lab::new(HANDLERS).await;
    lab.database
        .run(
            "create or replace function app.sum(told jsonb) returns jsonb language plpgsql as $$ begin raise 'no sum'; end $$;
             create or replace function app.instead(told jsonb) returns jsonb language plpgsql as $$ begin raise 'no other'; end $$;
             select kinfolk.register_command('db_function', handler => 'db_function', max_attempts => 1)",
        )
        .await;
    let worker = lab.worker().await;
    let named = |id: TaskId| format!("select handler from kinfolk.errors where task = {id}");
    for (payload, function) in [
        (r#"{"parts": []}"#, "app.sum"),
        (r#"{"parts": [1]}"#, "app.sum"),
        (r#"{"parts": [0], "otherwise": "app.instead"}"#, "app.instead"),
        // Nothing goes on here: the handler's own task has failed with its sub-tasks.
        (r#"{"parts": [0]}"#, "app.total"),
        (r#"{"parts": 7}"#, "app.total"),
    ] {
        let id = lab.enqueue("total", payload).await;
        failure(&lab, id).await;
        assert_eq!(lab.database.texts(&named(id)).await, [function], "{payload}");
    }
    let id = lab.enqueue("db_function", r#"{"db_function": "app.total", "parts": []}"#).await;
    failure(&lab, id).await;
    assert_eq!(lab.database.texts(&named(id)).await, ["app.sum"]);
    lab.close(worker).await;
}
