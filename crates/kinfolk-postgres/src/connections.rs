//! Connections beside the store's own, for a runner of a user's code in the database: they wait as long as that takes,
//! and a statement without a waiting caller is cancelled.

use std::time::Duration;

use deadpool_postgres::{ClientWrapper, Hook, HookError, Object, Pool};
use kinfolk_core::StoreError;
use kinfolk_core::store::Answer;
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Error, Row};

use crate::call;
use crate::cancel::cancel;
use crate::connect::{self, PgOptions, Target};
use crate::error::{pool_error, store_error};

/// The settings of a session that runs a user's code: it does not stay in a transaction in which nothing happens, and looks
/// whether its client is still there while a statement runs.
const SESSION: &str = "set idle_in_transaction_session_timeout = '60s'";
/// Takes away what the code that ran before may have left in the session, so that no task spoils the next one's: settings and
/// roles, temporary tables, cursors, locks.
const RESET: &str = "reset session authorization; reset all; close all; unlisten *; discard temp; \
    select pg_advisory_unlock_all()";
/// Not every platform has this one.
const WATCH_CLIENT: &str = "set client_connection_check_interval = '1s'";

/// A pool of such connections.
#[derive(Clone)]
pub struct Connections {
    pool: Pool,
    target: Target,
    prepared: bool,
    limit: Duration,
}

/// One of them, in use. Dropped before it is given back, it is closed, and what it runs is cancelled.
pub struct PooledConnection {
    client: Option<Object>,
    target: Target,
    prepared: bool,
}

impl Connections {
    /// Connections to a database, as many at most as the options say. Connects when the first one is needed.
    pub fn open(url: &str, options: &PgOptions) -> Answer<Self> {
        let target = connect::target(url, options)?;
        let mut builder = connect::pool_builder(&target, options);
        if options.prepared {
            let limit = options.answer_timeout;
            builder = builder.post_create(Hook::async_fn(move |client, _| Box::pin(told(client, limit))));
            builder = builder.pre_recycle(Hook::async_fn(move |client, _| {
                Box::pin(async move {
                    connect::told(client, RESET, limit).await?;
                    told(client, limit).await
                })
            }));
        }
        Ok(Self { pool: connect::built(builder)?, target, prepared: options.prepared, limit: options.answer_timeout })
    }

    /// Asks for rows once, with a limit for the answer.
    pub async fn ask(&self, sql: &str, params: &[(&(dyn ToSql + Sync), Type)]) -> Answer<Vec<Row>> {
        let line = self.line().await?;
        match tokio::time::timeout(self.limit, line.client().query_typed(sql, params)).await {
            Ok(rows) => {
                line.give_back();
                rows.map_err(|fault| store_error(&fault))
            }
            Err(_) => {
                line.close();
                Err(StoreError::Unavailable { detail: format!("no answer within {:?}", self.limit) })
            }
        }
    }

    /// A connection; waits for one to be free.
    pub async fn line(&self) -> Answer<PooledConnection> {
        let client = self.pool.get().await.map_err(pool_error)?;
        Ok(PooledConnection { client: Some(client), target: self.target.clone(), prepared: self.prepared })
    }
}

/// Tells a session what every such session is told.
async fn told(client: &ClientWrapper, limit: Duration) -> Result<(), HookError> {
    let session = [connect::SESSION, SESSION].join("; ");
    // Sent at once, one behind the other.
    let (told, _) = tokio::join!(connect::told(client, &session, limit), connect::told(client, WATCH_CLIENT, limit));
    told
}

impl PooledConnection {
    /// The connection.
    pub fn client(&self) -> &Object {
        self.client.as_ref().expect("a line has its client until it is given back")
    }

    /// Runs a statement that is run often, and reads its rows.
    pub async fn rows(&self, sql: &str, params: &[(&(dyn ToSql + Sync), Type)]) -> Result<Vec<Row>, Error> {
        if !self.prepared {
            return call::alone(self.client(), self.client().query_typed(sql, params), |fault| fault).await;
        }
        let types: Vec<Type> = params.iter().map(|(_, kind)| kind.clone()).collect();
        let values: Vec<&(dyn ToSql + Sync)> = params.iter().map(|(value, _)| *value).collect();
        let statement = self.client().prepare_typed_cached(sql, &types).await?;
        self.client().query(&statement, &values).await
    }

    /// Asks the server to cancel the statement that runs on it, and waits until the server has heard. A statement that begins
    /// later may be hit instead, so the line is to be closed afterwards, not given back.
    pub async fn cancel(&self) {
        cancel(self.client().cancel_token(), self.target.clone()).await;
    }

    /// Nothing goes on: the next one may have it.
    pub fn give_back(mut self) {
        self.client = None;
    }

    /// Closes it, since the state of its session is not known. Nothing runs on it.
    pub fn close(mut self) {
        if let Some(client) = self.client.take() {
            drop(Object::take(client));
        }
    }
}

impl Drop for PooledConnection {
    fn drop(&mut self) {
        let Some(client) = self.client.take() else { return };
        let token = client.cancel_token();
        drop(Object::take(client));
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(cancel(token, self.target.clone()));
        }
    }
}

impl std::fmt::Debug for Connections {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Connections").field("to", &self.target.shown).finish_non_exhaustive()
    }
}

impl std::fmt::Debug for PooledConnection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PooledConnection").field("to", &self.target.shown).finish_non_exhaustive()
    }
}
