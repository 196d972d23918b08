//! Failures speak: in the log, in lists, and with what to type next.

use std::process::Command;

use serde_json::{Value, json};

use crate::support::{Db, documents, on_both_stores};

on_both_stores!(
    a_failure_is_logged_with_its_message_and_numbers_are_numbers,
    a_list_shows_the_cause_before_the_frame_around_it,
    a_retry_that_is_refused_prints_the_command_to_type,
    a_worker_is_named_by_its_host,
    the_printed_remedy_reaches_the_tasks_of_its_cause_and_no_others,
    a_parent_that_failed_with_a_child_is_no_cause_of_its_own,
);

fn logged(db: &Db, more: &[&str]) -> Vec<Value> {
    let ran = db.run(&[&["work", "--until-idle", "-v"], more].concat());
    assert_eq!(ran.code, 0, "{ran:?}");
    documents(&ran.stderr)
}

fn a_failure_is_logged_with_its_message_and_numbers_are_numbers(db: &Db) {
    db.ok(&["register", "fail", "--max-attempts", "2", "--backoff", "1ms", "--backoff-cap", "1ms"]);
    let id = db.one(&["enqueue", "fail", r#"{"message": "no\nstock"}"#])["task"].clone();
    let lines = logged(db, &["--json"]);
    for (event, attempt, level) in [("retried", 1, "INFO"), ("failed", 2, "WARN")] {
        let line = lines.iter().find(|line| line["fields"]["event"] == event).unwrap_or_else(|| panic!("{lines:?}"));
        assert_eq!(line["level"], level);
        let mut fields = line["fields"].clone();
        assert!(fields["took_ms"].take().is_u64(), "{line}");
        let wanted = json!({
            "event": event, "task": id, "command": "fail", "queue": "default", "attempt": attempt, "took_ms": null,
            "kind": "error", "message": "no stock",
        });
        assert_eq!(fields, wanted);
    }
    db.ok(&["enqueue", "fail", r#"{"message": "no\nstock"}"#]);
    let ran = db.run(&["work", "--until-idle"]);
    let line = ran.stderr.lines().find(|line| line.contains("WARN")).unwrap();
    assert!(line.contains("no stock") && line.contains("queue=default") && line.contains("took_ms="), "{line}");
}

fn a_list_shows_the_cause_before_the_frame_around_it(db: &Db) {
    db.ok(&["register", "fail", "--max-attempts", "1", "--backoff", "1ms", "--backoff-cap", "1ms"]);
    let children =
        r#"{"children": [{"command": "noop"}, {"command": "fail", "payload": {"message": "out of stock"}}]}"#;
    for command in ["fan_out", "spawn"] {
        db.ok(&["enqueue", command, children, "--register", "--max-attempts", "1"]);
    }
    db.ok(&["work", "--until-idle"]);
    for command in ["fan_out", "spawn"] {
        let shown = db.ok(&["list", "--command", command]);
        let line = shown.lines().find(|line| line.contains(&format!(" {command} "))).unwrap();
        assert!(line.contains("out of stock (") && line.contains("task "), "{line}");
        let id = db.one(&["list", "--command", command])["id"].to_string();
        assert!(db.ok(&["show", &id]).contains("out of stock ("), "{command}");
    }
}

fn a_retry_that_is_refused_prints_the_command_to_type(db: &Db) {
    db.ok(&["register", "fail", "--max-attempts", "1", "--backoff", "1ms", "--backoff-cap", "1ms"]);
    let children = r#"{"children": [{"command": "fail", "payload": {"times": 1}}]}"#;
    db.ok(&["enqueue", "spawn", children, "--register", "--max-attempts", "1"]);
    db.ok(&["work", "--until-idle"]);
    let id = db.one(&["list", "--command", "spawn", "--state", "failed"])["id"].to_string();
    let child = db.one(&["list", "--command", "fail"])["id"].to_string();
    let said = db.fails(&["retry", &child], 1);
    let line = said.split('`').nth(1).unwrap_or_else(|| panic!("{said}"));
    assert!(line.ends_with(&format!("retry --family {child}")), "{said}");
    let line = line.replacen("kinfolk", env!("CARGO_BIN_EXE_kinfolk"), usize::from(line.starts_with("kinfolk")));
    db.types(&line);
    assert_eq!(db.state(&id), "waiting");
}

fn a_worker_is_named_by_its_host(db: &Db) {
    let host = Command::new("uname").arg("-n").output().unwrap();
    let host = String::from_utf8(host.stdout).unwrap();
    let worker = db.worker(&[]);
    db.until("the worker is there", |db| !db.json(&["workers"]).is_empty());
    let name = db.one(&["workers"])["name"].clone();
    assert!(name.as_str().unwrap().starts_with(&format!("{} process ", host.trim())), "{name}");
    worker.stop();
}

fn the_printed_remedy_reaches_the_tasks_of_its_cause_and_no_others(db: &Db) {
    db.ok(&["register", "fail", "--max-attempts", "1"]);
    for message in ["no host 1", "out of paper", "no host 2", "no host 3 either"] {
        db.ok(&["enqueue", "fail", &json!({"message": message}).to_string()]);
    }
    db.ok(&["work", "--until-idle"]);
    let causes = db.json(&["failures"]);
    assert_eq!((causes.len(), &causes[0]["tasks"]), (3, &2.into()), "{causes:?}");
    let ran = db.run(&["failures"]);
    let said = format!("{}{}", ran.stdout, ran.stderr);
    let line = said.split_once("run them again: ").unwrap_or_else(|| panic!("{said}")).1.lines().next().unwrap();
    let asked = db.types(&format!("{line} --dry-run")).stdout;
    assert!(asked.contains("2 tasks"), "{asked}");
    db.types(line);
    let left: Vec<Value> = db.json(&["list", "--state", "failed"]);
    let mut left: Vec<_> = left.iter().map(|task| task["failure"]["message"].as_str().unwrap().to_owned()).collect();
    left.sort();
    assert_eq!(left, ["no host 3 either", "out of paper"]);
    let paper = causes.iter().find(|cause| cause["text"] == "out of paper").unwrap();
    let retried = db.one(&["retry", "--cause", paper["id"].as_str().unwrap()]);
    assert_eq!(retried, json!({"action": "retry", "done": 1, "skipped": 0}));
    db.fails(&["retry", "--cause", "000000000000"], 3);
}

fn a_parent_that_failed_with_a_child_is_no_cause_of_its_own(db: &Db) {
    db.ok(&["register", "fail", "--max-attempts", "1"]);
    let child = r#"{"children": [{"command": "fail", "payload": {"message": "out of stock"}}]}"#;
    let grandchild =
        json!({"children": [{"command": "fan_out", "payload": serde_json::from_str::<Value>(child).unwrap()}]});
    for (command, children) in [("spawn", child), ("fan_out", child), ("fan_out", &grandchild.to_string())] {
        db.ok(&["enqueue", command, children, "--register", "--max-attempts", "1"]);
    }
    db.ok(&["work", "--until-idle"]);
    assert_eq!(db.json(&["list", "--state", "failed"]).len(), 7);
    let causes = db.json(&["failures"]);
    assert_eq!(
        (causes.len(), &causes[0]["command"], &causes[0]["tasks"]),
        (1, &"fail".into(), &3.into()),
        "{causes:?}"
    );
}
