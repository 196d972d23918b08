//! A provider that writes each message as a file into a folder: for trials, and for programs that take it from there.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use async_trait::async_trait;
use serde_json::{Value, json};

use crate::fault::SendError;
use crate::{Provider, message};

/// A folder that must be there. A message is a file named by its key, so one that is sent again is the same file.
#[derive(Clone, Debug)]
pub struct Outbox {
    folder: PathBuf,
    from: Option<String>,
    channel: Channel,
}

/// What its messages are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Channel {
    Email,
    Sms,
    Http,
}

impl Outbox {
    /// Emails, as files in this folder.
    pub fn emails(folder: impl Into<PathBuf>, from: Option<String>) -> Self {
        Self { folder: folder.into(), from, channel: Channel::Email }
    }

    pub(crate) fn of(channel: Channel, folder: &Path, from: Option<String>) -> Self {
        Self { folder: folder.to_owned(), from, channel }
    }

    fn read(&self, given: &Value) -> Result<Value, SendError> {
        let mut kept = given.clone();
        let from = match self.channel {
            Channel::Email => Some(message::Email::read(given, self.from.as_deref())?.1),
            Channel::Sms => message::read::<message::Sms>(given, "text message")?.from.or_else(|| self.from.clone()),
            Channel::Http => None,
        };
        if let (Some(members), Some(from)) = (kept.as_object_mut(), from) {
            members.insert("from".to_owned(), from.into());
        }
        Ok(kept)
    }
}

#[async_trait]
impl Provider for Outbox {
    async fn send(&self, message: &Value, key: &str) -> Result<Value, SendError> {
        let kept = self.read(message)?;
        if key.is_empty() || !key.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_') {
            return Err(SendError::for_good(format!("{key:?} is no key that can name a file")));
        }
        let (folder, key) = (self.folder.clone(), key.to_owned());
        let written = tokio::task::spawn_blocking(move || write(&folder, &key, &kept)).await;
        written.unwrap_or_else(|_| Err(SendError::passing("the outbox was not written")))
    }
}

/// Writes the file whole, or not at all.
fn write(folder: &Path, key: &str, message: &Value) -> Result<Value, SendError> {
    let fault = |fault: std::io::Error| SendError::passing(format!("the outbox {}: {fault}", folder.display()));
    let (path, draft) = (folder.join(format!("{key}.json")), folder.join(format!(".{key}.{}", std::process::id())));
    if !path.exists() {
        let mut file = std::fs::File::create(&draft).map_err(fault)?;
        file.write_all(format!("{message:#}\n").as_bytes()).map_err(fault)?;
        file.sync_all().map_err(fault)?;
        std::fs::rename(&draft, &path).map_err(fault)?;
    }
    Ok(json!({"provider": "outbox", "id": key}))
}
