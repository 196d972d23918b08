//! The server's part of the configuration file: the rights of callers, the names under which it is called, the values that it never shows.
//!
//! ```toml
//! [web]
//! hosts = ["tasks.example.org"]     # names it is called by, besides localhost
//! redact = ["card.number", "**.password"]
//! session_key = "…"                 # signs log-ins; without it they end with the process
//!
//! [[web.tokens]]                    # made by `kinfolk token new`
//! name = "ci"
//! role = "operator"                 # viewer, operator or admin
//! queues = ["mail"]                 # only these; all if it is left out
//! sha256 = "…"
//! ```

use kinfolk_core::{InputError, QueueName};
use kinfolk_web::{Config, Role, Token};
use serde::Deserialize;

/// The table `web`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct WebConfig {
    /// The names of the server, besides those of this machine.
    #[serde(default)]
    hosts: Vec<String>,
    /// Paths of payloads and results that are never shown: `card.number`, `**.password`.
    #[serde(default)]
    redact: Vec<String>,
    /// Signs log-ins, 64 hexadecimal digits. Without it they end with the process.
    session_key: Option<String>,
    /// The tokens of callers. Without any, only this machine can reach the server.
    #[serde(default)]
    tokens: Vec<TokenConfig>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct TokenConfig {
    /// The name in the audit log.
    name: String,
    /// The role of its owner.
    role: Role,
    /// The only queues that it may see; all by default.
    queues: Option<Vec<QueueName>>,
    /// The hash of the token, 64 hexadecimal digits, as `kinfolk token new` prints it.
    sha256: String,
}

impl WebConfig {
    /// The configuration of the server.
    pub(crate) fn server(&self) -> Result<Config, InputError> {
        let tokens = self.tokens.iter().map(TokenConfig::token).collect::<Result<Vec<_>, _>>()?;
        let config = if tokens.is_empty() { Config::for_this_machine() } else { Config::with_tokens(tokens) };
        let config = if self.hosts.is_empty() { config } else { config.hosts(self.hosts.iter().cloned()) };
        let config = config.redact(self.redact.iter().cloned());
        match &self.session_key {
            Some(key) => config.session_key(key),
            None => Ok(config),
        }
    }
}

impl TokenConfig {
    fn token(&self) -> Result<Token, InputError> {
        let token = Token::new(&self.name, self.role, &self.sha256)?;
        Ok(match &self.queues {
            Some(queues) => token.only(queues.iter().cloned()),
            None => token,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_without_a_hash_and_a_role_that_is_none_are_refused() {
        let hash = "ab".repeat(32);
        let read = |text: &str| {
            toml::from_str::<WebConfig>(text)
                .map_err(|fault| fault.to_string())?
                .server()
                .map_err(|fault| fault.to_string())
        };
        let token =
            |role: &str, hash: &str| format!("[[tokens]]\nname = \"ci\"\nrole = \"{role}\"\nsha256 = \"{hash}\"");
        assert!(read(&token("operator", &hash)).is_ok());
        assert!(read(&token("root", &hash)).is_err());
        assert!(read(&token("viewer", "ab")).unwrap_err().contains("64 hexadecimal"));
        assert!(read("session_key = \"short\"").is_err());
        assert!(read("host = [\"a\"]").is_err());
    }
}
