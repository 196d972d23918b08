//! What bad input gets: a typed error with the offending value and the remedy, an exit code, and nothing half-written.

use crate::support::{Db, documents, on_both_stores};

on_both_stores!(
    an_unknown_command_is_rejected_with_the_remedy,
    an_unknown_queue_is_rejected_or_not_found,
    an_unknown_state_is_named_with_those_there_are,
    a_payload_that_cannot_be_kept_is_refused,
    a_key_that_is_too_long_is_refused,
    a_negative_span_is_refused,
    numbers_out_of_range_are_refused,
    a_status_of_a_command_that_is_not_known_says_so,
    a_cron_line_that_never_fires_is_refused,
    what_is_not_there_is_not_found,
    one_bad_line_of_a_file_writes_nothing,
);

#[track_caller]
fn says(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "no {part:?} in: {text}");
    }
}

fn an_unknown_command_is_rejected_with_the_remedy(db: &Db) {
    let said = db.fails(&["enqueue", "nobody", "{}"], 1);
    says(&said, &["unknown command nobody", "register nobody", "--register"]);
    let ran = db.run(&["enqueue", "nobody", "--json"]);
    assert_eq!(documents(&ran.stdout)[0]["outcome"], "rejected", "{ran:?}");
    assert_eq!((ran.code, &documents(&ran.stderr)[0]["error"]["code"]), (1, &"rejected".into()), "{ran:?}");
    let said = db.fails(&["schedule", "put", "s", "* * * * *", "nobody"], 3);
    says(&said, &["command nobody"]);
    let said = db.fails(&["list", "--command", "nobody"], 3);
    says(&said, &["command nobody", "kinfolk commands"]);
    let said = db.fails(&["errors", "--command", "nobody"], 3);
    says(&said, &["command nobody", "kinfolk commands"]);
    assert_eq!(db.tasks(), 0);
    assert!(db.json(&["schedule", "list"]).is_empty());
    assert!(db.json(&["commands"]).is_empty());
}

fn an_unknown_queue_is_rejected_or_not_found(db: &Db) {
    db.ok(&["register", "noop"]);
    says(&db.fails(&["enqueue", "noop", "--queue", "nowhere"], 1), &["unknown queue nowhere", "queue set nowhere"]);
    says(&db.fails(&["pause", "nowhere"], 3), &["no queue nowhere"]);
    says(&db.fails(&["resume", "nowhere"], 3), &["no queue nowhere"]);
    says(&db.fails(&["list", "--queue", "nowhere"], 3), &["no queue nowhere"]);
    says(&db.fails(&["pause", "two words"], 2), &["two words"]);
    assert_eq!(db.tasks(), 0);
    assert_eq!(db.json(&["queue", "list"]).len(), 1);
}

fn an_unknown_state_is_named_with_those_there_are(db: &Db) {
    says(&db.fails(&["list", "--state", "done"], 2), &["done", "pending", "cancelled"]);
}

fn a_payload_that_cannot_be_kept_is_refused(db: &Db) {
    db.ok(&["register", "echo"]);
    says(&db.fails(&["enqueue", "echo", "{not json}"], 2), &["not JSON"]);
    says(&db.fails(&["enqueue", "echo", r#"{"a":"\u0000"}"#], 2), &[r"\u0000"]);
    says(&db.fails(&["enqueue", "echo", r#"{"a":1,"a":2}"#], 2), &["a"]);
    says(&db.fails(&["enqueue", "echo", &format!("{}1{}", "[".repeat(200), "]".repeat(200))], 2), &["nested"]);
    for number in ["1e400", "-1e309", r#"{"a":[1e400]}"#] {
        says(&db.fails(&["enqueue", "echo", number], 2), &["number", "string"]);
    }
    let large = format!("\"{}\"", "x".repeat(300 * 1024));
    let ran = db.run_with(&["enqueue", "echo", "-"], &large);
    assert_eq!(ran.code, 2, "{}", ran.stderr);
    says(&ran.stderr, &["307202 bytes", "262144"]);
    let huge = "x".repeat(5 * 1024 * 1024);
    assert_eq!(db.run_with(&["enqueue", "echo", "-"], &huge).code, 2);
    assert_eq!(db.tasks(), 0);
}

fn a_key_that_is_too_long_is_refused(db: &Db) {
    db.ok(&["register", "noop"]);
    says(&db.fails(&["enqueue", "noop", "--unique", &"k".repeat(201)], 2), &["201 bytes", "200"]);
    says(&db.fails(&["enqueue", "noop", "--unique", ""], 2), &["unique key"]);
    says(&db.fails(&["enqueue", "noop", "--unique", "k", "--scope", "window=0s"], 2), &["delay"]);
    says(&db.fails(&["enqueue", "noop", "--unique", "k", "--scope", "week"], 2), &["week", "window=5m"]);
    says(&db.fails(&["register", &"n".repeat(129)], 2), &["128 bytes"]);
    assert_eq!(db.tasks(), 0);
}

fn a_negative_span_is_refused(db: &Db) {
    db.ok(&["register", "noop"]);
    says(&db.fails(&["enqueue", "noop", "--delay", "-5m"], 2), &["negative delay", "-5m", "--at"]);
    says(&db.fails(&["enqueue", "noop", "--timeout", "-1s"], 2), &["negative", "-1s"]);
    says(&db.fails(&["enqueue", "noop", "--delay", "soon"], 2), &["soon", "90s"]);
    says(&db.fails(&["enqueue", "noop", "--at", "tomorrow"], 2), &["tomorrow", "2026-01-31T12:00:00Z"]);
    says(&db.fails(&["queue", "set", "q", "--keep-failed", "-7d"], 2), &["negative", "-7d"]);
    assert_eq!(db.tasks(), 0);
}

fn numbers_out_of_range_are_refused(db: &Db) {
    db.ok(&["register", "noop"]);
    says(&db.fails(&["enqueue", "noop", "--priority", "1000001"], 2), &["1000001"]);
    says(&db.fails(&["enqueue", "noop", "--max-attempts", "0"], 2), &["max_attempts"]);
    says(&db.fails(&["enqueue", "noop", "--timeout", "0s"], 2), &["timeout"]);
    says(&db.fails(&["enqueue", "noop", "--delay", "4000d"], 2), &["ten years"]);
    says(&db.fails(&["register", "noop", "--jitter", "101"], 2), &["101"]);
    says(&db.fails(&["minutes", "--span", "7h"], 2), &["7h", "6 h"]);
    says(&db.fails(&["enqueue", "noop", "--priority", "high"], 2), &["high", "write a whole number"]);
    says(&db.fails(&["serve", "--listen", "8080"], 2), &["8080", "127.0.0.1:8080"]);
    says(&db.fails(&["list", "--limit", "0"], 2), &["0"]);
    says(&db.fails(&["show", "minus-one"], 2), &["minus-one", "kinfolk list"]);
    assert_eq!(db.tasks(), 0);
    assert_eq!(db.one(&["commands"])["jitter_pct"], 10);
}

fn a_status_of_a_command_that_is_not_known_says_so(db: &Db) {
    db.ok(&["register", "noop"]);
    let ran = db.run(&["status", "set", "busy", "noop", "nopo"]);
    assert_eq!((ran.code, ran.stderr.trim()), (0, "no command nopo is registered yet"), "{ran:?}");
}

fn a_cron_line_that_never_fires_is_refused(db: &Db) {
    db.ok(&["register", "noop"]);
    says(&db.fails(&["schedule", "put", "s", "0 0 30 2 *", "noop"], 2), &["0 0 30 2 *", "never"]);
    says(&db.fails(&["schedule", "put", "s", "every day", "noop"], 2), &["every day"]);
    says(&db.fails(&["schedule", "put", "s", "* * * * *", "noop", "--zone", "Mars/Base"], 2), &["Mars/Base"]);
    assert!(db.json(&["schedule", "list"]).is_empty());
}

fn what_is_not_there_is_not_found(db: &Db) {
    says(&db.fails(&["show", "7"], 3), &["no task 7"]);
    says(&db.fails(&["cancel", "7"], 3), &["no task 7"]);
    says(&db.fails(&["retry", "7"], 3), &["no task 7"]);
    for verb in ["remove", "pause", "resume", "next"] {
        says(&db.fails(&["schedule", verb, "s"], 3), &["no schedule s"]);
    }
    says(&db.fails(&["enqueue", "noop", "--file", "missing.jsonl"], 3), &["missing.jsonl"]);
    says(&db.fails(&["work", "--config", "missing.toml"], 3), &["missing.toml"]);
    says(&db.fails(&["serve", "--pages", "missing"], 3), &["missing"]);

    let ran = db.run(&["show", "7", "--json"]);
    assert_eq!(documents(&ran.stderr)[0]["error"]["code"], "not_found", "{ran:?}");
    assert_eq!((ran.code, ran.stdout.as_str()), (3, ""));
    // In JSON too what was perhaps meant is told, in one line.
    let ran = db.run(&["enqueue", "noop", "--inn", "5m", "--json"]);
    assert_eq!(documents(&ran.stderr)[0]["error"]["message"].as_str().unwrap().lines().count(), 1, "{ran:?}");
    says(&ran.stderr, &["unexpected argument '--inn'", "a similar argument exists: '--in'"]);
    let ran = db.run(&["show", "x", "--json"]);
    assert_eq!((ran.code, &documents(&ran.stderr)[0]["error"]["code"]), (2, &"input".into()), "{ran:?}");
}

fn one_bad_line_of_a_file_writes_nothing(db: &Db) {
    db.ok(&["register", "noop"]);
    let lines = format!("1\n{{\"a\":\"\\u0000\"}}\n\"{}\"\n", "x".repeat(300_000));
    let ran = db.run_with(&["enqueue", "noop", "--file", "-"], &lines);
    assert_eq!(ran.code, 2, "{}", ran.stderr);
    says(&ran.stderr, &["line 2 of -"]);
    assert_eq!(db.tasks(), 0);
}
