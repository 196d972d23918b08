//! Tokens: 256 random bits, shown once; only their SHA-256 is kept.

use std::collections::HashMap;

use kinfolk_core::{InputError, QueueName};
use sha2::{Digest as _, Sha256};
use uuid::Uuid;

use super::role::{Caller, Role};

/// What every token begins with, so that one that leaked is found.
const PREFIX: &str = "kinfolk_";

/// The SHA-256 of a token.
pub(crate) type Hash = [u8; 32];

/// A token as it is configured.
#[derive(Clone, Debug)]
pub struct Token {
    name: String,
    role: Role,
    queues: Option<Vec<QueueName>>,
    hash: Hash,
}

impl Token {
    /// A token with a name for the audit log, by the SHA-256 of its text in hexadecimal.
    pub fn new(name: impl Into<String>, role: Role, sha256: &str) -> Result<Self, InputError> {
        let name = name.into();
        let hash = from_hex(sha256).ok_or_else(|| {
            InputError::Other(format!("the sha256 of token {name:?} is no SHA-256; it has 64 hexadecimal digits"))
        })?;
        Ok(Self { name, role, queues: None, hash })
    }

    /// The same, for these queues only.
    #[must_use]
    pub fn only(self, queues: impl IntoIterator<Item = QueueName>) -> Self {
        Self { queues: Some(queues.into_iter().collect()), ..self }
    }

    /// Makes a new secret: the text to show once, and its SHA-256 in hexadecimal to keep.
    pub fn secret() -> (String, String) {
        let secret = format!("{PREFIX}{}", hex(&random()));
        let kept = hex(&hash(&secret));
        (secret, kept)
    }

    fn caller(&self) -> Caller {
        let caller = Caller::new(self.name.clone(), self.role);
        match &self.queues {
            Some(queues) => caller.only(queues.iter().cloned()),
            None => caller,
        }
    }
}

/// The tokens that are configured.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tokens(HashMap<Hash, Token>);

impl Tokens {
    pub(crate) fn add(&mut self, token: Token) {
        self.0.insert(token.hash, token);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The caller with this token. It is found by its hash, so the time tells nothing of the token.
    pub(crate) fn who(&self, secret: &str) -> Option<(Hash, Caller)> {
        let hash = hash(secret);
        self.0.get(&hash).map(|token| (hash, token.caller()))
    }

    /// The caller with the token of this hash.
    pub(crate) fn who_has(&self, hash: &Hash) -> Option<Caller> {
        self.0.get(hash).map(Token::caller)
    }
}

/// 256 random bits.
pub(crate) fn random() -> Hash {
    let mut digest = Sha256::new();
    // Each has 122 random bits.
    for _ in 0..3 {
        digest.update(Uuid::new_v4().as_bytes());
    }
    digest.finalize().into()
}

fn hash(secret: &str) -> Hash {
    Sha256::digest(secret.as_bytes()).into()
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

pub(crate) fn from_hex(text: &str) -> Option<Hash> {
    let mut hash = Hash::default();
    if text.len() != 64 || !text.is_ascii() {
        return None;
    }
    for (byte, digits) in hash.iter_mut().zip(text.as_bytes().chunks(2)) {
        *byte = u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?;
    }
    Some(hash)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_known_by_its_hash_alone() {
        let (secret, kept) = Token::secret();
        let mut tokens = Tokens::default();
        tokens.add(Token::new("ci", Role::Operator, &kept).unwrap());
        let (_, caller) = tokens.who(&secret).unwrap();
        assert_eq!((caller.name.as_str(), caller.role), ("ci", Some(Role::Operator)));
        assert!(tokens.who(&kept).is_none(), "what is kept lets nobody in");
        assert!(tokens.who("").is_none());
        assert_ne!(Token::secret().0, secret);
    }

    #[test]
    fn what_is_no_hash_is_refused() {
        for text in ["", "abc", &"g".repeat(64), &"é".repeat(32), &"a".repeat(63)] {
            assert!(Token::new("x", Role::Viewer, text).is_err(), "{text}");
        }
    }
}
