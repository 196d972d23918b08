//! Reading messages. What is wrong with one is wrong for good.

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::fault::SendError;

/// An email. More members are fine: a payload may have its own.
#[derive(Clone, Debug, Deserialize)]
#[serde(expecting = "an object")]
pub(crate) struct Email {
    pub(crate) to: OneOrMore,
    pub(crate) from: Option<String>,
    pub(crate) reply_to: Option<String>,
    pub(crate) subject: String,
    pub(crate) text: Option<String>,
    pub(crate) html: Option<String>,
}

/// A text message.
#[derive(Clone, Debug, Deserialize)]
#[serde(expecting = "an object")]
pub(crate) struct Sms {
    pub(crate) to: String,
    pub(crate) from: Option<String>,
    pub(crate) body: String,
}

/// Receivers.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged, expecting = "a receiver is a text, or an array of texts")]
pub(crate) enum OneOrMore {
    One(String),
    More(Vec<String>),
}

impl OneOrMore {
    pub(crate) fn all(&self) -> &[String] {
        match self {
            Self::One(one) => std::slice::from_ref(one),
            Self::More(more) => more,
        }
    }
}

/// Reads a message of this kind.
pub(crate) fn read<T: DeserializeOwned>(message: &Value, what: &str) -> Result<T, SendError> {
    serde_json::from_value(message.clone())
        .map_err(|fault| SendError::for_good(format!("this is no {what} that can be sent: {fault}")))
}

impl Email {
    /// Reads an email that has a sender, a receiver and a body.
    pub(crate) fn read(message: &Value, sender: Option<&str>) -> Result<(Self, String), SendError> {
        let email: Self = read(message, "email")?;
        if email.to.all().is_empty() || (email.text.is_none() && email.html.is_none()) {
            return Err(SendError::for_good(
                "this is no email that can be sent: it has no receiver, or neither text nor html",
            ));
        }
        let from = email.from.clone().or_else(|| sender.map(str::to_owned));
        let from = from.ok_or_else(|| SendError::for_good("this email has no sender; give `from`, or configure it"))?;
        Ok((email, from))
    }
}
