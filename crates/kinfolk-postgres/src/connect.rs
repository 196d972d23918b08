//! From a URL to a pool of connections: options, TLS, and what every connection is told first.

use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use deadpool_postgres::{
    ClientWrapper, Hook, HookError, Manager, ManagerConfig, Pool, PoolBuilder, QueueMode, RecyclingMethod, Runtime,
};
use kinfolk_core::{InputError, StoreError};
use tokio_postgres::config::SslMode;
use tokio_postgres::{Client, Config, Error};
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::address;
use crate::dial::{self, Connection, Dial};
use crate::numbers::Made;
use crate::tls::{self, Trust};

/// How a [`crate::PgStore`] uses its database.
#[derive(Clone, Debug)]
pub struct PgOptions {
    /// Connections at most, not counting the one that listens for wake-ups. Default 8.
    pub pool_size: usize,
    /// Listen for wake-ups. Off behind a transaction pooler, where nothing can be listened to: workers poll. Default on.
    pub notify: bool,
    /// Use prepared statements. Off behind a transaction pooler that does not keep them. Default on.
    pub prepared: bool,
    /// How long it may take to make a connection to one address of the server: TCP, TLS, and the start of the session.
    /// `connect_timeout` in the address goes before it. Default 10 s.
    pub connect_timeout: Duration,
    /// How long a call may stay without an answer before its connection is given up as broken, so that a network that
    /// drops every packet holds no caller for good. The server may have carried out the call: as after any break. Default 30 s.
    pub answer_timeout: Duration,
    /// The name of the connections in `pg_stat_activity`. Default `kinfolk`.
    pub application_name: String,
}

impl Default for PgOptions {
    fn default() -> Self {
        Self {
            pool_size: 8,
            notify: true,
            prepared: true,
            connect_timeout: Duration::from_secs(10),
            answer_timeout: Duration::from_secs(30),
            application_name: "kinfolk".to_owned(),
        }
    }
}

/// Where and how to connect.
#[derive(Clone)]
pub(crate) struct Target {
    pub(crate) config: Config,
    pub(crate) tls: MakeRustlsConnect,
    /// The database as people know it, without the password.
    pub(crate) shown: String,
}

impl Target {
    /// Makes one connection that belongs to no pool.
    pub(crate) async fn dial(&self) -> Result<(Client, Connection), Error> {
        dial::dial(&self.config, &self.tls).await
    }
}

/// Where servers on this machine are found when the address names no host.
const SOCKETS: &str = "/var/run/postgresql";

/// A connection that was not used for this long is tried before it is used again.
const TRIED_AFTER: Duration = Duration::from_secs(1);
/// How long it may take to answer to that.
const TRIED_FOR: Duration = Duration::from_secs(3);
const WAIT_TIMEOUT: Duration = Duration::from_secs(30);

/// The settings of every connection. The engine's functions refuse any other isolation level.
pub(crate) const SESSION: &str = "set default_transaction_isolation = 'read committed'";

pub(crate) fn target(url: &str, options: &PgOptions) -> Result<Target, StoreError> {
    let (url, trust, ssl_mode) = take_ssl(url);
    // The driver's own words name what it could not read, and that may be a part of a password.
    let bad = |_| StoreError::Input(InputError::Other(address::HOW.to_owned()));
    let mut config = Config::from_str(&url).map_err(bad)?;
    if let Some(mode) = ssl_mode {
        config.ssl_mode(mode);
    }
    if config.get_hosts().is_empty() && config.get_hostaddrs().is_empty() {
        // As psql does.
        match std::path::Path::new(SOCKETS) {
            folder if folder.is_dir() => config.host_path(folder),
            _ => config.host("localhost"),
        };
    }
    if config.get_application_name().is_none() {
        config.application_name(&options.application_name);
    }
    if config.get_connect_timeout().is_none() {
        config.connect_timeout(options.connect_timeout);
    }
    config.keepalives_idle(Duration::from_secs(30));
    if config.get_tcp_user_timeout().is_none() {
        config.tcp_user_timeout(options.answer_timeout);
    }
    let shown = format!("database {}", config.get_dbname().or(config.get_user()).unwrap_or("postgres"));
    Ok(Target { config, tls: tls::connector(&trust)?, shown })
}

/// A pool, with a count of the connections it has made.
pub(crate) fn pool(target: &Target, options: &PgOptions) -> Result<(Pool, Made), StoreError> {
    let made = Made::default();
    let count = Arc::clone(&made);
    let builder = pool_builder(target, options).post_create(Hook::sync_fn(move |_, _| {
        count.fetch_add(1, Ordering::SeqCst);
        Ok(())
    }));
    Ok((built(builder)?, made))
}

pub(crate) fn built(builder: PoolBuilder) -> Result<Pool, StoreError> {
    builder.build().map_err(|fault| StoreError::Unavailable { detail: fault.to_string() })
}

/// A pool that may be told more.
pub(crate) fn pool_builder(target: &Target, options: &PgOptions) -> PoolBuilder {
    let manager = Manager::from_connect(
        target.config.clone(),
        Dial(target.tls.clone()),
        ManagerConfig { recycling_method: RecyclingMethod::Fast },
    );
    let limit = options.answer_timeout;
    let builder = Pool::builder(manager)
        .max_size(options.pool_size.max(1))
        // The one used last, whose session has its plans made and its memory warm.
        .queue_mode(QueueMode::Lifo)
        .runtime(Runtime::Tokio1)
        .wait_timeout(Some(WAIT_TIMEOUT))
        .pre_recycle(Hook::async_fn(move |client, metrics| {
            Box::pin(async move {
                if metrics.last_used() < TRIED_AFTER {
                    return Ok(());
                }
                told(client, "", TRIED_FOR.min(limit)).await
            })
        }));
    if !options.prepared {
        // Without a session of our own there is nothing to set: the pooler's sessions belong to everybody.
        return builder;
    }
    builder.post_create(Hook::async_fn(move |client, _| Box::pin(told(client, SESSION, limit))))
}

/// Says something to a session that the pool is about to hand out. The pool itself has no limit for this.
pub(crate) async fn told(client: &ClientWrapper, sql: &str, limit: Duration) -> Result<(), HookError> {
    match tokio::time::timeout(limit, client.batch_execute(sql)).await {
        Ok(answer) => answer.map_err(HookError::Backend),
        Err(_) => Err(HookError::message(format!("no answer within {limit:?}"))),
    }
}

/// Takes what this crate understands and the driver does not out of the address: `sslrootcert`, and the modes of
/// `sslmode` that ask for a proof.
fn take_ssl(url: &str) -> (String, Trust, Option<SslMode>) {
    let mut trust = Trust::default();
    let mut mode = None;
    let mut keep = |key: &str, value: String| {
        match (key.trim(), value.trim()) {
            ("sslrootcert", "system") => trust.verify = true,
            ("sslrootcert", path) => trust.root_cert = Some(path.to_owned()),
            ("sslmode", "verify-ca" | "verify-full") => {
                trust.verify = true;
                mode = Some(SslMode::Require);
            }
            ("sslmode", "allow") => mode = Some(SslMode::Prefer),
            _ => return true,
        }
        false
    };
    let url = if let Some((front, query)) = url.split_once('?').filter(|(front, _)| front.contains("://")) {
        let mut kept = |part: &&str| part.split_once('=').is_none_or(|(key, value)| keep(key, percent_decoded(value)));
        let rest: Vec<&str> = query.split('&').filter(|part| kept(part)).collect();
        if rest.is_empty() { front.to_owned() } else { format!("{front}?{}", rest.join("&")) }
    } else if let Some(words) = address::words(url).filter(|_| !url.contains("://")) {
        let rest = words.iter().filter(|word| keep(word.key, address::unquoted(word.value)));
        rest.map(|word| format!("{}={}", word.key, word.value)).collect::<Vec<_>>().join(" ")
    } else {
        // The driver says what is wrong with it.
        url.to_owned()
    };
    (url, trust, mode)
}

fn percent_decoded(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let decoded = (bytes[at] == b'%')
            .then(|| text.get(at + 1..at + 3).and_then(|hex| u8::from_str_radix(hex, 16).ok()))
            .flatten();
        out.push(decoded.unwrap_or(bytes[at]));
        at += if decoded.is_some() { 3 } else { 1 };
    }
    String::from_utf8_lossy(&out).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modes_that_ask_for_a_proof_verify_the_server() {
        let (url, trust, mode) = take_ssl("postgres://h/db?sslmode=verify-full&sslrootcert=%2Fetc%2Fca.pem&user=me");
        assert_eq!(url, "postgres://h/db?user=me");
        assert!(trust.verify);
        assert_eq!(trust.root_cert.as_deref(), Some("/etc/ca.pem"));
        assert_eq!(mode, Some(SslMode::Require));
    }

    #[test]
    fn words_work_like_urls_and_the_rest_is_left_to_the_driver() {
        let (words, trust, _) = take_ssl("host=a,b sslrootcert=system target_session_attrs=read-write");
        assert_eq!(words, "host=a,b target_session_attrs=read-write");
        assert!(trust.verify && trust.root_cert.is_none());
    }

    #[test]
    fn words_with_blanks_in_them_stay_as_they_are() {
        let (words, trust, _) = take_ssl("password='two  blanks' sslrootcert='/a b/ca.pem' dbname=x");
        assert_eq!(words, "password='two  blanks' dbname=x");
        assert_eq!(trust.root_cert.as_deref(), Some("/a b/ca.pem"));
    }

    #[test]
    fn an_address_without_a_host_is_a_server_on_this_machine() {
        for address in ["dbname=x user=me port=7", "postgres:///x"] {
            assert_eq!(target(address, &PgOptions::default()).unwrap().config.get_hosts().len(), 1, "{address}");
        }
    }

    #[test]
    fn an_address_that_makes_no_sense_is_refused() {
        assert!(matches!(target("postgres://h:notaport/", &PgOptions::default()), Err(StoreError::Input(_))));
    }
}
