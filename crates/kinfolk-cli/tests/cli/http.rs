//! The server as a person runs it, and the examples of `docs/http.md`.

use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};

use crate::support::{Db, Running, finish, kinfolk, on_both_stores, postgres, refused, sqlite};

on_both_stores!(the_examples_of_the_documentation_work);

/// A server in the background, and its address: `http://127.0.0.1:…`.
pub(crate) fn server(db: &Db, args: &[&str]) -> (Running, String) {
    let mut command = db.command(&[args, &["--listen", "127.0.0.1:0"]].concat());
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map_while(Result::ok);
    let running = Running::of(child);
    let address = lines.find_map(|line| line.find("http://").map(|at| line[at..].to_owned())).expect("it says where");
    std::thread::spawn(move || lines.for_each(drop));
    let end = address[7..].find('/').map_or(address.len(), |at| at + 7);
    (running, address[..end].to_owned())
}

fn page() -> String {
    std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/http.md")).unwrap()
}

/// What a shell prints for a line; the line must succeed.
pub(crate) fn shell(line: &str) -> String {
    let mut shell = Command::new("/bin/sh");
    shell.args(["-ec", line]);
    let ran = finish(shell, "");
    assert_eq!(ran.code, 0, "{line}\n{}{}", ran.stdout, ran.stderr);
    ran.stdout
}

fn the_examples_of_the_documentation_work(db: &Db) {
    let (running, address) = server(db, &["serve"]);
    let page = page();
    let examples: Vec<&str> =
        page.split("```sh\n").skip(1).map(|rest| rest.split("```").next().unwrap_or_default()).collect();
    assert!(examples.len() >= 10, "{examples:?}");
    for example in examples {
        shell(&example.replace("http://127.0.0.1:8080", &address));
    }
    let audit = shell(&format!("curl -fsS {address}/api/v1/audit"));
    assert!(audit.contains("\"what\":\"pause\"") && audit.contains("\"subject\":\"queue default\""), "{audit}");
    assert!(db.ok(&["audit"]).contains("queue default"));
    crate::json::an_audit_has_its_form(db);
    let graph = db.ok(&["graph", "1", "--format", "mermaid"]);
    assert!(graph.starts_with("flowchart TD"), "{graph}");
    running.stop();
}

#[test]
fn a_server_whose_role_has_no_right_on_any_table_does_all_the_same() {
    let db = postgres().migrated();
    let name = db.url.rsplit('/').next().unwrap().replace(['?', '='], "_");
    let role = format!("web_{name}");
    db.sql(&format!(
        "create role {role} login in role kinfolk_viewer, kinfolk_operator, kinfolk_producer, kinfolk_worker;
         set role {role};
         do $$ begin
             perform from kinfolk.task;
             raise exception 'the role may read a table';
         exception when insufficient_privilege then null;
         end $$"
    ));
    let as_role = db.as_role(&role);
    the_examples_of_the_documentation_work(&as_role);
    let (running, address) = server(&as_role, &["serve"]);
    for page in
        ["", "tasks", "tasks/1", "families", "families/1", "failures", "groups", "queues", "workers", "schedules"]
    {
        shell(&format!("curl -fsS -o /dev/null {address}/{page}"));
    }
    running.stop();
    db.sql(&format!("drop owned by {role}; drop role {role}"));
}

#[test]
fn a_server_that_only_shows_runs_nothing_and_changes_nothing() {
    let db = sqlite().migrated();
    db.ok(&["enqueue", "noop", "--register"]);
    let (running, address) = server(&db, &["serve", "--read-only"]);
    let refused = shell(&format!("curl -sS -o /dev/null -w '%{{http_code}}' -X POST {address}/api/v1/tasks/1/cancel"));
    assert_eq!(refused, "403");
    assert_eq!(db.state("1"), "pending");
    running.stop();
}

#[test]
fn a_worker_answers_for_its_health_where_it_is_told_to() {
    let db = sqlite().migrated();
    let (running, address) = server(&db, &["work"]);
    assert_eq!(shell(&format!("curl -fsS {address}/healthz")), "ok\n");
    assert_eq!(shell(&format!("curl -fsS {address}/readyz")), "ready\n");
    assert!(shell(&format!("curl -fsS {address}/metrics")).contains("kinfolk_workers"));
    let status = shell(&format!("curl -sS -o /dev/null -w '%{{http_code}}' {address}/api/v1/tasks"));
    assert_eq!(status, "404", "signs of life alone");
    running.stop();
}

#[test]
fn pages_of_your_own_are_served_beside_the_api_and_nothing_but_their_files() {
    let db = sqlite().migrated();
    let folder = db.dir.path().join("pages");
    std::fs::create_dir(&folder).unwrap();
    let path = folder.to_str().unwrap();
    assert!(db.fails(&["serve", "--pages", path], 2).contains("there is no index.html"));
    std::fs::write(folder.join("index.html"), "<p>ours</p>").unwrap();
    std::fs::write(folder.join("kinfolk.toml"), "secret").unwrap();
    std::fs::write(db.dir.path().join("above.txt"), "secret").unwrap();
    let (running, address) = server(&db, &["serve", "--pages", path]);
    assert!(shell(&format!("curl -fsSi {address}/app/")).contains("content-security-policy: default-src 'none'"));
    assert_eq!(shell(&format!("curl -fsS {address}/app/index.html")), "<p>ours</p>");
    for other in ["kinfolk.toml", "..%2fabove.txt", "%2e%2e/above.txt"] {
        let status = shell(&format!("curl -sS --path-as-is -o /dev/null -w '%{{http_code}}' {address}/app/{other}"));
        assert_eq!(status, "404", "{other}");
    }
    running.stop();
}

#[test]
fn an_address_for_others_needs_tokens_and_tokens_need_to_be_shown() {
    let db = sqlite().migrated();
    let ran = finish(db.command(&["serve", "--listen", "0.0.0.0:0"]), "");
    assert!(refused(&ran, 2).contains("kinfolk token new"));
    let made = db.one(&["token", "new", "--role", "viewer", "--name", "ann"]);
    let printed = finish(
        {
            let mut command = kinfolk();
            command.args(["token", "new", "--role", "viewer"]);
            command
        },
        "",
    );
    assert!(printed.stdout.starts_with("kinfolk_") && printed.stdout.contains("[[web.tokens]]"), "{printed:?}");
    let (token, hash) = (made["token"].as_str().unwrap(), made["sha256"].as_str().unwrap());
    let file = db.dir.path().join("kinfolk.toml");
    let text = format!("[[web.tokens]]\nname = \"ann\"\nrole = \"viewer\"\nsha256 = \"{hash}\"\n");
    std::fs::write(&file, text).unwrap();
    let (running, address) = server(&db, &["serve", "--config", file.to_str().unwrap()]);
    let status = |header: &str, path: &str| {
        shell(&format!("curl -sS -o /dev/null -w '%{{http_code}}' {header} {address}{path}"))
    };
    assert_eq!(status("", "/api/v1/stats"), "401");
    assert_eq!(status("", "/metrics"), "401");
    assert_eq!(status("", "/healthz"), "200");
    assert_eq!(status(&format!("-H 'authorization: Bearer {token}'"), "/api/v1/stats"), "200");
    running.stop();
}
