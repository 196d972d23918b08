//! Email by Resend's HTTP API, which takes an idempotency key.

use async_trait::async_trait;
use hyper::Method;
use serde_json::{Value, json};

use crate::Provider;
use crate::client::{Ask, Client, headers};
use crate::fault::SendError;
use crate::message::Email;
use crate::secret::Secret;

#[derive(Debug)]
pub(crate) struct Resend {
    pub(crate) client: Client,
    pub(crate) base: String,
    pub(crate) key: Secret,
    pub(crate) from: Option<String>,
}

#[async_trait]
impl Provider for Resend {
    async fn send(&self, message: &Value, key: &str) -> Result<Value, SendError> {
        let (email, from) = Email::read(message, self.from.as_deref())?;
        let mut body = json!({"from": from, "to": email.to.all(), "subject": email.subject});
        for (name, value) in [("text", email.text), ("html", email.html), ("reply_to", email.reply_to)] {
            if let Some(value) = value {
                body[name] = value.into();
            }
        }
        let headers = headers([
            ("authorization", format!("Bearer {}", self.key.expose())),
            ("content-type", "application/json".to_owned()),
            ("idempotency-key", key.to_owned()),
        ])?;
        let url = format!("{}/emails", self.base.trim_end_matches('/'));
        let answer = self.client.ask(Ask { method: Method::POST, url, headers, body: body.to_string().into() }).await?;
        let answer = answer.good("Resend")?;
        let told: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
        Ok(json!({"provider": "resend", "id": told["id"]}))
    }
}
