//! The life of tasks, from the first migration to the last check, as an operator sees it.

use serde_json::json;

use crate::support::{Db, finish, on_both_stores};

on_both_stores!(
    a_task_is_enqueued_run_and_shown,
    a_failing_task_is_retried_by_policy_and_again_by_hand,
    a_pending_task_is_cancelled_and_can_be_retried,
    a_paused_queue_keeps_its_tasks_until_it_is_resumed,
    delays_and_priorities_decide_when_a_task_runs,
    unique_keys_keep_replace_and_merge,
    many_tasks_are_enqueued_from_a_file_or_by_count,
    listings_go_page_by_page,
    a_command_is_registered_and_changed,
    a_queue_is_made_and_its_retention_changed,
    the_trace_of_the_caller_goes_along,
    counts_workers_doctor_and_check_agree,
);

fn a_task_is_enqueued_run_and_shown(db: &Db) {
    assert_eq!(db.ok(&["enqueue", "echo", r#"{"a":[1,2.50,"x"]}"#, "--register"]).trim(), "created task 1");
    let text = db.ok(&["show", "1"]);
    assert!(text.contains("echo pending") && text.contains(r#"{"a":[1,2.50,"x"]}"#), "{text}");
    assert!(text.contains("no live worker handles command echo on queue default"), "{text}");
    db.ok(&["work", "--until-idle"]);
    let task = db.one(&["show", "1"]);
    assert_eq!(task["state"], "completed");
    assert_eq!(task["result"], json!({"a": [1, 2.5, "x"]}));
    assert_eq!(task["attempts"], json!([]));
    let text = db.ok(&["show", "1"]);
    assert!(text.contains("pending → running → completed"), "{text}");
    assert!(text.contains("finished"), "{text}");
    assert!(db.ok(&["list"]).contains("completed"));
}

fn a_failing_task_is_retried_by_policy_and_again_by_hand(db: &Db) {
    db.ok(&["register", "fail", "--max-attempts", "2", "--backoff", "10ms"]);
    db.ok(&["enqueue", "fail", r#"{"message":"no luck"}"#]);
    db.ok(&["enqueue", "fail", r#"{"times":1}"#]);
    db.ok(&["work", "--until-idle"]);

    let task = db.one(&["show", "1"]);
    assert_eq!((&task["state"], &task["attempt"]), (&json!("failed"), &json!(2)));
    assert_eq!(task["failure"]["message"], "no luck");
    assert_eq!(task["attempts"].as_array().unwrap().len(), 2);
    assert_eq!(task["attempts"][0]["ending"], "retried");
    assert_eq!(db.state("2"), "completed");
    let text = db.ok(&["show", "1"]);
    assert!(text.contains("pending → running → pending (retried) → running → failed"), "{text}");

    assert!(db.ok(&["retry", "1"]).contains("pending again"));
    assert_eq!(db.one(&["show", "1"])["attempt"], 0);
    let said = db.fails(&["retry", "2"], 1);
    assert!(said.contains("task 2 is completed"), "{said}");
}

fn a_pending_task_is_cancelled_and_can_be_retried(db: &Db) {
    db.ok(&["enqueue", "noop", "--register", "--count", "2"]);
    assert!(db.ok(&["cancel", "1"]).contains("task 1 is cancelled"));
    assert_eq!(db.state("1"), "cancelled");
    let said = db.fails(&["cancel", "1"], 1);
    assert!(said.contains("task 1 is cancelled: nothing was changed"), "{said}");
    db.ok(&["retry", "1"]);
    db.ok(&["work", "--until-idle"]);
    assert_eq!(db.state("1"), "completed");

    // One of several that can't be done does not keep the others from being done.
    db.ok(&["enqueue", "noop"]);
    let ran = db.run(&["cancel", "1", "999", "3"]);
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(ran.stderr.contains("task 1") && ran.stderr.contains("there is no task 999"), "{ran:?}");
    assert_eq!(db.state("3"), "cancelled");
}

fn a_paused_queue_keeps_its_tasks_until_it_is_resumed(db: &Db) {
    db.ok(&["enqueue", "noop", "--register"]);
    db.ok(&["pause", "default"]);
    assert!(db.ok(&["queue", "list"]).contains("paused"));
    db.ok(&["work", "--until-idle"]);
    assert_eq!(db.state("1"), "pending");
    assert!(db.ok(&["show", "1"]).contains("queue default is paused since"));
    db.ok(&["resume", "default"]);
    db.ok(&["work", "--until-idle"]);
    assert_eq!(db.state("1"), "completed");
}

fn delays_and_priorities_decide_when_a_task_runs(db: &Db) {
    db.ok(&["register", "noop"]);
    db.ok(&["enqueue", "noop", "--delay", "2h"]);
    db.ok(&["enqueue", "noop", "--at", "2020-01-01T00:00:00Z", "--priority", "-5"]);
    let later = db.one(&["show", "1"]);
    assert_eq!((&later["state"], &later["gate"]), (&json!("pending"), &json!("time")));
    assert!(db.ok(&["list"]).contains("due in 1 h 59 m"));
    let now = db.one(&["show", "2"]);
    assert_eq!((&now["gate"], &now["priority"]), (&json!("open"), &json!(-5)));
    db.ok(&["cancel", "1"]);
    db.ok(&["work", "--until-idle"]);
    assert_eq!(db.state("2"), "completed");
}

fn unique_keys_keep_replace_and_merge(db: &Db) {
    db.ok(&["register", "echo"]);
    let enqueue =
        |payload: &str, rule: &str| db.one(&["enqueue", "echo", payload, "--unique", "k", "--on-duplicate", rule]);
    assert_eq!(enqueue(r#"{"a":1}"#, "keep"), json!({"outcome": "created", "task": 1, "why": null}));
    assert_eq!(enqueue(r#"{"a":2}"#, "keep"), json!({"outcome": "existing", "task": 1, "why": null}));
    assert_eq!(db.one(&["show", "1"])["payload"], json!({"a": 1}));
    assert_eq!(enqueue(r#"{"b":2}"#, "merge"), json!({"outcome": "merged", "task": 1, "why": null}));
    assert_eq!(db.one(&["show", "1"])["payload"], json!({"a": 1, "b": 2}));
    assert_eq!(enqueue("[]", "replace"), json!({"outcome": "merged", "task": 1, "why": null}));
    assert_eq!(db.one(&["show", "1"])["payload"], json!([]));
    assert_eq!(db.json(&["list", "--unique", "k"]).len(), 1);
    assert_eq!(db.json(&["list", "--unique", "other"]).len(), 0);
}

fn many_tasks_are_enqueued_from_a_file_or_by_count(db: &Db) {
    assert_eq!(db.ok(&["enqueue", "noop", "--register", "--count", "5"]).trim(), "created 5 tasks, 1 to 5");
    let ran = db.run_with(&["enqueue", "noop", "--file", "-"], "{\"n\":1}\n\n{\"n\":2}\n");
    assert_eq!((ran.code, ran.stdout.trim()), (0, "created 2 tasks, 6 to 7"), "{ran:?}");
    let path = db.dir.path().join("payloads.jsonl");
    std::fs::write(&path, "1\n2\nnope\n").unwrap();
    let said = db.fails(&["enqueue", "noop", "--file", path.to_str().unwrap()], 2);
    assert!(said.contains("line 3 of"), "{said}");
    assert_eq!(db.tasks(), 7);
    let ran = db.run_with(&["enqueue", "noop", "-"], "{\"from\": \"stdin\"}");
    assert_eq!(ran.stdout.trim(), "created task 8", "{ran:?}");
    assert_eq!(db.one(&["show", "8"])["payload"], json!({"from": "stdin"}));
}

fn listings_go_page_by_page(db: &Db) {
    db.ok(&["enqueue", "noop", "--register", "--count", "5"]);
    db.ok(&["cancel", "4"]);
    let ids = |args: &[&str]| -> Vec<i64> { db.json(args).iter().map(|task| task["id"].as_i64().unwrap()).collect() };
    assert_eq!(ids(&["list", "--limit", "2"]), [5, 4]);
    assert_eq!(ids(&["list", "--limit", "2", "--before", "4"]), [3, 2]);
    assert_eq!(ids(&["list", "--state", "pending,running"]), [5, 3, 2, 1]);
    assert_eq!(ids(&["list", "--state", "cancelled", "--command", "noop", "--queue", "default"]), [4]);

    // The command for the next page can be typed as it is printed.
    let ran = db.run(&["list", "--limit", "2", "--state", "pending"]);
    let next = ran.stderr.trim().strip_prefix("more: kinfolk ").unwrap_or_else(|| panic!("{ran:?}")).to_owned();
    let words: Vec<&str> = next.split(' ').collect();
    assert!(words.ends_with(&["list", "--state", "pending", "--limit", "2", "--before", "3"]), "{words:?}");
    assert_eq!(ids(&words[2..]), [2, 1]);
}

fn a_command_is_registered_and_changed(db: &Db) {
    db.ok(&["register", "mail", "--queue", "out", "--max-attempts", "3", "--timeout", "5s"]);
    db.ok(&["register", "mail", "--backoff", "2s"]);
    let mail = db.one(&["commands"]);
    assert_eq!(mail["name"], "mail");
    assert_eq!((&mail["queue"], &mail["max_attempts"]), (&json!("out"), &json!(3)));
    assert_eq!((&mail["timeout_ms"], &mail["backoff_ms"]), (&json!(5_000), &json!(2_000)));
    assert!(db.ok(&["commands"]).contains("2 s to 1 h"));
    // `--register` leaves a known command as it is.
    db.ok(&["enqueue", "mail", "--register"]);
    assert_eq!(db.one(&["show", "1"])["queue"], "out");
    assert_eq!(db.one(&["show", "1"])["max_attempts"], 3);
}

fn a_queue_is_made_and_its_retention_changed(db: &Db) {
    db.ok(&["queue", "set", "slow", "--keep-completed", "1d", "--keep-failed", "forever"]);
    let queues = db.json(&["queue", "list"]);
    let slow = queues.iter().find(|queue| queue["name"] == "slow").unwrap();
    assert_eq!((&slow["keep_completed_ms"], &slow["keep_failed_ms"]), (&json!(86_400_000), &json!(null)));
    assert_eq!(slow["keep_cancelled_ms"], 7 * 86_400_000);
    // What is left out stays as it was.
    assert!(db.ok(&["queue", "set", "slow", "--keep-cancelled", "2h"]).contains("completed tasks 1 d"));
}

fn the_trace_of_the_caller_goes_along(db: &Db) {
    let trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    let mut command = db.command(&["enqueue", "noop", "--register"]);
    command.env("TRACEPARENT", trace);
    assert_eq!(finish(command, "").code, 0);
    assert_eq!(db.one(&["show", "1"])["trace"], trace);
}

fn counts_workers_doctor_and_check_agree(db: &Db) {
    db.ok(&["enqueue", "noop", "--register", "--count", "3"]);
    db.ok(&["work", "--until-idle"]);
    db.ok(&["enqueue", "noop", "--delay", "1h"]);
    let stats = db.one(&["stats"]);
    let count = |state: &str| {
        let counts = stats["counts"].as_array().unwrap();
        counts.iter().find(|count| count["state"] == state).map_or(0, |count| count["tasks"].as_i64().unwrap())
    };
    assert_eq!((count("completed"), count("pending"), count("failed")), (3, 1, 0));
    assert_eq!(stats["workers"], 0);
    assert!(db.ok(&["stats"]).contains("no worker is alive"));
    assert!(db.ok(&["workers"]).contains("no workers"));
    assert_eq!(db.ok(&["check"]).trim(), "every invariant holds");
    assert!(db.json(&["check"]).is_empty());
    let findings = db.doctor();
    assert!(findings.iter().any(|finding| finding["subject"].as_str().unwrap().contains("schema")), "{findings:?}");
    assert!(findings.iter().all(|finding| finding["health"] != "bad"), "{findings:?}");
}
