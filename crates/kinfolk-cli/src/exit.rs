//! Every exit code of `kinfolk`, in one place. Scripts branch on these numbers, so a number never changes its meaning.
//!
//! `docs/cli.md` and `kinfolk help exit-codes` say the same; a test holds the three together.

use std::process::ExitCode;

/// How a run of `kinfolk` ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Exit {
    /// All went as asked.
    Done,
    /// The answer was no.
    No,
    /// The input can't be used.
    Usage,
    /// There is no such thing.
    NotFound,
    /// The database can't be used.
    Database,
    /// A bug, here or in the database.
    Internal,
    /// Stopped hard by a signal.
    Interrupted,
}

impl Exit {
    /// All of them, by number.
    pub(crate) const ALL: [Self; 7] =
        [Self::Done, Self::No, Self::Usage, Self::NotFound, Self::Database, Self::Internal, Self::Interrupted];

    /// The number.
    pub(crate) const fn code(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::No => 1,
            Self::Usage => 2,
            Self::NotFound => 3,
            Self::Database => 4,
            Self::Internal => 5,
            Self::Interrupted => 130,
        }
    }

    /// Its meaning, in words.
    pub(crate) const fn means(self) -> &'static str {
        match self {
            Self::Done => "done as asked",
            Self::No => {
                "the answer is no: an enqueue was rejected, a task was in the wrong state, `check` found a broken \
                 invariant, `doctor` found something bad, `demo` did not end well"
            }
            Self::Usage => "bad usage or bad input; nothing was written",
            Self::NotFound => "there is no such task, queue, command, group, schedule, status or file",
            Self::Database => {
                "the database can't be used: unreachable, busy, read-only, full, forbidden, damaged, or its schema is \
                 missing, too old or too new"
            }
            Self::Internal => "an internal fault: please report it",
            Self::Interrupted => "stopped by a signal before it was done",
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}

/// The whole table, as `kinfolk exit-codes` prints it.
pub(crate) fn table() -> String {
    Exit::ALL.iter().map(|exit| format!("{:>3}  {}\n", exit.code(), exit.means())).collect()
}
