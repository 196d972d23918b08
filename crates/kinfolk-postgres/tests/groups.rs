//! Groups where sessions meet, and what they cost those who have none.

mod common;

use common::*;
use kinfolk_core::*;
use kinfolk_postgres::PgStore;
use kinfolk_postgres::testing::{self, TestDatabase};

fn name(group: &str) -> GroupName {
    GroupName::new(group).unwrap()
}

fn under(command: &str, keys: &[(&str, &str)]) -> NewTask {
    let keys = keys.iter().fold(Keys::new(), |keys, (group, key)| keys.and(name(group), *key));
    NewTask { keys, ..task(command) }
}

/// A command with so many slots for each tenant and one for each message.
async fn grouped(store: &PgStore, command_name: &str, tenants: u32) {
    let groups = Groups::new().and(name("tenant"), GroupSpec::limit(tenants)).and(name("message"), GroupSpec::limit(1));
    store.register(&[Command { groups: Some(groups), ..Command::new(command(command_name)) }]).await.unwrap();
}

/// How many pages a claim of one command touches.
async fn pages_of_a_claim(database: &TestDatabase, worker: WorkerId, command: &str) -> i64 {
    let claim =
        format!("select * from kinfolk.claim('{}', gen_random_uuid(), 'default', '{{{command}}}', 10)", worker.0);
    pages_of(database, &claim).await
}

/// The reads of a table and its indexes in this session's transactions so far.
async fn reads_of(database: &TestDatabase, statement: &str, tables: &[&str]) -> Vec<i64> {
    let client = database.client().await;
    client.batch_execute("begin").await.unwrap();
    client.query(statement, &[]).await.unwrap();
    let mut reads = Vec::new();
    for table in tables {
        let sql = "select coalesce(pg_stat_get_xact_numscans(c.oid), 0) + coalesce(sum(pg_stat_get_xact_numscans(i.indexrelid)), 0)::bigint \
            from pg_class c left join pg_index i on i.indrelid = c.oid \
            where c.oid = ('kinfolk.' || $1::text)::regclass group by c.oid";
        reads.push(client.query_one(sql, &[table]).await.unwrap().get(0));
    }
    client.batch_execute("rollback").await.unwrap();
    reads
}

#[tokio::test]
async fn a_claim_of_commands_without_groups_reads_nothing_of_groups() {
    let (database, store) = fresh().await;
    grouped(&store, "grouped", 1).await;
    store.register(&[Command::new(command("work"))]).await.unwrap();
    for _ in 0..20 {
        enqueue(&store, task("work")).await;
    }
    let worker = worker(&store).await;
    let claim = format!("select * from kinfolk.claim('{}', gen_random_uuid(), 'default', '{{work}}', 10)", worker.0);
    let tables =
        ["slot_holder", "slot_group", "command_group", "freed", "ready_key", "spent", "reserved", "slot_setting"];
    assert_eq!(reads_of(&database, &claim, &tables).await, vec![0; tables.len()]);
    assert_ne!(reads_of(&database, &claim, &["task"]).await, [0]);
}

#[tokio::test]
async fn a_claim_costs_the_same_however_many_tasks_wait_behind_full_keys() {
    let (database, store) = fresh().await;
    grouped(&store, "work", 1).await;
    let worker = worker(&store).await;
    enqueue(&store, under("work", &[("tenant", "hot")])).await;
    assert_eq!(store.claim(&claim_of(worker, &["work"], 5)).await.unwrap().tasks.len(), 1);
    for n in 0..40 {
        enqueue(&store, under("work", &[("tenant", &format!("cool{n}")), ("message", &n.to_string())])).await;
    }
    testing::execute(&store, "analyze kinfolk.task").await.unwrap();
    let before = pages_of_a_claim(&database, worker, "work").await;

    // As a claim leaves them that has come to look at them.
    testing::execute(
        &store,
        "insert into kinfolk.task (id, queue_id, command_id, state, gate, priority, max_attempts, position, due, created_at, \
            payload, keys, failed_tries, blocked_group, blocked_key) \
         select nextval('kinfolk.task_id'), t.queue_id, t.command_id, 'pending', 'limit', t.priority, t.max_attempts, t.position, \
            t.due, t.created_at, t.payload, t.keys, 1, g.id, 'hot' \
         from kinfolk.task t, kinfolk.slot_group g, generate_series(1, 20000) \
         where t.state = 'running' and g.name = 'tenant'; \
         analyze kinfolk.task",
    )
    .await
    .unwrap();
    sound(&store).await;
    let with_many = pages_of_a_claim(&database, worker, "work").await;
    // One more level of the key's index for each of the 40 tasks, and what the looks before have left behind. A look at all who
    // wait would be hundreds.
    assert!(with_many <= before + 40 + 60, "{before} pages before, {with_many} with 20,000 that wait");
    let taken = store.claim(&claim_of(worker, &["work"], 40)).await.unwrap().tasks;
    assert_eq!(taken.len(), 40);
    assert_eq!(store.sweep().await.unwrap(), 0);
}

/// Makes a key for each of so many tasks that wait until its rate allows a start, as a claim leaves them.
async fn behind_rates(store: &PgStore, many: usize) {
    testing::execute(
        store,
        &format!(
            "with waiter as ( \
                insert into kinfolk.task (id, queue_id, command_id, state, gate, priority, max_attempts, position, due, created_at, \
                    payload, keys, failed_tries, blocked_group, blocked_key) \
                select nextval('kinfolk.task_id'), t.queue_id, t.command_id, 'pending', 'limit', t.priority, t.max_attempts, \
                    t.position, t.due, t.created_at, t.payload, jsonb_build_object('provider', 'slow' || n), 1, g.id, 'slow' || n \
                from kinfolk.task t, kinfolk.slot_group g, generate_series(1, {many}) n \
                where t.state = 'running' and g.name = 'provider' \
                returning blocked_group, blocked_key) \
             insert into kinfolk.spent (group_id, key, spent_until, wakes_at) \
             select w.blocked_group, w.blocked_key, kinfolk.clock() + '1 hour', kinfolk.clock() + '1 hour' from waiter w; \
             analyze kinfolk.task; analyze kinfolk.spent"
        ),
    )
    .await
    .unwrap();
}

#[tokio::test]
async fn a_claim_costs_the_same_however_many_keys_wait_for_their_rate() {
    let (database, store) = fresh().await;
    for (command_name, queue) in [("work", "default"), ("other", "elsewhere")] {
        let spec = GroupSpec::rate(Rate { count: 1, per: std::time::Duration::from_secs(3600), burst: 1 }).shared();
        let groups = Groups::new().and(name("provider"), spec);
        let queue = QueueName::new(queue).unwrap();
        store
            .register(&[Command { groups: Some(groups), queue, ..Command::new(command(command_name)) }])
            .await
            .unwrap();
    }
    let worker = worker(&store).await;
    for n in 0..11 {
        enqueue(&store, under("work", &[("provider", &format!("p{n}"))])).await;
    }
    assert_eq!(store.claim(&claim_of(worker, &["work"], 1)).await.unwrap().tasks.len(), 1);
    behind_rates(&store, 10).await;
    let before = pages_of_a_claim(&database, worker, "work").await;
    let others = pages_of_a_claim(&database, worker, "other").await;
    testing::execute(
        &store,
        "delete from kinfolk.task where gate = 'limit'; delete from kinfolk.spent where wakes_at is not null",
    )
    .await
    .unwrap();
    behind_rates(&store, 5000).await;
    let with_many = pages_of_a_claim(&database, worker, "work").await;
    assert!(with_many <= before + 100, "{before} pages before, {with_many} with 5,000 keys");
    let with_many = pages_of_a_claim(&database, worker, "other").await;
    assert!(with_many <= others + 1000, "{others} pages before, {with_many} with 5,000 keys that hold up others");
}

#[tokio::test]
async fn a_claim_that_would_reserve_room_waits_for_no_call_that_gives_the_room_back() {
    let (database, store) = fresh().await;
    grouped(&store, "work", 1).await;
    store.set_queue(&queue("side"), &Policy::default()).await.unwrap();
    let worker = worker(&store).await;
    enqueue(&store, under("work", &[("message", "m")])).await;
    let holder = store.claim(&claim_of(worker, &["work"], 1)).await.unwrap().tasks.remove(0);
    // A reservation that does not count, because the queue of its task is paused.
    let on_side = NewTask { queue: Some(queue("side")), ..under("work", &[("tenant", "acme")]) };
    let on_side = enqueue(&store, on_side).await;
    store.pause(&queue("side"), None).await.unwrap();
    // A candidate that other tasks have kept from starting for long.
    let starved = enqueue(&store, under("work", &[("tenant", "acme"), ("message", "m")])).await;
    let reserve = format!(
        "insert into kinfolk.reserved (group_id, key, task_id) select id, 'acme', {on_side} from kinfolk.slot_group where name = 'tenant'; \
         update kinfolk.task set failed_tries = 100 where id = {starved}"
    );
    database.run(&reserve).await;
    let cancel = database.client().await;
    cancel.batch_execute(&format!("begin; select kinfolk.cancel({on_side})")).await.unwrap();
    let claim = database.client().await;
    let call = format!("select from kinfolk.claim('{}', gen_random_uuid(), 'default', '{{work}}', 5)", worker.0);
    claim.batch_execute(&format!("set lock_timeout = '10s'; {call}")).await.expect("a claim that waits for no row");
    cancel.batch_execute("commit").await.unwrap();
    store.settle(&[done(&holder)]).await.unwrap();
    let taken = store.claim(&claim_of(worker, &["work"], 5)).await.unwrap().tasks;
    assert_eq!(taken.iter().map(|task| task.id).collect::<Vec<_>>(), [starved]);
    sound(&store).await;
}

#[tokio::test]
async fn a_declaration_that_counts_what_runs_costs_the_same_however_many_tasks_do_not() {
    let (database, store) = fresh().await;
    grouped(&store, "work", 10).await;
    let worker = worker(&store).await;
    for n in 0..5 {
        enqueue(&store, under("work", &[("tenant", "acme"), ("message", &n.to_string())])).await;
    }
    assert_eq!(store.claim(&claim_of(worker, &["work"], 5)).await.unwrap().tasks.len(), 5);
    let share =
        r#"select kinfolk.register_command('work', groups => '{"tenant": {"limit": 1, "shared": true}, "total": 3}')"#;
    let before = pages_of(&database, share).await;
    testing::execute(
        &store,
        "insert into kinfolk.task (id, queue_id, command_id, state, gate, priority, max_attempts, position, due, created_at, payload, keys) \
         select nextval('kinfolk.task_id'), t.queue_id, t.command_id, 'pending', 'open', t.priority, t.max_attempts, t.position, t.due, \
            t.created_at, t.payload, t.keys \
         from kinfolk.task t, generate_series(1, 4000) \
         where t.state = 'running'; \
         analyze kinfolk.task",
    )
    .await
    .unwrap();
    let with_many = pages_of(&database, share).await;
    // One more level of each index for each of the five tasks. A look at all that do not run would be hundreds.
    assert!(with_many <= before + 120, "{before} pages before, {with_many} with 20,000 that do not run");
    testing::execute(&store, share).await.unwrap();
    sound(&store).await;
    let shared = Some(GroupRef { command: None, name: name("tenant") });
    let keys = store.keys(&KeyFilter { group: shared, limit: 1, ..KeyFilter::default() }).await.unwrap();
    assert_eq!(keys[0].held, 5);
}

#[tokio::test]
async fn a_claim_costs_the_same_however_many_hold_their_slot_for_a_family() {
    let (database, store) = fresh().await;
    let groups = Groups::new().and(name("tenant"), GroupSpec::limit(100_000).hold());
    store.register(&[Command { groups: Some(groups), ..Command::new(command("work")) }]).await.unwrap();
    let worker = worker(&store).await;
    let tasks: Vec<_> = (0..3000).map(|_| under("work", &[("tenant", "acme")])).collect();
    for part in tasks.chunks(1000) {
        store.enqueue(part).await.unwrap();
    }
    assert_eq!(store.claim(&claim_of(worker, &["work"], 100)).await.unwrap().tasks.len(), 100);
    let before = pages_of_a_claim(&database, worker, "work").await;
    for _ in 0..5 {
        assert_eq!(store.claim(&claim_of(worker, &["work"], 500)).await.unwrap().tasks.len(), 500);
    }
    sound(&store).await;
    let with_many = pages_of_a_claim(&database, worker, "work").await;
    // The holders of the key are counted once; each candidate looks at a page of its own.
    assert!(with_many <= before + 300, "{before} pages before, {with_many} with 2,500 holders");
}

#[tokio::test(flavor = "multi_thread")]
async fn four_workers_never_pass_a_limit_and_everything_ends() {
    let (database, store) = fresh().await;
    grouped(&store, "work", 3).await;
    let many = 240;
    for n in 0..many {
        let (tenant, message) = (format!("t{}", n % 3), format!("m{}", n % 40));
        enqueue(&store, under("work", &[("tenant", &tenant), ("message", &message)])).await;
    }
    let most = most_at_once(&database, many, |_| true).await;
    assert!(most <= 9, "three tenants with three slots each");
    sound(&store).await;
    assert_eq!(store.sweep().await.unwrap(), 0);
}

#[tokio::test]
async fn explaining_costs_the_same_however_many_stand_in_the_lines_of_a_fair_queue() {
    let (database, store) = fresh().await;
    grouped(&store, "work", 1_000_000).await;
    let policy = Policy { fair: Some(name("tenant")), ..Policy::default() };
    store.set_queue(&QueueName::default(), &policy).await.unwrap();
    for tenant in ["hot", "cool", "hot"] {
        enqueue(&store, under("work", &[("tenant", tenant)])).await;
    }
    let worker = worker(&store).await;
    assert_eq!(store.claim(&claim_of(worker, &["work"], 1)).await.unwrap().tasks.len(), 1);
    let explain = "select * from kinfolk.explain(3)";
    let before = pages_of(&database, explain).await;

    // As a claim has sorted them in, half of them before that task and half behind it.
    testing::execute(
        &store,
        "insert into kinfolk.task (id, queue_id, command_id, state, gate, priority, max_attempts, position, due, created_at, \
            payload, keys, fair_value) \
         select nextval('kinfolk.task_id'), t.queue_id, t.command_id, 'pending', 'turn', n % 2 * 2 - 1, t.max_attempts, t.position, \
            t.due, t.created_at, t.payload, t.keys, t.fair_value \
         from kinfolk.task t, generate_series(1, 20000) n \
         where t.id = 3; \
         analyze kinfolk.task",
    )
    .await
    .unwrap();
    sound(&store).await;
    let with_many = pages_of(&database, explain).await;
    let reasons = store.explain(TaskId(3)).await.unwrap().reasons;
    assert_eq!(reasons, [Reason::InLine { before: limits::PAGE_MAX as u64 }]);
    assert!(with_many <= before + limits::PAGE_MAX as i64 + 50, "{before} pages before, {with_many} with 20,000 more");
}

#[tokio::test]
async fn claims_that_meet_at_a_group_take_what_has_none_or_wait() {
    let (database, store) = fresh().await;
    grouped(&store, "work", 1).await;
    store.register(&[Command::new(command("plain"))]).await.unwrap();
    let worker = worker(&store).await;
    enqueue(&store, under("work", &[("tenant", "acme")])).await;
    let plain = enqueue(&store, task("plain")).await;

    let mut other = database.client().await;
    let held = other.transaction().await.unwrap();
    held.execute("select pg_advisory_xact_lock(1263160910, g.id) from kinfolk.slot_group g", &[]).await.unwrap();
    let taken = store.claim(&claim_of(worker, &["work", "plain"], 5)).await.unwrap().tasks;
    assert_eq!(taken.iter().map(|task| task.id).collect::<Vec<_>>(), [plain]);
    held.commit().await.unwrap();
    assert_eq!(store.claim(&claim_of(worker, &["work", "plain"], 5)).await.unwrap().tasks.len(), 1);
}

#[tokio::test]
async fn setting_one_key_has_claims_look_at_that_key_alone() {
    let (database, store) = fresh().await;
    grouped(&store, "work", 0).await;
    let worker = worker(&store).await;
    let tasks: Vec<_> = (0..50).map(|n| under("work", &[("tenant", &format!("t{n}"))])).collect();
    store.enqueue(&tasks).await.unwrap();
    assert_eq!(store.claim(&claim_of(worker, &["work"], 100)).await.unwrap().tasks, []);
    let group = GroupRef::of(command("work"), name("tenant"));
    let one = Setting { limit: Some(1), rate: None };
    for key in ["t7", "nobody's"] {
        store.set_group(&group, Some(key), &one).await.unwrap();
    }
    let rows = database.client().await.query("select m.key from kinfolk.ready_key m", &[]).await.unwrap();
    assert_eq!(rows.iter().map(|row| row.get(0)).collect::<Vec<String>>(), ["t7"]);
    assert_eq!(store.claim(&claim_of(worker, &["work"], 100)).await.unwrap().tasks.len(), 1);
    sound(&store).await;
}

/// On how many pages holders of slots stand, and those of one key: of tenants, and of messages.
async fn pages_of_holders(database: &TestDatabase) -> Vec<(i32, i32)> {
    let client = database.client().await;
    let rows =
        client.query("select g.pages, g.spread from kinfolk.slot_group g order by g.name desc", &[]).await.unwrap();
    rows.iter().map(|row| (row.get(0), row.get(1))).collect()
}

#[tokio::test]
async fn holders_get_pages_as_they_need_them_and_give_them_back() {
    let (database, store) = fresh().await;
    grouped(&store, "work", 1000).await;
    let worker = worker(&store).await;
    let tasks: Vec<_> = (0..600).map(|n| under("work", &[("tenant", "acme"), ("message", &n.to_string())])).collect();
    store.enqueue(&tasks).await.unwrap();
    let mut taken = Vec::new();
    for _ in 0..6 {
        taken.extend(store.claim(&claim_of(worker, &["work"], 100)).await.unwrap().tasks);
        sound(&store).await;
    }
    assert_eq!(taken.len(), 600);
    let group = Some(GroupRef { command: Some(command("work")), name: name("tenant") });
    let keys = store.keys(&KeyFilter { group, limit: 1, ..KeyFilter::default() }).await.unwrap();
    assert_eq!(keys[0].held, 600);
    let [(tenant_pages, tenant_spread), (message_pages, message_spread)] = pages_of_holders(&database).await[..] else {
        panic!("two groups")
    };
    assert!(tenant_pages > 1 && tenant_spread == tenant_pages, "{tenant_spread} of {tenant_pages}");
    assert!(message_pages > 1 && message_spread == 1, "{message_spread} of {message_pages}");

    let settles: Vec<_> = taken.iter().map(done).collect();
    store.settle(&settles).await.unwrap();
    sound(&store).await;
    store.prune().await.unwrap();
    assert_eq!(pages_of_holders(&database).await, [(1, 1), (1, 1)]);
    sound(&store).await;
}

#[tokio::test]
async fn a_prune_leaves_nothing_of_rates_that_have_passed_however_many_keys_there_were() {
    let (database, store) = fresh().await;
    grouped(&store, "work", 1).await;
    testing::execute(
        &store,
        "insert into kinfolk.spent (group_id, key, spent_until) \
         select g.id, 'k' || n, kinfolk.clock() - interval '1 s' \
         from kinfolk.slot_group g, generate_series(1, 3500) n where g.name = 'tenant'",
    )
    .await
    .unwrap();
    store.prune().await.unwrap();
    let row = database.client().await.query_one("select count(*) from kinfolk.spent", &[]).await.unwrap();
    assert_eq!(row.get::<_, i64>(0), 0);
}

async fn take_turns(store: &PgStore) {
    let policy = Policy { fair: Some(name("tenant")), ..Policy::default() };
    store.set_queue(&QueueName::default(), &policy).await.unwrap();
}

/// Has a claim of one task go past 2,500 of a full key, and answers how often it looked at the holders of slots.
async fn looks_of_a_claim_past_a_full_key(database: &TestDatabase, store: &PgStore) -> i64 {
    grouped(store, "work", 1).await;
    let worker = worker(store).await;
    let hot = under("work", &[("tenant", "hot")]);
    enqueue(store, hot.clone()).await;
    assert_eq!(store.claim(&claim_of(worker, &["work"], 1)).await.unwrap().tasks.len(), 1);
    for _ in 0..5 {
        store.enqueue(&vec![hot.clone(); 500]).await.unwrap();
    }
    let claim = format!("select * from kinfolk.claim('{}', gen_random_uuid(), 'default', '{{work}}', 1)", worker.0);
    let looks = reads_of(database, &claim, &["slot_holder"]).await[0];

    let cool = enqueue(store, under("work", &[("tenant", "cool")])).await;
    let mut claims = Vec::new();
    for _ in 0..2 {
        claims.extend(store.claim(&claim_of(worker, &["work"], 1)).await.unwrap().tasks);
    }
    assert_eq!(claims.iter().map(|task| task.id).collect::<Vec<_>>(), [cool]);
    sound(store).await;
    looks
}

#[tokio::test]
async fn a_claim_with_one_free_slot_looks_at_many_who_are_held_up_at_once() {
    let (database, store) = fresh().await;
    let looks = looks_of_a_claim_past_a_full_key(&database, &store).await;
    assert!(looks < 100, "{looks} looks at holders");
}

#[tokio::test]
async fn a_claim_with_one_free_slot_looks_at_many_whose_turn_it_is_at_once() {
    let (database, store) = fresh().await;
    take_turns(&store).await;
    let looks = looks_of_a_claim_past_a_full_key(&database, &store).await;
    assert!(looks < 100, "{looks} looks at holders");
}

/// Takes one task while another session has this one in hand.
async fn taken_beside(database: &TestDatabase, store: &PgStore, worker: WorkerId, held: TaskId) -> Vec<TaskId> {
    let mut other = database.client().await;
    let hold = other.transaction().await.unwrap();
    hold.execute("select from kinfolk.task t where t.id = $1 for update", &[&held.0]).await.unwrap();
    let taken = store.claim(&claim_of(worker, &["work", "other"], 1)).await.unwrap().tasks;
    hold.rollback().await.unwrap();
    sound(store).await;
    taken.iter().map(|task| task.id).collect()
}

#[tokio::test]
async fn a_claim_of_one_passes_over_a_task_in_other_hands() {
    let (database, store) = fresh().await;
    grouped(&store, "work", 5).await;
    grouped(&store, "other", 5).await;
    let worker = worker(&store).await;
    let first = enqueue(&store, under("work", &[("tenant", "acme")])).await;
    let second = enqueue(&store, under("other", &[("tenant", "acme")])).await;
    assert_eq!(taken_beside(&database, &store, worker, first).await, [second]);
    assert_eq!(store.claim(&claim_of(worker, &["work", "other"], 1)).await.unwrap().tasks[0].id, first);
}

#[tokio::test]
async fn a_claim_of_one_passes_over_a_task_in_other_hands_that_a_key_has_room_for() {
    let (database, store) = fresh().await;
    grouped(&store, "work", 1).await;
    let worker = worker(&store).await;
    let mut ids = Vec::new();
    for tenant in ["acme", "beta", "acme", "beta"] {
        ids.push(enqueue(&store, under("work", &[("tenant", tenant)])).await);
    }
    let running = store.claim(&claim_of(worker, &["work"], 5)).await.unwrap().tasks;
    assert_eq!(running.len(), 2);
    store.settle(&running.iter().map(done).collect::<Vec<_>>()).await.unwrap();
    assert_eq!(taken_beside(&database, &store, worker, ids[2]).await, [ids[3]]);
    assert_eq!(store.claim(&claim_of(worker, &["work"], 1)).await.unwrap().tasks[0].id, ids[2]);
}

#[tokio::test]
async fn a_claim_of_one_passes_over_a_task_in_other_hands_whose_turn_it_is() {
    let (database, store) = fresh().await;
    grouped(&store, "work", 5).await;
    take_turns(&store).await;
    let worker = worker(&store).await;
    let mut ids = Vec::new();
    for tenant in ["acme", "beta", "cool"] {
        ids.push(enqueue(&store, under("work", &[("tenant", tenant)])).await);
    }
    assert_eq!(store.claim(&claim_of(worker, &["work"], 1)).await.unwrap().tasks[0].id, ids[0]);
    assert_eq!(taken_beside(&database, &store, worker, ids[1]).await, [ids[2]]);
    assert_eq!(store.claim(&claim_of(worker, &["work"], 1)).await.unwrap().tasks[0].id, ids[1]);
}

#[tokio::test]
async fn ready_keys_that_nobody_can_use_hide_none_behind_them() {
    let (_database, store) = fresh().await;
    let groups = Groups::new().and(name("message"), GroupSpec::limit(1));
    store.register(&[Command { groups: Some(groups), ..Command::new(command("work")) }]).await.unwrap();
    store.register(&[Command::new(command("parent"))]).await.unwrap();
    let worker = worker(&store).await;
    let group = GroupRef { command: Some(command("work")), name: name("message") };
    store.set_group(&group, None, &Setting { limit: Some(0), ..Setting::default() }).await.unwrap();

    enqueue(&store, task("parent")).await;
    let parent = store.claim(&claim_of(worker, &["parent"], 1)).await.unwrap().tasks.remove(0);
    let made = Made { children: vec![under("work", &[("message", "z")])], ..Made::default() };
    store.settle(&[Settle { made: Some(Box::new(made)), ..done(&parent) }]).await.unwrap();
    let tasks: Vec<_> = (0..2500).map(|n| under("work", &[("message", &format!("m{n}"))])).collect();
    for tasks in tasks.chunks(500) {
        store.enqueue(tasks).await.unwrap();
    }
    assert_eq!(
        store.claim(&claim_of(worker, &["work"], 5)).await.unwrap().tasks.len(),
        0,
        "all wait behind their keys"
    );

    // The family at work is the only one that may be: of 2,501 keys with room, one has someone behind it who may start.
    store.set_queue(&QueueName::default(), &Policy { family_limit: Some(1), ..Policy::default() }).await.unwrap();
    store.set_group(&group, None, &Setting::default()).await.unwrap();
    sound(&store).await;
    let child = store.claim(&claim_of(worker, &["work"], 5)).await.unwrap().tasks;
    assert_eq!(child.iter().map(|task| task.parent).collect::<Vec<_>>(), [Some(parent.id)]);
    assert_eq!(store.claim(&claim_of(worker, &["work"], 5)).await.unwrap().tasks.len(), 0);
    store.settle(&[done(&child[0])]).await.unwrap();
    for _ in 0..3 {
        let next = store.claim(&claim_of(worker, &["work"], 5)).await.unwrap().tasks;
        assert_eq!(next.len(), 1);
        store.settle(&[done(&next[0])]).await.unwrap();
    }
    sound(&store).await;
}

#[tokio::test]
async fn a_claim_costs_the_same_however_many_values_take_turns() {
    let (database, store) = fresh().await;
    grouped(&store, "work", 5).await;
    take_turns(&store).await;
    let worker = worker(&store).await;
    let mut pages = Vec::new();
    for values in [0..50, 50..2050] {
        let tasks: Vec<_> = values.map(|n| under("work", &[("tenant", &format!("t{n}"))])).collect();
        for tasks in tasks.chunks(500) {
            store.enqueue(tasks).await.unwrap();
        }
        assert_eq!(store.claim(&claim_of(worker, &["work"], 1)).await.unwrap().tasks.len(), 1);
        testing::execute(&store, "analyze kinfolk.task").await.unwrap();
        pages.push(pages_of_a_claim(&database, worker, "work").await);
    }
    assert!(pages[1] <= 2 * pages[0] + 50, "{} pages with 50 values, {} with 2,050", pages[0], pages[1]);
}
