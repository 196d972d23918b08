//! What durable handlers write down while they run: which bodies they enter, and what they are answered.

use std::path::{Path, PathBuf};

use kinfolk_core::durable::Verdict;
use kinfolk_core::{FailureKind, Json, TaskId};
use serde::{Deserialize, Serialize};

use crate::journal;

/// One line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Note {
    /// The task.
    pub task: TaskId,
    /// The process that runs it.
    pub process: u32,
    /// Which operation, by its path in the plan; empty for the handler itself.
    pub op: String,
    /// What happens there.
    pub what: What,
}

/// What is noted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum What {
    /// The handler begins, or begins again.
    Begin,
    /// The body of a step is entered, and will return this.
    Body(Json),
    /// An operation has answered this.
    Saw(Json),
    /// The n-th result of a stream was this.
    Part(u32, Json),
}

/// How the handler heard of a fan-out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Heard {
    /// How it was settled.
    pub verdict: Verdict,
    /// The results; of a fan-out that was settled badly only the bad ones, unless it was streamed.
    pub results: Vec<HeardOf>,
}

/// How the handler heard of one child.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeardOf {
    /// Which child.
    pub index: u32,
    /// Its number as a task.
    pub task: TaskId,
    /// What it returned, or why it did not.
    pub outcome: Result<Json, FailureKind>,
}

/// The file of notes beside a ledger.
pub fn beside(ledger: &Path) -> PathBuf {
    ledger.with_file_name("notes")
}

/// All notes, in the order of writing; none if nothing was written.
pub fn read(file: &Path) -> anyhow::Result<Vec<Note>> {
    if file.exists() { journal::read(file) } else { Ok(Vec::new()) }
}
