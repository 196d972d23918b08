//! The engine as other languages see it: functions in SQL, in anyone's transaction, under any settings.

mod common;

use std::time::Duration;

use common::*;
use kinfolk_core::retry::VECTORS;
use kinfolk_core::*;
use kinfolk_postgres::testing::TestDatabase;
use kinfolk_postgres::{PgOptions, PgStore, enqueue_in, settle_in};

async fn refused(database: &TestDatabase, sql: &str) -> String {
    match database.try_run(sql).await {
        Err(StoreError::Input(fault)) => fault.to_string(),
        other => panic!("{sql}: {other:?}"),
    }
}

#[tokio::test]
async fn an_enqueue_answers_created_existing_or_merged_and_one_that_is_rejected_raises() {
    let (database, store) = fresh().await;
    let answers = "select string_agg(e.outcome || coalesce(' ' || e.why, ''), ', ' order by n) from
        generate_series(1, 4) n, lateral kinfolk.try_enqueue(case n when 4 then 'nobody' else 'work' end, '{\"a\": 1}',
            unique_key => 'k', on_duplicate => case n when 3 then 'merge' else 'keep' end) e";
    assert_eq!(database.texts(answers).await, ["created, existing, merged, rejected unknown command nobody"]);
    let many = "select string_agg(e.outcome, ', ') from kinfolk.try_enqueue_many('[{\"command\": \"work\"},
        {\"command\": \"work\", \"delay\": \"1 hour\", \"priority\": 5}, {\"command\": \"?\"}]') e";
    assert_eq!(database.texts(many).await, ["created, created, rejected"]);
    let before = store.stats().await.unwrap().counts;
    for call in [
        "enqueue('nobody')",
        "enqueue('nobody', unique_key => 'k')",
        "enqueue('work', queue => 'nowhere')",
        "enqueue('work', keys => '{\"tenant\": \"a\"}')",
        "enqueue_many('[{\"command\": \"work\"}, {\"command\": \"nobody\"}]')",
    ] {
        let fault = database.try_run(&format!("select kinfolk.{call}")).await.unwrap_err();
        assert!(matches!(fault, StoreError::Rejected(_)), "{call}: {fault:?}");
    }
    // In a trigger, the statement that fired it fails with it.
    database
        .run(
            "create table thing (n int);
             create function changed() returns trigger language plpgsql as
                 $$ begin perform kinfolk.enqueue('nobody'); return null; end $$;
             create trigger changed after insert on thing for each row execute function changed()",
        )
        .await;
    assert!(matches!(database.try_run("insert into thing values (1)").await, Err(StoreError::Rejected(_))));
    assert_eq!(database.texts("select count(*)::text from thing").await, ["0"]);
    assert_eq!(store.stats().await.unwrap().counts, before);
}

#[tokio::test]
async fn a_number_that_no_handler_could_read_is_refused() {
    let (database, _store) = fresh().await;
    for payload in ["1e400", "{\"a\": [-1e309]}"] {
        for call in ["enqueue('work', '{}')", "enqueue_many('[{{\"command\": \"work\", \"payload\": {}}}]')"] {
            let call = call.replace("{}", payload).replace("{{", "{").replace("}}", "}");
            let said = refused(&database, &format!("select * from kinfolk.{call}")).await;
            assert!(said.contains("number") && said.contains("string"), "{call}: {said}");
        }
    }
    let long = format!("{{\"a\": 1e307, \"b\": \"{}\", \"c\": 1e-400}}", "9".repeat(400));
    database.run(&format!("select * from kinfolk.enqueue('work', '{long}')")).await;
}

#[tokio::test]
async fn groups_are_declared_as_a_number_or_by_name_and_keys_come_with_the_enqueue() {
    let (database, store) = fresh().await;
    database.run("select kinfolk.register_command('work', groups => '3')").await;
    let total = Groups::total(3);
    assert_eq!(store.commands().await.unwrap()[0].groups, Some(total));
    let groups = "{\"tenant\": 2, \"api\": {\"rate\": {\"count\": 5, \"per\": \"1 minute\"}, \"shared\": true}}";
    database.run(&format!("select kinfolk.register_command('work', groups => '{groups}')")).await;
    let api = GroupSpec::rate(Rate::per_minute(5)).shared();
    let declared = Groups::of([("tenant", GroupSpec::limit(2)), ("api", api)]).unwrap();
    assert_eq!(store.commands().await.unwrap()[0].groups, Some(declared));
    let many = "select string_agg(e.outcome || coalesce(' ' || e.why, ''), ', ') from kinfolk.try_enqueue_many('[
        {\"command\": \"work\", \"keys\": {\"tenant\": \"acme\"}}, {\"command\": \"work\"},
        {\"command\": \"work\", \"keys\": {\"nothing\": \"x\"}}]') e";
    assert_eq!(database.texts(many).await, ["created, created, rejected unknown group nothing"]);
    let one = "select e.id::text from kinfolk.enqueue('work', keys => '{\"tenant\": \"b\"}') e";
    let id = database.texts(one).await[0].parse().unwrap();
    let keys = store.task(TaskId(id)).await.unwrap().unwrap().keys;
    assert_eq!(keys, Keys::of([("tenant", "b")]).unwrap());
    // A number is its text, and a key of null skips its group.
    for (given, kept) in [("5", Keys::of([("tenant", "5")]).unwrap()), ("null", Keys::new())] {
        let one = format!("select e.id::text from kinfolk.enqueue('work', keys => '{{\"tenant\": {given}}}') e");
        let id = database.texts(&one).await[0].parse().unwrap();
        assert_eq!(store.task(TaskId(id)).await.unwrap().unwrap().keys, kept, "{given}");
    }
    for (groups, words) in [
        ("{\"tenant\": \"many\"}", "many"),
        ("{\"tenant\": {\"limits\": 1}}", "limits"),
        ("{\"tenant\": {\"rate\": {\"counts\": 1}}}", "counts"),
        ("{\"tenant\": {}}", "neither"),
        ("[]", "object"),
    ] {
        let fault = refused(&database, &format!("select kinfolk.register_command('work', groups => '{groups}')")).await;
        assert!(fault.contains(words), "{groups}: {fault}");
    }
}

#[tokio::test]
async fn bad_input_is_refused_with_the_value_and_the_remedy() {
    let (database, store) = fresh().await;
    for (arguments, words) in [
        ("delay => '-1 minute'", "negative delay"),
        ("delay => '20 years'", "out of range"),
        ("due => now(), delay => '1 minute'", "both"),
        ("priority => 2000000", "priority 2000000"),
        ("max_attempts => 0", "max_attempts is 0"),
        ("timeout => '0 seconds'", "timeout"),
        ("unique_key => ''", "unique key"),
        ("unique_key => repeat('x', 201)", "201 bytes"),
        ("unique_key => 'k', unique_scope => 'ever'", "ever"),
        ("unique_key => 'k', unique_scope => 'window'", "unique_window"),
        ("unique_key => 'k', on_duplicate => 'drop'", "keep, replace, merge"),
        ("trace => repeat('x', 300)", "trace"),
        ("payload => null", "null"),
        ("keys => '[]'", "object"),
        ("keys => '{\"tenant\": true}'", "tenant"),
        ("priority => -2147483648", "priority -2147483648"),
    ] {
        let fault = refused(&database, &format!("select kinfolk.enqueue('work', {arguments})")).await;
        assert!(fault.contains(words), "{arguments}: {fault}");
    }
    let large = "select kinfolk.enqueue('work', jsonb_build_object('a', repeat('x', 262140)))";
    let fault = refused(&database, large).await;
    assert!(fault.contains("payload") && fault.contains("262148"), "{fault}");
    refused(&database, "select kinfolk.enqueue_many('{}')").await;
    refused(&database, "select kinfolk.enqueue_many('[{\"command\": \"work\", \"prio\": 1}]')").await;
    refused(&database, "select kinfolk.register_command('two words')").await;
    refused(&database, "select kinfolk.enqueue_rows(array(select kinfolk.take_ids(1)), array['work'], null)").await;
    assert_eq!(store.stats().await.unwrap().counts, []);
}

#[tokio::test]
async fn the_size_of_json_is_that_of_its_canonical_text() {
    let database = TestDatabase::create().await;
    for text in
        [r#"{"a":[1,2,{"b":null,"é\n\u0001\"":[]}],"c":{},"d":[[],[1.50,-3]]}"#, "[]", "{}", "7", r#""x, y: z""#]
    {
        let json = Json::parse(text).unwrap();
        let sql = format!("select kinfolk.json_bytes('{}')::text", json.as_str().replace('\'', "''"));
        assert_eq!(database.texts(&sql).await, [json.bytes().to_string()], "{text}");
    }
}

#[tokio::test]
async fn delays_are_those_of_the_core() {
    let database = TestDatabase::create().await;
    for (base, cap, jitter, task, attempt, micros) in VECTORS {
        let sql = format!("select kinfolk.retry_delay({base}, {cap}, {jitter}, {task}, {attempt})::text");
        assert_eq!(database.texts(&sql).await, [micros.to_string()]);
    }
}

#[tokio::test]
async fn enqueue_works_under_every_isolation_level_and_decisions_only_under_read_committed() {
    let (database, store) = fresh().await;
    let id = enqueue(&store, task("work")).await;
    for level in ["repeatable read", "serializable"] {
        let within = |sql: String| {
            let sql = format!("begin isolation level {level}; {sql}; commit");
            let database = &database;
            async move { database.try_run(&sql).await }
        };
        within("select kinfolk.enqueue('work', unique_key => 'k', on_duplicate => 'merge')".to_owned()).await.unwrap();
        let fault = within(format!("select kinfolk.cancel({id})")).await.unwrap_err();
        assert!(fault.to_string().contains("read committed"), "{fault}");
    }
    database
        .run(&format!("alter database {} set default_transaction_isolation = 'serializable'", database.name()))
        .await;
    let strict = database.store().await;
    let worker = worker(&strict).await;
    let claimed = strict.claim(&claim_of(worker, &["work"], 10)).await.unwrap();
    assert_eq!(claimed.tasks.len(), 2);
    let settles: Vec<Settle> = claimed.tasks.iter().map(done).collect();
    assert_eq!(strict.settle(&settles).await.unwrap(), [Settled::Recorded(State::Completed); 2]);
    sound(&strict).await;
}

#[tokio::test]
async fn tasks_and_settles_live_and_die_with_the_callers_transaction() {
    let (database, store) = fresh().await;
    let worker = worker(&store).await;
    let mut client = database.client().await;
    let dropped = client.transaction().await.unwrap();
    let gone = enqueue_in(&dropped, &[task("work")]).await.unwrap()[0].id().unwrap();
    dropped.rollback().await.unwrap();
    assert_eq!(store.task(gone).await.unwrap(), None);
    let kept = client.transaction().await.unwrap();
    let large = with("work", &format!(r#"{{"a":"{}"}}"#, "x".repeat(1000)));
    let id = enqueue_in(&kept, std::slice::from_ref(&large)).await.unwrap()[0].id().unwrap();
    kept.commit().await.unwrap();

    let claimed = store.claim(&claim_of(worker, &["work"], 10)).await.unwrap();
    assert_eq!((claimed.tasks[0].id, &claimed.tasks[0].payload), (id, &large.payload));
    let dropped = client.transaction().await.unwrap();
    let settle = done(&claimed.tasks[0]);
    let recorded = [Settled::Recorded(State::Completed)];
    assert_eq!(settle_in(&dropped, std::slice::from_ref(&settle)).await.unwrap(), recorded);
    dropped.rollback().await.unwrap();
    assert_eq!(store.settle(std::slice::from_ref(&settle)).await.unwrap(), recorded);
    sound(&store).await;
}

#[tokio::test]
async fn a_duplicate_committed_after_the_claim_goes_to_the_next_task() {
    let (database, store) = fresh().await;
    let worker = worker(&store).await;
    let unique_task = |payload: &str| NewTask {
        unique: Some(Unique::key("k").on_duplicate(OnDuplicate::Merge)),
        ..with("work", payload)
    };
    let first = enqueue(&store, unique_task(r#"{"a":1}"#)).await;
    let mut client = database.client().await;
    let late = client.transaction().await.unwrap();
    assert_eq!(enqueue_in(&late, &[unique_task(r#"{"b":2}"#)]).await.unwrap(), [Enqueued::Merged(first)]);
    let claimed = store.claim(&claim_of(worker, &["work"], 10)).await.unwrap();
    assert_eq!(claimed.tasks[0].payload, Json::parse(r#"{"a":1}"#).unwrap());
    late.commit().await.unwrap();
    let next = store.claim(&claim_of(worker, &["work"], 10)).await.unwrap();
    assert_eq!(next.tasks.len(), 1);
    assert_ne!(next.tasks[0].id, first);
    assert_eq!(next.tasks[0].payload, Json::parse(r#"{"b":2}"#).unwrap());
    sound(&store).await;
}

#[tokio::test]
async fn tasks_made_under_one_key_at_the_same_moment_become_one() {
    let (database, store) = fresh().await;
    let worker = worker(&store).await;
    let unique_task = |payload: &str| NewTask {
        unique: Some(Unique::key("k").on_duplicate(OnDuplicate::Merge)),
        ..with("work", payload)
    };
    let mut one = database.client().await;
    let mut two = database.client().await;
    let (first, second) = (one.transaction().await.unwrap(), two.transaction().await.unwrap());
    let a = enqueue_in(&first, &[unique_task(r#"{"a":1}"#)]).await.unwrap()[0].id().unwrap();
    let b = enqueue_in(&second, &[unique_task(r#"{"b":2}"#)]).await.unwrap()[0].id().unwrap();
    first.commit().await.unwrap();
    second.commit().await.unwrap();
    let claimed = store.claim(&claim_of(worker, &["work"], 10)).await.unwrap();
    assert_eq!(claimed.tasks.len(), 1);
    assert_eq!(claimed.tasks[0].payload, Json::parse(r#"{"a":1,"b":2}"#).unwrap());
    let duplicate = store.task(b).await.unwrap().unwrap();
    let into = format!("a duplicate of task {a}, which holds the same unique key");
    assert_eq!(
        (duplicate.state, duplicate.failure),
        (State::Cancelled, Some(Failure::new(FailureKind::Cancelled, into)))
    );
    sound(&store).await;
}

#[tokio::test]
async fn unnamed_statements_do_all_that_prepared_ones_do() {
    let (database, _store) = fresh().await;
    does_all_unnamed(&database).await;
}

#[tokio::test]
async fn unnamed_statements_say_themselves_which_isolation_level_they_need() {
    for level in ["repeatable read", "serializable"] {
        let (database, _store) = fresh().await;
        let name = database.url.rsplit('/').next().unwrap();
        database.run(&format!("alter database {name} set default_transaction_isolation = '{level}'")).await;
        does_all_unnamed(&database).await;
    }
}

/// As behind a transaction pooler, where the session can be told nothing.
async fn does_all_unnamed(database: &TestDatabase) {
    let options = PgOptions { prepared: false, notify: false, ..PgOptions::default() };
    let store = PgStore::connect(&database.url, options).await.unwrap();
    let worker = worker(&store).await;
    assert!(store.wakes(worker, &[QueueName::default()]).await.unwrap().is_none());
    let id = enqueue(&store, task("work")).await;
    let claimed = store.claim(&claim_of(worker, &["work"], 10)).await.unwrap();
    let failure = Failure::new(FailureKind::Error, "no");
    let outcome = Outcome::Failed { failure: failure.clone(), retry: Retry::After(Duration::ZERO) };
    let settle = Settle { outcome, ..done(&claimed.tasks[0]) };
    assert_eq!(store.settle(&[settle]).await.unwrap(), [Settled::Recorded(State::Pending)]);
    assert_eq!(store.task(id).await.unwrap().unwrap().failure, Some(failure));
    assert_eq!(store.attempts(id).await.unwrap().len(), 1);
    let (one, two) = (enqueue(&store, task("work")).await, enqueue(&store, task("work")).await);
    store.cancel(id).await.unwrap();
    let claimed = store.claim(&claim_of(worker, &["work"], 10)).await.unwrap().tasks;
    assert_eq!(claimed.iter().map(|claimed| claimed.id).collect::<Vec<_>>(), [one, two]);
    let made = Made { children: vec![task("work")], ..Made::default() };
    let settles = [done(&claimed[0]), Settle { made: Some(Box::new(made)), ..done(&claimed[1]) }];
    assert_eq!(store.settle(&settles).await.unwrap().len(), 2, "several calls in one transaction");
    store.leave(worker).await.unwrap();
    assert!(store.doctor().await.unwrap().len() > 6);
    sound(&store).await;
}

#[tokio::test]
async fn a_call_in_sql_brings_no_more_checkpoints_of_an_attempt_than_one_in_rust() {
    let (database, store) = fresh().await;
    enqueue(&store, task("work")).await;
    let claimed = store.claim(&claim_of(worker(&store).await, &["work"], 1)).await.unwrap().tasks.remove(0);
    let of_each = |value: &str, many| format!("array_fill({value}, array[{many}])");
    let steps = |many| {
        let names = format!("array(select 'step' || n from generate_series(1, {many}) n)");
        let all = [of_each("''::text", many), names, of_each("0", many), of_each("'step'::text", many)];
        let rest = [of_each("''::text", many), of_each("'1'::jsonb", many)];
        format!("row({})::kinfolk.checkpoints", [all.join(", "), rest.join(", ")].join(", "))
    };
    let (id, token) = (claimed.id, claimed.token.0);
    let record = |many| {
        format!("select kinfolk.record(array[{id}], array['{token}']::uuid[], {}, {})", of_each("1", many), steps(many))
    };
    let suspend = |many| {
        let awaits = "row('{}', '{}', now() + interval '1 day', '{}')::kinfolk.awaits";
        format!("select kinfolk.suspend({id}, '{token}', {awaits}, {})", steps(many))
    };
    for call in [record(limits::RECORD_BATCH_MAX + 1), suspend(limits::RECORD_BATCH_MAX + 1)] {
        let said = refused(&database, &call).await;
        assert!(said.contains("too many checkpoints of one attempt") && said.contains("at most 1000"), "{said}");
    }
    database.run(&record(limits::RECORD_BATCH_MAX)).await;
    database.run(&suspend(limits::RECORD_BATCH_MAX)).await;
    sound(&store).await;
}
