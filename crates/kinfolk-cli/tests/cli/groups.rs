//! Groups as an operator sees them: declared, set, full, and removed.

use serde_json::{Value, json};

use crate::support::{Db, on_both_stores};

on_both_stores!(
    groups_are_declared_shown_and_removed,
    what_is_set_stands_until_it_is_cleared,
    one_command_tells_which_keys_hold_tasks_up,
    keys_are_listed_page_by_page,
    the_keys_of_a_task_are_shown_wherever_it_is,
    children_take_the_keys_they_are_given,
    a_config_file_declares_groups_and_turns,
    a_queue_takes_turns_and_tells_who_paused_it,
    bad_groups_and_keys_are_refused_with_the_remedy,
);

/// A command with two groups of its own, a shared one and a total.
fn register(db: &Db) {
    let options = ["--group", "tenant=20", "--group", "message=1", "--total", "50", "--hold", "tenant"];
    let rate = ["--rate", "provider=100/1s:20", "--shared", "provider"];
    db.ok(&[&["register", "send"], &options[..], &rate[..]].concat());
}

/// A task of the command `wait` that holds the one slot of a tenant and waits for a signal.
fn holder(db: &Db, tenant: &str) -> String {
    db.ok(&["register", "wait", "--group", "tenant=1", "--hold", "tenant"]);
    let holder = wait(db, tenant);
    db.ok(&["work", "--until-idle"]);
    assert_eq!(db.state(&holder), "waiting");
    holder
}

fn wait(db: &Db, tenant: &str) -> String {
    let key = format!("tenant={tenant}");
    db.one(&["enqueue", "wait", r#"{"signal": "go"}"#, "--key", &key])["task"].to_string()
}

fn group<'a>(groups: &'a [Value], name: &str) -> &'a Value {
    groups.iter().find(|group| group["name"] == name).unwrap_or_else(|| panic!("no group {name}: {groups:?}"))
}

fn groups_are_declared_shown_and_removed(db: &Db) {
    assert!(db.ok(&["groups"]).contains("no groups"));
    register(db);
    let groups = db.json(&["groups"]);
    let names: Vec<&str> = groups.iter().map(|group| group["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["provider", "message", "tenant", "total"], "shared ones first");
    let (tenant, provider) = (group(&groups, "tenant"), group(&groups, "provider"));
    assert_eq!((&tenant["command"], &tenant["declared"]["limit"]), (&json!("send"), &json!(20)));
    assert_eq!((&tenant["declared"]["hold"], &tenant["blocking"]), (&json!(true), &json!([])));
    assert_eq!((&provider["command"], &provider["commands"]), (&json!(null), &json!(["send"])));
    assert_eq!(provider["declared"]["rate"], json!({"count": 100, "per_ms": 1_000, "burst": 20}));
    let text = db.ok(&["groups"]);
    for words in ["100 in 1 s, 20 at once", "shared", "held until a task has ended", "no task waits behind a key"] {
        assert!(text.contains(words), "no {words:?} in:\n{text}");
    }
    assert_eq!(db.one(&["commands"])["groups"]["message"]["limit"], 1);
    assert!(db.ok(&["commands"]).contains("message 1, provider 100 in 1 s, tenant 20, total 50"));

    // What is not named stays; what is named is as it is said now.
    db.ok(&["register", "send", "--priority", "3"]);
    db.ok(&["register", "send", "--group", "tenant=30"]);
    let groups = db.json(&["groups"]);
    assert_eq!(groups.len(), 4);
    assert_eq!(
        group(&groups, "tenant")["declared"],
        json!({"limit": 30, "rate": null, "hold": false, "shared": false})
    );

    assert!(db.ok(&["groups", "remove", "message"]).contains("group message of send removed"));
    db.ok(&["groups", "remove", "provider"]);
    assert_eq!(db.json(&["groups"]).len(), 2);
    assert!(db.fails(&["groups", "remove", "message"], 3).contains("no group message"));
}

fn what_is_set_stands_until_it_is_cleared(db: &Db) {
    register(db);
    assert!(
        db.ok(&["groups", "set", "tenant", "--limit", "40"]).contains("each key of group tenant of send has 40 slots")
    );
    let said =
        db.ok(&["groups", "set", "tenant", "--command", "send", "--key", "acme", "--rate", "10/1s", "--burst", "5"]);
    assert!(said.contains("key \"acme\" of group tenant of send has 10 in 1 s, 5 at once"), "{said}");
    db.ok(&["groups", "set", "tenant", "--key", "acme", "--limit", "3"]);
    db.ok(&["groups", "set", "total", "--limit", "0"]);
    db.ok(&["register", "send", "--group", "tenant=25"]);
    let groups = db.json(&["groups"]);
    let tenant = group(&groups, "tenant");
    assert_eq!((&tenant["declared"]["limit"], &tenant["set"]["limit"]), (&json!(25), &json!(40)));
    let acme = json!({"limit": 3, "rate": {"count": 10, "per_ms": 1_000, "burst": 5}});
    assert_eq!(tenant["keys"], json!({ "acme": acme }));
    let text = db.ok(&["groups"]);
    assert!(text.contains("declared with 25 slots") && text.contains("acme: 3 slots, 10 in 1 s, 5 at once"), "{text}");

    db.ok(&["groups", "set", "tenant", "--key", "acme", "--rate", "declared"]);
    assert_eq!(group(&db.json(&["groups"]), "tenant")["keys"], json!({"acme": {"limit": 3, "rate": null}}));
    db.ok(&["groups", "set", "tenant", "--key", "acme", "--clear"]);
    db.ok(&["groups", "set", "tenant", "--clear"]);
    let groups = db.json(&["groups"]);
    let tenant = group(&groups, "tenant");
    assert_eq!((&tenant["keys"], &tenant["set"]["limit"]), (&json!({}), &json!(null)));
}

fn one_command_tells_which_keys_hold_tasks_up(db: &Db) {
    let (holder, behind) = (holder(db, "acme"), wait(db, "acme"));
    let worker = db.worker(&[]);
    let waiters = |db: &Db| group(&db.json(&["groups"]), "tenant")["blocking"][0]["waiters"] == 1;
    db.until("a claim has blocked the second", waiters);
    let groups = db.json(&["groups"]);
    let blocking = &group(&groups, "tenant")["blocking"][0];
    assert_eq!((&blocking["key"], &blocking["limit"], &blocking["held"]), (&json!("acme"), &json!(1), &json!(1)));
    assert_eq!(blocking["holders"], json!([holder.parse::<i64>().unwrap()]));
    let ran = db.run(&["groups"]);
    let row = ran.stdout.lines().find(|line| line.contains("acme")).unwrap_or_else(|| panic!("{ran:?}"));
    let cells: Vec<&str> = row.split_whitespace().collect();
    assert_eq!(cells, ["tenant", "wait", "acme", "1/1", &holder, "1", "-"], "{row}");
    assert!(ran.stderr.contains("explain ID"), "{ran:?}");

    db.ok(&["signal", &holder, "go"]);
    db.until("the second has begun to wait for its signal", |db| db.state(&behind) == "waiting");
    db.ok(&["signal", &behind, "go"]);
    db.until("the second has ended", |db| db.state(&behind) == "completed");
    worker.stop();
    assert!(db.json(&["groups", "keys"]).is_empty(), "nothing is left of a key that nobody uses");
    db.ok(&["check"]);
}

fn keys_are_listed_page_by_page(db: &Db) {
    for tenant in ["a b", "c", "d"] {
        holder(db, tenant);
    }
    assert_eq!(db.json(&["groups", "keys", "--group", "tenant", "--command", "wait"]).len(), 3);
    assert!(
        db.json(&["groups", "keys", "--command", "wait", "--blocking"]).is_empty(),
        "all are full, and nobody waits"
    );
    let mut seen = Vec::new();
    let mut page = db.run(&["groups", "keys", "--limit", "1"]);
    while seen.len() < 4 {
        seen.extend(page.stdout.lines().nth(1).map(|row| row.split_whitespace().nth(2).unwrap().to_owned()));
        let Some((_, more)) = page.stderr.trim_end().split_once("more: ") else { break };
        page = db.types(more);
    }
    assert_eq!(seen, ["a", "c", "d"], "one a page, in the order of keys");
    assert!(db.fails(&["groups", "keys", "--group", "tenent"], 3).contains("no group tenent"));
    assert!(db.fails(&["groups", "keys", "--command", "echo"], 3).contains("no group of echo"));
    db.fails(&["groups", "keys", "--after", "tenant"], 2);
}

fn the_keys_of_a_task_are_shown_wherever_it_is(db: &Db) {
    register(db);
    let id = db.one(&["enqueue", "send", "--key", "tenant=a=b", "--key", "message=m 1"])["task"].to_string();
    assert_eq!(db.one(&["show", &id])["keys"], json!({"tenant": "a=b", "message": "m 1"}));
    for command in ["show", "tree"] {
        let text = db.ok(&[command, &id]);
        assert!(text.contains("message=m 1, tenant=a=b"), "{text}");
    }
    assert!(db.ok(&["list"]).contains("message=m 1, tenant=a=b"));
    assert!(db.run(&["show", &id]).stderr.contains(&format!("explain {id}")));
    db.ok(&["schedule", "put", "nightly", "0 3 * * *", "send", "--key", "tenant=acme"]);
    assert_eq!(db.one(&["schedule", "list"])["keys"], json!({"tenant": "acme"}));
    db.ok(&["check"]);
}

fn children_take_the_keys_they_are_given(db: &Db) {
    for command in ["spawn", "echo", "fan_out"] {
        db.ok(&["register", command, "--group", "tenant=2", "--group", "item=1", "--max-attempts", "1"]);
    }
    let child = json!({"command": "echo", "count": 3, "keys": {"item": "i"}, "inherit_keys": true});
    for (command, payload) in [
        ("spawn", json!({"children": [child.clone()], "follow_ups": [child.clone()]})),
        ("fan_out", json!({"children": [child]})),
    ] {
        db.ok(&["enqueue", command, &payload.to_string(), "--key", "tenant=acme"]);
    }
    db.ok(&["work", "--until-idle"]);
    let made = db.json(&["list", "--command", "echo", "--state", "completed"]);
    assert_eq!(made.len(), 9);
    for task in made {
        assert_eq!(task["keys"], json!({"item": "i", "tenant": "acme"}), "{task}");
    }
    db.ok(&["check"]);
}

fn a_config_file_declares_groups_and_turns(db: &Db) {
    let path = db.dir.path().join("kinfolk.toml");
    let work = |text: &str| {
        std::fs::write(&path, text).unwrap();
        db.run(&["work", "--until-idle", "--config", path.to_str().unwrap()])
    };
    let ran = work(
        "[queues.default]\nfair = \"tenant\"\n[commands.echo.groups]\ntenant = 2\n\
         provider = { rate = \"1000/1s:10\", shared = true }\n[commands.noop]\ngroups = 5\n",
    );
    assert_eq!(ran.code, 0, "{ran:?}");
    let groups = db.json(&["groups"]);
    assert_eq!(group(&groups, "tenant")["declared"]["limit"], 2);
    assert_eq!(group(&groups, "provider")["commands"], json!(["echo"]));
    assert_eq!(group(&groups, "total")["command"], "noop");
    assert_eq!(db.one(&["queue", "list"])["fair"], "tenant");
    db.ok(&["enqueue", "echo", "7", "--key", "tenant=acme", "--key", "provider=p", "--count", "5"]);
    let ran = work("[queues.default]\nfair = \"none\"\n[commands.echo.groups]\ntenant = 2\n");
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_eq!(db.json(&["list", "--state", "completed"]).len(), 5);
    assert_eq!(db.one(&["queue", "list"])["fair"], json!(null));
    assert_eq!(db.json(&["groups"]).len(), 2, "the file says all groups of a command");
    let ran = work("[commands.ecko]\ngroups = 5\n");
    assert!(ran.code == 3 && ran.stderr.contains("no command ecko"), "{ran:?}");
    let ran = work("[commands.echo.groups]\ntenant = { rate = \"soon\" }\n");
    assert!(ran.code == 2 && ran.stderr.contains("not a rate: \"soon\""), "{ran:?}");
    db.ok(&["check"]);
}

fn a_queue_takes_turns_and_tells_who_paused_it(db: &Db) {
    assert!(db.ok(&["queue", "set", "mail", "--fair", "tenant"]).contains("keys of tenant take turns"));
    assert_eq!(db.one(&["queue", "list"])["fair"], "tenant");
    assert!(db.ok(&["queue", "list"]).contains("fair tenant"));
    db.ok(&["queue", "set", "mail", "--fair", "none"]);
    assert_eq!(db.one(&["queue", "list"])["fair"], json!(null));

    assert_eq!(db.one(&["pause", "mail", "--by", "ann"])["paused_by"], "ann");
    assert!(db.ok(&["queue", "list"]).contains("by ann"));
    db.ok(&["resume", "mail"]);
    let mut pause = db.command(&["pause", "mail"]);
    pause.env_remove("LOGNAME").env("USER", "bert");
    assert_eq!(crate::support::finish(pause, "").code, 0);
    assert_eq!(db.one(&["queue", "list"])["paused_by"], "bert");
}

fn bad_groups_and_keys_are_refused_with_the_remedy(db: &Db) {
    db.ok(&["register", "echo", "--group", "tenant=1"]);
    let refusals: [(&[&str], i32, &str); 23] = [
        (&["enqueue", "echo", "--key", "tenant"], 2, "tenant=acme"),
        (&["enqueue", "echo", "--key", "tenant="], 2, "1 to 200"),
        (&["enqueue", "echo", "--key", "a b=c"], 2, "a b"),
        (&["enqueue", "echo", "--key", "tenant=a", "--key", "tenant=b"], 2, "two keys in group tenant"),
        (&["enqueue", "echo", "--key", "total=a"], 2, "total"),
        (&["enqueue", "echo", "--key", "region=eu"], 1, "register echo --group region=LIMIT"),
        (&["register", "echo", "--group", "tenant"], 2, "tenant=20"),
        (&["register", "echo", "--group", "tenant=-3"], 2, "not a limit: \"-3\""),
        (&["register", "echo", "--group", "tenant=1000001"], 2, "1000001"),
        (&["register", "echo", "--rate", "tenant=0/1s"], 2, "out of range"),
        (&["register", "echo", "--rate", "tenant=5"], 2, "100/1s"),
        (&["register", "echo", "--hold", "tenant"], 2, "neither a limit nor a rate"),
        (&["register", "echo", "--total", "few"], 2, "not a limit: \"few\""),
        (&["groups", "set", "tenant"], 2, "--limit"),
        (&["groups", "set", "tenant", "--limit", "many"], 2, "not a limit: \"many\""),
        (&["groups", "set", "tenant", "--key", "", "--limit", "1"], 2, "1 to 200"),
        (&["groups", "set", "tenent", "--limit", "1"], 3, "no group tenent"),
        (&["groups", "set", "tenant", "--command", "noop", "--limit", "1"], 3, "no group tenant of noop"),
        (&["groups", "set", "total", "--key", "x", "--limit", "1"], 2, "total"),
        (&["groups", "remove", "tenent"], 3, "no group tenent"),
        (&["queue", "set", "default", "--fair", "a b"], 2, "a b"),
        (&["queue", "set", "default", "--fair", "total"], 2, "name another group"),
        (&["explain", "acme"], 2, "kinfolk list"),
    ];
    for (args, code, remedy) in refusals {
        let said = db.fails(args, code);
        assert!(said.contains(remedy), "kinfolk {args:?}: no {remedy:?} in: {said}");
    }
    assert_eq!((db.tasks(), db.json(&["groups"]).len()), (0, 1));
    assert_eq!(db.one(&["groups"])["declared"]["limit"], 1);

    db.ok(&["register", "noop", "--group", "tenant=1", "--group", "pool=1", "--shared", "pool"]);
    let said = db.fails(&["groups", "set", "tenant", "--limit", "2"], 2);
    assert!(said.contains("echo, noop") && said.contains("--command"), "{said}");
    let said = db.fails(&["groups", "remove", "pool", "--command", "noop"], 3);
    assert!(said.contains("pool is shared"), "{said}");
}
