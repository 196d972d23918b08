//! Modules: business processes that live in a schema of their own, made from one pattern. `comms` sends emails and text messages; the
//! same pattern, filled in with other names, is where a new process begins.
//!
//! A module is installed in one transaction, by a role that may create roles and register handlers, and knows its version.

use kinfolk_core::{InputError, StoreError};
use kinfolk_postgres::{Connections, store_error};

const BEGIN: &str = include_str!("../modules/begin.sql");
const PROCESS: &str = include_str!("../modules/process.sql");
const PAYLOAD: &str = include_str!("../modules/payload.sql");
const END: &str = include_str!("../modules/end.sql");

/// A module that this program brings along.
#[derive(Clone, Copy, Debug)]
pub struct Module {
    /// Its name, which is that of its schema.
    pub name: &'static str,
    /// Its purpose.
    pub about: &'static str,
    /// The version that would be installed.
    pub version: i32,
}

/// All of them.
pub const MODULES: [Module; 1] =
    [Module { name: "comms", about: "emails and text messages, sent by supervisors from facts", version: 1 }];

/// One process in the pattern.
struct Process<'a> {
    schema: &'a str,
    name: &'a str,
    /// What its handlers are named by, and the command that carries it out.
    short: &'a str,
    command: &'a str,
    /// What it is about: a column and its type, and what that refers to.
    datum: [&'a str; 3],
    /// The function that makes the payload for the provider.
    payload: &'a str,
}

impl Process<'_> {
    fn sql(&self) -> String {
        let [datum, datum_type, refers] = self.datum;
        fill(
            &PROCESS.replace("{payload}", self.payload),
            &[
                ("schema", self.schema),
                ("process", self.name),
                ("root", &format!("{}_task", self.name)),
                ("short", self.short),
                ("command", self.command),
                ("datum_type", datum_type),
                ("datum_refers", refers),
                ("datum", datum),
            ],
        )
    }
}

impl Module {
    /// The module of this name.
    pub fn named(name: &str) -> Result<Self, StoreError> {
        let known = || MODULES.map(|module| module.name).join(", ");
        let found = MODULES.into_iter().find(|module| module.name == name);
        found.ok_or_else(|| StoreError::not_found("module", format!("{name}; there are: {}", known())))
    }

    /// The version that a database has; `None` where it is not installed.
    pub async fn installed(&self, connections: &Connections) -> Result<Option<i32>, StoreError> {
        // The name is one of ours.
        let there = format!("select to_regclass('{}.module_version') is not null", self.name);
        if !connections.ask(&there, &[]).await?.first().is_some_and(|row| row.get(0)) {
            return Ok(None);
        }
        let rows = connections.ask(&format!("select max(version) from {}.module_version", self.name), &[]).await?;
        Ok(rows.first().and_then(|row| row.get(0)))
    }

    /// Installs it, unless it is there. Says whether it did.
    pub async fn install(&self, connections: &Connections) -> Result<bool, StoreError> {
        if self.installed(connections).await?.is_some() {
            return Ok(false);
        }
        let line = connections.line().await?;
        let sql = format!("begin;\n{}\ncommit;", self.sql());
        match line.client().batch_execute(&sql).await {
            Ok(()) => {
                line.give_back();
                Ok(true)
            }
            Err(fault) => {
                // With its transaction.
                line.close();
                Err(store_error(&fault))
            }
        }
    }

    /// The SQL that installs it.
    pub fn sql(&self) -> String {
        let message = ["message_id", "bigint", " references comms.message"];
        let email = Process {
            schema: "comms",
            name: "send_email",
            short: "email",
            command: "email",
            datum: message,
            payload: include_str!("../modules/comms/email_payload.sql"),
        };
        let sms = Process {
            name: "send_sms",
            short: "sms",
            command: "sms",
            payload: include_str!("../modules/comms/sms_payload.sql"),
            ..email
        };
        let messages = include_str!("../modules/comms/messages.sql");
        whole("comms", &[messages, &email.sql(), &sms.sql()], "'email', 'sms'", "'send_email', 'send_sms'")
    }
}

/// A new process of this name, in a schema of this name, to be changed by hand: a script for psql.
pub fn new_module(name: &str) -> Result<String, InputError> {
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    let fits = (1..=30).contains(&name.len())
        && name.starts_with(|c: char| c.is_ascii_lowercase())
        && name.chars().all(is_plain);
    // Roles whose names begin with `pg_` are PostgreSQL's own, and the owner of a module `pg` would be one.
    if !fits || ["kinfolk", "public", "comms", "pg"].contains(&name) || name.starts_with("pg_") {
        let why = "a module is named by 1 to 30 small letters, digits and _, of which the first is a letter; \
            public, kinfolk, comms, pg, and names that begin with pg_ are taken";
        return Err(InputError::Name { kind: "module", name: name.to_owned(), why });
    }
    let payload = PAYLOAD;
    let datum = ["subject", "jsonb", ""];
    let process = Process { schema: name, name, short: name, command: "http", datum, payload };
    Ok(format!("begin;\n{}\ncommit;\n", whole(name, &[&process.sql()], "'http'", &format!("'{name}'"))))
}

fn whole(schema: &str, parts: &[&str], commands: &str, processes: &str) -> String {
    let values = [("schema", schema), ("commands", commands), ("processes", processes)];
    format!("{}\n{}\n{}", fill(BEGIN, &values), parts.join("\n"), fill(END, &values))
}

/// Puts values in the place of their names in braces. Both are ours.
fn fill(pattern: &str, values: &[(&str, &str)]) -> String {
    values.iter().fold(pattern.to_owned(), |text, (name, value)| text.replace(&format!("{{{name}}}"), value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_left_to_fill_in() {
        for sql in [MODULES[0].sql(), new_module("refund").unwrap()] {
            for name in ["schema", "process", "root", "short", "command", "commands", "processes", "datum", "payload"] {
                assert!(!sql.contains(&format!("{{{name}}}")), "{name}");
            }
        }
    }

    #[test]
    fn only_plain_names_are_taken() {
        for name in ["", "A", "a b", "a;drop", "1a", "kinfolk", "comms", "pg", "pg_x", "ä", &"a".repeat(31)] {
            assert!(new_module(name).is_err(), "{name}");
        }
    }
}
