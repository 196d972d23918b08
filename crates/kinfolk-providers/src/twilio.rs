//! Text messages by Twilio's HTTP API. It takes no idempotency key: after a crash between the send and its record, one may go out twice.

use std::fmt::Write as _;

use async_trait::async_trait;
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use hyper::Method;
use serde_json::{Value, json};

use crate::Provider;
use crate::client::{Ask, Client, headers};
use crate::fault::SendError;
use crate::message::{self, Sms};
use crate::secret::Secret;

#[derive(Debug)]
pub(crate) struct Twilio {
    pub(crate) client: Client,
    pub(crate) base: String,
    pub(crate) account: String,
    pub(crate) token: Secret,
    pub(crate) from: Option<String>,
}

#[async_trait]
impl Provider for Twilio {
    async fn send(&self, given: &Value, _key: &str) -> Result<Value, SendError> {
        let sms: Sms = message::read(given, "text message")?;
        let from = sms.from.or_else(|| self.from.clone());
        let from =
            from.ok_or_else(|| SendError::for_good("this text message has no sender; give `from`, or configure it"))?;
        let body = format!("To={}&From={}&Body={}", form(&sms.to), form(&from), form(&sms.body));
        let login = BASE64_STANDARD.encode(format!("{}:{}", self.account, self.token.expose()));
        let headers = headers([
            ("authorization", format!("Basic {login}")),
            ("content-type", "application/x-www-form-urlencoded".to_owned()),
        ])?;
        let url =
            format!("{}/2010-04-01/Accounts/{}/Messages.json", self.base.trim_end_matches('/'), form(&self.account));
        let answer = self.client.ask(Ask { method: Method::POST, url, headers, body: body.into() }).await?;
        let told: Value = serde_json::from_slice(&answer.good("Twilio")?.body).unwrap_or_default();
        Ok(json!({"provider": "twilio", "id": told["sid"]}))
    }
}

/// A value of a form.
fn form(text: &str) -> String {
    let mut encoded = String::new();
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => encoded.push(char::from(byte)),
            _ => {
                // Writing to a text can't fail.
                let _ = write!(encoded, "%{byte:02X}");
            }
        }
    }
    encoded
}
