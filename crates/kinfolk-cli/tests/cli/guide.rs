//! `docs/supervisors.md`, followed from the page alone: what it says is typed, and what it promises happens.

use std::process::{Command, Stdio};

use crate::support::{Db, Running, finish, postgres};

const PAGE: &str = include_str!("../../../../docs/supervisors.md");

/// A shell in the folder of a database, which finds `kinfolk` and `psql`, and knows `$DATABASE`.
fn shell(db: &Db, line: &str) -> Command {
    let kinfolk = std::path::Path::new(env!("CARGO_BIN_EXE_kinfolk")).parent().unwrap().display().to_string();
    let tools = std::env::var("KINFOLK_TEST_PG_BIN").unwrap_or_default();
    let path = format!("{kinfolk}:{tools}:{}", std::env::var("PATH").unwrap_or_default());
    let mut shell = Command::new("/bin/sh");
    shell.current_dir(db.dir.path()).args(["-ec", line]).env("PATH", path).env("DATABASE", &db.url);
    shell
}

/// Types a block into a shell. A worker goes on in the background.
fn type_in(db: &Db, block: &str) -> Option<Running> {
    if block.contains(" work ") {
        let line = block.replace("&& kinfolk", "&& exec kinfolk");
        let mut worker = shell(db, &line);
        let child = worker.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        return Some(Running::of(child));
    }
    let ran = finish(shell(db, block), "");
    assert_eq!(ran.code, 0, "{block}\n{}{}", ran.stdout, ran.stderr);
    None
}

/// Follows the page, block by block.
fn follow(db: &Db) -> Vec<Running> {
    let mut running = Vec::new();
    for part in PAGE.split("\n```").skip(1).step_by(2) {
        let (kind, block) = part.split_once('\n').unwrap();
        match kind {
            "sh" => running.extend(type_in(db, block)),
            "toml" => std::fs::write(db.dir.path().join("kinfolk.toml"), block).unwrap(),
            "psql" => {
                let ran = finish(shell(db, r#"exec psql "$DATABASE" -v ON_ERROR_STOP=1 -At"#), block);
                assert_eq!(ran.code, 0, "{block}\n{}{}", ran.stdout, ran.stderr);
                if block.contains("-- two attempts") {
                    assert!(ran.stdout.contains("|2|"), "{}", ran.stdout);
                }
            }
            _ => {}
        }
    }
    running
}

#[test]
fn a_newcomer_sends_an_email_and_adds_a_process_by_the_page_alone() {
    let db = postgres().migrated();
    let running = follow(&db);
    assert_eq!(running.len(), 1, "the page starts one worker");
    let is_so = |db: &Db, holds: &str| {
        let line = format!("psql \"$DATABASE\" -Atc \"select {holds}\"");
        finish(shell(db, &line), "").stdout.trim() == "t"
    };
    db.until("the email is out", |db| is_so(db, "comms.has_send_email_task_succeeded(1)"));
    db.until("the request is out", |db| is_so(db, "parcel.has_parcel_task_succeeded(1)"));
    assert_eq!(std::fs::read_dir(db.dir.path().join("outbox")).unwrap().count(), 2);
    let findings = db.doctor();
    let parcel = findings.iter().find(|finding| finding["subject"] == "parcel.parcel").expect("a finding");
    assert_eq!(parcel["health"], "good", "{parcel}");
    running.into_iter().for_each(Running::stop);
    db.ok(&["grants", "kinfolk_worker", "--function", "parcel.parcel_supervisor"]);
}
