//! How a file is opened.

use std::time::Duration;

/// How a file is opened. The defaults lose nothing when the machine loses power.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// When a commit counts as done. Default [`Synchronous::Full`].
    pub synchronous: Synchronous,
    /// How long a write waits for other processes before it gives up with `StoreError::Busy`. Default 30 seconds.
    pub busy_timeout: Duration,
    /// Read connections at most, beside the writer. Default 4, at least 1.
    pub readers: usize,
}

/// When a commit counts as done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Synchronous {
    /// When it is on the disk: survives a power cut.
    #[default]
    Full,
    /// When the operating system has it: survives the death of the process, and may lose the latest commits in a power
    /// cut. The file stays sound.
    Normal,
}

impl Default for Options {
    fn default() -> Self {
        Self { synchronous: Synchronous::default(), busy_timeout: Duration::from_secs(30), readers: 4 }
    }
}

impl Synchronous {
    /// The word SQLite uses.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::Normal => "normal",
        }
    }
}
