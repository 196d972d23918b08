//! The built-in commands of `kinfolk work`.

use serde_json::json;

use crate::support::{Db, on_both_stores, sqlite};

on_both_stores!(queues_are_worked_as_they_are_named);

fn shell(db: &Db, payload: &serde_json::Value) -> serde_json::Value {
    db.ok(&["register", "shell", "--max-attempts", "1"]);
    let task = db.one(&["enqueue", "shell", &payload.to_string()])["task"].to_string();
    db.ok(&["work", "--until-idle", "--allow-shell"]);
    db.one(&["show", &task])
}

fn queues_are_worked_as_they_are_named(db: &Db) {
    db.ok(&["queue", "set", "mail"]);
    db.ok(&["enqueue", "noop", "--register", "--queue", "mail"]);
    db.ok(&["enqueue", "noop"]);
    db.ok(&["work", "--until-idle", "--queue", "mail=2"]);
    let states = |queue: &str| db.json(&["list", "--queue", queue])[0]["state"].clone();
    assert_eq!(states("mail"), "completed");
    let said = db.fails(&["work", "--until-idle", "--queue", "mail", "--queue", "mial=2"], 3);
    assert!(said.contains("no queue mial; there are: default, mail;") && said.contains("queue set mial"), "{said}");
    db.fails(&["work", "--queue", "mail=0"], 2);
    db.fails(&["work", "--queue", "mail=x"], 2);
}

#[test]
fn a_server_can_be_worked_without_wake_ups_and_without_prepared_statements() {
    let db = crate::support::postgres().migrated();
    for option in ["--no-notify", "--pooler"] {
        let task = db.one(&["enqueue", "echo", "7", "--register", option])["task"].to_string();
        db.ok(&["work", "--until-idle", option]);
        assert_eq!(db.one(&["show", &task, option])["result"], 7);
        assert_eq!(db.ok(&["check", option]).trim(), "every invariant holds");
    }
    // Typed without the option, the proposed line would fail behind a pooler.
    let said = db.run(&["list", "--limit", "1", "--pooler"]).stderr;
    assert!(said.contains(" --pooler list --limit 1 --before"), "{said}");
}

#[test]
fn a_program_is_run_only_where_it_is_allowed() {
    let db = sqlite().migrated();
    db.ok(&["enqueue", "shell", r#"{"program":"true"}"#, "--register"]);
    db.ok(&["work", "--until-idle"]);
    assert_eq!(db.state("1"), "pending");
    db.ok(&["work", "--until-idle", "--allow-shell"]);
    assert_eq!(db.state("1"), "completed");
}

#[test]
fn what_a_program_writes_is_the_result() {
    let db = sqlite().migrated();
    let task = shell(&db, &json!({"program": "printf", "args": ["%s|%s", "$(whoami); `id`", "ä\"\\"]}));
    assert_eq!(task["result"], json!({"exit": 0, "stdout": "$(whoami); `id`|ä\"\\"}), "{task}");
    let task =
        shell(&db, &json!({"program": "sh", "args": ["-c", "echo task $KINFOLK_TASK attempt $KINFOLK_ATTEMPT"]}));
    assert_eq!(task["result"]["stdout"], format!("task {} attempt 1\n", task["id"]));
}

#[test]
fn too_much_output_is_cut_and_says_so() {
    let db = sqlite().migrated();
    let task = shell(&db, &json!({"program": "head", "args": ["-c", "3000000", "/dev/zero"]}));
    assert_eq!((&task["state"], &task["result"]["cut"]), (&json!("completed"), &json!(true)));
}

#[test]
fn a_program_that_fails_tells_why() {
    let db = sqlite().migrated();
    let task = shell(&db, &json!({"program": "sh", "args": ["-c", "echo first >&2; echo last words >&2; exit 7"]}));
    assert_eq!(task["state"], "failed");
    let message = task["failure"]["message"].as_str().unwrap();
    assert!(message.contains("exit code 7") && message.contains("last words"), "{message}");
    assert_eq!(task["failure"]["detail"], json!({"exit": 7}));
    let task = shell(&db, &json!({"program": "no-such-program"}));
    assert!(task["failure"]["message"].as_str().unwrap().contains("no-such-program"));
    let task = shell(&db, &json!({"program": "true", "shell": "rm -rf /"}));
    assert_eq!(task["failure"]["kind"], "validation", "{task}");
}

#[test]
fn a_program_that_takes_too_long_is_killed_with_all_it_started() {
    let db = sqlite().migrated();
    let touched = db.dir.path().join("alive");
    let script = format!("(while true; do touch {}; sleep 0.1; done) & wait", touched.display());
    db.ok(&["register", "shell", "--max-attempts", "1"]);
    let payload = json!({"program": "sh", "args": ["-c", script]}).to_string();
    db.ok(&["enqueue", "shell", &payload, "--timeout", "700ms"]);
    db.ok(&["work", "--until-idle", "--allow-shell"]);
    let task = db.one(&["show", "1"]);
    assert_eq!((&task["state"], &task["failure"]["kind"]), (&json!("failed"), &json!("timeout")), "{task}");
    // What it started is gone too: the mark is not made again.
    let _ = std::fs::remove_file(&touched);
    db.ok(&["stats"]);
    db.ok(&["check"]);
    let made_again = (0..10).any(|_| {
        std::thread::sleep(std::time::Duration::from_millis(30));
        touched.exists()
    });
    assert!(!made_again);
}
