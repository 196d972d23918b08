//! `kinfolk explain`: each reason is told with what to type, and typing it removes the reason.

use serde_json::{Value, json};

use crate::support::{Db, on_both_stores};

on_both_stores!(
    only_what_is_in_line_has_a_first_in_line,
    a_paused_queue_is_told_with_who_paused_it,
    a_full_key_is_told_with_those_who_hold_it,
    a_rate_is_told_with_when_it_allows_the_next_start,
    what_waits_for_its_time_is_told_so,
    what_waits_for_others_is_told_of_them,
    a_serial_queue_is_told_with_the_family_at_work,
    what_runs_and_what_has_ended_is_told_with_who_and_when,
    several_reasons_are_told_together,
    a_suspect_is_named_wherever_one_looks_and_can_be_let_go_or_ended,
);

/// The reasons why a task is not running.
#[track_caller]
fn reasons(db: &Db, id: &str) -> Vec<Value> {
    let explained = db.one(&["explain", id]);
    assert_eq!(explained["id"].to_string(), id);
    explained["reasons"].as_array().unwrap().clone()
}

#[track_caller]
fn words(db: &Db, id: &str) -> Vec<String> {
    reasons(db, id).iter().map(|reason| reason["reason"].as_str().unwrap().to_owned()).collect()
}

/// Types what is proposed about a reason: the first line with these words in it.
#[track_caller]
fn heed(db: &Db, reason: &Value, part: &str) {
    let remedies = reason["remedies"].as_array().unwrap();
    let lines: Vec<&str> = remedies.iter().filter_map(|remedy| remedy["command"].as_str()).collect();
    let line = lines.iter().find(|line| line.contains(part)).unwrap_or_else(|| panic!("no {part:?} in {lines:?}"));
    db.types(line);
}

fn enqueue(db: &Db, args: &[&str]) -> String {
    db.one(&[&["enqueue"], args].concat())["task"].to_string()
}

/// A task of the command `wait` that is suspended until it gets the signal `go`.
fn suspended(db: &Db, more: &[&str]) -> String {
    let id = enqueue(db, &[&["wait", r#"{"signal": "go"}"#], more].concat());
    db.ok(&["work", "--until-idle"]);
    assert_eq!(db.state(&id), "waiting");
    id
}

fn a_paused_queue_is_told_with_who_paused_it(db: &Db) {
    let id = enqueue(db, &["noop", "--register"]);
    db.ok(&["pause", "default", "--by", "ann"]);
    let worker = db.worker(&[]);
    db.until("a worker is there", |db| words(db, &id) == ["paused"]);
    let told = &reasons(db, &id)[0];
    assert_eq!((&told["queue"], &told["by"]), (&json!("default"), &json!("ann")));
    let text = db.ok(&["explain", &id]);
    assert!(text.contains("queue default is paused since") && text.contains("by ann"), "{text}");
    assert!(text.contains("resume default"), "{text}");
    heed(db, told, "resume default");
    db.until("the task has run", |db| db.state(&id) == "completed");
    worker.stop();
}

fn a_full_key_is_told_with_those_who_hold_it(db: &Db) {
    db.ok(&["register", "wait", "--group", "tenant=1", "--hold", "tenant"]);
    let key = ["--key", "tenant=-it's me"];
    let holder = suspended(db, &key);
    let id = enqueue(db, &[&["wait", r#"{"signal": "go"}"#][..], &key].concat());
    let worker = db.worker(&[]);
    db.until("a worker is there", |db| words(db, &id) == ["key_full"]);
    let told = &reasons(db, &id)[0];
    assert_eq!((&told["group"], &told["command"]), (&json!("tenant"), &json!("wait")));
    assert_eq!((&told["key"], &told["limit"], &told["held"]), (&json!("-it's me"), &json!(1), &json!(1)));
    assert_eq!(told["holders"], json!([holder.parse::<i64>().unwrap()]));
    let text = db.ok(&["explain", &id]);
    assert!(text.contains(&format!("has 1 of 1 slots taken, by {holder}")), "{text}");
    assert!(text.contains(&format!("explain {holder}")), "{text}");
    heed(db, told, "groups set tenant --command wait");
    db.until("the task has begun", |db| db.state(&id) == "waiting");
    worker.stop();
    db.ok(&["check"]);
}

fn a_rate_is_told_with_when_it_allows_the_next_start(db: &Db) {
    db.ok(&["register", "noop", "--rate", "provider=1/1h"]);
    let first = enqueue(db, &["noop", "--key", "provider=p"]);
    let id = enqueue(db, &["noop", "--key", "provider=p"]);
    let worker = db.worker(&[]);
    db.until("the first has run", |db| db.state(&first) == "completed");
    db.until("only the rate is left", |db| words(db, &id) == ["key_rate"]);
    let text = db.ok(&["explain", &id]);
    assert!(text.contains("starts nothing until") && text.contains("(in 59 m"), "{text}");
    assert!(text.contains("groups set provider --command noop --key p --rate COUNT/SPAN"), "{text}");
    assert!(text.contains("groups set provider --command noop --key p --clear"), "{text}");
    assert!(db.ok(&["groups"]).contains("again in 59 m"));
    db.ok(&["groups", "set", "provider", "--key", "p", "--rate", "1/1h:5"]);
    db.until("the second has run", |db| db.state(&id) == "completed");
    worker.stop();
    db.ok(&["check"]);
}

fn what_waits_for_its_time_is_told_so(db: &Db) {
    let id = enqueue(db, &["noop", "--register", "--delay", "1h"]);
    let told = &reasons(db, &id)[0];
    assert_eq!(told["reason"], "not_due");
    let text = db.ok(&["explain", &id]);
    assert!(text.contains("not due until") && text.contains("(in 59 m"), "{text}");
    heed(db, told, "run-now");
    assert_eq!(words(db, &id), ["no_worker"], "it is due");
    let later = enqueue(db, &["noop", "--delay", "1h"]);
    heed(db, &reasons(db, &later)[0], "cancel");
    assert_eq!(db.state(&later), "cancelled");

    db.ok(&["register", "wait"]);
    let id = enqueue(db, &["wait", r#"{"signal": "go", "timeout_ms": 3600000}"#]);
    let worker = db.worker(&[]);
    db.until("it is suspended", |db| db.state(&id) == "waiting");
    worker.stop();
    assert_eq!(words(db, &id), ["signal", "asleep"]);
    let told = reasons(db, &id);
    assert_eq!(told[0]["names"], json!(["go"]));
    heed(db, &told[0], "signal");
    assert_eq!(words(db, &id), ["no_worker"], "it is to go on");
}

fn what_waits_for_others_is_told_of_them(db: &Db) {
    for command in ["spawn", "wait", "noop"] {
        db.ok(&["register", command, "--max-attempts", "1"]);
    }
    let wait = json!({"command": "wait", "payload": {"signal": "go"}, "count": 2});
    let payload = json!({"children": [wait], "order": "in_order", "follow_ups": [{"command": "noop"}]});
    let root = enqueue(db, &["spawn", &payload.to_string()]);
    let worker = db.worker(&[]);
    db.until("the first child waits", |db| !db.json(&["list", "--command", "wait", "--state", "waiting"]).is_empty());
    worker.stop();
    let family = db.json(&["tree", &root]);
    let (first, second) = (family[1]["id"].to_string(), family[2]["id"].to_string());
    let told = &reasons(db, &root)[0];
    assert_eq!((&told["reason"], &told["open"][0].to_string()), (&json!("children"), &first));
    heed(db, told, "tree");
    heed(db, told, "explain");
    let told = reasons(db, &second);
    assert_eq!((&told[0]["reason"], &told[0]["task"].to_string()), (&json!("sibling"), &first));
    let follow_up = db.json(&["list", "--command", "noop"])[0]["id"].to_string();
    let told = reasons(db, &follow_up);
    assert_eq!((&told[0]["reason"], &told[0]["roots"][0].to_string()), (&json!("families"), &root));
    assert_eq!(told.len(), 2, "and nobody is there: {told:?}");
}

fn a_serial_queue_is_told_with_the_family_at_work(db: &Db) {
    db.ok(&["queue", "set", "import", "--family-limit", "1"]);
    db.ok(&["register", "wait", "--queue", "import"]);
    let first = suspended(db, &[]);
    let second = enqueue(db, &["wait", r#"{"signal": "go"}"#]);
    let told = &reasons(db, &second)[0];
    assert_eq!((&told["reason"], &told["roots"][0].to_string()), (&json!("family_limit"), &first));
    assert_eq!(told["limit"], 1);
    let worker = db.worker(&[]);
    heed(db, told, "queue set import --family-limit 2");
    db.until("the second has begun", |db| db.state(&second) == "waiting");
    worker.stop();
}

fn what_runs_and_what_has_ended_is_told_with_who_and_when(db: &Db) {
    let id = enqueue(db, &["sleep", r#"{"ms": 600000}"#, "--register"]);
    let worker = db.worker(&[]);
    db.until("it runs", |db| db.state(&id) == "running");
    let explained = db.one(&["explain", &id]);
    assert_eq!((&explained["state"], &explained["reasons"]), (&json!("running"), &json!([])));
    assert!(explained["worker"].is_string() && explained["started_at"].is_string(), "{explained}");
    let text = db.ok(&["explain", &id]);
    assert!(text.contains("runs it since") && text.contains("ago"), "{text}");
    db.ok(&["cancel", &id]);
    db.until("it is cancelled", |db| db.state(&id) == "cancelled");
    worker.stop();
    let text = db.ok(&["explain", &id]);
    assert!(text.contains("cancelled: it ended") && text.contains("ago"), "{text}");
    assert_eq!(db.one(&["explain", &id])["reasons"], json!([]));
    assert!(db.fails(&["explain", "999"], 3).contains("no task 999"));
}

fn several_reasons_are_told_together(db: &Db) {
    db.ok(&["register", "noop", "--total", "0"]);
    let id = enqueue(db, &["noop", "--delay", "1h"]);
    db.ok(&["pause", "default"]);
    assert_eq!(words(db, &id), ["not_due", "paused", "key_full", "no_worker"]);
    let text = db.ok(&["explain", &id]);
    assert_eq!(text.lines().filter(|line| line.starts_with("- ")).count(), 4, "{text}");
    let told = reasons(db, &id);
    heed(db, &told[2], "groups set total --command noop --limit 1");
    heed(db, &told[1], "resume");
    heed(db, &told[3], "workers");
    assert_eq!(words(db, &id), ["not_due", "no_worker"]);
    let shown = db.run(&["show", &id]);
    assert!(shown.stdout.contains("; and for 1 more reason"), "{shown:?}");
    assert!(shown.stderr.contains(&format!("explain {id}")), "{shown:?}");
}

fn a_suspect_is_named_wherever_one_looks_and_can_be_let_go_or_ended(db: &Db) {
    db.ok(&["register", "noop", "--max-strikes", "7"]);
    let (one, other) = (enqueue(db, &["noop", "--delay", "1h"]), enqueue(db, &["noop", "--delay", "1h"]));
    // As after the loss of four workers that ran them.
    db.edit("task", "suspect", "1");
    db.edit("task", "strikes", "3");
    if !db.url.starts_with("postgres") {
        db.edit("task", "bucket", "backoff");
    }
    let listed = db.ok(&["list"]);
    assert!(listed.contains("suspect: its workers were lost, 3 strikes, next try in "), "{listed}");
    let explained = db.one(&["explain", &one]);
    assert_eq!(
        (&explained["suspect"], &explained["strikes"], &explained["max_strikes"]),
        (&json!(true), &json!(3), &json!(7))
    );
    let text = db.ok(&["explain", &one]);
    assert!(text.contains("3 strikes; it waits longer after each one, and fails with 7"), "{text}");
    let found = db.doctor().into_iter().find(|finding| finding["subject"] == "suspects").unwrap();
    assert_eq!(found["health"], "warning");
    let words = found["found"].as_str().unwrap();
    assert!(words.contains(&format!("2 with strikes: task {one} noop, 3 of 7, next try at 20")), "{words}");
    let remedy = found["remedy"].as_str().unwrap();
    assert!(
        remedy.contains(&format!("kinfolk acquit {one} ")) && remedy.contains(&format!("cancel {one} ")),
        "{remedy}"
    );

    let acquit = text.lines().find(|line| line.contains("acquit")).unwrap().trim();
    db.types(acquit.split("  ").next().unwrap());
    let shown = db.one(&["show", &one]);
    assert_eq!((&shown["suspect"], &shown["strikes"], &shown["gate"]), (&json!(false), &json!(0), &json!("open")));
    let cancel = text.lines().find(|line| line.contains("cancel")).unwrap().trim();
    db.types(&cancel.split("  ").next().unwrap().replace(&format!("cancel {one}"), &format!("cancel {other}")));
    db.ok(&["work", "--until-idle"]);
    assert_eq!((db.state(&one), db.state(&other)), ("completed".to_owned(), "cancelled".to_owned()));
    assert!(db.fails(&["acquit", &other], 1).contains("retry it"));
    db.fails(&["acquit", "999"], 3);
    db.ok(&["check"]);
}

fn only_what_is_in_line_has_a_first_in_line(db: &Db) {
    let first = |db: &Db| db.ok(&["stats"]).contains("the first in line has waited");
    db.ok(&["enqueue", "sleep", r#"{"ms": 600000}"#, "--count", "2", "--register"]);
    assert!(!first(db), "no worker is there");
    db.ok(&["pause", "default"]);
    let worker = db.worker(&["--capacity", "1"]);
    db.until("the worker is there", |db| !db.json(&["workers"]).is_empty());
    assert!(!first(db), "the queue is paused");
    db.ok(&["resume", "default"]);
    db.until("one runs", |db| !db.json(&["list", "--state", "running"]).is_empty());
    assert!(first(db), "the other one is in line");
    db.ok(&["cancel", "--all"]);
    db.until("both are cancelled", |db| db.json(&["list", "--state", "cancelled"]).len() == 2);
    assert!(!first(db), "nothing is in line");
    worker.stop();
}
