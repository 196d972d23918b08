//! The examples run, on both stores.

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use kinfolk::pg::testing::TestDatabase;
use kinfolk::{State, TaskId};

use crate::lab::Lab;

/// An example's program; `cargo test` has built it beside this one.
fn example(name: &str) -> PathBuf {
    let here = std::env::current_exe().unwrap();
    let path = here.parent().unwrap().with_file_name("examples").join(name);
    if !path.exists() {
        let built = Command::new(env!("CARGO")).args(["build", "--package", "kinfolk", "--example", name]).status();
        assert!(built.unwrap().success());
    }
    path
}

fn said(run: &Output) -> String {
    let said = String::from_utf8_lossy(&run.stdout).into_owned();
    assert!(run.status.success(), "{said}{}", String::from_utf8_lossy(&run.stderr));
    said
}

fn run_first(url: &str) {
    let said = said(&Command::new(example("first")).arg(url).output().unwrap());
    let lines: Vec<_> = said.lines().collect();
    assert_eq!(lines.len(), 20);
    assert_eq!(lines[6], "Hello, cousin 7! This is attempt 1 of 10.");
}

#[tokio::test]
async fn the_first_program_greets_twenty_cousins_on_sqlite() {
    run_first(&Lab::new().await.url());
}

#[tokio::test]
async fn the_first_program_greets_twenty_cousins_on_postgresql() {
    run_first(&TestDatabase::create_empty().await.url);
}

#[tokio::test]
async fn every_order_is_billed_exactly_once() {
    let database = TestDatabase::create_empty().await;
    let run = Command::new(example("exactly_once")).arg(&database.url).output().unwrap();
    assert_eq!(said(&run), "30 bills for 30 purchases, 465 cents\n");
}

#[cfg(unix)]
#[tokio::test]
async fn a_program_that_is_interrupted_gives_its_tasks_back_and_ends_well() {
    let lab = Lab::new().await;
    let mut program = Command::new(example("long_running")).arg(lab.url()).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(program.stdout.take().unwrap()).lines().map(Result::unwrap);
    assert!(lines.by_ref().any(|line| line == "sheep 1 of 1000"));
    let interrupt = format!("kill -INT {}", program.id());
    assert!(Command::new("sh").args(["-c", &interrupt]).status().unwrap().success());
    assert_eq!(lines.last().unwrap(), "good night");
    assert!(program.wait().unwrap().success());
    let task = lab.task(TaskId(1)).await;
    assert_eq!((task.state, task.attempt), (State::Pending, 0));
    assert!(lab.store.workers().await.unwrap().is_empty());
    lab.check().await;
}
