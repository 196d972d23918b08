//! Recurring tasks from the command line.

use serde_json::json;

use crate::support::{Db, on_both_stores};

on_both_stores!(
    a_schedule_is_put_paused_resumed_and_removed,
    a_worker_fires_a_schedule,
    the_next_ticks_are_told_in_its_zone
);

fn a_schedule_is_put_paused_resumed_and_removed(db: &Db) {
    db.ok(&["register", "echo"]);
    let put = ["schedule", "put", "report", "0 3 * * *", "echo", r#"{"a":1}"#, "--zone", "Europe/Oslo"];
    let rules = ["--missed", "skip", "--overlap", "skip"];
    assert!(db.ok(&[&put[..], &rules].concat()).contains("fires in"));
    let schedule = db.one(&["schedule", "list"]);
    assert_eq!((&schedule["cron"], &schedule["zone"]), (&json!("0 3 * * *"), &json!("Europe/Oslo")));
    assert_eq!((&schedule["missed"], &schedule["overlap"]), (&json!("skip"), &json!("skip")));
    assert_eq!((&schedule["payload"], &schedule["paused"]), (&json!({"a": 1}), &json!(false)));
    assert!(db.ok(&["schedule", "list"]).contains("Europe/Oslo"));
    db.ok(&["schedule", "pause", "report"]);
    assert_eq!(db.one(&["schedule", "list"])["paused"], true);
    assert!(db.ok(&["schedule", "list"]).contains("off"));
    assert!(db.ok(&["schedule", "resume", "report"]).contains("schedule report resumed"));
    assert_eq!(db.one(&["schedule", "list"])["paused"], false);
    db.ok(&["schedule", "remove", "report"]);
    assert!(db.json(&["schedule", "list"]).is_empty());
}

fn a_worker_fires_a_schedule(db: &Db) {
    db.ok(&["register", "noop"]);
    db.ok(&["schedule", "put", "often", "* * * * * *", "noop"]);
    let mut worker = db.command(&["work"]).stderr(std::process::Stdio::null()).spawn().unwrap();
    db.until("a tick was fired and run", |db| !db.json(&["list", "--state", "completed"]).is_empty());
    worker.kill().unwrap();
    worker.wait().unwrap();
    assert!(db.one(&["schedule", "list"])["last_task"].is_i64());
}

fn the_next_ticks_are_told_in_its_zone(db: &Db) {
    db.ok(&["register", "noop"]);
    db.ok(&["schedule", "put", "midnight", "0 0 * * *", "noop", "--zone", "Asia/Tokyo"]);
    let ticks = db.json(&["schedule", "next", "midnight", "-n", "3"]);
    assert_eq!(ticks.len(), 3);
    assert!(ticks.iter().all(|tick| tick["tick_at"].as_str().unwrap().contains("T15:00:00Z")), "{ticks:?}");
    assert!(db.ok(&["schedule", "next", "midnight"]).contains("00:00:00 JST"));
}
