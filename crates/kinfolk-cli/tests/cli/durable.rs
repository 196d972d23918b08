//! Handlers that wait without a worker, from the outside: signals, what is shown of them, and the dry run.

use std::process::Stdio;

use serde_json::{Value, json};

use crate::support::{Db, on_both_stores};

on_both_stores!(
    a_signal_reaches_a_handler_that_waits_for_it,
    a_signal_is_kept_for_a_handler_that_has_not_asked_yet,
    a_signal_that_cannot_be_sent_is_refused,
    a_suspended_handler_is_shown_with_what_it_recorded_and_awaits,
    a_suspended_handler_is_in_the_attempt_that_it_began,
    a_worker_until_idle_waits_for_a_time_limit_to_pass,
    a_watch_tells_of_progress,
    a_replay_says_where_a_handler_goes_on,
    a_replay_of_changed_history_names_the_step,
    a_replay_is_only_for_commands_of_this_program
);

fn enqueue(db: &Db, command: &str, payload: &Value) -> String {
    for known in ["echo", "fail", "sleep", command] {
        db.ok(&["register", known, "--max-attempts", "1"]);
    }
    db.one(&["enqueue", command, &payload.to_string()])["task"].to_string()
}

fn a_signal_reaches_a_handler_that_waits_for_it(db: &Db) {
    let id = enqueue(db, "wait", &json!({"signal": "go"}));
    db.ok(&["work", "--until-idle"]);
    let shown = db.one(&["show", &id]);
    assert_eq!((&shown["state"], &shown["signals"]), (&json!("waiting"), &json!(["go"])), "{shown}");
    assert!(db.ok(&["show", &id]).contains("for signal go"));
    assert!(db.ok(&["list"]).contains("for signal go"));
    assert!(db.ok(&["tree", &id]).contains("for signal go"));
    let said = db.ok(&["signal", &id, "go", r#"{"by": "the boss"}"#]);
    assert!(said.contains(&format!("task {id} was waiting for go, and resumes")), "{said}");
    db.ok(&["work", "--until-idle"]);
    assert_eq!(db.one(&["show", &id])["result"], json!({"by": "the boss"}));
    db.ok(&["check"]);
}

fn a_suspended_handler_is_in_the_attempt_that_it_began(db: &Db) {
    let attempts = |shown: &str| {
        let line = shown.lines().find(|line| line.trim_start().starts_with("attempts")).unwrap_or_default();
        line.trim_start().trim_start_matches("attempts").trim().to_owned()
    };
    let payload = r#"{"signal": "go", "timeout_ms": 600000}"#;
    db.ok(&["register", "wait", "--max-attempts", "4"]);
    let id = db.one(&["enqueue", "wait", payload])["task"].to_string();
    let worker = db.worker(&[]);
    db.until("it waits", |db| db.state(&id) == "waiting");
    assert_eq!(attempts(&db.ok(&["show", &id])), "in attempt 1 of 4, suspended");
    assert!(db.ok(&["list"]).contains(" 1/4 "));
    db.ok(&["signal", &id, "go"]);
    db.until("it is done", |db| db.state(&id) == "completed");
    assert_eq!(attempts(&db.ok(&["show", &id])), "1 of 4, 2 runs");
    worker.stop();
}

fn a_signal_is_kept_for_a_handler_that_has_not_asked_yet(db: &Db) {
    let id = enqueue(db, "wait", &json!({"signal": "go"}));
    assert_eq!(db.one(&["signal", &id, "go"])["answer"], "kept");
    let ran = db.run_with(&["signal", &id, "go", "-", "--json"], "[2]");
    assert_eq!(ran.code, 0, "{ran:?}");
    db.ok(&["work", "--until-idle"]);
    let shown = db.one(&["show", &id]);
    assert_eq!((&shown["state"], &shown["result"]), (&json!("completed"), &json!(null)), "the first one was nothing");
    db.ok(&["check"]);
}

fn a_signal_that_cannot_be_sent_is_refused(db: &Db) {
    let id = enqueue(db, "wait", &json!({"signal": "go"}));
    let said = db.fails(&["signal", &id, "go", "{"], 2);
    assert!(said.contains("JSON"), "{said}");
    db.fails(&["signal", &id, "", "1"], 2);
    db.fails(&["signal", "999", "go", "1"], 3);
    db.ok(&["cancel", &id]);
    db.fails(&["signal", &id, "go", "1"], 1);
}

/// A fan-out of four of which two have ended: the others are on a queue that nobody works on.
fn half_done(db: &Db) -> String {
    db.ok(&["queue", "set", "later"]);
    let id = enqueue(
        db,
        "fan_out",
        &json!({
            "children": [
                {"command": "echo", "payload": 7},
                {"command": "fail", "payload": {"message": "no luck"}},
                {"command": "echo", "payload": 8, "count": 2, "queue": "later"},
            ],
            "rule": {"threshold": 0.5},
            "timeout_ms": 3_600_000,
        }),
    );
    let mut worker = db.command(&["work", "--queue", "default"]);
    let worker = worker.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    db.until("two sub-tasks have ended", |db| {
        let children = &db.one(&["show", &id])["children"];
        children["completed"] == 1 && children["failed"] == 1
    });
    crate::signals::signal(&worker, rustix::process::Signal::TERM);
    assert_eq!(crate::support::finish_child(worker, "").code, 0);
    id
}

fn a_suspended_handler_is_shown_with_what_it_recorded_and_awaits(db: &Db) {
    let id = half_done(db);
    let text = db.ok(&["show", &id]);
    for words in ["for echo: 2 of 4 open", "running ⇄ waiting", "0/4", "threshold 0.5", "1 completed, 1 failed, 2 open"]
    {
        assert!(text.contains(words), "{words}: {text}");
    }
    let shown = db.one(&["show", &id]);
    assert_eq!((&shown["steps"], &shown["report"]["total"]), (&json!(1), &json!(4)), "{shown}");
    assert_eq!(shown["checkpoints"][0]["key"]["name"], "echo");
    let fan_out = &shown["fan_outs"][0];
    assert_eq!((&fan_out["rule"], &fan_out["verdict"]), (&json!("threshold"), &json!(null)), "{shown}");
    assert_eq!((&fan_out["tally"]["total"], &fan_out["tally"]["failed"]), (&json!(4), &json!(1)));
    assert_eq!(fan_out["threshold"], 0.5);
    assert!(fan_out["deadline_at"].is_string() && shown["checkpoints"][0]["value"] == fan_out["id"], "{shown}");

    let tree = db.ok(&["tree", &id]);
    let lines: Vec<&str> = tree.lines().collect();
    assert!(lines[0].contains("0/4"), "{tree}");
    assert_eq!(lines[1], "└─ echo (threshold 0.5: 1 completed, 1 failed, 2 open)", "{tree}");
    assert!(lines[2].starts_with("   ├─ ") && lines[5].starts_with("   └─ "), "{tree}");
    let documents = db.json(&["tree", &id]);
    assert_eq!((documents.len(), &documents[0]["fan_outs"][0]["id"]), (5, &fan_out["id"]));

    db.ok(&["work", "--until-idle", "--queue", "default", "--queue", "later"]);
    let shown = db.one(&["show", &id]);
    assert_eq!((&shown["state"], &shown["fan_outs"][0]["verdict"]), (&json!("completed"), &json!("completed")));
    assert_eq!(
        shown["result"],
        json!([{"completed": 7}, {"failed": "no luck"}, {"completed": 8}, {"completed": 8}]),
        "{shown}"
    );
    assert!(db.ok(&["show", &id]).contains("running ⇄ waiting → completed"));
    db.ok(&["check"]);
}

fn a_worker_until_idle_waits_for_a_time_limit_to_pass(db: &Db) {
    let id = enqueue(db, "wait", &json!({"signal": "never", "timeout_ms": 600}));
    db.ok(&["work", "--until-idle"]);
    let shown = db.one(&["show", &id]);
    assert_eq!((&shown["state"], &shown["result"]), (&json!("completed"), &json!(null)), "{shown}");
}

fn a_watch_tells_of_progress(db: &Db) {
    let payload = json!({"children": [{"command": "sleep", "payload": {"ms": 300}, "count": 4}]});
    let id = enqueue(db, "fan_out", &payload);
    let root: i64 = id.parse().unwrap();
    let mut watch = db.command(&["watch", "--until-idle", "--every", "50ms", "--json"]);
    let watch = watch.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    db.ok(&["work", "--until-idle", "--capacity", "2"]);
    let ran = crate::support::finish_child(watch, "");
    assert_eq!(ran.code, 0, "{ran:?}");
    let lines = crate::support::documents(&ran.stdout);
    let families: Vec<&Value> = lines.iter().filter(|line| line["root"] == root).collect();
    assert!(families.iter().any(|line| line["report"]["done"] == 0 && line["state"] == "waiting"), "{ran:?}");
    let last = families.last().unwrap();
    assert_eq!((&last["state"], &last["report"]["done"]), (&json!("completed"), &json!(4)), "{ran:?}");
}

fn a_replay_says_where_a_handler_goes_on(db: &Db) {
    let id = half_done(db);
    let before = db.one(&["show", &id]);
    let said = db.ok(&["replay", &id]);
    assert!(said.contains("fan_out, 1 step recorded: sound, goes on with echo (fan_out)"), "{said}");
    let replay = db.one(&["replay", &id]);
    assert_eq!((&replay["sound"], &replay["end"]), (&json!(true), &json!("goes_on")), "{replay}");
    assert_eq!(replay["next"][0]["key"]["name"], "echo");
    assert_eq!(db.one(&["show", &id]), before, "a dry run writes nothing");
    db.ok(&["work", "--until-idle", "--queue", "default", "--queue", "later"]);
    assert_eq!(db.one(&["replay", &id])["end"], "returned");
    assert!(db.ok(&["replay", &id]).contains("the handler returns"));
    db.fails(&["replay", "999"], 3);
}

fn a_replay_of_changed_history_names_the_step(db: &Db) {
    let id = half_done(db);
    db.edit("checkpoint", "digest", "not what was asked for");
    let ran = db.run(&["replay", &id, "--json"]);
    assert_eq!(ran.code, 1, "{ran:?}");
    let replay = &crate::support::documents(&ran.stdout)[0];
    assert_eq!((&replay["sound"], &replay["end"]), (&json!(false), &json!("diverged")), "{ran:?}");
    let said = db.run(&["replay", &id]).stderr;
    assert!(said.contains("echo"), "{said}");
}

fn a_replay_is_only_for_commands_of_this_program(db: &Db) {
    let id = db.one(&["enqueue", "foreign", "--register"])["task"].to_string();
    let said = db.fails(&["replay", &id], 1);
    assert!(said.contains("no handler for foreign") && said.contains("WorkerBuilder::replay"), "{said}");
}
