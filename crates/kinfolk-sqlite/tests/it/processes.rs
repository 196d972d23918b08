//! Several processes on one file. The other process is this test binary, run again with a role.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

use kinfolk_core::store::Work;
use kinfolk_core::{Clock, Inspect, Outcome, Reason, Recovered, State, Wake, WorkerId, WorkerSpec};
use kinfolk_sqlite::{SqliteStore, SystemClock};
use uuid::Uuid;

use crate::support::{
    HandClock, claim, command, enqueue, ids, queue, quick, register, scratch, settle, spec, task, worker,
};

const ROLE: &str = "KINFOLK_TEST_ROLE";
const FILE: &str = "KINFOLK_TEST_FILE";
/// Far longer than anything here takes.
const SOON: Duration = Duration::from_secs(120);

/// Another process; it dies with this value.
struct Other {
    child: Child,
    says: BufReader<ChildStdout>,
    hears: ChildStdin,
}

impl Other {
    fn start(role: &str, path: &Path) -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "processes::the_other_process", "--nocapture"])
            .env(ROLE, role)
            .env(FILE, path)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let says = BufReader::new(child.stdout.take().unwrap());
        let hears = child.stdin.take().unwrap();
        Self { child, says, hears }
    }

    /// Waits until it says something that begins with this, and gives back the rest.
    fn until(&mut self, word: &str) -> String {
        let mut line = String::new();
        loop {
            line.clear();
            assert!(self.says.read_line(&mut line).unwrap() > 0, "the other process ended before it said {word}");
            if let Some((_, rest)) = line.split_once(word) {
                return rest.trim().to_owned();
            }
        }
    }

    fn tell(&mut self) {
        self.hears.write_all(b"go\n").unwrap();
        self.hears.flush().unwrap();
    }

    fn signal(&self, name: &str) {
        let sent = Command::new("kill").args([name, &self.child.id().to_string()]).status().unwrap();
        assert!(sent.success());
    }
}

impl Drop for Other {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What the other process does; in a normal run of the tests there is no role and this does nothing.
#[tokio::test]
async fn the_other_process() {
    let (Ok(role), Some(path)) = (std::env::var(ROLE), std::env::var_os(FILE)) else { return };
    let store = SqliteStore::open(Path::new(&path)).unwrap();
    register(&store, &["echo"]).await;
    let told = || std::io::stdin().lines().next().unwrap().unwrap();
    match role.as_str() {
        "enqueue" => {
            println!("ready:");
            told();
            enqueue(&store, &[task("echo")]).await;
            println!("done:");
        }
        "fill" => {
            println!("ready:");
            for _ in 0..50 {
                enqueue(&store, &[task("echo")]).await;
            }
            println!("done:");
        }
        "work" => {
            let spec = WorkerSpec { commands: vec![command("echo")], ..spec(WorkerId(Uuid::new_v4())) };
            store.register_worker(&spec).await.unwrap();
            let worker = spec.id;
            let taken = claim(&store, worker, &["echo"], 3).await;
            println!("taken:{}", taken.tasks.len());
            told();
            let settled = settle(&store, &taken, Outcome::Done(None)).await;
            println!("settled:{settled:?}");
        }
        other => panic!("no such role: {other}"),
    }
}

#[tokio::test]
async fn processes_that_open_a_new_file_at_once_all_succeed() {
    let folder = scratch();
    let path = folder.path().join("kinfolk.db");
    let mut others: Vec<_> = (0..4).map(|_| Other::start("fill", &path)).collect();
    others.iter_mut().for_each(|other| drop(other.until("done:")));
    let store = SqliteStore::open(&path).unwrap();
    assert_eq!(store.stats().await.unwrap().counts[0].tasks, 200);
    assert_eq!(store.check().await.unwrap(), []);
}

#[tokio::test]
async fn an_enqueue_by_another_process_arrives_before_any_poll() {
    let folder = scratch();
    let path = folder.path().join("kinfolk.db");
    let store = SqliteStore::open(&path).unwrap();
    register(&store, &["echo"]).await;
    let worker = worker(&store).await;
    let mut other = Other::start("enqueue", &path);
    other.until("ready:");
    let mut wakes = store.wakes(worker, &[queue()]).await.unwrap().unwrap();
    other.tell();
    let wake = tokio::time::timeout(SOON, wakes.next()).await.expect("no wake-up came");
    assert_eq!(wake, Wake::Queue(queue()));
    assert_eq!(claim(&store, worker, &["echo"], 1).await.tasks.len(), 1);
}

#[tokio::test]
async fn the_tasks_of_a_killed_process_are_recovered_at_once() {
    let folder = scratch();
    let path = folder.path().join("kinfolk.db");
    let store = SqliteStore::open(&path).unwrap();
    register(&store, &["echo"]).await;
    let made = enqueue(&store, &[task("echo"), task("echo"), task("echo")]).await;
    let mut other = Other::start("work", &path);
    assert_eq!(other.until("taken:"), "3");
    let judge = worker(&store).await;
    assert_eq!(store.recover(judge).await.unwrap(), Recovered::default(), "it lives");
    other.signal("-KILL");
    other.child.wait().unwrap();
    // The judge has only just registered: no lease could have been judged yet.
    let recovered = store.recover(judge).await.unwrap();
    assert_eq!(recovered, Recovered { returned: 3, workers: 1, ..Recovered::default() });
    assert_eq!(store.workers().await.unwrap().len(), 1);
    let locks = std::fs::read_dir(folder.path().join("kinfolk.db.workers")).unwrap().count();
    assert_eq!(locks, 1, "the lock file of the dead worker is gone");
    assert_eq!(store.check().await.unwrap(), []);
    let again = claim(&store, judge, &["echo"], 3).await;
    assert_eq!(ids(&again), made[..1], "suspects come one at a time");
}

#[tokio::test]
async fn nobody_counts_a_killed_process_as_alive() {
    let folder = scratch();
    let path = folder.path().join("kinfolk.db");
    let store = SqliteStore::open(&path).unwrap();
    register(&store, &["echo"]).await;
    let id = enqueue(&store, &vec![task("echo"); 4]).await[3];
    let mut other = Other::start("work", &path);
    assert_eq!(other.until("taken:"), "3");
    assert_eq!(store.stats().await.unwrap().workers, 1);
    assert!(matches!(store.explain(id).await.unwrap().reasons[..], [Reason::InLine { .. }]));
    other.signal("-KILL");
    other.child.wait().unwrap();
    assert_eq!(store.stats().await.unwrap().workers, 0);
    let (workers, now) = (store.workers().await.unwrap(), store.now().await.unwrap());
    assert!(matches!(&workers[..], [dead] if dead.lease_until < now && dead.running == 3), "{workers:?}");
    let explained = store.explain(id).await.unwrap();
    assert!(matches!(explained.reasons[..], [Reason::NoWorker { .. }]), "{explained:?}");
}

#[tokio::test]
async fn who_listens_hears_of_a_killed_process_without_asking() {
    let folder = scratch();
    let path = folder.path().join("kinfolk.db");
    let store = SqliteStore::open(&path).unwrap();
    register(&store, &["echo"]).await;
    enqueue(&store, &[task("echo")]).await;
    let mut other = Other::start("work", &path);
    assert_eq!(other.until("taken:"), "1");
    let worker = worker(&store).await;
    let mut wakes = store.wakes(worker, &[queue()]).await.unwrap().unwrap();
    other.signal("-KILL");
    let wake = tokio::time::timeout(SOON, wakes.next()).await.expect("no wake-up came");
    assert_eq!(wake, Wake::Queue(queue()));
    assert_eq!(claim(&store, worker, &["echo"], 1).await.tasks.len(), 1);
}

#[tokio::test]
async fn a_stopped_process_keeps_its_tasks_until_its_lease_ends_and_then_writes_nothing() {
    let folder = scratch();
    let path = folder.path().join("kinfolk.db");
    let clock = HandClock::at(SystemClock.now());
    let store = quick(&path, clock.clone());
    register(&store, &["echo"]).await;
    let id = enqueue(&store, &[task("echo")]).await[0];
    let judge = worker(&store).await;
    let mut other = Other::start("work", &path);
    assert_eq!(other.until("taken:"), "1");
    other.signal("-STOP");
    for _ in 0..2 {
        assert_eq!(store.recover(judge).await.unwrap(), Recovered::default(), "its lease still runs");
        clock.advance(Duration::from_secs(25));
        store.heartbeat(judge).await.unwrap();
    }
    clock.advance(Duration::from_secs(25));
    assert_eq!(store.recover(judge).await.unwrap().returned, 1);
    other.signal("-CONT");
    other.tell();
    assert_eq!(other.until("settled:"), "[Stale]");
    assert_eq!(store.task(id).await.unwrap().unwrap().state, State::Pending);
}
