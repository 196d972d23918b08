//! Which provider carries what: the part `providers` of the configuration file.

use std::num::NonZeroU64;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;

use crate::Provider;
use crate::client::Client;
use crate::outbox::{Channel, Outbox};
use crate::resend::Resend;
use crate::secret::{Secret, SecretAt};
use crate::smtp::{Safety, Server, Smtp};
use crate::twilio::Twilio;
use crate::webhook::Webhook;

/// How long a provider may take, unless it is said otherwise.
const TIMEOUT_SECS: NonZeroU64 = NonZeroU64::new(30).unwrap();

/// A provider for each kind of message, where there is one.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    email: Option<EmailConfig>,
    sms: Option<SmsConfig>,
    http: Option<HttpConfig>,
}

/// The configuration of a provider can't be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ConfigError(pub String);

/// The providers, ready to send.
#[derive(Clone, Debug, Default)]
pub struct Providers {
    /// For emails.
    pub email: Option<Arc<dyn Provider>>,
    /// For text messages.
    pub sms: Option<Arc<dyn Provider>>,
    /// For requests.
    pub http: Option<Arc<dyn Provider>>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
enum EmailConfig {
    Outbox {
        /// The folder in which each message becomes a file. It must exist.
        folder: PathBuf,
        /// The sender, where a message names none.
        from: Option<String>,
    },
    Smtp {
        /// The name of the server.
        host: String,
        /// Its port; by default the usual one of `tls`.
        port: Option<u16>,
        /// How the connection is encrypted; `starttls` by default.
        #[serde(default)]
        tls: Safety,
        /// The name to log in with.
        user: Option<String>,
        /// The password to log in with.
        password: Option<SecretAt>,
        /// The sender, where a message names none.
        from: Option<String>,
        /// How long a send may take, in seconds; 30 by default.
        #[serde(default = "timeout")]
        timeout_secs: NonZeroU64,
    },
    Resend {
        /// The address of its API; by default the public one.
        #[serde(default = "resend")]
        base: String,
        /// The key of its API.
        key: SecretAt,
        /// The sender, where a message names none.
        from: Option<String>,
        /// Whether addresses of private networks may be called.
        #[serde(default)]
        allow_private: bool,
        /// How long a send may take, in seconds; 30 by default.
        #[serde(default = "timeout")]
        timeout_secs: NonZeroU64,
    },
}

#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
enum SmsConfig {
    Outbox {
        /// The folder in which each message becomes a file. It must exist.
        folder: PathBuf,
        /// The sender, where a message names none.
        from: Option<String>,
    },
    Twilio {
        /// The address of its API; by default the public one.
        #[serde(default = "twilio")]
        base: String,
        /// The number of the account.
        account: String,
        /// The token of the account.
        token: SecretAt,
        /// The sender, where a message names none.
        from: Option<String>,
        /// Whether addresses of private networks may be called.
        #[serde(default)]
        allow_private: bool,
        /// How long a send may take, in seconds; 30 by default.
        #[serde(default = "timeout")]
        timeout_secs: NonZeroU64,
    },
}

#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
enum HttpConfig {
    Outbox {
        /// The folder in which each message becomes a file. It must exist.
        folder: PathBuf,
    },
    Http {
        /// Signs every request.
        secret: Option<SecretAt>,
        /// Whether addresses of private networks may be called.
        #[serde(default)]
        allow_private: bool,
        /// How long a send may take, in seconds; 30 by default.
        #[serde(default = "timeout")]
        timeout_secs: NonZeroU64,
        /// How much of an answer is kept, in bytes.
        answer_bytes_max: Option<usize>,
    },
}

const fn timeout() -> NonZeroU64 {
    TIMEOUT_SECS
}

fn resend() -> String {
    "https://api.resend.com".to_owned()
}

fn twilio() -> String {
    "https://api.twilio.com".to_owned()
}

impl Config {
    /// Reads the secrets, and makes the providers ready. Connects to nothing.
    pub fn open(&self) -> Result<Providers, ConfigError> {
        let about = |what: &'static str| move |fault: ConfigError| ConfigError(format!("providers.{what}: {fault}"));
        Ok(Providers {
            email: self.email.as_ref().map(EmailConfig::open).transpose().map_err(about("email"))?,
            sms: self.sms.as_ref().map(SmsConfig::open).transpose().map_err(about("sms"))?,
            http: self.http.as_ref().map(HttpConfig::open).transpose().map_err(about("http"))?,
        })
    }
}

impl EmailConfig {
    fn open(&self) -> Result<Arc<dyn Provider>, ConfigError> {
        Ok(match self {
            Self::Outbox { folder, from } => Arc::new(Outbox::of(Channel::Email, folder, from.clone())),
            Self::Smtp { host, port, tls, user, password, from, timeout_secs } => {
                let login = login(user.as_ref(), password.as_ref())?;
                let server =
                    Server { host, port: *port, tls: *tls, login, timeout: Duration::from_secs(timeout_secs.get()) };
                Arc::new(Smtp::new(server, from.clone())?)
            }
            Self::Resend { base, key, from, allow_private, timeout_secs } => Arc::new(Resend {
                client: Client::new(*allow_private, Duration::from_secs(timeout_secs.get()))?,
                base: base.clone(),
                key: key.read()?,
                from: from.clone(),
            }),
        })
    }
}

impl SmsConfig {
    fn open(&self) -> Result<Arc<dyn Provider>, ConfigError> {
        Ok(match self {
            Self::Outbox { folder, from } => Arc::new(Outbox::of(Channel::Sms, folder, from.clone())),
            Self::Twilio { base, account, token, from, allow_private, timeout_secs } => Arc::new(Twilio {
                client: Client::new(*allow_private, Duration::from_secs(timeout_secs.get()))?,
                base: base.clone(),
                account: account.clone(),
                token: token.read()?,
                from: from.clone(),
            }),
        })
    }
}

impl HttpConfig {
    fn open(&self) -> Result<Arc<dyn Provider>, ConfigError> {
        Ok(match self {
            Self::Outbox { folder } => Arc::new(Outbox::of(Channel::Http, folder, None)),
            Self::Http { secret, allow_private, timeout_secs, answer_bytes_max } => {
                let mut client = Client::new(*allow_private, Duration::from_secs(timeout_secs.get()))?;
                client.answer_bytes_max = answer_bytes_max.unwrap_or(client.answer_bytes_max);
                Arc::new(Webhook { client, secret: secret.as_ref().map(SecretAt::read).transpose()? })
            }
        })
    }
}

fn login(user: Option<&String>, password: Option<&SecretAt>) -> Result<Option<(String, Secret)>, ConfigError> {
    match (user, password) {
        (Some(user), Some(password)) => Ok(Some((user.clone(), password.read()?))),
        (None, None) => Ok(None),
        _ => Err(ConfigError("a user and a password go together".to_owned())),
    }
}
