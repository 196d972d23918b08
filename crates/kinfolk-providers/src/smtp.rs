//! Email by SMTP. It takes no idempotency key: a message that is sent again has the same Message-ID, by which a mail program may see it.

use std::time::Duration;

use async_trait::async_trait;
use lettre::message::{Mailbox, MultiPart, SinglePart};
use lettre::transport::smtp::authentication::Credentials;
use lettre::transport::smtp::client::{Tls, TlsParameters};
use lettre::{AsyncSmtpTransport, AsyncTransport as _, Message, Tokio1Executor};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::Provider;
use crate::config::ConfigError;
use crate::fault::SendError;
use crate::message::Email;
use crate::secret::Secret;

#[derive(Debug)]
pub(crate) struct Smtp {
    transport: AsyncSmtpTransport<Tokio1Executor>,
    from: Option<String>,
    domain: String,
    timeout: Duration,
}

/// How the connection is made safe.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Safety {
    /// By STARTTLS, or not at all.
    #[default]
    Starttls,
    /// From the first byte on.
    Implicit,
    /// Not: for a server on this machine.
    None,
}

/// Where the server is.
pub(crate) struct Server<'a> {
    pub(crate) host: &'a str,
    pub(crate) port: Option<u16>,
    pub(crate) tls: Safety,
    pub(crate) login: Option<(String, Secret)>,
    pub(crate) timeout: Duration,
}

impl Smtp {
    pub(crate) fn new(server: Server<'_>, from: Option<String>) -> Result<Self, ConfigError> {
        let wrong = |fault: lettre::transport::smtp::Error| ConfigError(format!("SMTP to {}: {fault}", server.host));
        if server.tls == Safety::None && server.login.is_some() {
            return Err(ConfigError(format!("SMTP to {}: a password is not sent without TLS", server.host)));
        }
        let parameters = || TlsParameters::new(server.host.to_owned()).map_err(wrong);
        let (tls, port) = match server.tls {
            Safety::Starttls => (Tls::Required(parameters()?), 587),
            Safety::Implicit => (Tls::Wrapper(parameters()?), 465),
            Safety::None => (Tls::None, 25),
        };
        let mut transport = AsyncSmtpTransport::<Tokio1Executor>::builder_dangerous(server.host)
            .port(server.port.unwrap_or(port))
            .timeout(Some(server.timeout))
            .tls(tls);
        if let Some((user, password)) = server.login {
            transport = transport.credentials(Credentials::new(user, password.expose().to_owned()));
        }
        Ok(Self { transport: transport.build(), from, domain: server.host.to_owned(), timeout: server.timeout })
    }
}

#[async_trait]
impl Provider for Smtp {
    async fn send(&self, message: &Value, key: &str) -> Result<Value, SendError> {
        let (email, from) = Email::read(message, self.from.as_deref())?;
        let id = format!("<{key}@{}>", self.domain);
        let letter = letter(&email, &from, &id)?;
        // The transport's own timeout is for the connection alone: a server that falls silent later would be waited for without end.
        let sent = tokio::time::timeout(self.timeout, self.transport.send(letter)).await;
        let late = |_| SendError::passing(format!("the mail server did not answer within {:?}", self.timeout));
        match sent.map_err(late)? {
            Ok(answer) => Ok(json!({"provider": "smtp", "id": id, "code": answer.code().to_string()})),
            Err(fault) if fault.is_permanent() => {
                Err(SendError::for_good(format!("the mail server refused it: {fault}")))
            }
            Err(fault) => Err(SendError::passing(format!("the mail server: {fault}"))),
        }
    }
}

fn letter(email: &Email, from: &str, id: &str) -> Result<Message, SendError> {
    let mailbox = |text: &str| {
        text.parse::<Mailbox>()
            .map_err(|fault| SendError::for_good(format!("{text:?} is no address for email: {fault}")))
    };
    let mut letter = Message::builder().from(mailbox(from)?).subject(&email.subject).message_id(Some(id.to_owned()));
    for to in email.to.all() {
        letter = letter.to(mailbox(to)?);
    }
    if let Some(reply_to) = &email.reply_to {
        letter = letter.reply_to(mailbox(reply_to)?);
    }
    let made = match (&email.text, &email.html) {
        (Some(text), Some(html)) => letter.multipart(MultiPart::alternative_plain_html(text.clone(), html.clone())),
        (_, Some(html)) => letter.singlepart(SinglePart::html(html.clone())),
        (text, None) => letter.singlepart(SinglePart::plain(text.clone().unwrap_or_default())),
    };
    made.map_err(|fault| SendError::for_good(format!("this is no email that can be sent: {fault}")))
}
