//! Families as an operator sees them: trees, repairs, limits and statuses.

use serde_json::{Value, json};

use crate::support::{Db, on_both_stores};

on_both_stores!(
    a_family_is_shown_as_a_tree,
    a_wide_family_is_counted_beyond_a_page,
    a_family_is_cancelled_from_any_of_its_members,
    a_failed_family_is_repaired,
    a_cancelled_family_is_repaired,
    a_queue_gets_limits_and_loses_them,
    statuses_are_set_listed_and_removed,
    a_watch_tells_of_the_family_at_work,
    a_graph_of_three_hundred_children_counts_all_and_names_what_failed,
);

/// Enqueues a family with the built-in command `spawn`.
fn spawn(db: &Db, payload: &Value) -> String {
    for command in ["noop", "sleep", "fail", "spawn"] {
        db.ok(&["register", command, "--max-attempts", "1"]);
    }
    db.one(&["enqueue", "spawn", &payload.to_string()])["task"].to_string()
}

fn a_family_is_shown_as_a_tree(db: &Db) {
    let grandchildren = json!({"children": [{"command": "noop", "count": 2}]});
    let id = spawn(
        db,
        &json!({
            "children": [
                {"command": "spawn", "payload": grandchildren},
                {"command": "fail", "payload": {"message": "no luck"}},
            ],
            "follow_ups": [{"command": "noop"}, {"command": "noop", "when": "completed"}],
        }),
    );
    db.ok(&["work", "--until-idle"]);
    let text = db.ok(&["tree", &id]);
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 9, "{text}");
    assert!(lines[0].starts_with(&format!("{id} spawn failed in ")), "{text}");
    assert!(lines[0].contains("2 children: 1 completed, 1 failed  children: 1 of 2 children failed"), "{text}");
    assert!(lines[1].starts_with("├─ ") && lines[1].contains("spawn completed in"), "{text}");
    assert!(lines[2].starts_with("│  ├─ ") && lines[3].starts_with("│  └─ "), "{text}");
    assert!(lines[4].starts_with("└─ ") && lines[4].ends_with("error: no luck"), "{text}");
    assert_eq!(lines[5], "follow-ups:", "{text}");
    assert!(lines[6].contains("noop completed in"), "{text}");
    assert!(lines[7].ends_with(&format!("skipped: the family of task {id} did not complete")), "{text}");
    assert_eq!(lines[8], "4 descendants: 3 completed, 1 failed");

    let root: i64 = id.parse().unwrap();
    let told = db.json(&["tree", &id]);
    let (follow_ups, tree): (Vec<_>, Vec<_>) = told.into_iter().partition(|task| !task["follows"].is_null());
    assert!(follow_ups.len() == 2 && follow_ups.iter().all(|task| task["follows"] == root), "{follow_ups:?}");
    let family: Vec<(i64, i64)> = tree
        .iter()
        .map(|task| (task["depth"].as_i64().unwrap(), task["children"]["total"].as_i64().unwrap()))
        .collect();
    assert_eq!(family, [(0, 2), (1, 2), (2, 0), (2, 0), (1, 0)]);
    assert!(tree.iter().all(|task| task["root"] == root));

    let child = tree[1]["id"].to_string();
    let ran = db.run(&["tree", &child]);
    assert_eq!(ran.stdout.lines().count(), 3, "{ran:?}");
    assert!(ran.stderr.contains(&format!("tree {id}")), "{ran:?}");
    let text = db.ok(&["show", &child]);
    assert!(text.contains(&format!("child of task {id}, root {id}, depth 1")), "{text}");
    assert!(text.contains("pending → running → waiting → completed"), "{text}");
    let text = db.ok(&["show", &id]);
    assert!(
        text.contains("2: 1 completed, 1 failed") && text.contains("pending → running → waiting → failed"),
        "{text}"
    );
    let task = db.one(&["show", &id]);
    assert_eq!((&task["outcome"], &task["children"]["failed"]), (&json!("completed"), &json!(1)));
    assert_eq!(db.json(&["list", "--command", "noop", "--state", "cancelled"]).len(), 1, "it was to follow a success");
    db.fails(&["tree", "999"], 3);
}

fn a_wide_family_is_counted_beyond_a_page(db: &Db) {
    let id = spawn(db, &json!({"children": [{"command": "noop", "count": 50}]}));
    db.ok(&["work", "--until-idle"]);
    let text = db.ok(&["tree", &id]);
    assert_eq!(text.lines().count(), 22, "{text}");
    assert_eq!(text.lines().last(), Some("└─ 30 more: 30 completed"));
    assert_eq!(db.ok(&["tree", &id, "--all"]).lines().count(), 51);
    let documents = db.json(&["tree", &id]);
    assert_eq!(documents.len(), 22);
    assert_eq!(documents[21]["more"]["completed"], 30);

    let fails = json!({"command": "fail", "payload": {"message": "no luck"}, "count": 2});
    let id = spawn(db, &json!({"children": [{"command": "noop", "count": 40}, fails]}));
    db.ok(&["work", "--until-idle"]);
    let text = db.ok(&["tree", &id]);
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 4, "{text}");
    assert!(lines[1].ends_with("no luck") && lines[2].ends_with("no luck"), "{text}");
    assert_eq!(lines[3], "└─ 40 more: 40 completed");
}

fn a_family_is_cancelled_from_any_of_its_members(db: &Db) {
    db.ok(&["queue", "set", "later"]);
    let id = spawn(db, &json!({"children": [{"command": "noop", "queue": "later", "count": 3}]}));
    db.ok(&["work", "--until-idle", "--queue", "default"]);
    assert_eq!(db.state(&id), "waiting");
    assert!(db.ok(&["show", &id]).contains("waits for its children: 0 of 3 have ended"));
    assert!(db.ok(&["list", "--state", "waiting"]).contains("for its children"));
    let child = db.json(&["list", "--queue", "later"])[0]["id"].to_string();
    assert!(db.ok(&["cancel", "--family", &child]).contains(&format!("task {id} is cancelled")));
    assert_eq!((db.state(&id), db.state(&child)), ("cancelled".to_owned(), "cancelled".to_owned()));
    db.fails(&["cancel", "--family", "999"], 3);
    db.ok(&["check"]);
}

fn a_failed_family_is_repaired(db: &Db) {
    let id = spawn(
        db,
        &json!({"children": [{"command": "noop", "count": 2}, {"command": "fail", "payload": {"message": "no"}}]}),
    );
    db.ok(&["work", "--until-idle"]);
    assert_eq!(db.state(&id), "failed");
    let child = db.json(&["list", "--command", "fail"])[0]["id"].to_string();
    let said = db.fails(&["retry", &child], 1);
    assert!(said.contains("retry its family"), "{said}");
    let said = db.ok(&["retry", "--family", &child]);
    assert!(said.contains("1 pending again, 1 waiting again"), "{said}");
    assert_eq!(db.state(&id), "waiting");
    // What failed would fail again: it is taken out, and then nothing has failed.
    let failed = db.json(&["list", "--command", "fail"])[0]["id"].to_string();
    db.ok(&["cancel", &failed]);
    assert_eq!(db.state(&id), "completed");
    let said = db.fails(&["retry", "--family", &id], 1);
    assert!(said.contains("completed"), "{said}");
    db.ok(&["check"]);
}

fn a_cancelled_family_is_repaired(db: &Db) {
    db.ok(&["queue", "set", "later"]);
    let id = spawn(db, &json!({"children": [{"command": "noop", "queue": "later", "count": 3}]}));
    db.ok(&["work", "--until-idle", "--queue", "default"]);
    db.ok(&["cancel", &id]);
    assert_eq!(db.state(&id), "cancelled");
    let said = db.ok(&["retry", "--family", &id]);
    assert!(said.contains("3 pending again, 1 waiting again"), "{said}");
    db.ok(&["cancel", &id]);
    let said = db.ok(&["retry", &id]);
    assert!(said.contains(&format!("task {id} waits for its children again")), "{said}");
    db.ok(&["work", "--until-idle", "--queue", "later"]);
    assert_eq!(db.state(&id), "completed");
    db.ok(&["check"]);
}

fn a_queue_gets_limits_and_loses_them(db: &Db) {
    let said = db.ok(&["queue", "set", "import", "--family-limit", "1", "--child-limit", "0", "--depth-limit", "1"]);
    assert!(said.starts_with("new queue import works"), "a misspelt name is seen: {said}");
    assert!(said.contains("works on 1 family at a time, takes no children, and lets families grow 1 deep"), "{said}");
    assert!(db.ok(&["queue", "list"]).contains("family 1, child 0, depth 1"));
    assert!(db.ok(&["queue", "set", "import", "--child-limit", "none"]).starts_with("queue import"));
    let queues = db.json(&["queue", "list"]);
    let import = queues.iter().find(|queue| queue["name"] == "import").unwrap();
    assert_eq!((&import["family_limit"], &import["child_limit"]), (&json!(1), &json!(null)));
    assert_eq!(import["depth_limit"], 1);
    for wrong in [["--family-limit", "0"], ["--child-limit", "few"], ["--depth-limit", "33"]] {
        db.fails(&["queue", "set", "import", wrong[0], wrong[1]], 2);
    }
}

fn statuses_are_set_listed_and_removed(db: &Db) {
    assert!(db.ok(&["status", "list"]).contains("no statuses"));
    assert!(db.ok(&["status", "set", "busy", "noop", "sleep"]).contains("status busy is idle"));
    db.ok(&["enqueue", "noop", "--register"]);
    assert!(db.ok(&["status", "set", "busy", "noop", "sleep"]).contains("status busy is active"));
    db.ok(&["work", "--until-idle"]);
    let status = db.one(&["status", "list"]);
    assert_eq!((&status["name"], &status["active"]), (&json!("busy"), &json!(false)), "it does not stick");
    assert_eq!(status["commands"], json!(["noop", "sleep"]));
    assert!(db.ok(&["status", "list"]).contains("noop, sleep"));
    db.ok(&["status", "remove", "busy"]);
    db.fails(&["status", "remove", "busy"], 3);
}

fn a_watch_tells_of_the_family_at_work(db: &Db) {
    let id = spawn(db, &json!({"children": [{"command": "sleep", "payload": {"ms": 300}, "count": 4}]}));
    let root: i64 = id.parse().unwrap();
    let mut watch = db.command(&["watch", "--until-idle", "--every", "50ms", "--json"]);
    let watch = watch.stdin(std::process::Stdio::null()).stdout(std::process::Stdio::piped());
    let watch = watch.stderr(std::process::Stdio::piped()).spawn().unwrap();
    db.ok(&["work", "--until-idle", "--capacity", "2"]);
    let ran = crate::support::finish_child(watch, "");
    assert_eq!(ran.code, 0, "{ran:?}");
    let lines = crate::support::documents(&ran.stdout);
    let families: Vec<&Value> = lines.iter().filter(|line| line["root"] == root).collect();
    assert!(families.len() >= 2, "{ran:?}");
    assert_eq!((&families[0]["state"], &families[0]["levels"][0]["total"]), (&json!("waiting"), &json!(4)));
    let last = families.last().unwrap();
    assert_eq!((&last["state"], &last["levels"][0]["completed"]), (&json!("completed"), &json!(4)));
}

fn a_graph_of_three_hundred_children_counts_all_and_names_what_failed(db: &Db) {
    let children = json!([
        {"command": "noop", "count": 297},
        {"command": "fail", "count": 3, "payload": {"message": "no luck"}},
    ]);
    let id = spawn(db, &json!({"children": children}));
    db.ok(&["work", "--until-idle", "--capacity", "100"]);
    let failed: Vec<String> =
        db.json(&["list", "--command", "fail"]).iter().map(|task| task["id"].to_string()).collect();
    assert_eq!(failed.len(), 3);
    for format in ["dot", "mermaid"] {
        let graph = db.ok(&["graph", &id, "--format", format]);
        assert!(graph.contains("noop ×297") && graph.contains("297 completed"), "{graph}");
        assert!(graph.contains("fail ×3") && !graph.contains("there is more"), "{graph}");
        for task in &failed {
            assert!(graph.contains(task), "{task}: {graph}");
        }
    }
}
