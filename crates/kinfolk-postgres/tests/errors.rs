//! What someone who makes a mistake in psql reads: one line, a hint, and nothing of the engine's own SQL.

mod common;

use common::*;

/// Mistakes, with words of the message and of the hint.
const MISTAKES: &[(&str, &str, &str)] = &[
    ("select kinfolk.enqueue('nobody')", "unknown command nobody", "register it"),
    ("select kinfolk.enqueue('work', queue => 'nowhere')", "unknown queue nowhere", "register a command on it"),
    ("select kinfolk.enqueue('work', keys => '{\"tenant\": \"a\"}')", "unknown group tenant", "declare the group"),
    ("select kinfolk.enqueue('work', priority => 2000000)", "priority 2000000 is out of range", "within"),
    ("select kinfolk.enqueue('work', delay => '-1 s')", "negative delay", "from now on"),
    ("select kinfolk.enqueue('work', unique_key => 'k', unique_scope => 'ever')", "ever", "pending, active, window"),
    ("select kinfolk.enqueue('work', payload => null)", "payload is null", "{}"),
    ("select kinfolk.enqueue_many('[null]')", "not an array of objects", "\"command\""),
    ("select kinfolk.enqueue_many('[{\"command\": \"nobody\"}]')", "unknown command nobody", "register it"),
    ("select kinfolk.register_command('two words')", "'two words' can't be used", "only letters"),
    ("select kinfolk.register_command('x', handler => 'app.none')", "there is no function app.none(jsonb)", "jsonb"),
    ("select kinfolk.register_command('x', handler => 'app.two')", "takes (a jsonb, b integer)", "one argument"),
    ("select kinfolk.register_command('x', groups => '{\"tenant\": 1.5}')", "tenant", "whole numbers"),
    ("select kinfolk.pause('defalt')", "there is no queue defalt", "there are: default"),
    ("select kinfolk.set_limits('defalt', child_limit => 1)", "there is no queue defalt", "there are: default"),
    ("select kinfolk.cancel(null)", "p_task is null", "number of a task"),
    ("select kinfolk.retry(99)", "there is no task 99", ""),
    ("select kinfolk.acquit(null)", "p_task is null", "number of a task"),
    ("select kinfolk.acquit(99)", "there is no task 99", ""),
    ("select kinfolk.run_now(null)", "p_task is null", "number of a task"),
    ("select kinfolk.run_now(99)", "there is no task 99", ""),
    ("select kinfolk.explain(null)", "task is null", "number of a task"),
    ("select kinfolk.bulk('drop', '{}')", "unknown action 'drop'", "there are cancel"),
    ("select kinfolk.bulk('cancel', null)", "a filter is a JSON object", "such as"),
    ("select kinfolk.list_tasks('{\"stat\": 1}')", "a filter has no 'stat'", "there are "),
    ("select kinfolk.list_tasks('{\"state\": \"failed\"}')", "state of the filter is \"failed\"", "array of states"),
    ("select kinfolk.list_tasks('{\"state\": [\"fail\"]}')", "state of the filter is", "array of states"),
    ("select kinfolk.list_tasks('{\"parent\": \"x\"}')", "parent of the filter is \"x\"", "number of a task"),
    ("select kinfolk.list_tasks('{\"key\": \"acme\"}')", "key of the filter is \"acme\"", "\"tenant\""),
    ("select kinfolk.list_tasks('{\"payload\": 17}')", "payload of the filter is 17", "\"path\""),
    ("select kinfolk.list_tasks('{\"unique\": null}')", "unique of the filter is null", "a text"),
    ("select kinfolk.list_tasks('{\"order\": \"up\"}')", "order of the filter is \"up\"", "newest or oldest"),
    ("select kinfolk.bulk('cancel', '{\"created_before\": \"soon\"}')", "created_before of the filter", "a time"),
    ("select kinfolk.count_matching('[]')", "a filter is a JSON object", "such as"),
    ("select kinfolk.enqueue('work', '[1e400]')", "too large for programs", "as a string"),
    ("select kinfolk.spawn('work')", "not inside a handler", "kinfolk.enqueue"),
    // The words of other engines: answered with ours.
    ("select kinfolk.enqueue('work', scheduled_at => '2030-01-01')", "scheduled_at is called due here", "due => '2030"),
    ("select kinfolk.enqueue('work', parent_id => 1)", "a parent can not be given", "kinfolk.spawn("),
    ("select kinfolk.spawn('work', parent_id => 1)", "a parent can not be given", "the task that is handled"),
    ("select kinfolk.register_command('x', concurrency => 5)", "concurrency is called groups", "groups => '5'"),
    (
        "select kinfolk.register_command('x', concurrency_groups => '{\"tenant\": 20}')",
        "concurrency is called groups",
        "groups => '{\"tenant\": 20}'",
    ),
    ("insert into kinfolk.tasks (command) values ('work')", "a task is not inserted", "select kinfolk.enqueue('work'"),
    ("update kinfolk.tasks set state = 'pending'", "a task is not updated", "kinfolk.retry(1)"),
    ("delete from kinfolk.tasks", "a task is not deleted", "kinfolk.cancel(1)"),
    ("select kinfolk.set_limits('default', child_limit => -2)", "child_limit is -2", "0 or more"),
    ("select kinfolk.set_queue('two words', 1, 1, 1)", "'two words' can't be used", "only letters"),
    ("select kinfolk.set_group('work', null, null, 1, null, null, null)", "p_name is null", "name of a group"),
    ("select kinfolk.try_enqueue_many('[{}]')", "the command of a task is null", "name a command"),
    ("call kinfolk.spawn('work')", "is not a procedure", "use SELECT"),
];

#[tokio::test]
async fn a_mistake_is_told_in_one_line_and_a_hint_without_our_own_sql() {
    let (database, _store) = fresh().await;
    database
        .run(
            "create schema app;
             create function app.two(a jsonb, b int) returns jsonb language sql as 'select a';
             select kinfolk.register_command('grouped', groups => 2);
             select kinfolk.enqueue('work')",
        )
        .await;
    let client = database.client().await;
    for (sql, words, hint) in MISTAKES {
        let fault = client.batch_execute(sql).await.unwrap_err();
        let db = fault.as_db_error().unwrap();
        assert!(db.message().contains(words) && !db.message().contains('\n'), "{sql}: {db:?}");
        assert!(db.hint().unwrap_or_default().contains(hint), "{sql}: {db:?}");
        assert!(db.hint() != Some("") && db.detail() != Some(""), "{sql}: {db:?}");
        let context = db.where_().unwrap_or_default();
        assert!(!context.contains("SQL statement") && context.lines().count() <= 5, "{sql}: {context}");
    }
    // And those that simply work.
    for sql in [
        "select kinfolk.register_command('x', groups => 5)",
        "select kinfolk.register_command('x', groups => '{\"tenant\": 5}')",
        "select kinfolk.register_command('x', groups => jsonb_build_object('tenant', 5))",
        "select kinfolk.is_active('work')",
        "select kinfolk.is_active(array['work'])",
    ] {
        client.batch_execute(sql).await.unwrap_or_else(|fault| panic!("{sql}: {fault}"));
    }
}

#[tokio::test]
async fn what_is_left_out_stays_as_it_is() {
    let (database, _store) = fresh().await;
    let run = |sql: &'static str| database.texts(sql);
    database
        .run(
            "create schema app;
             create function app.f(p jsonb) returns jsonb language sql as 'select p';
             select kinfolk.register_command('c', 'q', priority => 3, max_attempts => 4, timeout => '5 s', backoff_base => '6 s',
                 backoff_cap => '7 s', jitter_pct => 8, handler => 'app.f', before => 'app.f', after => 'app.f',
                 statement_timeout => '9 s', groups => 2)",
        )
        .await;
    let command = "select concat_ws(' ', queue, priority, max_attempts, timeout_us, backoff_base_ms, backoff_cap_ms, jitter_pct,
        handler, before_handler, after_handler, statement_timeout_us, groups -> 'total' -> 'limit') from kinfolk.commands() where name = 'c'";
    let whole = "q 3 4 5000000 6000 7000 8 app.f app.f app.f 9000000 2";
    assert_eq!(run(command).await, [whole]);
    database.run("select kinfolk.register_command('c')").await;
    assert_eq!(run(command).await, [whole], "nothing said, nothing changed");
    database.run("select kinfolk.register_command('c', max_attempts => 1, timeout => '0', before => '', statement_timeout => '0')").await;
    assert_eq!(run(command).await, ["q 3 1 6000 7000 8 app.f app.f 2"]);
    database.run("select kinfolk.register_command('c', handler => '', groups => '{}')").await;
    assert_eq!(run(command).await, ["q 3 1 6000 7000 8"]);
    database.run("select kinfolk.register_command('c', max_attempts => 0)").await;
    assert_eq!(run(command).await, ["q 3 6000 7000 8"], "no attempts are declared any more");

    let limits = "select concat_ws(' ', coalesce(family_limit, -1), coalesce(child_limit, -1), depth_limit) from kinfolk.queues() where name = 'q'";
    database.run("select kinfolk.set_limits('q', family_limit => 1)").await;
    database.run("select kinfolk.set_limits('q', child_limit => 5, depth_limit => 2)").await;
    assert_eq!(run(limits).await, ["1 5 2"], "a serial queue stays serial");
    database.run("select kinfolk.set_limits('q', family_limit => -1, depth_limit => -1)").await;
    assert_eq!(run(limits).await, ["-1 5 32"]);
    assert!(database.try_run("select kinfolk.set_limits('misspelt', child_limit => 5)").await.is_err());
    assert_eq!(run("select count(*)::text from kinfolk.queues() where name = 'misspelt'").await, ["0"]);
}
