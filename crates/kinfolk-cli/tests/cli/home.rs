//! Words that people bring along from elsewhere: they work, or are answered with the right form.

use serde_json::json;

use crate::support::{Db, on_both_stores};

on_both_stores!(
    a_noun_alone_lists_what_there_is,
    a_queue_is_paused_by_its_noun,
    a_task_is_put_off_in_everyday_words,
    keys_are_given_together,
    an_unknown_option_is_never_taken_for_a_payload,
);

fn a_noun_alone_lists_what_there_is(db: &Db) {
    db.ok(&["enqueue", "noop", "--register"]);
    db.ok(&["status", "set", "busy", "noop"]);
    db.ok(&["schedule", "put", "nightly", "0 3 * * *", "noop"]);
    for noun in ["queue", "status", "schedule"] {
        let (alone, told) = (db.json(&[noun]), db.json(&[noun, "list"]));
        assert_eq!((alone.len(), &alone), (1, &told));
        assert!(db.ok(&[noun]).lines().count() == 2);
    }
    for noun in ["queues", "statuses", "schedules", "group"] {
        db.ok(&[noun]);
    }
}

fn a_queue_is_paused_by_its_noun(db: &Db) {
    db.ok(&["queue", "set", "mail"]);
    let paused = db.one(&["queue", "pause", "mail", "--by", "ann"]);
    assert_eq!((&paused["name"], &paused["paused_by"]), (&json!("mail"), &json!("ann")));
    assert!(paused["paused_at"].is_string());
    assert!(db.one(&["queue", "resume", "mail"])["paused_at"].is_null());
    db.fails(&["queue", "pause", "nowhere"], 3);
}

fn a_task_is_put_off_in_everyday_words(db: &Db) {
    db.ok(&["register", "noop"]);
    let due = |args: &[&str]| {
        let id = db.one(&[&["enqueue", "noop"], args].concat())["task"].to_string();
        let task = db.one(&["show", &id]);
        assert_eq!(task["gate"], "time", "{task}");
        task["due_at"].as_str().unwrap().to_owned()
    };
    due(&["--in", "5m"]);
    for at in ["--at", "--scheduled-at"] {
        assert_eq!(due(&[at, "2030-01-01"]), "2030-01-01T00:00:00Z");
    }
    let said = db.fails(&["enqueue", "noop", "--at", "2030-01-01T12:00"], 2);
    assert!(said.contains("time zone") && said.contains("2030-01-01T12:00:00Z"), "{said}");
}

fn keys_are_given_together(db: &Db) {
    db.ok(&["register", "noop", "--group", "a=5", "--group", "b=5"]);
    assert_eq!(db.one(&["register", "noop", "--concurrency", "9"])["groups"]["total"]["limit"], 9);
    let id = db.one(&["enqueue", "noop", "--key", "a=1,b=2"])["task"].to_string();
    assert_eq!(db.one(&["show", &id])["keys"], json!({"a": "1", "b": "2"}));
    let id = db.one(&["enqueue", "noop", "--key", "a=1,2", "--key", "b=x,y"])["task"].to_string();
    assert_eq!(db.one(&["show", &id])["keys"], json!({"a": "1,2", "b": "x,y"}));
    let said = db.fails(&["enqueue", "noop", "--key", "a=1,a=2"], 2);
    assert!(said.contains("two keys in group a"), "{said}");
}

fn an_unknown_option_is_never_taken_for_a_payload(db: &Db) {
    db.ok(&["register", "echo"]);
    for args in [
        &["enqueue", "echo", "--later", "5m"][..],
        &["enqueue", "echo", "--payload", "{}"],
        &["enqueue", "echo", "-p"],
        &["schedule", "put", "s", "* * * * *", "echo", "--daily"],
        &["signal", "1", "go", "--value"],
    ] {
        let ran = db.run(args);
        assert_eq!(ran.code, 2, "{ran:?}");
        assert!(ran.stderr.contains("unexpected argument"), "{args:?}: {ran:?}");
    }
    assert_eq!(db.tasks(), 0);
    for number in ["-5", "-1.5", "-2e3"] {
        let id = db.one(&["enqueue", "echo", number])["task"].to_string();
        assert!(db.one(&["show", &id])["payload"].is_number());
    }
}
