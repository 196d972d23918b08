//! `kinfolk work` with handlers that are functions in the database, and with a config file.

use std::process::{Child, Stdio};

use crate::support::{Db, finish_child, postgres, sqlite};

const FUNCTIONS: &str = "create schema app;
    create function app.double(p jsonb) returns jsonb language sql as $$ select to_jsonb((p #>> '{}')::int * 2) $$;
    select kinfolk.register_command('double', 'numbers', handler => 'app.double')";

/// A worker in the background.
fn work(db: &Db, args: &[&str]) -> Child {
    let args: Vec<&str> = ["work"].iter().chain(args).copied().collect();
    db.command(&args).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

fn stop(worker: Child) -> String {
    rustix::process::kill_process(
        rustix::process::Pid::from_raw(i32::try_from(worker.id()).unwrap()).unwrap(),
        rustix::process::Signal::TERM,
    )
    .unwrap();
    let ran = finish_child(worker, "");
    assert_eq!(ran.code, 0, "{ran:?}");
    ran.stderr
}

#[test]
fn functions_in_the_database_are_run_without_any_code() {
    let db = postgres().migrated();
    db.sql(FUNCTIONS);
    for option in ["--no-notify", "--pooler"] {
        let task = db.one(&["enqueue", "double", "21"])["task"].to_string();
        db.ok(&["work", "--until-idle", option]);
        assert_eq!(db.one(&["show", &task])["result"], 42);
    }
    assert_eq!(db.ok(&["check"]).trim(), "every invariant holds");
}

#[test]
fn a_queue_that_comes_up_while_a_worker_runs_is_worked_too() {
    let db = postgres().migrated();
    let worker = work(&db, &[]);
    db.until("the worker is there", |db| !db.json(&["workers"]).is_empty());
    db.sql(FUNCTIONS);
    let task = db.one(&["enqueue", "double", "4"])["task"].to_string();
    db.until("it is run", |db| db.state(&task) == "completed");
    stop(worker);
    assert_eq!(db.json(&["workers"]).len(), 0);
}

#[test]
fn a_config_file_names_queues_and_sets_their_limits() {
    let db = postgres().migrated();
    db.sql(FUNCTIONS);
    let path = db.dir.path().join("kinfolk.toml");
    let text = "capacity = 3\n[queues.numbers]\ncapacity = 2\nfamily_limit = 1\nchild_limit = 0\ndepth_limit = 1\n\
                keep_failed = \"forever\"\n[queues.later]\npaused = true\n";
    std::fs::write(&path, text).unwrap();
    let task = db.one(&["enqueue", "double", "4"])["task"].to_string();
    db.ok(&["work", "--until-idle", "--config", path.to_str().unwrap()]);
    assert_eq!(db.state(&task), "completed");
    let queues = db.json(&["queue", "list"]);
    let queue = |name: &str| queues.iter().find(|queue| queue["name"] == name).unwrap().clone();
    assert!(!queue("later")["paused_at"].is_null(), "{queues:?}");
    db.sql(
        "do $$ begin assert (select (family_limit, child_limit, depth_limit, keep_failed_us) is not distinct from
             (1, 0, 1::smallint, null::bigint) from kinfolk.queue where name = 'numbers'); end $$",
    );
}

#[test]
fn a_config_file_that_makes_no_sense_is_refused_and_changes_nothing() {
    let db = sqlite().migrated();
    let path = db.dir.path().join("kinfolk.toml");
    let args = ["work", "--config", path.to_str().unwrap()];
    assert!(db.fails(&args, 3).contains("kinfolk.toml"));
    // One part that can't be set keeps all others from being set.
    std::fs::write(&path, "[queues.mail]\npaused = true\n[commands.nope]\ngroups = 3").unwrap();
    assert!(db.fails(&args, 3).contains("no command nope"));
    for (text, words) in [
        ("[queues.mail]\npaused = true\n[queues.z]\nkeep_failed = \"forevr\"", "queues.z: not a span of time"),
        ("[queues.mail]\nfamily_limt = 1", "family_limt"),
        ("[queues.mail]\nfamily_limit = 0", "family_limit of 0"),
        ("[queues.mail]\ncapacity = 0", "capacity of 0"),
        ("[queues.mail", "kinfolk.toml"),
    ] {
        std::fs::write(&path, text).unwrap();
        let said = db.fails(&args, 2);
        assert!(said.contains(words), "{text}: {said}");
    }
    assert!(db.json(&["queue", "list"]).iter().all(|queue| queue["name"] != "mail"));
}

#[test]
fn a_handler_is_named_by_register_and_shown_by_commands() {
    let db = postgres().migrated();
    db.sql(
        "create schema app; create function app.double(p jsonb) returns jsonb language sql as $$ select p $$;
        create function app.note(p jsonb) returns void language sql as $$ select $$",
    );
    db.ok(&[
        "register",
        "double",
        "--handler",
        "app.double",
        "--before-handler",
        "app.note",
        "--statement-timeout",
        "5s",
    ]);
    db.ok(&["register", "double", "--max-attempts", "2"]);
    let command = &db.json(&["commands"])[0];
    assert_eq!((&command["handler"], &command["before_handler"]), (&"app.double".into(), &"app.note".into()));
    assert_eq!((&command["statement_timeout_ms"], &command["max_attempts"]), (&5000.into(), &2.into()));
    assert!(db.ok(&["commands"]).contains("app.double"));
    let refused = db.run(&["register", "triple", "--handler", "app.triple"]);
    assert!(refused.code != 0 && refused.stderr.contains("app.triple"), "{refused:?}");
}

#[test]
fn a_handler_in_the_database_is_refused_where_there_is_none() {
    let refused = sqlite().migrated().run(&["register", "double", "--handler", "app.double"]);
    assert!(refused.code != 0 && refused.stderr.contains("PostgreSQL"), "{refused:?}");
    let refused = sqlite().migrated().run(&["register", "double", "--before-handler", "app.note"]);
    assert!(refused.code != 0 && refused.stderr.contains("--handler"), "{refused:?}");
}

#[test]
fn each_way_to_work_needs_the_roles_that_the_docs_name() {
    let db = postgres().migrated();
    db.sql(FUNCTIONS);
    let name = db.url.rsplit('/').next().unwrap().replace(['?', '='], "_");
    let (worker, operator) = (format!("worker_{name}"), format!("operator_{name}"));
    db.sql(&format!(
        "create role {worker} login in role kinfolk_worker;
         create role {operator} login in role kinfolk_worker, kinfolk_operator;
         grant usage on schema app to {worker}, {operator}"
    ));
    let (as_worker, as_operator) = (db.as_role(&worker), db.as_role(&operator));
    let config = db.dir.path().join("kinfolk.toml");
    std::fs::write(&config, "[queues.numbers]\nfamily_limit = 1\n[commands.double]\ngroups = 5\n").unwrap();
    let config = config.to_str().unwrap();
    let works = |by: &Db, args: &[&str]| {
        let task = db.one(&["enqueue", "double", "21"])["task"].to_string();
        let ran = by.run(&[&["work"], args].concat());
        assert_eq!(ran.code, 0, "{args:?}: {ran:?}");
        assert_eq!(db.one(&["show", &task])["result"], 42);
    };

    works(&as_worker, &["--until-idle"]);
    let refused = as_worker.run(&["work", "--until-idle", "--config", config]);
    assert!(refused.code != 0 && refused.stderr.contains("kinfolk_operator"), "{refused:?}");
    works(&as_operator, &["--until-idle", "--config", config]);
    // Where all is as the file says, a worker's rights are enough.
    works(&as_worker, &["--until-idle", "--config", config]);
    db.sql(&format!("drop owned by {worker}, {operator}; drop role {worker}; drop role {operator}"));
}

/// A database that was set up as the docs say needs no more statements for anyone.
fn what_the_module_grants_is_what_is_asked_for(db: &Db, role: &str) {
    db.ok(&["module", "install", "comms"]);
    let functions = ["send_email_supervisor", "get_email_payload", "record_email_success", "record_email_failure"];
    let functions: Vec<String> = functions.iter().map(|name| format!("comms.{name}")).collect();
    let named: Vec<&str> = functions.iter().flat_map(|name| ["--function", name]).collect();
    for (kind, named) in [("worker", &named[..]), ("producer", &[]), ("viewer", &[])] {
        let member = format!("{role}_{kind}");
        db.sql(&format!("create role {member} login in role kinfolk_{kind}"));
        assert_eq!(db.ok(&[&["grants", &member, "--as", kind, "--check"], named].concat()), "", "{kind}");
        db.sql(&format!("drop role {member}"));
    }
    assert_eq!(db.ok(&[&["grants", "comms_owner", "--as", "handler", "--check"], &named[..]].concat()), "");
}

#[test]
fn what_a_role_must_be_granted_is_printed_and_checked() {
    let db = postgres().migrated();
    let role = format!("clerk_{}", uuid::Uuid::new_v4().simple());
    db.sql(&format!(
        "create schema app; create function app.pay(p jsonb) returns jsonb language sql as 'select p'; create role {role} login"
    ));
    let check = ["grants", &role, "--function", "app.pay", "--check"];
    assert!(db.fails(&check, 1).contains("are still to be run"));
    let printed = db.ok(&["grants", &role, "--function", "app.pay"]);
    assert!(printed.contains("revoke execute on function app.pay(jsonb) from public;"), "{printed}");
    db.sql(&printed);
    assert_eq!(db.ok(&check), "");
    // A refusal says what the database advises, and names no other roles.
    let refused = db.as_role(&role).fails(&["register", "pay", "--handler", "app.pay"], 4);
    assert!(refused.ends_with("; have it registered by a member of kinfolk_operator\n"), "{refused}");
    db.sql(&format!("grant kinfolk_operator to {role}"));
    assert!(db.run(&check).stdout.contains(&format!("revoke kinfolk_operator from {role};")));
    assert_eq!(db.ok(&[&check[..], &["--as", "worker", "--as", "operator"]].concat()), "", "it may be both");
    let owner = ["grants", &role, "--as", "handler", "--function", "app.pay"];
    db.sql(&db.ok(&owner));
    assert_eq!(db.ok(&[&owner[..], &["--check"]].concat()), "");
    what_the_module_grants_is_what_is_asked_for(&db, &role);
    db.fails(&["grants", "nobody_at_all"], 3);
    db.fails(&["grants", &role, "--function", "app.nothing"], 3);
    let misnamed = db.fails(&["grants", &role, "--function", "app.pay(jsonb)"], 2);
    assert!(misnamed.contains("as schema.name"), "{misnamed}");
    db.sql(&format!("drop owned by {role} cascade; drop role {role}"));
}
