//! Names and digests: how an operation finds its own record again.
//!
//! A name is given by the author, or comes from the command; never from a position in the code, so that steps may be
//! added and moved between two versions. A digest says what was asked for, so that a changed question under an old name is
//! noticed instead of being answered with what something else returned.

use std::fmt::Write;
use std::sync::Arc;
use std::time::Duration;

use kinfolk_core::NewTask;
use sha2::{Digest, Sha256};

/// Bytes of a digest that are kept.
const KEPT: usize = 16;

/// A branch and a name: operations of one spot are told apart by their number.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Spot {
    pub(crate) branch: Arc<str>,
    pub(crate) name: Arc<str>,
}

impl Spot {
    pub(crate) fn key(&self, occurrence: u32) -> kinfolk_core::Key {
        kinfolk_core::Key { branch: self.branch.as_ref().to_owned(), name: self.name.as_ref().to_owned(), occurrence }
    }
}

/// A digest in the making, over children in their order.
#[derive(Default)]
pub(crate) struct Asked(Sha256);

impl Asked {
    /// One child: its command and what it is given. Where and how it runs may change between two versions.
    pub(crate) fn child(&mut self, child: &NewTask) {
        self.0.update(child.command.as_str());
        self.0.update([0]);
        self.0.update(child.payload.as_str());
        self.0.update([0]);
    }

    pub(crate) fn digest(self) -> String {
        hex(&self.0.finalize()[..KEPT])
    }
}

/// The digest of one task to be made.
pub(crate) fn of_task(task: &NewTask) -> String {
    let mut asked = Asked::default();
    asked.child(task);
    asked.digest()
}

/// The digest of a span.
pub(crate) fn of_span(span: Duration) -> String {
    hex(&Sha256::digest(span.as_nanos().to_be_bytes())[..KEPT])
}

/// Sixty-four unpredictable bits.
pub(crate) fn random_bits() -> u64 {
    let drawn = Sha256::digest(uuid::Uuid::new_v4().as_bytes());
    drawn.iter().take(8).fold(0, |bits, byte| (bits << 8) | u64::from(*byte))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        // Writing into a string can't fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use kinfolk_core::Json;

    fn task(command: &str, payload: &str) -> NewTask {
        NewTask::new(command.parse().unwrap(), Json::parse(payload).unwrap())
    }

    #[test]
    fn a_digest_says_which_command_with_which_arguments_and_nothing_else() {
        let plain = task("pack", r#"{"item": 1, "box": 2}"#);
        let same = NewTask { priority: Some(9), max_attempts: Some(2), ..task("pack", r#"{"box":2,"item":1}"#) };
        assert_eq!(of_task(&plain), of_task(&same));
        assert_ne!(of_task(&plain), of_task(&task("pack", r#"{"item":2,"box":2}"#)));
        assert_ne!(of_task(&plain), of_task(&task("send", r#"{"item":1,"box":2}"#)));
        assert_eq!(of_task(&plain).len(), 2 * KEPT);
    }

    #[test]
    fn random_bits_differ() {
        assert_ne!(random_bits(), random_bits());
    }
}
