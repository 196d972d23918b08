//! Providers: what carries a message out of the database, behind one small trait. Email by SMTP or by Resend's API, text messages by
//! Twilio's API, any HTTP endpoint, and a folder of files.
//!
//! ```no_run
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! use kinfolk_providers::{Config, Provider as _};
//! use serde_json::json;
//!
//! let config: Config = serde_json::from_value(json!({"email": {"kind": "outbox", "folder": "/var/spool/mail-out"}}))?;
//! let providers = config.open()?;
//! let message = json!({"to": "ann@example.org", "from": "shop@example.org", "subject": "Paid", "text": "Thank you."});
//! providers.email.ok_or("no email")?.send(&message, "order-1003").await?;
//! # Ok(())
//! # }
//! ```
//!
//! It never touches a store, never reads a secret from a message, and never shows one: a [`Secret`] has no text form. It follows no
//! redirect, and connects to no address of a private network unless the configuration allows it.

mod address;
mod client;
mod config;
mod fault;
mod message;
mod outbox;
mod resend;
mod secret;
mod smtp;
mod twilio;
mod webhook;

use std::fmt::Debug;

use async_trait::async_trait;
use serde_json::Value;

pub use address::is_public;
pub use config::{Config, ConfigError, Providers};
pub use fault::{SendError, Then};
pub use outbox::Outbox;
pub use secret::Secret;

/// A provider, which carries messages of one kind.
#[async_trait]
pub trait Provider: Debug + Send + Sync {
    /// Sends one message, and answers what the provider said. `key` is the same whenever the same message is sent again, since
    /// it is not known whether it went out: a provider that takes such a key sends it once.
    async fn send(&self, message: &Value, key: &str) -> Result<Value, SendError>;
}
