//! The examples run, on both stores.

use std::process::Command;

use kinfolk::pg::testing::TestDatabase;

use crate::lab::Lab;

fn run_first(url: &str) {
    let run = Command::new(env!("CARGO"))
        .args(["run", "--quiet", "--package", "kinfolk", "--example", "first", "--", url])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&run.stdout);
    assert!(run.status.success(), "{said}{}", String::from_utf8_lossy(&run.stderr));
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
