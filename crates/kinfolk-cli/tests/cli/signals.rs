//! A worker that is told to stop.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Stdio};

use rustix::process::{Pid, Signal};

use crate::support::{Db, finish_child, on_both_stores};

on_both_stores!(
    the_first_signal_lets_a_task_finish,
    two_signals_within_a_second_count_as_one,
    the_second_signal_gives_the_task_back,
    a_cancelled_task_stops_running
);

/// A worker that has begun to run a task, which then takes so many seconds.
fn worker(db: &Db, seconds: u32) -> (Child, String) {
    let begun = db.dir.path().join("begun");
    let script = format!("touch {}; exec sleep {seconds}", begun.display());
    let payload = serde_json::json!({"program": "sh", "args": ["-c", script]}).to_string();
    let task = db.one(&["enqueue", "shell", &payload, "--register"])["task"].to_string();
    let mut command = db.command(&["work", "--allow-shell"]);
    let worker = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    db.until("the program runs", |_| begun.exists());
    assert_eq!(db.state(&task), "running");
    (worker, task)
}

/// Sends a signal to a child.
pub(crate) fn signal(child: &Child, signal: Signal) {
    let process = Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    rustix::process::kill_process(process, signal).unwrap();
}

fn the_first_signal_lets_a_task_finish(db: &Db) {
    let (worker, task) = worker(db, 1);
    signal(&worker, Signal::TERM);
    let ran = finish_child(worker, "");
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_eq!(db.state(&task), "completed");
    assert!(db.json(&["workers"]).is_empty());
}

/// Waits until a worker has said that it is stopping.
fn until_stopping(worker: &mut Child) {
    let mut said = BufReader::new(worker.stderr.take().unwrap()).lines();
    assert!(said.any(|line| line.unwrap().contains("Ctrl-C again")), "it did not say that it is stopping");
}

fn two_signals_within_a_second_count_as_one(db: &Db) {
    let (mut worker, task) = worker(db, 2);
    signal(&worker, Signal::TERM);
    signal(&worker, Signal::INT);
    until_stopping(&mut worker);
    let ran = finish_child(worker, "");
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_eq!(db.state(&task), "completed");
}

fn the_second_signal_gives_the_task_back(db: &Db) {
    let (mut worker, task) = worker(db, 600);
    signal(&worker, Signal::INT);
    until_stopping(&mut worker);
    // One that comes within a second of the first says nothing new.
    db.until("it has ended", |_| {
        signal(&worker, Signal::INT);
        worker.try_wait().unwrap().is_some()
    });
    let ran = finish_child(worker, "");
    assert_eq!(ran.code, 130, "{ran:?}");
    let shown = db.one(&["show", &task]);
    assert_eq!((&shown["state"], &shown["attempt"]), (&"pending".into(), &0.into()), "{shown}");
    assert!(db.json(&["workers"]).is_empty());
}

fn a_cancelled_task_stops_running(db: &Db) {
    let (worker, task) = worker(db, 600);
    assert!(db.ok(&["workers"]).contains("default"));
    assert!(db.ok(&["cancel", &task]).contains("asked to stop"));
    db.until("the task is cancelled", |db| db.state(&task) == "cancelled");
    signal(&worker, Signal::TERM);
    assert_eq!(finish_child(worker, "").code, 0);
    assert_eq!(db.ok(&["check"]).trim(), "every invariant holds");
}
