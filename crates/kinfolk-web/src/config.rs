//! How the application is configured.

use std::io;
use std::path::Path;

use kinfolk_core::{InputError, StoreError, TaskId};

use crate::access::{Hash, Hosts, Role, THIS_MACHINE, Token, Tokens, from_hex};
use crate::metrics::Measures;
use crate::own::OwnPages;
use crate::replay::{Replayed, Replayer};
use crate::view::Redact;

/// How the application is configured.
#[derive(Clone, Debug)]
pub struct Config {
    pub(crate) tokens: Tokens,
    /// The role of a caller who shows no token.
    pub(crate) without_token: Option<Role>,
    /// Whether nothing may be changed, whatever the caller's role.
    pub(crate) read_only: bool,
    pub(crate) hosts: Hosts,
    pub(crate) redact: Redact,
    pub(crate) session_key: Option<Hash>,
    pub(crate) measures: Option<Measures>,
    /// How histories are replayed, if this program has handlers.
    pub(crate) replayer: Option<Replayer>,
    /// Pages of the application's own.
    pub(crate) own_pages: OwnPages,
}

impl Config {
    /// For an application that lets only those in who may do everything: it checks its users itself, and the names it is called
    /// by.
    pub fn behind_your_own_login() -> Self {
        Self {
            tokens: Tokens::default(),
            without_token: Some(Role::Admin),
            read_only: false,
            hosts: Hosts::Any,
            redact: Redact::default(),
            session_key: None,
            measures: None,
            replayer: None,
            own_pages: OwnPages::default(),
        }
    }

    /// For a server that only this machine can reach: everyone may do everything, by the names that a machine has for itself.
    pub fn for_this_machine() -> Self {
        let hosts = Hosts::Only(THIS_MACHINE.map(str::to_owned).to_vec());
        Self { hosts, ..Self::behind_your_own_login() }
    }

    /// For a server that others can reach: everyone needs one of these tokens.
    pub fn with_tokens(tokens: impl IntoIterator<Item = Token>) -> Self {
        let mut config = Self { without_token: None, ..Self::behind_your_own_login() };
        tokens.into_iter().for_each(|token| config.tokens.add(token));
        config
    }

    /// Whether nothing may be changed, whatever the caller's role.
    #[must_use]
    pub fn read_only(mut self, read_only: bool) -> Self {
        self.read_only = read_only;
        self
    }

    /// The host names that requests may be sent to, besides those of this machine.
    #[must_use]
    pub fn hosts(mut self, names: impl IntoIterator<Item = String>) -> Self {
        let own = THIS_MACHINE.map(str::to_owned);
        self.hosts = Hosts::Only(names.into_iter().chain(own).collect());
        self
    }

    /// Never shows what stands at these paths of payloads and results: `card.number`, `items.*.price`, `**.password`.
    #[must_use]
    pub fn redact(mut self, paths: impl IntoIterator<Item = String>) -> Self {
        paths.into_iter().for_each(|path| self.redact.add(&path));
        self
    }

    /// Signs log-ins with this key (64 hexadecimal digits), so that they outlive the process and count on other servers that
    /// have it too. Without it each start has a key of its own.
    pub fn session_key(mut self, key: &str) -> Result<Self, InputError> {
        let key =
            from_hex(key).ok_or_else(|| InputError::Other("the session_key has 64 hexadecimal digits".to_owned()))?;
        self.session_key = Some(key);
        Ok(self)
    }

    /// Shows at `/metrics` what this process measures.
    #[must_use]
    pub fn measures(mut self, measures: Option<Measures>) -> Self {
        self.measures = measures;
        self
    }

    /// Replays recorded histories by the handlers of this program: `WorkerBuilder::replay` of the crate `kinfolk`, say.
    #[must_use]
    pub fn replays<F>(mut self, replay: impl Fn(TaskId) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Result<Replayed, StoreError>> + Send + 'static,
    {
        self.replayer = Some(Replayer::new(replay));
        self
    }

    /// Serves the files of this folder under `/app/`, to those who may look: pages of your own, which may ask the API. The folder is
    /// read now; it must have an `index.html`.
    pub fn pages_from(mut self, folder: &Path) -> io::Result<Self> {
        self.own_pages = OwnPages::read(folder)?;
        Ok(self)
    }

    /// Whether callers need no token.
    pub(crate) fn is_open(&self) -> bool {
        self.without_token.is_some() || self.tokens.is_empty()
    }
}
