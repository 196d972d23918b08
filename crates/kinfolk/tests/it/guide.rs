//! The guide shows the program that is compiled, run and tested: all of it, and nothing else.

use std::process::Command;

use kinfolk::pg::testing::TestDatabase;

use crate::examples::{build_example, said};
use crate::lab::Lab;

const PAGE: &str = include_str!("../../../../docs/guide.md");
const PROGRAM: &str = include_str!("../../examples/guide.rs");

#[test]
fn the_guide_shows_the_whole_program_in_its_order() {
    let shown: Vec<_> = PAGE.split("```rust\n").skip(1).filter_map(|rest| rest.split("```").next()).collect();
    let lines = |text: &str| {
        text.lines()
            .filter(|line| !line.trim().is_empty() && !line.starts_with("//!"))
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    let (shown, program) = (lines(&shown.join("\n")), lines(PROGRAM));
    let differs = shown.iter().zip(&program).find(|(shown, program)| shown != program);
    assert_eq!(differs, None, "copy crates/kinfolk/examples/guide.rs into docs/guide.md");
    assert_eq!(shown.len(), program.len(), "copy crates/kinfolk/examples/guide.rs into docs/guide.md");
}

fn run_guide(url: &str) {
    let said = said(&Command::new(build_example("guide")).arg(url).output().unwrap());
    let labels = ["parcel 1, printed by inkjet", "parcel 2, printed by laser", "parcel 3, printed by inkjet"];
    assert_eq!(said.lines().collect::<Vec<_>>(), labels);
    assert!(PAGE.contains(&labels.join("\n")), "the guide shows what it prints");
}

#[tokio::test]
async fn the_program_of_the_guide_runs_on_sqlite() {
    run_guide(&Lab::new().await.url());
}

#[tokio::test]
async fn the_program_of_the_guide_runs_on_postgresql() {
    run_guide(&TestDatabase::create_empty().await.url);
}
