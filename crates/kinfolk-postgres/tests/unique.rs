//! Unique keys of scope `active` while several sessions are at them: whatever one of them has not committed yet, no two tasks
//! that hold one key run at once.

mod common;

use std::collections::HashSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use common::*;
use kinfolk_core::*;
use kinfolk_postgres::PgStore;
use kinfolk_postgres::testing::{self, TestDatabase};
use tokio_postgres::Client;

const ENQUEUE: &str = "select outcome from kinfolk.enqueue('work', '{}', unique_key => 'k', unique_scope => 'active', \
    on_duplicate => 'merge', delay => $1::text::interval)";
const CLAIM: &str = "select id from kinfolk.claim($1::text::uuid, gen_random_uuid(), 'default', '{work}', 10) \
    where id is not null";

/// Sessions on one database whose clock stands still.
struct Stage {
    database: TestDatabase,
    store: PgStore,
    worker: WorkerId,
}

impl Stage {
    async fn new() -> Self {
        let (database, store) = fresh().await;
        testing::install_clock(&store).await.unwrap();
        let worker = worker(&store).await;
        Self { database, store, worker }
    }

    /// A session with an open transaction.
    async fn begin(&self) -> Session {
        let session = self.session().await;
        session.client.batch_execute("begin").await.unwrap();
        session
    }

    async fn session(&self) -> Session {
        Session { client: self.database.client().await, worker: worker(&self.store).await }
    }

    /// One claim in a transaction of its own, which takes what may start.
    async fn claim_alone(&self) -> Vec<ClaimedTask> {
        self.store.claim(&claim_of(self.worker, &["work"], 10)).await.unwrap().tasks
    }

    /// The other session has one task in hand: it runs, and whatever else was made under its key does not.
    async fn one_runs(&self, holder: &Session) {
        assert_eq!(self.claim_alone().await, [], "while the other session is not at its end");
        holder.commit().await;
        assert_eq!(self.claim_alone().await, [], "the key is held");
        let states = "select state::text from kinfolk.task where state <> 'completed' order by state::text";
        assert_eq!(self.database.texts(states).await, ["cancelled", "running"]);
        sound(&self.store).await;
    }
}

/// A plain connection, and a worker that claims over it.
struct Session {
    client: Client,
    worker: WorkerId,
}

impl Session {
    async fn enqueue(&self, delay: &str) -> String {
        self.client.query_one(ENQUEUE, &[&delay]).await.unwrap().get(0)
    }

    async fn claim(&self) -> usize {
        self.client.query(CLAIM, &[&self.worker.0.to_string()]).await.unwrap().len()
    }

    async fn commit(&self) {
        self.client.batch_execute("commit").await.unwrap();
    }
}

#[tokio::test]
async fn what_is_made_of_a_late_duplicate_runs_beside_no_other_task_of_its_key() {
    let stage = Stage::new().await;
    let plain = stage.session().await;
    assert_eq!(plain.enqueue("0").await, "created");
    let late = stage.begin().await;
    assert_eq!(late.enqueue("0").await, "merged");
    let first = stage.claim_alone().await;
    stage.store.settle(&[done(&first[0])]).await.unwrap();
    late.commit().await;

    let other = stage.begin().await;
    assert_eq!(other.claim().await, 1, "made of the late duplicate, and started");
    assert_eq!(plain.enqueue("0").await, "created");
    stage.one_runs(&other).await;
}

#[tokio::test]
async fn what_a_transaction_makes_and_starts_runs_beside_no_other_task_of_its_key() {
    let stage = Stage::new().await;
    let plain = stage.session().await;
    let other = stage.begin().await;
    assert_eq!(other.enqueue("0").await, "created");
    assert_eq!(other.claim().await, 1);
    assert_eq!(plain.enqueue("0").await, "created");
    stage.one_runs(&other).await;
}

#[tokio::test]
async fn what_a_claim_opens_and_starts_runs_beside_no_other_task_of_its_key() {
    let stage = Stage::new().await;
    let (plain, slow) = (stage.session().await, stage.begin().await);
    assert_eq!(slow.enqueue("0").await, "created");
    assert_eq!(plain.enqueue("1 second").await, "created");
    let now = stage.store.now().await.unwrap();
    testing::set_clock(&stage.store, now.plus(Duration::from_secs(1))).await.unwrap();
    let other = stage.begin().await;
    assert_eq!(other.claim().await, 1, "it is due");
    slow.commit().await;
    stage.one_runs(&other).await;
}

/// What the tasks of a tenant wait for.
async fn wait_for(stage: &Stage, wait: &str) {
    let spec = match wait {
        "rate" => GroupSpec::rate(Rate::per_minute(1)),
        "turn" => GroupSpec::limit(1_000),
        _ => GroupSpec::limit(1),
    };
    let tenant = GroupName::new("tenant").unwrap();
    let groups = Some(Groups::new().and(tenant.clone(), spec));
    stage.store.register(&[Command { groups, ..Command::new(command("work")) }]).await.unwrap();
    let fair = (wait == "turn").then_some(tenant);
    stage.store.set_queue(&queue("default"), &Policy { fair, ..Policy::default() }).await.unwrap();
}

fn of_tenant(tenant: &str) -> NewTask {
    NewTask { keys: Keys::of([("tenant", tenant)]).unwrap(), ..task("work") }
}

#[tokio::test]
async fn a_duplicate_that_waits_for_room_is_cancelled_without_a_trace() {
    for wait in ["slot", "rate", "turn", "kept room"] {
        let stage = Stage::new().await;
        wait_for(&stage, wait).await;
        enqueue(&stage.store, of_tenant(if wait == "turn" { "a" } else { "t" })).await;
        let both = [stage.begin().await, stage.begin().await];
        for session in &both {
            let sql = "select outcome from kinfolk.enqueue('work', unique_key => 'k', keys => '{\"tenant\": \"t\"}')";
            assert_eq!(session.client.query_one(sql, &[]).await.unwrap().get::<_, String>(0), "created");
        }
        for session in &both {
            session.commit().await;
        }
        let first = stage.store.claim(&claim_of(stage.worker, &["work"], 1)).await.unwrap().tasks.remove(0);
        if wait != "turn" {
            assert_eq!(stage.claim_alone().await, [], "{wait}");
        }
        assert_eq!(stage.database.texts("select count(*)::text from kinfolk.held_task").await, ["2"], "{wait}");
        if wait == "kept room" {
            // As a claim leaves it that has sent the younger one from key to key for long.
            stage
                .database
                .run("insert into kinfolk.reserved (group_id, key, task_id) \
                    select blocked_group, blocked_key, id from kinfolk.task where state = 'pending' order by id desc limit 1")
                .await;
        }
        if wait == "rate" {
            let now = stage.store.now().await.unwrap();
            testing::set_clock(&stage.store, now.plus(Duration::from_secs(60))).await.unwrap();
        } else {
            stage.store.settle(&[done(&first)]).await.unwrap();
        }
        let taken = stage.claim_alone().await;
        assert_eq!(taken.len(), 1, "{wait}");
        sound(&stage.store).await;
        let states = "select state::text from kinfolk.task where unique_key = 'k' order by 1";
        assert_eq!(stage.database.texts(states).await, ["cancelled", "running"], "{wait}");
        enqueue(&stage.store, of_tenant("t")).await;
        if wait == "rate" {
            let now = stage.store.now().await.unwrap();
            testing::set_clock(&stage.store, now.plus(Duration::from_secs(60))).await.unwrap();
        } else {
            stage.store.settle(&[done(&taken[0])]).await.unwrap();
        }
        assert_eq!(stage.claim_alone().await.len(), 1, "{wait}: the room is free");
        assert_eq!(stage.store.sweep().await.unwrap(), 0);
        sound(&stage.store).await;
    }
}

/// Producers that leave their transactions open for a while, and how many enqueues all of them make.
const PRODUCERS: usize = 4;
const ENQUEUES: usize = 400;

/// Enqueues under few keys, each in a transaction that is open for a while.
async fn produce(client: Client, nth: usize) {
    let sql = "select kinfolk.enqueue('work', jsonb_build_object('key', $1::text), unique_key => $1, \
        unique_scope => 'active', on_duplicate => $2)";
    for n in 0..ENQUEUES / PRODUCERS {
        let (key, rule) = (format!("k{}", (n + nth) % 3), if n % 2 == 0 { "merge" } else { "replace" });
        client.batch_execute("begin").await.unwrap();
        client.query(sql, &[&key, &rule]).await.unwrap();
        client.query("select pg_sleep($1)", &[&(((n + nth) % 4) as f64 / 1000.0)]).await.unwrap();
        client.batch_execute("commit").await.unwrap();
    }
}

/// Claims, and ends what it has, until all producers are done and nothing is left. Answers how many tasks it ran.
async fn consume(store: PgStore, at_work: Arc<Mutex<HashSet<String>>>, producing: Arc<AtomicUsize>) -> usize {
    let (worker, mut ran) = (worker(&store).await, 0);
    loop {
        let last = producing.load(Ordering::SeqCst) == 0;
        let taken = store.claim(&claim_of(worker, &["work"], 5)).await.unwrap().tasks;
        for task in &taken {
            let key = task.payload.as_str().to_owned();
            assert!(at_work.lock().unwrap().insert(key), "task {} runs beside another of its key", task.id);
        }
        ran += taken.len();
        tokio::task::yield_now().await;
        for task in &taken {
            // The key is free from the commit of the settle on, which is before its answer.
            at_work.lock().unwrap().remove(task.payload.as_str());
            store.settle(&[done(task)]).await.unwrap();
        }
        let left = store.stats().await.unwrap().counts.iter().any(|count| !count.state.is_terminal());
        if last && taken.is_empty() && !left {
            return ran;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn no_two_tasks_of_one_active_key_run_at_once_whatever_producers_and_workers_do() {
    let (database, store) = fresh().await;
    let (at_work, producing) = (Arc::default(), Arc::new(AtomicUsize::new(PRODUCERS)));
    let mut workers = tokio::task::JoinSet::new();
    for _ in 0..3 {
        workers.spawn(consume(database.store().await, Arc::clone(&at_work), Arc::clone(&producing)));
    }
    for nth in 0..PRODUCERS {
        let (client, producing) = (database.client().await, Arc::clone(&producing));
        tokio::spawn(async move {
            produce(client, nth).await;
            producing.fetch_sub(1, Ordering::SeqCst);
        });
    }
    let all = tokio::time::timeout(Duration::from_secs(120), workers.join_all()).await.expect("all tasks ended");
    assert!(all.iter().sum::<usize>() > 3, "{all:?}");
    sound(&store).await;
}
