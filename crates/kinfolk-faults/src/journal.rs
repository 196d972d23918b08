//! The journal: where the handlers of several processes write down when they begin and end, and in which order.
//!
//! It is one file that everyone appends to, a line at a time. The file system puts the lines in order, so the place of a
//! line is a clock that all processes share: a line that stands behind another one was written after it. A process that
//! was killed writes no ends; the test that killed it writes down that it is gone.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;

use anyhow::{Context, Result};
use kinfolk_core::TaskId;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// One line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum JournalLine {
    /// An attempt begins.
    Begin(Entry),
    /// An attempt is about to be settled.
    End(Entry),
    /// A process was killed, and all its attempts with it.
    Gone(u32),
}

/// What a line says of an attempt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// The task.
    pub task: TaskId,
    /// The root of its family.
    pub root: TaskId,
    /// Generations between it and its root.
    pub depth: u16,
    /// The process that runs it.
    pub process: u32,
}

/// Appends a line: one write of a few bytes, so that lines never mix.
pub fn append(file: &Path, line: &impl Serialize) -> std::io::Result<()> {
    let text = format!("{}\n", serde_json::to_string(line)?);
    OpenOptions::new().create(true).append(true).open(file)?.write_all(text.as_bytes())
}

/// All lines, in the order in which they were written.
pub fn read<L: DeserializeOwned>(file: &Path) -> Result<Vec<L>> {
    let text = std::fs::read_to_string(file).with_context(|| format!("can't read {}", file.display()))?;
    // The last line may be on its way.
    let whole = text.rsplit_once('\n').map_or("", |(whole, _)| whole);
    whole.lines().map(|line| serde_json::from_str(line).with_context(|| format!("not a line: {line}"))).collect()
}

impl JournalLine {
    /// The attempt it is about.
    pub const fn entry(&self) -> Option<&Entry> {
        match self {
            Self::Begin(entry) | Self::End(entry) => Some(entry),
            Self::Gone(_) => None,
        }
    }
}
