//! `kinfolk token new`: a token for the HTTP API, and the lines for the configuration file that let it in.

use kinfolk_core::QueueName;
use kinfolk_web::{Role, Token};
use serde_json::json;

use crate::fault::Fault;
use crate::session::{Session, login_name};

/// `kinfolk token`
#[derive(clap::Subcommand, Debug)]
pub(crate) enum Verb {
    /// Make a token: it is shown once, the configuration file holds only its SHA-256
    New(New),
}

/// `kinfolk token new`
#[derive(clap::Args, Debug)]
pub(crate) struct New {
    /// Its rights: viewer, operator or admin
    #[arg(long, value_name = "ROLE", value_parser = role)]
    role: Role,

    /// Only for this queue; may be given several times
    #[arg(long, value_name = "NAME")]
    queue: Vec<QueueName>,

    /// The name of the token in the audit log
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
}

fn role(word: &str) -> Result<Role, String> {
    let found = Role::ALL.into_iter().find(|role| role.as_str() == word);
    found.ok_or_else(|| format!("unknown role {word:?}; there are viewer, operator and admin"))
}

/// Runs it.
pub(crate) fn run(verb: Verb, session: &Session) -> Result<(), Fault> {
    let Verb::New(New { role, queue, name }) = verb;
    let name = name.or_else(login_name).unwrap_or_else(|| role.as_str().to_owned());
    let (token, sha256) = Token::secret();
    let mut lines = format!("[[web.tokens]]\nname = {}\nrole = \"{}\"\n", json!(name), role.as_str());
    if !queue.is_empty() {
        lines.push_str(&format!("queues = {}\n", json!(queue)));
    }
    lines.push_str(&format!("sha256 = \"{sha256}\""));
    let words = format!("{token}\n\n{lines}");
    session
        .out
        .hint("keep the first line: it is shown this once; the rest goes into the file of `kinfolk serve --config`");
    let queues = (!queue.is_empty()).then_some(&queue);
    session.out.say(&json!({"token": token, "name": name, "role": role, "queues": queues, "sha256": sha256}), words)
}
