//! Who may do what: an exact list, and the same whether a role has logged in or was set.

mod common;

use std::collections::BTreeSet;

use common::*;
use kinfolk_core::StoreError;
use kinfolk_postgres::testing::TestDatabase;

/// Every function that a role may call beside its owner, by role. A new grant in `sql/grants.sql` is named here as well, after
/// asking: what could a handler, which runs with the worker's rights, do with it?
const RIGHTS: [(&str, &str); 5] = [
    (
        "kinfolk_handler",
        "current_keys current_task enqueue enqueue_many fan_out follow_up give_up hasten has_failed_siblings has_pending_children \
         in_order retry_after slow_down slow_down_for snooze spawn spawn_sibling try_enqueue try_enqueue_many",
    ),
    (
        "kinfolk_operator",
        "acquit audit audit_log bulk cancel clock commands count_matching declare_schedules find_tasks get_task get_tasks groups pause \
         pause_schedule put_finder put_schedule put_status queues register_command register_commands remove_finder remove_group remove_schedule \
         remove_status resume retry retry_family run_now schedules \
         schema_version set_group set_limits set_queue signal statuses",
    ),
    (
        "kinfolk_producer",
        "clock commands enqueue enqueue_many enqueue_rows register_command register_commands schema_version signal \
         take_ids try_enqueue try_enqueue_many wake",
    ),
    (
        "kinfolk_viewer",
        "change_number check_invariants children clock commands count_by_command count_matching count_tasks doctor ended_at errors explain failed_tasks find_tasks payload_with_duplicates get_attempts \
         get_task get_tasks groups \
         has_failed_siblings has_pending_children history holds is_active keys list_tasks minutes pending_facts progress queues results runs \
         schedules schema_version stats statuses tally workers",
    ),
    (
        "kinfolk_worker",
        "begin_procedure begin_round begin_send call_function call_handler claim claim_chosen claimable clock commands complete count_tasks end_handling due_next due_schedules \
         end_procedure end_send begin_handling expire failure_of find_handler find_tasks finish fire flush get_task get_tasks handling heartbeat history leave \
         lock_settled lock_suspended log_error named_in record_minutes open_envelope process_round process_task process_tasks prune prune_rates put_off_wakes queues \
         record recover refresh_statuses register_worker report require_done results run_function run_task schema_version send_key settle \
         settle_made signal skip_ahead slow_down slow_down_all stats statuses suspend sweep take_signal tally wake_queues wakes_put_off",
    ),
];

#[tokio::test]
async fn each_role_may_call_what_is_listed_here_and_nothing_else() {
    let database = TestDatabase::create().await;
    let mut wrong = Vec::new();
    for (role, functions) in RIGHTS {
        let granted = format!(
            "select distinct p.proname::text from pg_proc p, aclexplode(p.proacl) a
             where p.pronamespace = 'kinfolk'::regnamespace and a.grantee = '{role}'::regrole"
        );
        let granted: BTreeSet<String> = database.texts(&granted).await.into_iter().collect();
        let listed: BTreeSet<String> = functions.split_whitespace().map(str::to_owned).collect();
        wrong.extend(granted.difference(&listed).map(|new| {
            format!(
                "{role} may call kinfolk.{new}: add it to RIGHTS in tests/rights.rs, and to docs/sql.md with its role"
            )
        }));
        wrong.extend(listed.difference(&granted).map(|gone| {
            format!("{role} may not call kinfolk.{gone}: take it out of RIGHTS in tests/rights.rs, or grant it in sql/grants.sql")
        }));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let others = "select distinct p.proname || ' to ' || a.grantee::regrole from pg_proc p, aclexplode(p.proacl) a
        where p.pronamespace = 'kinfolk'::regnamespace and a.grantee <> p.proowner
        and a.grantee::regrole::text !~ '^kinfolk_(producer|worker|viewer|operator|handler)$'";
    assert_eq!(database.texts(others).await, [""; 0]);
    let types = "select t.typname::text from pg_type t, aclexplode(coalesce(t.typacl, acldefault('T', t.typowner))) a
        where t.typnamespace = 'kinfolk'::regnamespace and a.grantee <> t.typowner
        and (t.typtype = 'e' or exists (select from pg_class c where c.oid = t.typrelid and c.relkind = 'c'))";
    assert_eq!(database.texts(types).await, [""; 0], "nothing may be built upon a type of the engine");
}

/// Roles of one test, which belong to the whole cluster.
struct Roles<'a> {
    database: &'a TestDatabase,
    made: Vec<String>,
}

impl<'a> Roles<'a> {
    fn new(database: &'a TestDatabase) -> Self {
        Self { database, made: Vec::new() }
    }

    /// A role that may log in and is a member of these, whose rights it has, or has only when it is set to them.
    async fn role(&mut self, name: &str, of: &str, inherits: &str) -> String {
        let role = format!("{name}_{}", self.database.name());
        let grant = if of.is_empty() { String::new() } else { format!("in role {of}") };
        self.database.run(&format!("create role {role} login {inherits} {grant}")).await;
        self.made.push(role.clone());
        role
    }

    async fn drop_all(self) {
        for role in self.made.iter().rev() {
            self.database.run(&format!("drop owned by {role} cascade; drop role {role}")).await;
        }
    }
}

/// Runs statements in a session of this role.
async fn as_login(database: &TestDatabase, role: &str, sql: &str) -> Result<(), StoreError> {
    let url = database.url.replace("postgres://postgres@", &format!("postgres://{role}@"));
    let (client, connection) = tokio_postgres::connect(&url, tokio_postgres::NoTls).await.expect("a log-in");
    tokio::spawn(async move { drop(connection.await) });
    client.batch_execute(sql).await.map_err(|fault| kinfolk_postgres::store_error(&fault))
}

#[tokio::test]
async fn rights_are_those_of_the_role_that_calls() {
    let (database, _store) = fresh().await;
    let mut roles = Roles::new(&database);
    let producer = roles.role("producer", "kinfolk_producer", "").await;
    let operator = roles.role("operator", "kinfolk_operator", "").await;
    let authenticator = roles.role("authenticator", &format!("{producer}, {operator}"), "noinherit").await;
    database
        .run(&format!(
            "create schema app; grant usage on schema app to public;
             create function app.mine(p jsonb) returns jsonb language sql as 'select p';
             create function app.secret(p jsonb) returns jsonb language sql as 'select p';
             revoke execute on function app.secret(jsonb) from public;
             create function app.by_operator() returns void language sql security definer as
                 $$ select kinfolk.register_command('x', handler => 'app.mine') $$;
             alter function app.by_operator() owner to {operator};
             create function app.by_producer() returns void language sql security definer as
                 $$ select kinfolk.register_command('x', handler => 'app.mine') $$;
             alter function app.by_producer() owner to {producer};"
        ))
        .await;
    let choose = "select kinfolk.register_command('x', handler => 'app.mine')";
    let secret = "select kinfolk.register_command('x', handler => 'app.secret')";
    let take_away = "select kinfolk.register_command('x', handler => '')";
    let plain = "select kinfolk.register_command('y', 'q', max_attempts => 3)";
    let forged = "insert into kinfolk.registration (names, handlers, caller) values ('{x}', '{app.mine}', 'postgres')";
    for (role, sql, may) in [
        (&producer, plain, true),
        (&producer, choose, false),
        (&producer, take_away, false),
        (&producer, forged, false),
        (&producer, "select app.by_operator()", true),
        (&producer, "select kinfolk.pause('default')", false),
        (&operator, choose, true),
        (&operator, take_away, true),
        (&operator, secret, false),
        (&operator, forged, false),
        (&operator, "select app.by_producer()", false),
        (&operator, "select kinfolk.pause('default')", true),
    ] {
        let set = format!("set role {role}; {sql}");
        let answers = [
            ("logged in", as_login(&database, role, sql).await),
            ("set by one that has no rights itself", as_login(&database, &authenticator, &set).await),
            ("set by a superuser", database.try_run(&set).await),
        ];
        for (how, answer) in answers {
            let as_asked = if may { answer.is_ok() } else { matches!(answer, Err(StoreError::Forbidden { .. })) };
            assert!(as_asked, "{role} {how}: {sql}: {answer:?}");
        }
    }
    assert_eq!(
        database.texts("select paused_by from kinfolk.queues() where name = 'default'").await,
        std::slice::from_ref(&operator),
        "who paused it is the role that called, too"
    );
    roles.drop_all().await;
}

#[tokio::test]
async fn what_a_handler_may_call_leaves_no_task_behind_a_gate() {
    let (database, store) = fresh().await;
    enqueue(&store, task("work")).await;
    let mut roles = Roles::new(&database);
    let worker = roles.role("worker", "kinfolk_worker", "").await;
    for gone in ["hold_back('default', '{work}', '{}', '{}')", "let_go('{1}')"] {
        let answer = as_login(&database, &worker, &format!("select kinfolk.{gone}")).await;
        assert!(answer.is_err(), "{gone}");
    }
    // What it may call shuts the gate only while the call lasts.
    as_login(
        &database,
        &worker,
        "select kinfolk.begin_round('018f0000-0000-7000-8000-000000000001', 'default');
         select kinfolk.claim_chosen('018f0000-0000-7000-8000-000000000001', gen_random_uuid(), 'default', '{work}', '{}', '{}')",
    )
    .await
    .unwrap();
    assert_eq!(database.texts("select state || ' ' || gate from kinfolk.tasks").await, ["pending open"]);
    sound(&store).await;
    roles.drop_all().await;
}

#[tokio::test]
async fn only_one_who_may_run_tasks_now_moves_the_time_of_a_test() {
    let (database, store) = fresh().await;
    database
        .run(
            "create schema app; grant usage on schema app to public;
             create function app.late(p jsonb) returns void language sql as '';
             select kinfolk.register_command('late', handler => 'app.late'); select kinfolk.enqueue('late', delay => '1 day')",
        )
        .await;
    let mut roles = Roles::new(&database);
    let worker = roles.role("worker", "kinfolk_worker", "").await;
    let tester = roles.role("tester", "kinfolk_worker, kinfolk_operator", "").await;
    let named = "select kinfolk.register_worker('018f0000-0000-7000-8000-000000000001', 'process_tasks', '{default}', '{late}', 60000000)";
    let round = "select kinfolk.begin_round('018f0000-0000-7000-8000-000000000001', 'default')";
    as_login(&database, &worker, named).await.unwrap();
    for moving in [
        "call kinfolk.process_tasks(skip_ahead => true)",
        "select kinfolk.skip_ahead('default')",
        &format!("{named}; select kinfolk.skip_ahead('default')"),
        &format!("{round}; select kinfolk.skip_ahead('default')"),
        "select kinfolk.run_now(kinfolk.due_next('default'))",
    ] {
        let answer = as_login(&database, &worker, moving).await;
        assert!(matches!(answer, Err(StoreError::Forbidden { .. })), "{moving}: {answer:?}");
    }
    let late = "select state || ' ' || gate || ' ' || (due > clock_timestamp() + interval '23 h') from kinfolk.tasks";
    assert_eq!(database.texts(late).await, ["pending time true"]);
    as_login(&database, &worker, "call kinfolk.process_tasks(until_idle => true)").await.unwrap();
    assert_eq!(database.texts(late).await, ["pending time true"]);
    as_login(&database, &tester, "call kinfolk.process_tasks(skip_ahead => true)").await.unwrap();
    assert_eq!(database.texts("select state from kinfolk.tasks").await, ["completed"]);
    sound(&store).await;
    roles.drop_all().await;
}

#[tokio::test]
async fn a_worker_can_do_nothing_beyond_its_grants() {
    let (database, _store) = fresh().await;
    let mut roles = Roles::new(&database);
    let worker = roles.role("worker", "kinfolk_worker", "").await;
    database
        .run(
            "create schema app; grant usage on schema app to public; create table app.private (n int);
             create function app.open(p jsonb) returns jsonb language sql as 'select p';
             create function app.secret(p jsonb) returns jsonb language sql as 'select p';
             revoke execute on function app.secret(jsonb) from public;
             select kinfolk.register_command('c', handler => 'app.open'); select kinfolk.enqueue('c')",
        )
        .await;
    let attempts: Vec<&str> = include_str!("denied.txt").lines().collect();
    assert!(attempts.len() >= 60, "{}", attempts.len());
    for attempt in attempts {
        let fault = as_login(&database, &worker, attempt).await.expect_err(attempt).to_string();
        assert!(!fault.contains("syntax error"), "{attempt}: {fault}");
    }
    assert_eq!(database.texts("select state from kinfolk.tasks").await, ["pending"]);
    roles.drop_all().await;
}
