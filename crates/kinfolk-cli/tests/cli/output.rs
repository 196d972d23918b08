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

/// Text that a terminal would obey: it clears the screen, in two ways, turns a line around, and sets a title.
const NASTY: &str = "a\u{1b}[2Jb\u{9b}2Jc\u{202e}d\u{1b}]0;e\u{7}f\u{2066}g\u{7f}\rh";

/// What of an answer a terminal would obey, apart from colours.
fn obeyed(text: &str) -> Vec<char> {
    let plain = text.replace("\u{1b}[0m", "").replace("\u{1b}[39m", "");
    let colors = |text: &str| {
        let mut rest = text.to_owned();
        while let Some(at) = rest.find("\u{1b}[") {
            let end = rest[at..].find('m').unwrap_or(0);
            let parameters = rest[at + 2..at + end.max(2)].to_owned();
            assert!(end > 0 && parameters.chars().all(|c| c.is_ascii_digit() || c == ';'), "{text:?}");
            rest.replace_range(at..=at + end, "");
        }
        rest
    };
    let plain = colors(&plain);
    let is_harmful = |c: &char| (c.is_control() && *c != '\n') || "\u{202e}\u{2066}\u{2028}".contains(*c);
    plain.chars().filter(is_harmful).collect()
}

#[test]
fn what_a_task_holds_cannot_drive_the_terminal() {
    let db = sqlite().migrated();
    let json = serde_json::to_string(NASTY).unwrap();
    let quickly = ["--max-attempts", "1", "--backoff", "1ms", "--backoff-cap", "1ms"];
    db.ok(&[&["register", "fail", "--group", "tenant=1"][..], &quickly].concat());
    db.ok(&["register", "echo", "--group", "tenant=1"]);
    let key = format!("tenant={NASTY}");
    db.ok(&["enqueue", "fail", &format!(r#"{{"message":{json}}}"#), "--key", &key, "--unique", NASTY]);
    db.ok(&["enqueue", "echo", &format!(r#"{{"deep":[{json}],{json}:1}}"#), "--key", &key]);
    let waits = format!(r#"{{"children":[{{"command":"fail","payload":{{"message":{json}}}}}]}}"#);
    db.ok(&["enqueue", "fan_out", &waits, "--register"]);
    db.ok(&["enqueue", "spawn", &waits, "--register"]);
    db.ok(&["work", "--until-idle"]);
    db.ok(&["queue", "set", "mail"]);
    db.ok(&["pause", "mail", "--by", NASTY]);
    db.ok(&["register", "late", "--queue", "mail"]);
    let later = ["enqueue", "late", &json, "--unique", NASTY];
    let mut traced = db.command(&later);
    traced.env("TRACEPARENT", NASTY);
    assert_eq!(finish(traced, "").code, 0);
    db.ok(&["groups", "set", "tenant", "--command", "echo", "--key", NASTY, "--limit", "1"]);
    let ids: Vec<String> = db.json(&["list"]).iter().map(|task| task["id"].to_string()).collect();
    let mut reads: Vec<Vec<&str>> = [
        "list",
        "stats",
        "queue list",
        "groups",
        "groups keys",
        "commands",
        "workers",
        "status list",
        "schedule list",
        "doctor",
        "check",
        "watch --until-idle",
        "list --state done",
        "work --until-idle -vvv",
    ]
    .iter()
    .map(|line| line.split(' ').collect())
    .collect();
    reads.retain(|args| args[0] != "watch");
    for id in &ids {
        for command in ["show", "tree", "explain", "replay"] {
            reads.push(vec![command, id]);
        }
    }
    reads.push(vec!["show", NASTY]);
    reads.push(vec![NASTY]);
    reads.push(vec!["list", "--unique", NASTY]);
    for args in reads {
        for more in [&["--color", "never"][..], &["--color", "always"], &["--json"]] {
            let ran = db.run(&[&args[..], more].concat());
            assert_eq!(obeyed(&ran.stdout), [], "kinfolk {args:?} {more:?}: {:?}", ran.stdout);
            assert_eq!(obeyed(&ran.stderr), [], "kinfolk {args:?} {more:?}: {:?}", ran.stderr);
        }
    }
    assert_eq!(db.one(&["show", &ids[0]])["payload"], NASTY, "a program gets it as it is");
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
