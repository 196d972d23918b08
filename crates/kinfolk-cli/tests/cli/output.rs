//! How answers look: help, JSON, colours, pipes, completions, exit codes.

use std::process::Stdio;

use crate::support::{documents, finish, kinfolk, postgres, sqlite};

fn text_of(args: &[&str]) -> String {
    let mut command = kinfolk();
    command.args(args);
    let ran = finish(command, "");
    assert_eq!(ran.code, 0, "{ran:?}");
    ran.stdout
}

/// The words after `Commands:` in a help text.
fn subcommands(help: &str) -> Vec<String> {
    let list = help.split("Commands:").nth(1).unwrap_or_default().lines().skip(1);
    list.take_while(|line| !line.trim().is_empty())
        .filter(|line| line.starts_with("  ") && !line.starts_with("   "))
        .filter_map(|line| line.split_whitespace().next())
        .filter(|word| *word != "help")
        .map(str::to_owned)
        .collect()
}

#[test]
fn every_command_explains_itself_and_its_options() {
    let commands = subcommands(&text_of(&["--help"]));
    assert!(commands.len() >= 23, "{commands:?}");
    for command in commands {
        let help = text_of(&["help", &command]);
        assert!(help.contains("Usage: kinfolk"), "{help}");
        assert!(help.contains("--database") || command == "help", "{help}");
        let first = help.lines().next().unwrap_or_default();
        assert!(first.len() > 10, "`kinfolk help {command}` does not say what it does: {first:?}");
        for verb in subcommands(&help) {
            assert!(text_of(&[&command, &verb, "--help"]).contains("Usage: kinfolk"));
        }
    }
    assert!(text_of(&["help", "exit-codes"]).contains("130"));
    assert!(text_of(&["exit-codes"]).contains("  4  the database can't be used"));
    assert!(text_of(&["--version"]).starts_with("kinfolk "));
}

#[test]
fn every_shell_gets_its_completions() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = text_of(&["completions", shell]);
        assert!(script.contains("kinfolk") && script.contains("until-idle"), "{shell}");
    }
}

#[test]
fn bad_usage_is_exit_code_2() {
    for args in [&["no-such-command"][..], &["list", "--no-such-option"], &["enqueue"], &["cancel"], &[]] {
        let mut command = kinfolk();
        command.args(args);
        let ran = finish(command, "");
        assert_eq!(ran.code, 2, "{args:?}: {ran:?}");
    }
    let mut command = kinfolk();
    command.args(["list", "--no-such-option", "--json"]);
    let ran = finish(command, "");
    assert_eq!(documents(&ran.stderr)[0]["error"]["code"], "input", "{ran:?}");
}

#[test]
fn every_read_can_be_read_by_a_program() {
    for db in [sqlite().migrated(), postgres().migrated()] {
        db.ok(&["enqueue", "noop", "--register", "--count", "3"]);
        db.ok(&["register", "echo", "--total", "5"]);
        db.ok(&["enqueue", "echo", "--delay", "1h"]);
        db.ok(&["schedule", "put", "nightly", "0 3 * * *", "noop"]);
        let id = db.json(&["list", "--limit", "1"])[0]["id"].to_string();
        let reads: [(&[&str], usize); 13] = [
            (&["list"], 4),
            (&["show", &id], 1),
            (&["explain", &id], 1),
            (&["groups"], 1),
            (&["groups", "keys"], 0),
            (&["stats"], 1),
            (&["commands"], 2),
            (&["queue", "list"], 1),
            (&["workers"], 0),
            (&["schedule", "list"], 1),
            (&["schedule", "next", "nightly", "-n", "5"], 5),
            (&["check"], 0),
            (&["migrate", "--dry-run"], 0),
        ];
        for (args, lines) in reads {
            assert_eq!(db.json(args).len(), lines, "kinfolk {args:?} --json");
        }
        assert!(!db.doctor().is_empty());
    }
}

#[test]
fn colours_are_for_terminals_or_for_who_asks() {
    let db = sqlite().migrated();
    db.ok(&["enqueue", "noop", "--register"]);
    assert!(!db.ok(&["list"]).contains('\x1b'));
    assert!(db.ok(&["list", "--color", "always"]).contains('\x1b'));
    assert!(!db.ok(&["list", "--color", "never"]).contains('\x1b'));
    assert!(!db.ok(&["list", "--json", "--color", "always"]).contains('\x1b'));
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let db = sqlite().migrated();
    db.ok(&["enqueue", "noop", "--register", "--count", "1000"]);
    let mut child = db
        .command(&["list", "--limit", "1000", "--json"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let ran = crate::support::finish_child(child, "");
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{ran:?}");
}

#[test]
fn what_a_task_holds_cannot_drive_the_terminal() {
    let db = sqlite().migrated();
    db.ok(&["register", "fail", "--max-attempts", "1"]);
    db.ok(&["enqueue", "fail", r#"{"message":"\u001b[2Jgone\nsecond line"}"#]);
    db.ok(&["work", "--until-idle"]);
    for args in [&["list", "--color", "never"][..], &["show", "1", "--color", "never"]] {
        assert!(!db.ok(args).contains('\x1b'));
    }
    let colored = db.ok(&["list", "--color", "always"]);
    assert!(!colored.contains("\x1b[2J"), "{colored:?}");
}

#[test]
fn watching_ends_when_all_is_idle() {
    let db = sqlite().migrated();
    db.ok(&["enqueue", "noop", "--register", "--count", "5"]);
    let watch = db
        .command(&["watch", "--until-idle", "--every", "50ms", "--json"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    db.ok(&["work", "--until-idle"]);
    let ran = crate::support::finish_child(watch, "");
    assert_eq!(ran.code, 0, "{ran:?}");
    let last = documents(&ran.stdout).pop().unwrap();
    assert_eq!((&last["queue"], &last["completed"], &last["pending"]), (&"default".into(), &5.into(), &0.into()));
}

#[test]
fn a_broken_invariant_is_printed_and_is_exit_code_1() {
    let db = sqlite().migrated();
    db.ok(&["enqueue", "noop", "--register"]);
    db.ok(&["cancel", "1"]);
    let tamper = "pragma ignore_check_constraints = on; update task set state = 'failed', failure = null";
    rusqlite::Connection::open(db.file()).unwrap().execute_batch(tamper).unwrap();
    let ran = db.run(&["check"]);
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(ran.stdout.contains("task 1"), "{ran:?}");
    let ran = db.run(&["check", "--json"]);
    assert_eq!((ran.code, &documents(&ran.stdout)[0]["task"]), (1, &1.into()), "{ran:?}");
}
