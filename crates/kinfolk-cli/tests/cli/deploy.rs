//! The files of `deploy`, as far as the program can judge them: it accepts their command lines, and runs their configuration.

use std::fs;
use std::path::Path;

use crate::http::{server, shell};
use crate::support::{finish, kinfolk, sqlite};

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../deploy");
const CONFIG: &str = include_str!("../../../../deploy/kinfolk.toml");
const PLACEHOLDER: &str = "THE HASH THAT kinfolk token new PRINTED";

/// The command lines of a file, each as its words.
fn command_lines(text: &str) -> Vec<Vec<String>> {
    let lists = text.lines().map(str::trim).filter_map(|line| {
        let list = ["CMD ", "args: ", "command: "].iter().find_map(|start| line.strip_prefix(start))?;
        Some(serde_json::from_str(list).unwrap_or_else(|fault| panic!("{fault}: {line}")))
    });
    let units = text.lines().filter_map(|line| line.strip_prefix("ExecStart=/usr/local/bin/kinfolk "));
    lists.chain(units.map(|line| line.split(' ').map(str::to_owned).collect())).collect()
}

#[test]
fn every_command_line_of_a_deployment_is_one_that_the_program_knows() {
    let files = [
        "Dockerfile",
        "compose.yaml",
        "systemd/kinfolk.service",
        "kubernetes/migrate.yaml",
        "kubernetes/server.yaml",
        "kubernetes/worker.yaml",
    ];
    for file in files {
        let lines = command_lines(&fs::read_to_string(Path::new(FOLDER).join(file)).unwrap());
        assert!(!lines.is_empty(), "{file} starts nothing");
        for line in lines {
            let mut command = kinfolk();
            command.args(&line).arg("--help");
            let ran = finish(command, "");
            assert_eq!(ran.code, 0, "{file}: kinfolk {line:?}\n{}", ran.stderr);
        }
    }
}

#[test]
fn the_configuration_to_begin_with_serves_those_who_have_its_token_and_nobody_before() {
    let db = sqlite().migrated();
    let config = db.dir.path().join("kinfolk.toml");
    let path = config.to_str().unwrap();
    fs::write(&config, CONFIG).unwrap();
    let refused = db.fails(&["serve", "--config", path, "--listen", "127.0.0.1:0"], 2);
    assert!(refused.contains("64 hexadecimal"), "{refused}");

    let made = db.ok(&["token", "new", "--role", "admin", "--name", "ops"]);
    let token = made.lines().next().unwrap();
    let hash = made.lines().find_map(|line| line.strip_prefix("sha256 = \"")?.strip_suffix('"')).unwrap();
    assert!(CONFIG.contains(PLACEHOLDER));
    fs::write(&config, CONFIG.replace(PLACEHOLDER, hash)).unwrap();
    db.ok(&["enqueue", "noop", "--register"]);
    let (running, address) = server(&db, &["serve", "--config", path]);
    db.until("its worker has run a task", |db| db.state("1") == "completed");
    for probe in ["healthz", "readyz"] {
        shell(&format!("curl -fsS {address}/{probe}"));
    }
    let status = shell(&format!("curl -sS -o /dev/null -w '%{{http_code}}' {address}/metrics"));
    assert_eq!(status, "401");
    db.until("what the dashboard shows first is measured", |_| {
        let metrics = shell(&format!("curl -fsS -H 'authorization: Bearer {token}' {address}/metrics"));
        let shown = [
            "kinfolk_workers ",
            "kinfolk_leases_ended ",
            "kinfolk_running ",
            "kinfolk_attempts_total{",
            "kinfolk_attempt_seconds_bucket{",
            "kinfolk_tasks{",
        ];
        shown.iter().all(|name| metrics.lines().any(|line| line.starts_with(name)))
    });
    running.stop();
}
