//! How far a task has come, as its handler tells it.

use serde::{Deserialize, Serialize};

use crate::error::InputError;
use crate::limits::PROGRESS_NOTE_BYTES_MAX;

/// How far a task has come, in its handler's own words.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    /// Units done.
    pub done: u64,
    /// Units in all, if known.
    pub total: Option<u64>,
    /// In words.
    pub note: Option<String>,
}

impl Report {
    /// Refuses what no store would keep.
    pub fn check(&self) -> Result<(), InputError> {
        let bytes = self.note.as_ref().map_or(0, String::len);
        if bytes > PROGRESS_NOTE_BYTES_MAX {
            return Err(InputError::TooLarge { what: "note", bytes, max: PROGRESS_NOTE_BYTES_MAX });
        }
        if self.note.as_ref().is_some_and(|note| note.contains('\0')) {
            return Err(InputError::JsonNul);
        }
        if [Some(self.done), self.total].into_iter().flatten().any(|units| i64::try_from(units).is_err()) {
            return Err(InputError::Other("more units than can be counted".to_owned()));
        }
        Ok(())
    }
}
