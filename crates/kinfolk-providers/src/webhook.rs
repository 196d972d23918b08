//! Any HTTP endpoint: method, headers and body come with the message; the key and a signature go along.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use async_trait::async_trait;
use hmac::{Hmac, KeyInit as _, Mac as _};
use hyper::Method;
use serde::Deserialize;
use serde_json::{Value, json};
use sha2::Sha256;

use crate::client::{Ask, Client, headers};
use crate::fault::SendError;
use crate::secret::Secret;
use crate::{Provider, message};

/// Headers that a message may not choose: they say how the request itself is read, or are ours.
const OURS: [&str; 7] =
    ["host", "content-length", "transfer-encoding", "connection", "upgrade", "idempotency-key", "kinfolk-signature"];

#[derive(Debug)]
pub(crate) struct Webhook {
    pub(crate) client: Client,
    pub(crate) secret: Option<Secret>,
}

#[derive(Deserialize)]
#[serde(expecting = "an object")]
struct Call {
    url: String,
    #[serde(default = "post")]
    method: String,
    #[serde(default)]
    headers: BTreeMap<String, String>,
    #[serde(default)]
    body: Value,
}

fn post() -> String {
    "POST".to_owned()
}

#[async_trait]
impl Provider for Webhook {
    async fn send(&self, given: &Value, key: &str) -> Result<Value, SendError> {
        let call: Call = message::read(given, "request")?;
        let method = Method::from_bytes(call.method.as_bytes())
            .ok()
            .filter(|method| matches!(method.as_str(), "GET" | "HEAD" | "POST" | "PUT" | "PATCH" | "DELETE"))
            .ok_or_else(|| SendError::for_good(format!("{:?} is no method that can be sent", call.method)))?;
        if let Some(name) = call.headers.keys().find(|name| OURS.contains(&name.to_ascii_lowercase().as_str())) {
            return Err(SendError::for_good(format!("the header {name:?} is not for the message to choose")));
        }
        let (kind, body) = match call.body {
            Value::Null => ("", String::new()),
            Value::String(text) => ("text/plain; charset=utf-8", text),
            value => ("application/json", value.to_string()),
        };
        let mut all: BTreeMap<String, String> =
            call.headers.into_iter().map(|(name, value)| (name.to_ascii_lowercase(), value)).collect();
        if !kind.is_empty() {
            all.entry("content-type".to_owned()).or_insert_with(|| kind.to_owned());
        }
        all.insert("idempotency-key".to_owned(), key.to_owned());
        if let Some(secret) = &self.secret {
            all.insert("kinfolk-signature".to_owned(), signature(secret, key, &body));
        }
        let headers = headers(all.iter().map(|(name, value)| (name.as_str(), value.clone())))?;
        let answer = self.client.ask(Ask { method, url: call.url, headers, body: body.into() }).await?;
        let answer = answer.good("the endpoint")?;
        let text = String::from_utf8_lossy(&answer.body).replace('\0', "\u{fffd}");
        let body = serde_json::from_str(&text).unwrap_or(Value::String(text));
        Ok(json!({"provider": "http", "status": answer.status.as_u16(), "body": body}))
    }
}

/// `sha256=` and the HMAC of the key, a dot and the body.
fn signature(secret: &Secret, key: &str, body: &str) -> String {
    let mut mac = Hmac::<Sha256>::new_from_slice(secret.expose().as_bytes()).expect("a key of any length will do");
    mac.update(format!("{key}.{body}").as_bytes());
    mac.finalize().into_bytes().iter().fold("sha256=".to_owned(), |mut text, byte| {
        // Writing to a text can't fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}
