//! What all requests share.

use std::sync::Arc;

use kinfolk_core::Store;
use tokio_util::sync::CancellationToken;

use crate::access::{Rate, SessionKey, random};
use crate::config::Config;
use crate::live::Live;
use crate::metrics::Scraped;

/// Requests of one caller in a second, and at once after a pause.
const REQUESTS: (u32, u32) = (500, 1_000);
/// Tokens that are not known, from anyone.
const WRONG_TOKENS: (u32, u32) = (5, 20);

/// The state of the application: the store, how it is configured, and what is kept for a moment.
pub(crate) struct App {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) config: Config,
    pub(crate) live: Live,
    pub(crate) scraped: Scraped,
    /// Over when the server stops: streams end then.
    pub(crate) stop: CancellationToken,
    /// What log-ins are signed with.
    pub(crate) session: SessionKey,
    pub(crate) rate: Rate,
    pub(crate) wrong_tokens: Rate,
}

/// The state as handlers get it.
pub(crate) type Shared = Arc<App>;

impl App {
    pub(crate) fn new(store: Arc<dyn Store>, config: Config) -> Self {
        let session = SessionKey::new(config.session_key.unwrap_or_else(random));
        Self {
            store,
            config,
            live: Live::default(),
            scraped: Scraped::default(),
            stop: CancellationToken::new(),
            session,
            rate: Rate::new(REQUESTS.0, REQUESTS.1),
            wrong_tokens: Rate::new(WRONG_TOKENS.0, WRONG_TOKENS.1),
        }
    }
}
