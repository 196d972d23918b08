//! The workers of `examples/python` and `examples/typescript`, each beside a worker in Rust on one queue.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::support::{Db, Running, finish, postgres};

/// A lease that a busy machine renews in time, and that a test can wait for.
const LEASE_SECONDS: &str = "5";

/// A worker in another language.
struct Client {
    /// What its commands begin with.
    language: &'static str,
    program: PathBuf,
    script: PathBuf,
}

impl Client {
    fn start(&self, db: &Db) -> Running {
        let mut command = Command::new(&self.program);
        command.arg(&self.script).env("KINFOLK_DATABASE", &db.url).env("KINFOLK_LEASE", LEASE_SECONDS);
        command.env("KINFOLK_GRACE", "0").env("PYTHONDONTWRITEBYTECODE", "1");
        Running::of(command.stdin(Stdio::null()).stdout(Stdio::null()).spawn().unwrap())
    }

    /// Enqueues a task of one of its commands.
    fn enqueue(&self, db: &Db, command: &str, payload: &str, options: &[&str]) -> String {
        let command = format!("{}.{command}", self.language);
        let task = &db.one(&[&["enqueue", &command, payload], options].concat())["task"];
        task.as_i64().unwrap_or_else(|| panic!("{task}")).to_string()
    }
}

#[test]
fn a_worker_in_python_works_beside_one_in_rust_and_is_recovered() {
    let Some(program) = kinfolk_testkit::python(&root()) else {
        return not_tested("a worker in Python", "`cargo xtask test` fetches psycopg, by pip");
    };
    works_beside_rust(&Client { language: "py", program, script: root().join("examples/python/album.py") });
}

#[test]
fn a_worker_in_typescript_works_beside_one_in_rust_and_is_recovered() {
    let Some(modules) = kinfolk_testkit::node_modules(&root()) else {
        return not_tested("a worker in TypeScript", "`cargo xtask test` fetches node-postgres, by npm");
    };
    let folder = modules.parent().unwrap();
    for file in ["album.ts", "worker.ts", "tsconfig.json"] {
        std::fs::copy(root().join("examples/typescript").join(file), folder.join(file)).unwrap();
    }
    let mut compiler = Command::new("node");
    compiler.current_dir(folder).arg("node_modules/typescript/lib/tsc.js");
    let compiled = finish(compiler, "");
    assert_eq!(compiled.code, 0, "{}{}", compiled.stdout, compiled.stderr);
    works_beside_rust(&Client { language: "ts", program: "node".into(), script: folder.join("out/album.js") });
}

fn works_beside_rust(client: &Client) {
    let db = postgres().migrated();
    db.ok(&["queue", "set", "album"]);
    let rust = db.worker(&["--queue", "album"]);
    let other = client.start(&db);
    db.until("both are there", |db| db.json(&["workers"]).len() == 2);
    makes_a_family(&db, client);
    fails_times_out_and_is_cancelled(&db, client);
    is_killed_and_recovered(&db, client, other);
    rust.stop();
    db.ok(&["check"]);
}

/// Children of its own, of which one is tried again, and one for the worker in Rust.
fn makes_a_family(db: &Db, client: &Client) {
    let album = client.enqueue(db, "album", r#"{"title": "Oslo", "photos": ["a", "b", "blurred"]}"#, &[]);
    db.until("the album is done", |db| db.state(&album) == "completed");
    assert_eq!(db.one(&["show", &album])["result"], serde_json::json!({"photos": 3}));
    let children = db.json(&["list", "--parent", &album]);
    let of = |command: &str| children.iter().filter(|task| task["command"] == command).count();
    assert_eq!((of(&format!("{}.resize", client.language)), of("echo")), (3, 1));
    let blurred = children.iter().find(|task| task["payload"]["photo"] == "blurred").unwrap();
    let ended = db.one(&["show", &blurred["id"].to_string()]);
    assert!(ended["attempts"].to_string().contains("it is blurred"), "{ended}");
    assert_eq!(ended["result"]["small"], "small-blurred");
}

fn fails_times_out_and_is_cancelled(db: &Db, client: &Client) {
    let bad = client.enqueue(db, "resize", "{}", &[]);
    let slow = client.enqueue(db, "print", r#"{"pages": 100000}"#, &["--timeout", "300ms", "--max-attempts", "1"]);
    let long = client.enqueue(db, "print", r#"{"pages": 100000}"#, &[]);
    db.until("a bad payload has failed for good", |db| failure(db, &bad)["kind"] == "validation");
    db.until("one that takes too long has failed", |db| failure(db, &slow)["kind"] == "timeout");
    db.until("it says how far it has come", |db| db.one(&["show", &long])["report"]["total"] == 100_000);
    db.ok(&["cancel", &long]);
    db.until("what was to end has ended", |db| db.state(&long) == "cancelled");
}

/// Killed in the middle, its task is run by the next one; stopped in the middle, it gives the task back at once.
fn is_killed_and_recovered(db: &Db, client: &Client, other: Running) {
    let task = client.enqueue(db, "print", r#"{"pages": 100000}"#, &[]);
    let running = |db: &Db| db.state(&task) == "running";
    db.until("it runs", running);
    let first = worker_of(db, &task);
    drop(other);
    let next = client.start(db);
    db.until("the next one runs it", |db| running(db) && worker_of(db, &task) != first);
    next.stop();
    let given_back = db.one(&["show", &task]);
    assert_eq!(given_back["state"], "pending", "{given_back}");
    assert_eq!(db.json(&["workers"]).len(), 1, "it has left");
    db.ok(&["cancel", &task]);
}

fn failure(db: &Db, task: &str) -> Value {
    db.one(&["show", task])["failure"].clone()
}

fn worker_of(db: &Db, task: &str) -> Value {
    db.one(&["show", task])["worker"].clone()
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// Past the capture of tests, so that the last line of a run counts it.
fn not_tested(what: &str, why: &str) {
    let _ = writeln!(std::io::stdout(), "NOT TESTED: {what}: {why}");
}
