//! Names of commands, queues, groups, schedules, statuses and signals: short, visible, safe in a URL, a log line and a channel. A copy shares the
//! text, so names can go along with every task and event.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::error::InputError;
use crate::limits::NAME_BYTES_MAX;

/// Whether a text can be a name. It is `const`, for names that are known at compile time.
pub const fn is_name(text: &str) -> bool {
    let bytes = text.as_bytes();
    if bytes.is_empty() || bytes.len() > NAME_BYTES_MAX {
        return false;
    }
    let mut at = 0;
    while at < bytes.len() {
        if !(bytes[at].is_ascii_alphanumeric() || matches!(bytes[at], b'_' | b'-' | b'.' | b':' | b'/')) {
            return false;
        }
        at += 1;
    }
    true
}

fn checked(kind: &'static str, text: &str) -> Result<Arc<str>, InputError> {
    let bad = |why| InputError::Name { kind, name: text.chars().take(NAME_BYTES_MAX).collect(), why };
    if text.is_empty() {
        return Err(bad("it is empty"));
    }
    if text.len() > NAME_BYTES_MAX {
        return Err(bad("it is longer than 128 bytes"));
    }
    if !is_name(text) {
        return Err(bad("only letters, digits and _ - . : / may stand in it"));
    }
    Ok(text.into())
}

macro_rules! name {
    ($(#[$doc:meta])* $type:ident, $kind:literal) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $type(Arc<str>);

        impl $type {
            /// Checks the text and makes a name of it.
            pub fn new(text: &str) -> Result<Self, InputError> {
                checked($kind, text).map(Self)
            }

            /// The name as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl AsRef<str> for $type {
            fn as_ref(&self) -> &str {
                &self.0
            }
        }

        impl FromStr for $type {
            type Err = InputError;

            fn from_str(text: &str) -> Result<Self, InputError> {
                Self::new(text)
            }
        }

        impl TryFrom<&str> for $type {
            type Error = InputError;

            fn try_from(text: &str) -> Result<Self, InputError> {
                Self::new(text)
            }
        }

        impl Serialize for $type {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(&self.0)
            }
        }

        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                Self::new(&String::deserialize(deserializer)?).map_err(serde::de::Error::custom)
            }
        }
    };
}

name!(
    /// The name of what a task runs.
    CommandName,
    "command"
);
name!(
    /// Where tasks wait.
    QueueName,
    "queue"
);
name!(
    /// A group: something that tasks have keys in.
    GroupName,
    "group"
);
name!(
    /// A recurring schedule.
    ScheduleName,
    "schedule"
);
name!(
    /// A status that a front end watches.
    StatusName,
    "status"
);
name!(
    /// The name of a signal: a handler waits for it, and other code sends it.
    SignalName,
    "signal"
);

impl GroupName {
    /// The name of a command's own total.
    pub fn total() -> Self {
        Self(crate::group::TOTAL.into())
    }
}

impl Default for QueueName {
    fn default() -> Self {
        Self("default".into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bad_name_is_refused_with_the_name_and_the_reason() {
        for text in ["", "two words", "semi;colon", "nul\0", "ünï", &"x".repeat(129)] {
            let fault = CommandName::new(text).unwrap_err().to_string();
            assert!(fault.contains("command"), "{fault}");
        }
        assert_eq!(QueueName::new("mail/out-2.v1:eu").unwrap().as_str(), "mail/out-2.v1:eu");
    }
}
