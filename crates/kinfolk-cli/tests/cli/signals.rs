//! A worker that is told to stop.

use std::process::{Child, Stdio};

use crate::support::{Db, finish_child, on_both_stores};

on_both_stores!(
    the_first_signal_lets_a_task_finish,
    the_second_signal_gives_the_task_back,
    a_cancelled_task_stops_running
);

fn worker(db: &Db) -> Child {
    let mut command = db.command(&["work"]);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

fn signal(child: &Child, name: &str) {
    let status = std::process::Command::new("kill").args(["-s", name, &child.id().to_string()]).status().unwrap();
    assert!(status.success());
}

fn id(db: &Db, payload: &str) -> String {
    db.one(&["enqueue", "sleep", payload, "--register"])["task"].to_string()
}

fn the_first_signal_lets_a_task_finish(db: &Db) {
    let task = id(db, r#"{"ms":1500}"#);
    let worker = worker(db);
    db.until("the task runs", |db| db.state(&task) == "running");
    signal(&worker, "TERM");
    let ran = finish_child(worker, "");
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_eq!(db.state(&task), "completed");
    assert!(db.json(&["workers"]).is_empty());
}

fn the_second_signal_gives_the_task_back(db: &Db) {
    let task = id(db, r#"{"ms":600000}"#);
    let worker = worker(db);
    db.until("the task runs", |db| db.state(&task) == "running");
    signal(&worker, "INT");
    signal(&worker, "INT");
    let ran = finish_child(worker, "");
    assert!(ran.code == 130 || ran.code == 0, "{ran:?}");
    let shown = db.one(&["show", &task]);
    assert_eq!((&shown["state"], &shown["attempt"]), (&"pending".into(), &0.into()), "{shown}");
    assert!(db.json(&["workers"]).is_empty());
}

fn a_cancelled_task_stops_running(db: &Db) {
    let task = id(db, r#"{"ms":600000}"#);
    let worker = worker(db);
    db.until("the task runs", |db| db.state(&task) == "running");
    assert!(db.ok(&["workers"]).contains("default"));
    assert!(db.ok(&["cancel", &task]).contains("asked to stop"));
    db.until("the task is cancelled", |db| db.state(&task) == "cancelled");
    signal(&worker, "TERM");
    assert_eq!(finish_child(worker, "").code, 0);
    assert_eq!(db.ok(&["check"]).trim(), "every invariant holds");
}
