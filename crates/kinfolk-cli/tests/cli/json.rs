//! The form of every document that `--json` prints, held to a file for each command in `json/`. With `KINFOLK_WRITE_JSON=1` the
//! files are written anew: read the difference before you commit it, programs depend on these forms.
//!
//! What differs from run to run is put aside: times, the ids of workers, the place of the database, how long something took.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde_json::{Map, Value, json};

use crate::support::{Db, documents, finish, kinfolk, postgres, sqlite};

/// Members whose value someone else has written: nothing is demanded of what is in them.
const THEIRS: [&str; 7] = ["payload", "result", "detail", "value", "script", "sql", "keys"];

/// Members with words for people, in which times may stand.
const WORDS: [&str; 7] = ["words", "does", "message", "found", "remedy", "means", "local"];

/// The documents of a command, held to the rules and to its file.
struct Forms<'a> {
    db: &'a Db,
    told: Vec<&'static str>,
}

impl<'a> Forms<'a> {
    fn new(db: &'a Db) -> Self {
        Self { db, told: Vec::new() }
    }

    /// Runs a command, and compares what it prints with the file of this name.
    #[track_caller]
    fn is(&mut self, name: &'static str, args: &[&str]) -> Vec<Value> {
        let ran = self.db.run(&[args, &["--json"]].concat());
        let said = if ran.code == 0 || !ran.stdout.is_empty() { &ran.stdout } else { &ran.stderr };
        let found = documents(said);
        assert!(!found.is_empty(), "kinfolk {args:?} prints nothing: {ran:?}");
        self.compare(name, &found);
        found
    }

    #[track_caller]
    fn compare(&mut self, name: &'static str, found: &[Value]) {
        found.iter().for_each(|document| obeys_the_rules(name, document, ""));
        // How far a cancelled order had come, and how often something was tried, is a matter of time.
        let apart: &[&str] = match name {
            "demo" => &["packed", "retries", "tasks"],
            // A minute may end while they are done.
            "minutes" => &["started", "failed", "retried", "waited_ms", "waited_max_ms", "ran_ms", "ran_max_ms"],
            _ => &[],
        };
        let normal: Vec<Value> = found.iter().map(|document| self.normal("", document, apart)).collect();
        let text: String = normal.iter().map(|document| format!("{document:#}\n")).collect();
        let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("tests/cli/json/{name}.json"));
        if std::env::var_os("KINFOLK_WRITE_JSON").is_some() {
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(&path, &text).unwrap();
        }
        let wanted = std::fs::read_to_string(&path).unwrap_or_else(|fault| panic!("{}: {fault}", path.display()));
        assert_eq!(text, wanted, "the form of `{name}` has changed; see the top of tests/cli/json.rs");
        self.told.push(name);
    }

    /// The document without what differs from run to run.
    fn normal(&self, member: &str, value: &Value, apart: &[&str]) -> Value {
        match value {
            Value::Object(members) => {
                let members = members.iter().map(|(name, value)| (name.clone(), self.normal(name, value, apart)));
                // By name, in whatever order the map keeps them.
                Value::Object(members.collect::<BTreeMap<_, _>>().into_iter().collect::<Map<_, _>>())
            }
            Value::Array(items) => items.iter().map(|item| self.normal(member, item, apart)).collect(),
            Value::String(_) if ["script", "sql", "local", "token", "sha256"].contains(&member) => json!("…"),
            Value::String(_) if member == "worker" => json!("WORKER"),
            Value::String(text) if member == "id" && text.len() == 36 => json!("WORKER"),
            Value::String(text) if member == "name" && text.contains(" process ") => json!("HOST process N"),
            Value::String(_) if member == "found" => json!("…"),
            Value::String(text) => json!(without_times(&text.replace(&self.db.url, "DATABASE"))),
            Value::Number(_) if ["took_ms", "ran_before_ms"].contains(&member) || apart.contains(&member) => json!(0),
            other => other.clone(),
        }
    }
}

/// Times in a text, and how far off they are, put aside.
fn without_times(text: &str) -> String {
    let words = text.split(' ').map(|word| match word.parse::<jiff::Timestamp>() {
        Ok(_) => "TIME",
        Err(_) => word,
    });
    let mut text = words.collect::<Vec<_>>().join(" ");
    if let (Some(from), true) = (text.rfind(" ("), text.contains("TIME") && text.ends_with(')')) {
        text.truncate(from);
    }
    text
}

/// One form for all documents.
#[track_caller]
fn obeys_the_rules(name: &str, value: &Value, member: &str) {
    let Value::Object(members) = value else { return };
    for (key, value) in members {
        if THEIRS.contains(&key.as_str()) || WORDS.contains(&key.as_str()) {
            continue;
        }
        let is_time = |value: &Value| value.as_str().is_some_and(|text| text.parse::<jiff::Timestamp>().is_ok());
        assert_eq!(
            is_time(value) || (key.ends_with("_at") && value.is_null()),
            key.ends_with("_at"),
            "{name}: {key}: {value}"
        );
        if key.ends_with("_ms") {
            assert!(value.is_number() || value.is_null(), "{name}: {key}: {value}");
        }
        assert!(!["now", "at", "until", "since"].contains(&key.as_str()), "{name}: {key}");
        assert!(value != "", "{name}: {key} is nothing, and not null");
        if member.is_empty() && key == "task" {
            assert!(
                !members.contains_key("id") || members.contains_key("rule") || name == "errors",
                "{name}: both id and task"
            );
        }
        match value {
            Value::Object(_) => obeys_the_rules(name, value, key),
            Value::Array(items) => {
                assert!(items.iter().all(|item| !item.is_array()), "{name}: {key} has arrays in an array: {value}");
                items.iter().for_each(|item| obeys_the_rules(name, item, key));
            }
            _ => {}
        }
    }
}

#[test]
fn the_documents_of_every_command_have_one_form() {
    let db = sqlite();
    let mut forms = Forms::new(&db);
    forms.is("migrate-dry-run", &["migrate", "--dry-run"]);
    forms.is("migrate", &["migrate"]);
    declared(&mut forms);
    enqueued(&mut forms);
    worked(&mut forms);
    operated(&mut forms);
    removed(&mut forms);
    forms.is("exit-codes", &["exit-codes"]);
    forms.is("completions", &["completions", "bash"]);
    forms.is("token", &["token", "new", "--role", "operator", "--name", "ann", "--queue", "mail"]);
    forms.is("demo", &["demo", "--once", "--orders", "8"]);
    let told = forms.told;
    // These print nothing of their own, go on until they are stopped, or have a test of their own: the documents of a server
    // and of what only PostgreSQL has.
    let apart = ["work", "serve", "audit", "module", "grants", "help"];
    let mut help = kinfolk();
    help.arg("--help");
    let help = finish(help, "").stdout;
    let commands = help.split("Commands:").nth(1).unwrap().lines().skip(1).take_while(|line| !line.trim().is_empty());
    for command in commands.filter(|line| !line.starts_with("   ")).filter_map(|line| line.split_whitespace().next()) {
        let has_form = told.iter().any(|name| *name == command || name.starts_with(&format!("{command}-")));
        assert!(has_form || apart.contains(&command), "the documents of `{command}` are held to no form");
    }
}

/// What is registered, and set.
fn declared(forms: &mut Forms<'_>) {
    let rate = "provider=100/1s:20";
    forms.is("register", &["register", "send", "--group", "tenant=2", "--rate", rate, "--timeout", "90s"]);
    for (command, attempts) in [("echo", "1"), ("fail", "2"), ("fan_out", "1"), ("spawn", "1"), ("wait", "1")] {
        forms.db.ok(&["register", command, "--max-attempts", attempts, "--backoff", "1ms", "--backoff-cap", "1ms"]);
    }
    forms.is("queue-set", &["queue", "set", "mail", "--family-limit", "1", "--keep-failed", "7d", "--fair", "tenant"]);
    forms.is("groups-set", &["groups", "set", "tenant", "--key", "acme", "--limit", "1", "--rate", "5/1m"]);
    forms.is("status-set", &["status", "set", "busy", "send", "echo"]);
    forms.is("schedule-put", &["schedule", "put", "nightly", "0 3 * * *", "echo", "[1]", "--zone", "Europe/Oslo"]);
    forms.is("schedule-pause", &["schedule", "pause", "nightly"]);
    forms.is("schedule-resume", &["schedule", "resume", "nightly"]);
    forms.is("schedule-next", &["schedule", "next", "nightly", "-n", "2"]);
    for (name, args) in
        [("commands", &["commands"][..]), ("status", &["status", "list"]), ("schedule", &["schedule", "list"])]
    {
        forms.is(name, args);
    }
}

/// What waits: 1 and 2 are under one key, 3 and 4 are for later.
fn enqueued(forms: &mut Forms<'_>) {
    let unique = ["enqueue", "send", r#"{"n": 1}"#, "--key", "tenant=acme", "--unique", "k", "--on-duplicate", "merge"];
    forms.is("enqueue", &unique);
    forms.is("enqueue-merged", &unique);
    forms.is("enqueue-rejected", &["enqueue", "nobody"]);
    forms.db.ok(&["enqueue", "send", "--key", "tenant=acme", "--queue", "mail", "--priority", "-5"]);
    forms.db.ok(&["enqueue", "echo", "7", "--at", "2099-01-01"]);
    forms.db.ok(&["enqueue", "send", "--delay", "1h", "--timeout", "5s"]);
    forms.is("pause", &["pause", "mail", "--by", "ann"]);
    forms.is("list", &["list"]);
    forms.is("show", &["show", "1"]);
    forms.is("explain", &["explain", "2"]);
    forms.is("stats", &["stats"]);
    forms.is("queue", &["queue", "list"]);
    forms.is("resume", &["resume", "mail"]);
    forms.is("show-missing", &["show", "99"]);
    forms.is("cancel", &["cancel", "3"]);
    forms.is("cancel-too-late", &["cancel", "3"]);
    forms.is("delete", &["delete", "3"]);
    forms.is("run-now", &["run-now", "4"]);
    forms.is("cancel-dry-run", &["cancel", "--key", "tenant=acme", "--dry-run"]);
    forms.db.ok(&["cancel", "1", "2", "4"]);
}

/// What was run: 5 failed, 6 is a fan-out with 8 and 9, 7 a family with a child.
fn worked(forms: &mut Forms<'_>) {
    let db = forms.db;
    let run = || db.ok(&["work", "--until-idle", "--capacity", "1"]);
    db.ok(&["enqueue", "fail", r#"{"message": "no stock"}"#]);
    run();
    forms.is("show-failed", &["show", "5"]);
    forms.is("failures", &["failures"]);
    forms.is("errors", &["errors"]);
    let minutes = forms.db.json(&["minutes"]);
    forms.compare("minutes", &minutes[..1]);
    let children = json!({"children": [{"command": "echo", "payload": 7}, {"command": "echo", "payload": 8}],
        "rule": {"threshold": 0.5}, "timeout_ms": 3_600_000});
    db.ok(&["enqueue", "fan_out", &children.to_string()]);
    run();
    let fan_out = db.one(&["list", "--command", "fan_out"])["id"].to_string();
    forms.is("show-durable", &["show", &fan_out]);
    forms.is("tree", &["tree", &fan_out]);
    forms.is("graph", &["graph", &fan_out]);
    forms.is("replay", &["replay", &fan_out]);
    let children = json!({"children": [{"command": "fail", "count": 25}]});
    db.ok(&["enqueue", "spawn", &children.to_string(), "--priority", "1"]);
    run();
    let family = db.one(&["list", "--command", "spawn"])["id"].to_string();
    let tree = forms.db.json(&["tree", &family]);
    forms.compare("tree-more", &tree[tree.len() - 1..]);
    let child = tree[1]["id"].to_string();
    forms.is("retry-refused", &["retry", &child]);
    forms.is("retry-family", &["retry", "--family", &family]);
    db.ok(&["cancel", "--family", &family]);
    forms.is("retry", &["retry", "5"]);
    forms.is("acquit", &["acquit", "5"]);
    db.ok(&["cancel", "5"]);
    db.ok(&["enqueue", "wait", r#"{"signal": "go"}"#]);
    run();
    let waiting = db.one(&["list", "--command", "wait"])["id"].to_string();
    forms.is("explain-signal", &["explain", &waiting]);
    forms.is("signal", &["signal", &waiting, "go", "1"]);
    run();
    forms.is("watch", &["watch", "--until-idle"]);
}

/// What an operator sees while a worker runs a task under a full key.
fn operated(forms: &mut Forms<'_>) {
    let db = forms.db;
    db.ok(&["register", "sleep", "--group", "tenant=1"]);
    let sleep = ["enqueue", "sleep", r#"{"ms": 600000}"#, "--key", "tenant=acme"];
    let first = db.one(&sleep)["task"].to_string();
    let worker = db.worker(&[]);
    db.until("it runs", |db| db.state(&first) == "running");
    let second = db.one(&sleep)["task"].to_string();
    db.until("another waits behind it", |db| {
        db.one(&["explain", &second])["reasons"][0]["reason"] == "key_full"
            && db.json(&["groups", "keys", "--command", "sleep"]).iter().any(|key| key["waiters"] == 1)
    });
    forms.is("groups", &["groups"]);
    forms.is("groups-keys", &["groups", "keys", "--command", "sleep"]);
    forms.is("workers", &["workers"]);
    forms.is("explain-running", &["explain", &first]);
    forms.is("explain-key", &["explain", &second]);
    db.ok(&["cancel", &first, &second]);
    db.until("it has ended", |db| db.state(&first) == "cancelled");
    worker.stop();
    forms.is("doctor", &["doctor"]);
}

/// What is taken away, and what is found broken at the end.
fn removed(forms: &mut Forms<'_>) {
    forms.is("groups-remove", &["groups", "remove", "tenant", "--command", "sleep"]);
    forms.is("status-remove", &["status", "remove", "busy"]);
    forms.is("schedule-remove", &["schedule", "remove", "nightly"]);
    let tamper = "pragma ignore_check_constraints = on; update task set failure = null where id = 5;
        update task set state = 'failed', failure = null where id = 1";
    let file = rusqlite::Connection::open(forms.db.file()).unwrap();
    file.busy_timeout(crate::support::DEADLINE).unwrap();
    file.execute_batch("create temporary table kept as select id, state, failure from task").unwrap();
    file.execute_batch(tamper).unwrap();
    forms.is("check", &["check"]);
    let mend = "pragma ignore_check_constraints = on; update task set state = (select state from kept where kept.id = task.id),
        failure = (select failure from kept where kept.id = task.id) where id in (1, 5)";
    file.execute_batch(mend).unwrap();
}

/// The audit log of a store to which a server has written.
pub(crate) fn an_audit_has_its_form(db: &Db) {
    let log = db.json(&["audit"]);
    Forms::new(db).compare("audit", &log[log.len() - 1..]);
}

#[test]
fn the_documents_of_a_handler_in_the_database_have_one_form() {
    let db = postgres().migrated();
    db.sql("create schema app; create function app.double(p jsonb) returns jsonb language sql as $$ select p $$");
    let mut forms = Forms::new(&db);
    let handler = ["--handler", "app.double", "--statement-timeout", "5s"];
    forms.is("register-handler", &[&["register", "double", "--queue", "numbers"][..], &handler].concat());
    forms.is("commands-handler", &["commands"]);
    forms.is("module-install", &["module", "install", "comms"]);
    forms.is("module", &["module", "list"]);
    let role = format!("clerk_{}", uuid::Uuid::new_v4().simple());
    db.sql(&format!("create role {role}"));
    let granted = db.run(&["grants", &role, "--function", "app.double", "--check", "--json"]);
    forms.compare("grants", &documents(&granted.stdout.replace(&role, "ROLE")));
    db.sql(&format!("drop role {role}"));
    let doctor = db.doctor();
    doctor.iter().for_each(|finding| obeys_the_rules("doctor", finding, ""));
}

#[test]
fn both_stores_print_the_same_form() {
    let shapes = [sqlite().migrated(), postgres().migrated()].map(|db| {
        db.ok(&["register", "echo", "--group", "tenant=2", "--rate", "provider=100/1s:20"]);
        db.ok(&["register", "fail", "--max-attempts", "1"]);
        db.ok(&["enqueue", "echo", "1", "--key", "tenant=a,provider=p"]);
        db.ok(&["enqueue", "fail"]);
        db.ok(&["work", "--until-idle"]);
        let id = db.json(&["list", "--command", "fail"])[0]["id"].to_string();
        let reads: [&[&str]; 9] = [
            &["list"],
            &["show", &id],
            &["explain", &id],
            &["stats"],
            &["queue"],
            &["groups"],
            &["groups", "keys"],
            &["commands"],
            &["errors"],
        ];
        reads.map(|args| db.json(args).iter().map(shape).collect::<Vec<_>>())
    });
    assert_eq!(shapes[0], shapes[1]);
}

/// The names of all members, and the kinds of their values.
fn shape(value: &Value) -> Value {
    match value {
        Value::Object(members) => {
            members.iter().map(|(name, value)| (name.clone(), shape(value))).collect::<Map<_, _>>().into()
        }
        Value::Array(items) => items.iter().map(shape).collect(),
        Value::Null => json!("null"),
        Value::Bool(_) => json!("bool"),
        Value::Number(_) => json!("number"),
        Value::String(_) => json!("string"),
    }
}
