//! The demo, to its end and through kills.

use std::collections::BTreeSet;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::support::{Db, on_both_stores, postgres, sqlite};

on_both_stores!(a_day_ends_well, a_killed_day_goes_on_and_packs_every_item_once);

fn a_day_ends_well(db: &Db) {
    let day = db.one(&["demo", "--once", "--orders", "8"]);
    assert_eq!((&day["day"], &day["orders"]), (&json!(1), &json!(8)), "{day}");
    assert_eq!((&day["shipped"], &day["failed"], &day["cancelled"]), (&json!(5), &json!(2), &json!(1)), "{day}");
    assert!(day["retries"].as_u64().unwrap() >= 2 && day["letters_lost"] == 1, "{day}");
    let text = db.ok(&["demo", "--once", "--orders", "8"]);
    for words in ["day 2 of", "8 orders in, 5 shipped, 2 failed and 1 cancelled as they must", "none twice"] {
        assert!(text.contains(words), "{words}: {text}");
    }
    for words in
        ["approved by the boss", "out of stock", "503 Service Unavailable", "a letter was lost", "changed their"]
    {
        assert!(text.contains(words), "{words}: {text}");
    }
    // The hints are commands that can be typed.
    let hint = text.lines().find(|line| line.contains("replay ")).unwrap();
    assert!(hint.contains(&db.url), "{hint}");
    let task = hint.rsplit(' ').next().unwrap();
    assert!(db.ok(&["replay", task]).contains("sound, the handler returns"));
    assert!(db.ok(&["tree", task]).contains("letters (collect_all completed"));
    assert!(db.ok(&["show", task]).contains("charge the card"));
}

#[test]
fn an_email_fails_once_and_goes_out_once_by_three_runs_of_its_supervisor() {
    let db = postgres();
    for _ in 0..2 {
        let told = db.one(&["demo", "email", "--once"]);
        assert_eq!(
            (&told["runs"], &told["messages"], told["facts"].as_array().unwrap().len()),
            (&json!(3), &json!(1), 4)
        );
    }
    let text = db.ok(&["demo", "email", "--once"]);
    for words in
        ["scheduled attempt 1", "failed attempt 1: the outbox", "scheduled attempt 2", "succeeded", "as it must"]
    {
        assert!(text.contains(words), "{words}: {text}");
    }
    assert!(db.ok(&["errors"]).contains("the outbox"));
    assert_eq!(db.one(&["module", "list"])["installed"], 1);
    assert_eq!(db.one(&["module", "install", "comms"])["installed"], false);
    assert!(db.ok(&["module", "new", "refund"]).contains("create table \"refund\".refund_task ("));
    let refused = sqlite().run(&["demo", "email"]);
    assert!(refused.code == 2 && refused.stderr.contains("PostgreSQL"), "{refused:?}");
    let refused = sqlite().run(&["module", "install", "comms"]);
    assert!(refused.code == 2 && refused.stderr.contains("PostgreSQL"), "{refused:?}");
}

/// Moments to kill the demo at, as they are seen from outside.
type Moment = (&'static str, fn(&Db) -> bool);

fn any(db: &Db, args: &[&str], holds: impl Fn(&Value) -> bool) -> bool {
    // Before the first demo there is no such command.
    let ran = db.run(&[&["list", "--json", "--limit", "1000"], args].concat());
    ran.code == 0 && crate::support::documents(&ran.stdout).iter().any(holds)
}

const MOMENTS: [Moment; 4] = [
    ("an order is begun", |db| any(db, &["--command", "shop.process_order"], |task| task["steps"] != 0)),
    ("an item is packed, and its task not over", |db| {
        any(db, &["--command", "shop.pack_item", "--state", "running,pending"], |task| task["steps"] == 1)
    }),
    ("a card is charged", |db| any(db, &["--command", "shop.send_invoice"], |_| true)),
    ("an order is finished", |db| any(db, &["--command", "shop.finalize_order"], |task| task["state"] == "completed")),
];

fn a_killed_day_goes_on_and_packs_every_item_once(db: &Db) {
    for (what, holds) in MOMENTS {
        let mut demo = db.command(&["demo", "--once", "--orders", "8"]);
        let mut demo = demo.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        db.until(what, holds);
        // SIGKILL.
        demo.kill().unwrap();
        demo.wait().unwrap();
    }
    let day = db.one(&["demo", "--once", "--orders", "99"]);
    assert_eq!((&day["day"], &day["orders"]), (&json!(1), &json!(8)), "it is the same day: {day}");
    assert_eq!((&day["shipped"], &day["failed"], &day["cancelled"]), (&json!(5), &json!(2), &json!(1)), "{day}");
    for order in db.json(&["list", "--command", "shop.process_order", "--state", "completed"]) {
        is_packed_once(db, &order);
    }
    assert_eq!(db.ok(&["check"]).trim(), "every invariant holds");
}

#[test]
fn a_day_that_is_killed_at_a_dozen_random_moments_ends_as_it_must() {
    let db = crate::support::sqlite();
    let mut chance = u64::from(std::process::id());
    for _ in 0..12 {
        let mut demo = db.command(&["demo", "--once", "--orders", "8"]);
        let mut demo = demo.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        chance = chance.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        std::thread::sleep(std::time::Duration::from_millis((chance >> 33) % 700));
        demo.kill().unwrap();
        demo.wait().unwrap();
    }
    let day = db.one(&["demo", "--once", "--orders", "8"]);
    assert_eq!((&day["day"], &day["orders"]), (&json!(1), &json!(8)), "{day}");
    assert_eq!((&day["shipped"], &day["failed"], &day["cancelled"]), (&json!(5), &json!(2), &json!(1)), "{day}");
    assert_eq!(db.ok(&["check"]).trim(), "every invariant holds");
}

/// Each item of an order has one sub-task with one record of its packing, and the order went out as it was recorded.
fn is_packed_once(db: &Db, order: &Value) {
    let tree = db.json(&["tree", &order["id"].to_string(), "--all"]);
    let packing: Vec<&Value> = tree.iter().filter(|task| task["command"] == "shop.pack_item").collect();
    assert_eq!(packing.len(), order["payload"]["items"].as_array().unwrap().len(), "{order}");
    let recorded = packing.iter().map(|task| {
        let shown = db.one(&["show", &task["id"].to_string()]);
        let checkpoints = shown["checkpoints"].as_array().unwrap().clone();
        assert_eq!((checkpoints.len(), &checkpoints[0]["key"]["name"]), (1, &json!("pack")), "{shown}");
        checkpoints[0]["value"].clone()
    });
    let recorded: Vec<Value> = recorded.collect();
    assert_eq!(order["result"]["parcels"], json!(recorded), "{order}");
    let labels: BTreeSet<String> = recorded.iter().map(Value::to_string).collect();
    assert_eq!(labels.len(), recorded.len(), "{order}");
    let charges = db.one(&["show", &order["id"].to_string()]);
    let charges = charges["checkpoints"].as_array().unwrap().iter();
    assert_eq!(charges.filter(|step| step["key"]["name"] == "charge the card").count(), 1, "{order}");
}

#[test]
fn a_demo_that_is_told_to_stop_leaves_its_orders_for_the_next() {
    let db = crate::support::sqlite();
    let demo = db
        .command(&["demo", "--orders", "8", "--json"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    db.until("the day has begun", |db| any(db, &["--state", "completed"], |_| true));
    crate::signals::signal(&demo, rustix::process::Signal::INT);
    let ran = crate::support::finish_child(demo, "");
    assert_eq!(ran.code, 0, "{ran:?}");
    let left = crate::support::documents(&ran.stdout)[0]["left"].as_u64().unwrap();
    assert!(left > 0, "{ran:?}");
    let open = db.json(&["list", "--command", "shop.process_order", "--state", "pending,waiting"]);
    assert_eq!(open.len() as u64, left);
    assert_eq!(db.one(&["demo", "--once"])["orders"], 8);
}

/// Lines that do not fit into 80 columns, where the program may be called by a longer path than here.
fn too_wide(text: &str) -> Vec<&str> {
    const LONGER: usize = "target/release/kinfolk".len() - "kinfolk".len();
    let wide = |line: &&str| {
        let typed = if line.contains("kinfolk --database") { LONGER } else { 0 };
        line.chars().count() + typed > 80
    };
    text.lines().filter(wide).collect()
}

#[test]
fn a_demo_says_how_to_kill_it_and_after_ctrl_c_what_to_type_next() {
    let dir = tempfile::tempdir().unwrap();
    let db = Db::at(dir.path().join("kinfolk-demo.db").to_str().unwrap());
    for args in [&["demo", "--orders", "8"][..], &["demo", "--once"]] {
        let mut command = crate::support::kinfolk();
        command.current_dir(dir.path()).args(args);
        let demo = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let id = demo.id();
        // The orders that the first one left wait already: the second must be there before it is told to stop.
        db.until("an order is at work", |db| {
            let workers = db.run(&["workers", "--json"]);
            workers.code == 0 && !workers.stdout.is_empty() && any(db, &["--state", "waiting"], |_| true)
        });
        crate::signals::signal(&demo, rustix::process::Signal::INT);
        let ran = crate::support::finish_child(demo, "");
        assert_eq!(ran.code, if args.contains(&"--once") { 130 } else { 0 }, "{ran:?}");
        assert!(
            ran.stdout.contains("second terminal") && ran.stdout.contains(&format!("  kill -9 {id}  #")),
            "{ran:?}"
        );
        let next = ran.stdout.split("What to type next:\n").nth(1).unwrap_or_else(|| panic!("{ran:?}"));
        let lines: Vec<&str> = next.lines().filter(|line| !line.contains('#')).map(str::trim).collect();
        assert!(lines.iter().any(|line| line.ends_with(" demo")) && lines.len() >= 3, "{next}");
        for line in lines.iter().filter(|line| !line.ends_with(" demo")) {
            let mut shell = std::process::Command::new("/bin/sh");
            let binary = std::path::PathBuf::from(env!("CARGO_BIN_EXE_kinfolk"));
            shell.current_dir(dir.path()).args(["-c", line]).env("PATH", binary.parent().unwrap());
            assert_eq!(crate::support::finish(shell, "").code, 0, "{line}");
        }
        assert_eq!(too_wide(&ran.stdout), [""; 0]);
    }
}

#[test]
fn the_demo_needs_nothing_and_makes_its_own_file() {
    let dir = tempfile::tempdir().unwrap();
    let mut command = crate::support::kinfolk();
    command.current_dir(dir.path()).args(["demo", "--once", "--orders", "8"]);
    let ran = crate::support::finish(command, "");
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(dir.path().join("kinfolk-demo.db").exists());
    assert!(ran.stdout.contains("--database kinfolk-demo.db list --state failed"), "{}", ran.stdout);
    assert_eq!(too_wide(&ran.stdout), [""; 0]);
}
