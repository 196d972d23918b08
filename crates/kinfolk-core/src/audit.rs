//! The audit log: the calls through a server that changed something, with their callers and the number of tasks.

use serde::{Deserialize, Serialize};

use crate::limits::AUDIT_BYTES_MAX;
use crate::time::Timestamp;

/// Something that was asked for and done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Audit {
    /// The caller: the name of a token, or of a user.
    pub who: String,
    /// The action, in a word: `cancel`, `retry`, `pause`.
    pub what: String,
    /// The subject of the action: `task 42`, `queue mail`, or a filter.
    pub subject: String,
    /// How many tasks it concerned.
    pub tasks: u64,
}

/// An entry of the audit log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Audited {
    /// Its number; later ones have larger numbers.
    pub id: i64,
    /// When it was written, by the store's clock.
    pub at: Timestamp,
    /// The action and its caller.
    #[serde(flatten)]
    pub audit: Audit,
}

impl Audit {
    /// The same with texts that a store keeps: without `\0`, each cut to [`AUDIT_BYTES_MAX`].
    #[must_use]
    pub fn cut(&self) -> Self {
        let cut = |text: &str| {
            let plain = text.replace('\0', " ");
            let end = (0..=AUDIT_BYTES_MAX.min(plain.len())).rev().find(|end| plain.is_char_boundary(*end));
            plain[..end.unwrap_or(0)].to_owned()
        };
        Self { who: cut(&self.who), what: cut(&self.what), subject: cut(&self.subject), tasks: self.tasks }
    }
}
