//! The demo, to its end and through a kill.

use std::process::Stdio;

use crate::support::{Db, on_both_stores};

on_both_stores!(a_night_ends_well, a_killed_night_goes_on_and_loses_nothing);

fn a_night_ends_well(db: &Db) {
    let night = db.one(&["demo", "--once", "--tasks", "40"]);
    assert_eq!((&night["night"], &night["tasks"], &night["settled"]), (&1.into(), &40.into(), &40.into()), "{night}");
    assert_eq!(
        (&night["completed"], &night["failed"], &night["cancelled"]),
        (&36.into(), &2.into(), &2.into()),
        "{night}"
    );
    assert_eq!(db.json(&["list", "--state", "failed"]).len(), 2);
    let text = db.ok(&["demo", "--once", "--tasks", "20"]);
    assert!(text.contains("night 2") && text.contains("20 tasks in, 20 settled, none lost"), "{text}");
    // The hints are commands that can be typed.
    let hint = text.lines().find(|line| line.contains("show")).unwrap();
    assert!(hint.contains(&db.url), "{hint}");
}

fn a_killed_night_goes_on_and_loses_nothing(db: &Db) {
    let mut demo =
        db.command(&["demo", "--once", "--tasks", "60"]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    db.until("some of the night is done", |db| {
        let open = db.json(&["list", "--state", "running"]).len();
        let done = db.run(&["list", "--state", "completed", "--json", "--limit", "1000"]).stdout.lines().count();
        open > 0 && done >= 5
    });
    demo.kill().unwrap();
    demo.wait().unwrap();
    let night = db.one(&["demo", "--once", "--tasks", "999"]);
    assert_eq!((&night["night"], &night["tasks"], &night["settled"]), (&1.into(), &60.into(), &60.into()), "{night}");
    assert_eq!(db.tasks(), 60);
    assert_eq!(db.ok(&["check"]).trim(), "every invariant holds");
}

#[test]
fn a_demo_that_is_told_to_stop_leaves_its_tasks_for_the_next() {
    let db = crate::support::sqlite();
    let demo = db
        .command(&["demo", "--tasks", "30", "--json"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    db.until("the night has begun", |db| !db.run(&["list", "--state", "completed"]).stdout.is_empty());
    crate::signals::signal(&demo, rustix::process::Signal::INT);
    let ran = crate::support::finish_child(demo, "");
    assert_eq!(ran.code, 0, "{ran:?}");
    let left = crate::support::documents(&ran.stdout)[0]["left"].as_u64().unwrap();
    assert!(left > 0, "{ran:?}");
    assert_eq!(db.json(&["list", "--state", "pending"]).len() as u64, left);
    assert_eq!(db.one(&["demo", "--once"])["settled"], 30);
}

#[test]
fn the_demo_needs_nothing_and_makes_its_own_file() {
    let dir = tempfile::tempdir().unwrap();
    let mut command = crate::support::kinfolk();
    command.current_dir(dir.path()).args(["demo", "--once", "--tasks", "20"]);
    let ran = crate::support::finish(command, "");
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(dir.path().join("kinfolk-demo.db").exists());
    assert!(ran.stdout.contains("--database kinfolk-demo.db list --state failed"), "{}", ran.stdout);
}
