//! Nulls and extreme values in every argument of every function that a role may call: each has a meaning, or is refused with an
//! error of the engine's own. The server's errors for bad values, broken constraints and bugs (classes 22, 23, 42 and XX) never
//! come through, and the store is sound after whatever was accepted.

mod common;

use common::*;
use kinfolk_postgres::testing::TestDatabase;

/// What there is to call about: a task that runs, one of a handler in the database, an open one, a schedule, a status.
const SETUP: &str = "create schema app;
    create function app.f(p jsonb) returns jsonb language sql as 'select p';
    select kinfolk.register_command('work', groups => '{\"tenant\": 5}');
    select kinfolk.register_command('other', 'side', handler => 'app.f');
    select kinfolk.register_worker('018f0000-0000-7000-8000-000000000001', 'w', '{default,side}', '{work,other}', 30000000);
    select kinfolk.enqueue('work', keys => '{\"tenant\": \"a\"}'), kinfolk.enqueue('other');
    select kinfolk.claim('018f0000-0000-7000-8000-000000000001', '7d2f4a10-3f6f-4f59-9d0e-2b8f3c1d5e77', 'default', '{work}', 1);
    select kinfolk.claim('018f0000-0000-7000-8000-000000000001', gen_random_uuid(), 'side', '{other}', 1);
    select kinfolk.enqueue('work');
    select kinfolk.put_status('s', '{work}');
    select kinfolk.put_schedule('tick', '* * * * *', 'UTC', 'skip', 'skip', false, now(),
        jsonb_populate_record(null::kinfolk.given_task, '{\"command\": \"work\", \"payload\": {}}'))";

/// What an argument of this name is given while another one is tried; others get something of their type, or their default.
const BASE: [(&str, &str); 36] = [
    ("p_worker", "'018f0000-0000-7000-8000-000000000001'"),
    ("p_token", "'7d2f4a10-3f6f-4f59-9d0e-2b8f3c1d5e77'"),
    ("token", "'7d2f4a10-3f6f-4f59-9d0e-2b8f3c1d5e77'"),
    ("p_tokens", "'{7d2f4a10-3f6f-4f59-9d0e-2b8f3c1d5e77}'"),
    ("p_task", "1"),
    ("task", "1"),
    ("p_ids", "'{1}'"),
    ("p_tasks", "'{1}'"),
    ("p_outcomes", "'{done}'"),
    ("queue", "'default'"),
    ("p_queue", "'default'"),
    ("p_queues", "'{default}'"),
    ("command", "'work'"),
    ("p_command", "'work'"),
    ("p_commands", "'{work}'"),
    ("p_group", "'tenant'"),
    ("group_name", "'tenant'"),
    ("p_kinds", "'{child}'"),
    ("p_order", "'together'"),
    ("p_name", "'tick'"),
    ("name", "'work'"),
    ("p_names", "'{work}'"),
    ("tasks", "'[{\"command\": \"work\"}]'"),
    ("p_cron", "'* * * * *'"),
    ("p_zone", "'UTC'"),
    ("p_lease_us", "30000000"),
    ("p_limit", "1"),
    ("p_missed", "'skip'"),
    ("p_overlap", "'skip'"),
    ("p_unique_scope", "'pending'"),
    ("p_on_duplicate", "'keep'"),
    ("p_scopes", "'{pending}'"),
    ("p_on_duplicates", "'{keep}'"),
    ("p_whens", "'{settled}'"),
    ("p_step_kinds", "'{step}'"),
    ("p_fan_rules", "'{collect_all}'"),
];

/// Something of this type, and what is tried of it beside null.
fn of_type(kind: &str) -> (&'static str, &'static [&'static str]) {
    match kind {
        "integer" => ("1", &["'-2147483648'", "2147483647", "'-1'", "0"]),
        "smallint" => ("1", &["'-32768'", "32767"]),
        "bigint" => ("1", &["'-9223372036854775808'", "9223372036854775807", "'-1'", "0"]),
        "text" | "name" => ("'x'", &["''", "'no such thing'", "repeat('x', 100000)", "E'\\x01'"]),
        "boolean" => ("false", &["true"]),
        "interval" => ("'1 second'", &["'-1 day'", "'178000000 years'", "'-178000000 years'", "'0'"]),
        "timestamp with time zone" => ("now()", &["'infinity'", "'-infinity'", "'294276-01-01'", "'4713-01-01 BC'"]),
        "uuid" => ("'018f0000-0000-7000-8000-000000000009'", &["'00000000-0000-0000-0000-000000000000'"]),
        "jsonb" => (
            "'{}'",
            &[
                "'null'",
                "'[]'",
                "'5'",
                "'1e400'",
                "'\"x\"'",
                "'[null]'",
                "'[5]'",
                "'{\"a\": null}'",
                "'{\"kind\": 5}'",
                "'{\"tenant\": 1.5}'",
                "'{\"tenant\": {\"limit\": 1e30}}'",
                "'{\"tenant\": {\"limit\": 1, \"hold\": \"x\"}}'",
                "'{\"tenant\": {\"rate\": {\"count\": 1, \"per\": \"soon\"}}}'",
                "'[{\"command\": 5, \"delay\": \"soon\"}]'",
                "'[{\"command\": \"work\", \"priority\": 1.5}]'",
                "'[{\"command\": \"work\", \"due\": \"x\"}]'",
            ],
        ),
        _ => ("null", &[]),
    }
}

/// The rows that functions take, with what each is given while a member of it is tried.
const ROWS: [(&str, &str); 5] = [
    ("kinfolk.given_task", r#"jsonb_populate_record(null::kinfolk.given_task, '{"command": "work", "payload": {}}')"#),
    (
        "kinfolk.given_tasks",
        "row('{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}')",
    ),
    ("kinfolk.checkpoints", "row('{\"\"}', '{x}', '{0}', '{step}', '{d}', '{1}')"),
    ("kinfolk.awaits", "row('{}', '{}', now() + interval '1 hour', '{}')"),
    ("kinfolk.begun_fan_outs", "row('{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}')"),
];

struct Argument {
    name: String,
    kind: String,
    has_default: bool,
    /// Of a row: its members.
    members: Vec<Argument>,
}

impl Argument {
    fn base(&self) -> Option<String> {
        // Numbers of tasks that are to be made: those that the function takes by itself.
        if self.name == "p_ids" && self.has_default {
            return None;
        }
        let fits = |value: &str| self.row().is_none() && value.starts_with("'{") == self.kind.ends_with("[]");
        let named =
            BASE.iter().find(|(name, value)| *name == self.name && fits(value)).map(|(_, value)| (*value).to_owned());
        let element = self.kind.strip_suffix("[]");
        let typed = || match element {
            Some(element) => Some(format!("array[{}]", of_type(element).0)),
            None if self.has_default => None,
            None => Some(self.row().unwrap_or(of_type(&self.kind).0).to_owned()),
        };
        named.or_else(typed)
    }

    fn row(&self) -> Option<&'static str> {
        ROWS.iter().find(|(kind, _)| *kind == self.kind).map(|(_, row)| *row)
    }

    fn extremes(&self) -> Vec<String> {
        if let Some(row) = self.row() {
            let with = |name: &str, kind: &str, value: &str| {
                let row = format!("({row})::{}", self.kind);
                format!("jsonb_populate_record({row}, jsonb_build_object('{name}', {value}::{kind}))")
            };
            let of_member = |member: &Argument| -> Vec<String> {
                member.extremes().iter().map(|value| with(&member.name, &member.kind, value)).collect()
            };
            return std::iter::once("null".to_owned()).chain(self.members.iter().flat_map(of_member)).collect();
        }
        let Some(element) = self.kind.strip_suffix("[]") else {
            let some = of_type(&self.kind).1.iter().map(|value| (*value).to_owned());
            return std::iter::once("null".to_owned()).chain(some).collect();
        };
        let (plain, some) = of_type(element);
        let arrays = some.iter().map(|value| format!("array[{value}]"));
        let unusual =
            ["null".to_owned(), "'{}'".to_owned(), "array[null]".to_owned(), format!("array[{plain}, {plain}]")];
        unusual.into_iter().chain(arrays).collect()
    }
}

/// Every call to be tried: each argument of each function that someone may call, one at a time; and whether it may change
/// anything.
async fn calls(database: &TestDatabase) -> Vec<(String, bool)> {
    let functions = "select p.proname || '|' || p.prokind::text || '|' || p.provolatile::text || '|' || coalesce((
            select string_agg(p.proargnames[i] || ',' || format_type(t, null) || ',' || (i > p.pronargs - p.pronargdefaults), ';' order by i)
            from unnest(p.proargtypes::oid[]) with ordinality a(t, i)), '')
        from pg_proc p
        where p.pronamespace = 'kinfolk'::regnamespace
            and exists (select from aclexplode(p.proacl) a where a.grantee <> p.proowner)
        order by p.oid::regprocedure::text";
    let members = "select format_type(c.reltype, null) || '|' || a.attname || '|' || format_type(a.atttypid, null)
        from pg_class c
        join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
        where c.relkind = 'c' and c.relnamespace = 'kinfolk'::regnamespace
        order by c.oid, a.attnum";
    let members: Vec<(String, String, String)> = database
        .texts(members)
        .await
        .iter()
        .map(|text| text.splitn(3, '|').map(str::to_owned).collect::<Vec<_>>())
        .map(|parts| (parts[0].clone(), parts[1].clone(), parts[2].clone()))
        .collect();
    let mut calls = Vec::new();
    for function in database.texts(functions).await {
        let parts: Vec<&str> = function.split('|').collect();
        let verb = if parts[1] == "p" { "call" } else { "select * from" };
        let argument = |text: &str| {
            let parts: Vec<&str> = text.split(',').collect();
            // What takes several types is given JSON.
            let kind = parts[1].replace("anycompatible", "jsonb");
            let own = members.iter().filter(|(row, ..)| *row == kind);
            let member = |(_, name, kind): &(String, String, String)| Argument {
                name: name.clone(),
                kind: kind.clone(),
                has_default: false,
                members: Vec::new(),
            };
            Argument {
                name: parts[0].to_owned(),
                has_default: parts[2] == "true",
                members: own.map(member).collect(),
                kind,
            }
        };
        let arguments: Vec<Argument> = parts[3].split(';').filter(|text| !text.is_empty()).map(argument).collect();
        for (tried, _) in arguments.iter().enumerate() {
            for value in arguments[tried].extremes() {
                let given = arguments.iter().enumerate().filter_map(|(nth, argument)| {
                    let value = if nth == tried { Some(value.clone()) } else { argument.base() };
                    value.map(|value| format!("{} => {value}::{}", argument.name, argument.kind))
                });
                let call = format!("{verb} kinfolk.{}({})", parts[0], given.collect::<Vec<_>>().join(", "));
                calls.push((call, parts[2] == "v"));
            }
        }
    }
    calls
}

#[tokio::test]
async fn nulls_and_extreme_values_have_a_meaning_or_are_refused_in_our_own_words() {
    let (database, store) = fresh().await;
    database.run(SETUP).await;
    let calls = calls(&database).await;
    assert!(calls.len() > 2_000, "{}", calls.len());
    let client = database.client().await;
    client.batch_execute("set statement_timeout = '20s'").await.unwrap();
    let mut wrong = Vec::new();
    for (call, may_change) in &calls {
        client
            .batch_execute(
                "begin; select set_config('kinfolk.task', '1', true), \
                 set_config('kinfolk.token', '7d2f4a10-3f6f-4f59-9d0e-2b8f3c1d5e77', true)",
            )
            .await
            .unwrap();
        match client.batch_execute(call).await {
            Ok(()) if !may_change => {}
            Ok(()) => {
                let broken = client.query_one("select count(*) from kinfolk.check_invariants()", &[]).await.unwrap();
                if broken.get::<_, i64>(0) > 0 {
                    wrong.push(format!("{call}: the store is not sound after it"));
                }
            }
            Err(fault) => {
                let db = fault.as_db_error().unwrap_or_else(|| panic!("{call}: {fault}"));
                if ["22", "23", "42", "XX"].contains(&&db.code().code()[..2]) {
                    wrong.push(format!(
                        "{call}: {} {}; refuse it with KF001 and the argument's name",
                        db.code().code(),
                        db.message()
                    ));
                }
            }
        }
        client.batch_execute("rollback").await.unwrap();
    }
    assert!(wrong.is_empty(), "{} of {} calls:\n{}", wrong.len(), calls.len(), wrong.join("\n"));
    sound(&store).await;
}

/// Nulls that a deciding function has no meaning for: KF001, and the message names the argument.
#[tokio::test]
async fn a_deciding_function_refuses_a_null_that_means_nothing() {
    let (database, _store) = fresh().await;
    database.run(SETUP).await;
    let token = "'7d2f4a10-3f6f-4f59-9d0e-2b8f3c1d5e77'";
    for (call, words) in [
        ("settle(null, null, null)", "p_ids"),
        (&*format!("settle('{{1}}', array[{token}]::uuid[], array[null])"), "outcome"),
        (&*format!("settle('{{1}}', array[{token}]::uuid[], '{{snooze}}')"), "delay"),
        (&*format!("settle(array[null]::bigint[], array[{token}]::uuid[], '{{done}}')"), "number"),
        ("complete(null, null)", "token"),
        ("enqueue(null)", "command"),
        ("enqueue('work', priority => -2147483648)", "priority"),
        ("enqueue_many('[null]')", "tasks"),
        ("enqueue_many(null)", "tasks"),
        ("enqueue_many('[{}]')", "command"),
        ("enqueue_many('[{\"command\": null}]')", "command"),
        ("take_ids(null)", "many"),
        ("take_ids(10001)", "many is 10001"),
        ("heartbeat(null)", "p_worker"),
        ("recover(null)", "p_worker"),
        ("claim(null, gen_random_uuid(), 'default', '{work}', 1)", "p_worker"),
        ("set_group('work', null, null, 1, null, null, null)", "p_name"),
        ("register_worker(gen_random_uuid(), 'w', '{default}', '{work}', null)", "p_lease_us"),
        ("register_command('x', groups => '{\"tenant\": 1.5}')", "tenant"),
        ("set_queue('default', -9223372036854775808, null, null)", "p_keep_completed_us"),
        ("cancel(null)", "p_task"),
        ("retry(null)", "p_task"),
        ("pause(null)", "queue"),
        ("leave(null)", "p_worker"),
        ("claim(gen_random_uuid(), gen_random_uuid(), null, '{work}', 1)", "p_queue"),
        ("snooze(null)", "a span of null"),
        ("slow_down_for('tenant', null)", "span"),
    ] {
        let client = database.client().await;
        client.batch_execute(&format!("set kinfolk.task = '1'; set kinfolk.token = {token}")).await.unwrap();
        let fault = client.batch_execute(&format!("select kinfolk.{call}")).await.unwrap_err();
        let db = fault.as_db_error().unwrap();
        assert_eq!(db.code().code(), "KF001", "{call}: {db}");
        assert!(db.message().contains(words), "{call}: {db}");
    }
    // What runs is as it was.
    assert_eq!(database.texts("select state from kinfolk.tasks where id = 1").await, ["running"]);
}
