//! The examples run, on both stores.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use kinfolk::pg::testing::TestDatabase;
use kinfolk::{Kinfolk, State, TaskId};

use crate::lab::Lab;

/// An example's program, as its sources are now. `cargo xtask test` has just built all of them but those with tests of their own, with
/// the features of the whole workspace. A run by hand may have built none.
pub(crate) fn example(name: &str) -> PathBuf {
    if std::env::var_os("KINFOLK_TEST_RUN").is_some() { path_of(name) } else { build_example(name) }
}

/// The same of an example with tests of its own, of which `cargo test` builds the tests alone. Cargo does nothing when the program is
/// new.
pub(crate) fn build_example(name: &str) -> PathBuf {
    let build = ["build", "--quiet", "--package", "kinfolk", "--example", name];
    assert!(Command::new(env!("CARGO")).args(build).status().unwrap().success());
    path_of(name)
}

fn path_of(example: &str) -> PathBuf {
    let here = std::env::current_exe().unwrap();
    here.parent().unwrap().with_file_name("examples").join(example)
}

pub(crate) fn said(run: &Output) -> String {
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

#[test]
fn the_shortest_program_writes_one_letter() {
    let folder = tempfile::tempdir().unwrap();
    let said = said(&Command::new(example("welcome")).current_dir(folder.path()).output().unwrap());
    assert!(said.contains("Welcome, cousin!"), "{said}");
}

#[tokio::test]
async fn every_order_is_billed_exactly_once() {
    let database = TestDatabase::create_empty().await;
    let run = Command::new(example("exactly_once")).arg(&database.url).output().unwrap();
    assert_eq!(said(&run), "30 bills for 30 purchases, 465 cents\n");
}

fn run_categories(url: &str) {
    let said = said(&Command::new(example("categories")).arg(url).output().unwrap());
    let lines: Vec<_> = said.lines().collect();
    assert_eq!(lines[0], "lamps: 60 variants are in order, 0 products are not");
    assert_eq!(lines[1], "chairs: 57 variants are in order, 2 products are not");
    assert!(
        lines[2].contains("3 of 20 sub-tasks of fan-out") && lines[2].contains("(threshold) did not complete"),
        "{said}"
    );
    assert!(lines[2].contains("it has no price"), "the cause is told from the bottom up: {said}");
}

fn run_word_count(url: &str) {
    let text = "so many words\nso many lines\nso what";
    let said = said(&Command::new(example("word_count")).args([text, url]).output().unwrap());
    assert_eq!(said, "1 lines\n2 many\n3 so\n1 what\n1 words\n");
}

#[tokio::test]
async fn nested_fan_outs_and_streams_run_on_sqlite() {
    run_categories(&Lab::new().await.url());
    run_word_count(&Lab::new().await.url());
}

#[tokio::test]
async fn nested_fan_outs_and_streams_run_on_postgresql() {
    let database = TestDatabase::create_empty().await;
    run_categories(&database.url);
    run_word_count(&database.url);
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

/// What the office of the statistics example reports, whatever happened on the way.
const REPORT: [&str; 3] = [
    "100 large units with a turnover of 94950",
    "500 small units with a turnover of 124750",
    "400 medium units with a turnover of 279800",
];

async fn is_sound(folder: &Path, derives: usize) {
    let tasks = Kinfolk::open(&format!("sqlite:{}", folder.join("tasks.db").display())).await.unwrap();
    assert_eq!(tasks.store().check().await.unwrap(), []);
    assert_eq!(tasks.store().sweep().await.unwrap(), 0);
    let counts = tasks.store().stats().await.unwrap().counts;
    assert!(counts.iter().all(|count| count.state == State::Completed), "{counts:?}");
    let count = |command: &str| counts.iter().find(|count| count.command.as_str() == command).map(|count| count.tasks);
    assert_eq!(count("derive_batch"), Some(20 * derives as u64));
    assert_eq!((count("flush"), count("report")), (count("derive"), count("derive")));
}

#[tokio::test]
async fn the_statistics_office_reports_from_its_batches() {
    let folder = tempfile::tempdir().unwrap();
    let said = said(&Command::new(example("statistics")).arg(folder.path()).output().unwrap());
    let lines: Vec<_> = said.lines().collect();
    assert_eq!(lines.len(), 25, "{said}");
    assert!(lines[..20].iter().all(|line| line.starts_with("batch ") && line.ends_with(": 50 units")), "{said}");
    assert_eq!(lines[20..22], ["flushed", "reported"]);
    assert_eq!(lines[22..], REPORT);
    is_sound(folder.path(), 1).await;
}

#[tokio::test]
async fn the_statistics_office_goes_on_where_it_was_killed() {
    let folder = tempfile::tempdir().unwrap();
    for beginning in ["batch 4 of 20", "batch 17 of 20", "flushed"] {
        let mut program =
            Command::new(example("statistics")).arg(folder.path()).stdout(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(program.stdout.take().unwrap()).lines().map(Result::unwrap);
        lines.by_ref().any(|line| line.starts_with(beginning));
        program.kill().unwrap();
        program.wait().unwrap();
    }
    let said = said(&Command::new(example("statistics")).arg(folder.path()).output().unwrap());
    assert!(said.lines().rev().take(3).eq(REPORT.into_iter().rev()), "{said}");
    is_sound(folder.path(), 1).await;
}

fn run_orders(url: &str) {
    let said = said(&Command::new(example("order_workflow")).arg(url).output().unwrap());
    let lines: Vec<_> = said.lines().collect();
    assert_eq!(lines[0], "R-00001, 248.00 €: 2 parcels, 2 letters");
    assert_eq!(lines[1], "R-00002, 49.00 €: 1 parcels, 1 letters", "a letter that was lost does not fail the order");
    assert!(
        lines[2].contains("out of stock: \"unicorn\" (error of") && lines[2].contains("1 of 2 sub-tasks of fan-out"),
        "{said}"
    );
    assert!(lines[3].contains("not a mail address: \"somewhere\"") && lines.len() == 4, "{said}");
}

#[tokio::test]
async fn the_order_workflow_ends_every_order_as_it_must_on_sqlite() {
    run_orders(&Lab::new().await.url());
}

#[tokio::test]
async fn the_order_workflow_ends_every_order_as_it_must_on_postgresql() {
    run_orders(&TestDatabase::create_empty().await.url);
}

fn run_tenants(url: &str) {
    let said = said(&Command::new(example("tenants")).arg(url).output().unwrap());
    let lines: Vec<_> = said.lines().collect();
    assert!(
        lines[0].contains("is pending: message of process-message, key \"msg-1\", has 1 of 1 slots taken, by "),
        "{said}"
    );
    let (tenant, rest) = lines[1].strip_prefix("103 messages: at most ").unwrap().split_once(' ').unwrap();
    assert!(tenant.parse::<u32>().unwrap() <= 20 && rest == "of acme at once, and 1 of msg-1", "{said}");
    assert!(lines[2].contains("is pending: provider, key \"mail\", starts nothing until 20"), "{said}");
    assert!(lines[3..].iter().copied().eq((1..=5).map(|n| format!("receipt {n}"))), "{said}");
}

#[tokio::test]
async fn tenants_and_messages_keep_to_their_limits_on_sqlite() {
    run_tenants(&Lab::new().await.url());
}

#[tokio::test]
async fn tenants_and_messages_keep_to_their_limits_on_postgresql() {
    run_tenants(&TestDatabase::create_empty().await.url);
}
