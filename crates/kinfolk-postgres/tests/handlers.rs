//! Functions in the database as handlers: what may be one, who may call what, and how they run inside one transaction.

mod common;

use common::*;
use kinfolk_core::inspect::Filter;
use kinfolk_core::*;
use kinfolk_postgres::testing::TestDatabase;

async fn refused(database: &TestDatabase, sql: &str) -> String {
    match database.try_run(sql).await {
        Err(StoreError::Input(fault)) => fault.to_string(),
        other => panic!("{sql}: {other:?}"),
    }
}

#[tokio::test]
async fn only_what_can_handle_a_task_may_be_named() {
    let (database, _store) = fresh().await;
    database
        .run(
            "create schema app;
             create function app.good(jsonb) returns jsonb language sql as 'select $1';
             create function app.text(text) returns jsonb language sql as 'select null::jsonb';
             create function app.many(jsonb) returns setof jsonb language sql as 'select $1';
             create function app.number(jsonb) returns int language sql as 'select 1';
             create function app.any(anyelement) returns anyelement language sql as 'select $1';
             create aggregate app.agg(jsonb) (sfunc = pg_catalog.jsonb_concat, stype = jsonb);
             create procedure app.definer(jsonb) security definer language sql as '';
             create procedure app.pinned(jsonb) set search_path = app language sql as '';
             create procedure app.plain(jsonb) language sql as ''",
        )
        .await;
    for (name, words) in [
        ("app.nothing", "there is no function"),
        ("app.text", "takes (text)"),
        ("app.any", "takes (anyelement)"),
        ("app.many", "returns a set of jsonb"),
        ("app.number", "returns integer"),
        ("app.agg", "not a function or procedure"),
        ("app.definer", "security definer"),
        ("app.pinned", "set clauses"),
        ("good", "can''t be used"),
        ("app.good; drop table x", "can''t be used"),
        ("pg_catalog.jsonb_typeof", "not yours"),
        ("pg_catalog.jsonb_pretty", "not yours"),
    ] {
        let words = words.replace("''", "'");
        let sql = format!("select kinfolk.register_command('c', handler => '{name}')");
        let fault = refused(&database, &sql).await;
        assert!(fault.contains(&words), "{name}: {fault}");
    }
    let hook = "select kinfolk.register_command('c', handler => 'app.good', before => 'app.plain')";
    assert!(refused(&database, hook).await.contains("not a function"));
    let alone = "select kinfolk.register_command('c', before => 'app.good')";
    assert!(refused(&database, alone).await.contains("no handler"));
    for name in ["app.good", "app.good(jsonb)", "App.Good", "\"app\".\"good\"", "app.plain"] {
        database.run(&format!("select kinfolk.register_command('c', handler => '{name}')")).await;
    }
}

#[tokio::test]
async fn a_handler_stays_until_another_is_named_and_the_store_shows_it() {
    let (database, store) = fresh().await;
    database
        .run(
            "create schema \"Odd app\"; create function \"Odd app\".\"Do it\"(jsonb) returns void language sql as '';
             select kinfolk.register_command('c', handler => '\"Odd app\".\"Do it\"', statement_timeout => '5 s')",
        )
        .await;
    let shown = |commands: Vec<Command>| commands.into_iter().find(|c| c.name.as_str() == "c").unwrap();
    let handler = shown(store.commands().await.unwrap()).handler.unwrap();
    assert_eq!(handler.function, "\"Odd app\".\"Do it\"");
    assert_eq!(handler.statement_timeout, Some(std::time::Duration::from_secs(5)));

    database.run("select kinfolk.register_command('c', priority => 5)").await;
    let command = shown(store.commands().await.unwrap());
    assert_eq!((command.priority, command.handler.as_ref()), (5, Some(&handler)));
    store.register(&[Command { handler: Some(handler.clone()), ..Command::new(command.name) }]).await.unwrap();
    assert_eq!(shown(store.commands().await.unwrap()).handler, Some(handler));
    database.run("select kinfolk.register_command('c', handler => '')").await;
    assert_eq!(shown(store.commands().await.unwrap()).handler, None);
    database.run("select kinfolk.register_command('fresh', handler => '')").await;
    assert_eq!(database.texts("select count(*)::text from kinfolk.command where handler = ''").await, ["0"]);
}

#[tokio::test]
async fn the_functions_of_a_handler_are_refused_outside_one() {
    let (database, _store) = fresh().await;
    for call in [
        "current_task()",
        "current_keys()",
        "spawn('work')",
        "spawn_sibling('work')",
        "follow_up('work')",
        "in_order()",
        "slow_down('tenant', now())",
        "slow_down_for('tenant', '1 s')",
    ] {
        let fault = refused(&database, &format!("select kinfolk.{call}")).await;
        assert!(fault.contains("not inside a handler"), "{call}: {fault}");
        // Anyone can set a variable; the token is what counts.
        let forged = format!(
            "set kinfolk.task = '1'; set kinfolk.token = '00000000-0000-0000-0000-000000000000'; select kinfolk.{call}"
        );
        assert!(refused(&database, &forged).await.contains("no longer with this attempt"), "{call}");
    }
}

#[tokio::test]
async fn each_role_may_do_its_own_and_nothing_else() {
    let (database, _store) = fresh().await;
    let suffix = database.name();
    let roles = format!(
        "create schema app;
         create role worker_{suffix} in role kinfolk_worker;
         create role owner_{suffix} in role kinfolk_handler;
         create table app.secret (n int);
         create function app.granted(p jsonb) returns jsonb language sql security definer as $$
             insert into app.secret values (1); select kinfolk.slow_down_for('total', '1 s'); select to_jsonb(kinfolk.spawn('work')) $$;
         create function app.denied(p jsonb) returns jsonb language sql as 'select p';
         alter table app.secret owner to owner_{suffix};
         alter function app.granted(jsonb) owner to owner_{suffix};
         grant usage on schema app to worker_{suffix}, owner_{suffix};
         revoke execute on function app.granted(jsonb), app.denied(jsonb) from public;
         grant execute on function app.granted(jsonb) to worker_{suffix};
         select kinfolk.register_command('granted', 'q', groups => '9', handler => 'app.granted', max_attempts => 1);
         select kinfolk.register_command('denied', 'q', handler => 'app.denied', max_attempts => 1);
         select kinfolk.enqueue('granted'), kinfolk.enqueue('denied')"
    );
    database.run(&roles).await;
    let run = format!(
        "set role worker_{suffix};
         select kinfolk.run_function('app.denied', '{{}}')"
    );
    assert!(matches!(database.try_run(&run).await, Err(StoreError::Forbidden { .. })));
    database.run(&format!("set role worker_{suffix}; call kinfolk.process_tasks('q')")).await;
    let states = "select command || ' ' || state || coalesce(' ' || (failure -> 'detail' ->> 'sqlstate'), '')
        from kinfolk.tasks where queue = 'q' order by id";
    assert_eq!(database.texts(states).await, ["granted waiting", "denied failed 42501"]);

    for (role, sql) in [
        ("worker", "select * from kinfolk.task"),
        ("worker", "select * from kinfolk.intent"),
        ("owner", "select kinfolk.register_command('x')"),
        ("owner", "select kinfolk.settle('{}', '{}', '{}')"),
        ("owner", "select kinfolk.begin_handling(1, '00000000-0000-0000-0000-000000000000')"),
        ("owner", "call kinfolk.process_tasks()"),
        ("owner", "select kinfolk.slow_down(1, '00000000-0000-0000-0000-000000000000', 'tenant', now())"),
        ("owner", "select kinfolk.slow_down_all(1, '00000000-0000-0000-0000-000000000000', '{}')"),
    ] {
        let answer = database.try_run(&format!("set role {role}_{suffix}; {sql}")).await;
        assert!(matches!(answer, Err(StoreError::Forbidden { .. })), "{role}: {sql}: {answer:?}");
    }
    // Who may not call a function may not have a worker call it. (A session has its own name, whatever its role.)
    let forged = format!(
        "grant kinfolk_producer to owner_{suffix}; set session authorization owner_{suffix};
         select kinfolk.register_command('x', handler => 'app.denied')"
    );
    assert!(matches!(database.try_run(&forged).await, Err(StoreError::Forbidden { .. })));
    // Nor may a producer choose at all what runs with the worker's rights, or take a handler away.
    for handler in ["app.own", ""] {
        let chosen = format!(
            "create function app.own(payload jsonb) returns void language sql as 'select';
             grant usage on schema app to owner_{suffix};
             grant kinfolk_producer to owner_{suffix}; set session authorization owner_{suffix};
             select kinfolk.register_command('granted', handler => '{handler}')"
        );
        let answer = database.try_run(&chosen).await;
        assert!(matches!(answer, Err(StoreError::Forbidden { .. })), "{handler:?}: {answer:?}");
    }
    database
        .run(&format!(
            "drop owned by worker_{suffix}, owner_{suffix} cascade; drop role worker_{suffix}; drop role owner_{suffix}"
        ))
        .await;
}

#[tokio::test]
async fn a_handler_with_few_rights_can_not_choose_what_its_caller_runs() {
    let (database, _store) = fresh().await;
    database
        .run(
            "create schema low; create table public.loot (who text);
             create function low.eq(bigint, integer) returns boolean language plpgsql as $$ begin
                 insert into public.loot values (current_user);
                 return true;
             end $$;
             create operator low.= (leftarg = bigint, rightarg = integer, function = low.eq);
             create function low.spoil(payload jsonb) returns void language sql as $$
                 select set_config('search_path', 'low, pg_catalog', false)
             $$;
             select kinfolk.register_command('spoil', 'q', handler => 'low.spoil');
             select kinfolk.enqueue('spoil');
             call kinfolk.process_tasks('q', until_idle => true)",
        )
        .await;
    assert_eq!(database.texts("select who from public.loot").await, [""; 0]);
}

#[tokio::test]
async fn a_hundred_thousand_row_changes_in_one_statement_become_one_task() {
    let (database, store) = fresh().await;
    database
        .run(
            "create table thing (n int);
             create function changed() returns trigger language plpgsql as $$ begin
                 perform kinfolk.enqueue('work', jsonb_build_object('kinds', jsonb_build_object(new.n % 50, true), 'last', new.n),
                     unique_key => 'work', on_duplicate => 'merge');
                 return null;
             end $$;
             create trigger changed after insert on thing for each row execute function changed();
             insert into thing select generate_series(1, 100000)",
        )
        .await;
    let all = Filter { limit: 10, ..Filter::default() };
    let page = store.list(&all).await.unwrap();
    assert_eq!(page.tasks.len(), 1);
    let worker = worker(&store).await;
    let claimed = store.claim(&claim_of(worker, &["work"], 10)).await.unwrap().tasks;
    assert_eq!((claimed.len(), &claimed[0].payload), (1, &page.tasks[0].payload), "what is shown is what is run with");
    let payload: serde_json::Value = claimed[0].payload.to().unwrap();
    assert_eq!(payload["kinds"].as_object().unwrap().len(), 50);
    assert_eq!(payload["last"], 100_000);

    // What changes from now on is for the next task.
    database.run("insert into thing values (7)").await;
    assert_eq!(store.list(&all).await.unwrap().tasks.len(), 2);
    store.settle(&[done(&claimed[0])]).await.unwrap();
    sound(&store).await;
}

#[tokio::test]
async fn many_payloads_merged_at_once_are_as_if_merged_one_by_one() {
    let database = TestDatabase::create().await;
    let cases = [
        r#"{"a": 1}"#,
        r#"{"a": {"x": 1}}"#,
        r#"{"a": {"y": [1]}, "b": null}"#,
        "7",
        r#"{"c": {}}"#,
        r#"{"c": {"d": {"e": 1}}}"#,
        r#"{"c": {"d": {"f": 2}}, "a": []}"#,
        r#"{"c": {"d": 3}}"#,
        "[]",
        "{}",
    ];
    for from in 0..cases.len() {
        for to in from + 1..=cases.len() {
            let values: Vec<String> = cases[from..to].iter().map(|case| format!("'{case}'::jsonb")).collect();
            let one_by_one =
                values[1..].iter().fold(values[0].clone(), |older, newer| format!("kinfolk.merged({older}, {newer})"));
            let sql = format!(
                "select (kinfolk.merged_all(array[{}]) is not distinct from {one_by_one})::text",
                values.join(", ")
            );
            assert_eq!(database.texts(&sql).await, ["true"], "{sql}");
        }
    }
}

/// Two commands on the queue `q`: one that fails until its second attempt, one that makes another.
const PIPELINE: &str = "create schema app;
    create table app.note (what text);
    create function app.flaky(p jsonb) returns jsonb language plpgsql as $$ begin
        insert into app.note values ('flaky');
        if (select attempt from kinfolk.tasks where id = kinfolk.current_task()) < 2 then
            raise exception 'not yet' using errcode = 'P0007', hint = 'wait';
        end if;
        return '\"well\"';
    end $$;
    create function app.maker(p jsonb) returns void language plpgsql as $$ begin
        insert into app.note values ('maker');
        perform kinfolk.enqueue('flaky');
        perform kinfolk.spawn('leaf');
    end $$;
    create procedure app.leaf(p jsonb) language plpgsql as $$ begin
        insert into app.note values ('leaf');
        if p ? 'commit' then commit; end if;
    end $$;
    select kinfolk.register_command('flaky', 'q', handler => 'app.flaky', backoff_base => '0');
    select kinfolk.register_command('maker', 'q', handler => 'app.maker');
    select kinfolk.register_command('leaf', 'q', handler => 'app.leaf', max_attempts => 1)";

const STATES: &str = "select command || ' ' || state || ' ' || attempt from kinfolk.tasks order by id";

#[tokio::test]
async fn one_call_runs_what_could_be_claimed_and_leaves_the_rest_to_the_next() {
    let (database, store) = fresh().await;
    database.run(PIPELINE).await;
    let client = database.client().await;
    let states = async |when: &str| -> Vec<String> {
        client.batch_execute(when).await.unwrap();
        client.query(STATES, &[]).await.unwrap().iter().map(|row| row.get(0)).collect()
    };
    let call = "call kinfolk.process_tasks(queue => 'q')";
    client
        .batch_execute("begin; select kinfolk.enqueue('maker'), kinfolk.enqueue('leaf', '{\"commit\": true}')")
        .await
        .unwrap();
    assert_eq!(states(call).await, ["maker waiting 1", "leaf failed 1", "flaky pending 0", "leaf pending 0"]);
    let why = "select failure -> 'detail' ->> 'sqlstate' from kinfolk.tasks where state = 'failed'";
    let code: String = client.query_one(why, &[]).await.unwrap().get(0);
    assert_eq!(code, "2D000", "a procedure that commits can't run inside a transaction");
    assert_eq!(states(call).await, ["maker completed 1", "leaf failed 1", "flaky pending 1", "leaf completed 1"]);
    let notes: String = client.query_one("select string_agg(what, ' ') from app.note", &[]).await.unwrap().get(0);
    assert_eq!(notes, "maker leaf", "what a failed handler did is undone");
    let idle = "call kinfolk.process_tasks('q', until_idle => true)";
    assert_eq!(states(idle).await, ["maker completed 1", "leaf failed 1", "flaky completed 2", "leaf completed 1"]);
    client.batch_execute("commit").await.unwrap();
    assert_eq!(store.workers().await.unwrap(), [], "its worker is gone with it");
    sound(&store).await;
}

#[tokio::test]
async fn a_test_in_one_transaction_skips_ahead_over_delays_and_backoffs() {
    let (database, store) = fresh().await;
    database.run(PIPELINE).await;
    database
        .run("select kinfolk.register_command('flaky', 'q', handler => 'app.flaky', backoff_base => '1 minute')")
        .await;
    let client = database.client().await;
    client
        .batch_execute(
            "begin; select kinfolk.enqueue('flaky'), kinfolk.enqueue('leaf', due => clock_timestamp() + interval '9 days');
             call kinfolk.process_tasks('q', until_idle => true)",
        )
        .await
        .unwrap();
    let states =
        async || -> Vec<String> { client.query(STATES, &[]).await.unwrap().iter().map(|row| row.get(0)).collect() };
    assert_eq!(states().await, ["flaky pending 1", "leaf pending 0"], "time holds both");
    client.batch_execute("call kinfolk.process_tasks('q', skip_ahead => true)").await.unwrap();
    assert_eq!(states().await, ["flaky completed 2", "leaf completed 1"]);
    client.batch_execute("commit").await.unwrap();
    sound(&store).await;
}

/// Families with two children and a follow-up, on a queue that lets one family work at a time.
const FAMILIES: &str = "create schema app;
    create table app.note (nth serial, what text);
    create function app.family(p jsonb) returns void language plpgsql as $$ begin
        insert into app.note (what) values ('family ' || (p ->> 'n'));
        perform kinfolk.spawn('kid', p), kinfolk.spawn('kid', p);
        perform kinfolk.follow_up('thanks', p);
    end $$;
    create function app.kid(p jsonb) returns void language plpgsql as $$ begin
        insert into app.note (what) values ('kid ' || (p ->> 'n'));
    end $$;
    create function app.thanks(p jsonb) returns void language plpgsql as $$ begin
        insert into app.note (what) values ('thanks ' || (p ->> 'n'));
    end $$;
    select kinfolk.register_command(c, 'q', handler => 'app.' || c) from unnest('{family,kid,thanks}'::text[]) c;
    select kinfolk.set_limits('q', family_limit => 1, child_limit => 10);
    select kinfolk.enqueue('family', jsonb_build_object('n', n)) from generate_series(1, 2) n";

#[tokio::test]
async fn process_tasks_runs_a_familys_follow_up_before_the_next_family_as_a_worker_does() {
    for calls in ["call kinfolk.process_tasks('q', until_idle => true)", &"call kinfolk.process_tasks('q');".repeat(8)]
    {
        let (database, store) = fresh().await;
        database.run(FAMILIES).await;
        database.run(calls).await;
        let order = database.texts("select what from app.note order by nth").await;
        let family = |n| [format!("family {n}"), format!("kid {n}"), format!("kid {n}"), format!("thanks {n}")];
        assert_eq!(order, [family(1), family(2)].concat(), "{calls}");
        sound(&store).await;
    }
}

#[tokio::test]
async fn an_sql_handler_whose_task_is_gone_is_told_and_undone() {
    let (database, store) = fresh().await;
    let token = uuid::Uuid::new_v4();
    for meant in [
        "",
        "insert into kinfolk.intent (task_id, token, kind, id, command, payload) values (77, '{token}', 'child', nextval('kinfolk.task_id'), 'work', '{}');",
    ] {
        let finish =
            format!("{} select kinfolk.finish(77, '{token}', null)", meant.replace("{token}", &token.to_string()));
        match database.try_run(&finish).await {
            Err(StoreError::NotRecorded { detail }) => assert_eq!(detail, "task 77 is no longer with this attempt"),
            other => panic!("{finish}: {other:?}"),
        }
    }
    sound(&store).await;
}

#[tokio::test]
async fn process_tasks_slows_down_what_a_handler_wants_slowed_down() {
    let (database, store) = fresh().await;
    database
        .run(
            "create schema app;
             create function app.call(p jsonb) returns void language plpgsql as $$ begin
                 perform kinfolk.slow_down_for('provider', '1 hour'), kinfolk.in_order();
                 if p ? 'snooze' then perform kinfolk.snooze('1 hour'); end if;
                 if p ? 'error' then raise 'an error of its own'; end if;
             end $$;
             select kinfolk.register_command('call', 'q', groups => '{\"provider\": 9}', handler => 'app.call', max_attempts => 1);
             select kinfolk.enqueue('call', jsonb_build_object(how, true), keys => jsonb_build_object('provider', how))
             from unnest(array['return', 'snooze', 'error']) how;
             call kinfolk.process_tasks('q')",
        )
        .await;
    assert_eq!(database.texts("select key from kinfolk.keys() where until > now()").await, ["return", "snooze"]);
    assert_eq!(database.texts(STATES).await, ["call completed 1", "call pending 0", "call failed 1"]);
    assert_eq!(database.texts("select count(*)::text from kinfolk.intent").await, ["0"]);
    sound(&store).await;
}

#[tokio::test]
async fn process_tasks_never_waits_and_says_that_it_is_busy() {
    for limit in ["set_limits('q', family_limit => 1)", "set_queue('q', null, null, null, p_fair => 'tenant')"] {
        let (database, store) = fresh().await;
        database.run(PIPELINE).await;
        database.run(&format!("select kinfolk.{limit}; select kinfolk.enqueue('flaky')")).await;
        let other = database.client().await;
        other.batch_execute("begin; call kinfolk.process_tasks('q')").await.unwrap();
        match database.try_run("call kinfolk.process_tasks('q')").await {
            Err(StoreError::Busy { .. }) => {}
            answer => panic!("{limit}: {answer:?}"),
        }
        other.batch_execute("rollback").await.unwrap();
        database.run("call kinfolk.process_tasks('q', until_idle => true)").await;
        assert_eq!(database.texts(STATES).await, ["flaky completed 2"]);
        assert!(matches!(
            database.try_run("call kinfolk.process_tasks('nowhere')").await,
            Err(StoreError::NotFound { .. })
        ));
        sound(&store).await;
    }
}

/// The kind of failure of a handler whose fan-out went wrong is that of the core, case by case.
#[tokio::test]
async fn a_fan_out_that_went_wrong_is_the_kind_of_failure_that_the_core_says() {
    let (database, _store) = fresh().await;
    let cases = durable::vectors::kinds();
    let client = database.client().await;
    for (verdict, sub_tasks, kind) in cases {
        let words: Vec<&str> = sub_tasks.iter().map(|kind| kind.as_str()).collect();
        let sql = "select kinfolk.kind_of_fan_out($1, $2)";
        let found: String = client.query_one(sql, &[&verdict.as_str(), &words]).await.unwrap().get(0);
        assert_eq!(found, kind.as_str(), "{verdict:?} {words:?}");
    }
}
