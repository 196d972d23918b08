//! The store itself: a pool, a check that the schema fits, and the way every verb is called.

use std::sync::atomic::{AtomicBool, Ordering};

use deadpool_postgres::{Object, Pool};
use kinfolk_core::store::Answer;
use kinfolk_core::{Store, StoreError};
use tokio_postgres::{Client, IsolationLevel, Row, SimpleQueryMessage, Transaction};

use crate::call::{self, Param};
use crate::connect::{self, PgOptions, Target};
use crate::error::{pool_error, store_error};
use crate::low_water::LowWater;
use crate::migrate::{History, refuse_foreign};
use crate::numbers::Numbers;
use crate::settle::OpenClaims;

/// A PostgreSQL database as a store.
pub struct PgStore {
    pub(crate) pool: Pool,
    pub(crate) target: Target,
    pub(crate) options: PgOptions,
    pub(crate) low_water: LowWater,
    pub(crate) open_claims: OpenClaims,
    pub(crate) numbers: Numbers,
    /// How the schema is built, and from which version on.
    pub(crate) history: History,
    /// The schema was seen to be the one this program knows.
    pub(crate) fits: AtomicBool,
}

impl Store for PgStore {
    fn kind(&self) -> &'static str {
        "postgres"
    }
}

impl PgStore {
    /// Connects to a database: a URL or `key=value` words, with several hosts and `target_session_attrs` if need be.
    ///
    /// A database that can't be reached is an error here. One whose schema is missing, too old or too new is not: then
    /// every verb but `migrate` and `pending_migrations` says so.
    pub async fn connect(url: &str, options: PgOptions) -> Answer<Self> {
        let target = connect::target(url, &options)?;
        let (pool, made) = connect::pool(&target, &options)?;
        let store = Self {
            pool,
            target,
            options,
            low_water: LowWater::default(),
            open_claims: OpenClaims::default(),
            numbers: Numbers::new(made),
            history: History::shipped(),
            fits: AtomicBool::new(false),
        };
        match store.client().await {
            Ok(_)
            | Err(
                StoreError::SchemaMissing { .. }
                | StoreError::SchemaTooOld { .. }
                | StoreError::SchemaTooNew { .. }
                | StoreError::Foreign { .. },
            ) => Ok(store),
            Err(fault) => Err(fault),
        }
    }

    /// A connection, for a database whose schema fits.
    pub(crate) async fn client(&self) -> Answer<Object> {
        let client = self.raw_client().await?;
        if !self.fits.load(Ordering::Relaxed) {
            let (client, version) = self.version(client).await?;
            let known = self.history.version();
            match version {
                0 => {
                    // A migration would refuse it as well.
                    self.must_be_ours(client).await?;
                    return Err(StoreError::SchemaMissing { database: self.target.shown.clone() });
                }
                found if found > known => return Err(StoreError::SchemaTooNew { found, known }),
                found if found < known => return Err(StoreError::SchemaTooOld { found, needed: known }),
                _ => self.fits.store(true, Ordering::Relaxed),
            }
            return Ok(client);
        }
        Ok(client)
    }

    /// A connection, whatever the schema.
    pub(crate) async fn raw_client(&self) -> Answer<Object> {
        self.pool.get().await.map_err(pool_error)
    }

    /// The version of the schema; 0 when there is none. Gives the connection back.
    pub(crate) async fn version(&self, client: Object) -> Answer<(Object, i32)> {
        let answer = client.simple_query("select kinfolk.schema_version()");
        let Ok(answer) = tokio::time::timeout(self.options.answer_timeout, answer).await else {
            return Err(self.given_up(client));
        };
        let number = |message: &SimpleQueryMessage| match message {
            SimpleQueryMessage::Row(row) => row.get(0)?.parse().ok(),
            _ => None,
        };
        match answer {
            Ok(messages) => Ok((client, messages.iter().find_map(number).unwrap_or(0))),
            Err(fault) => match store_error(&fault) {
                // A schema of another owner may be closed to us.
                StoreError::SchemaMissing { .. } => Ok((client, 0)),
                fault @ StoreError::Forbidden { .. } => {
                    self.must_be_ours(client).await?;
                    Err(fault)
                }
                other => Err(other),
            },
        }
    }

    /// Refuses a schema of our name that is not ours.
    async fn must_be_ours(&self, client: Object) -> Answer<()> {
        match tokio::time::timeout(self.options.answer_timeout, refuse_foreign::<Client>(&client)).await {
            Ok(answer) => answer,
            Err(_) => Err(self.given_up(client)),
        }
    }

    /// Calls a function and reads its rows.
    pub(crate) async fn rows(&self, sql: &'static str, params: &[Param<'_>]) -> Answer<Vec<Row>> {
        Ok(self.rows_over(self.client().await?, sql, params).await?.1)
    }

    /// As [`PgStore::rows`], for an answer of many rows: each is read as it comes.
    pub(crate) async fn each_row(
        &self,
        sql: &'static str,
        params: &[Param<'_>],
        read: impl FnMut(&Row) -> Answer<()>,
    ) -> Answer<()> {
        let client = self.client().await?;
        let answer = call::each_row(&client, self.options.prepared, sql, params, read);
        match tokio::time::timeout(self.options.answer_timeout, answer).await {
            Ok(answer) => self.named(answer),
            Err(_) => Err(self.given_up(client)),
        }
    }

    /// As [`PgStore::rows`], over a connection that the caller has in hand, and gets back.
    pub(crate) async fn rows_over(
        &self,
        client: Object,
        sql: &'static str,
        params: &[Param<'_>],
    ) -> Answer<(Object, Vec<Row>)> {
        let answer =
            tokio::time::timeout(self.options.answer_timeout, call::rows(&client, self.options.prepared, sql, params));
        match answer.await {
            Ok(answer) => Ok((client, self.named(answer)?)),
            Err(_) => Err(self.given_up(client)),
        }
    }

    /// Gives up a connection on which no answer came; the pool makes another one.
    pub(crate) fn given_up(&self, client: Object) -> StoreError {
        drop(Object::take(client));
        StoreError::Unavailable { detail: format!("no answer within {:?}", self.options.answer_timeout) }
    }

    /// As [`PgStore::rows`], for a function that answers exactly one row.
    pub(crate) async fn row(&self, sql: &'static str, params: &[Param<'_>]) -> Answer<Row> {
        one(sql, self.rows(sql, params).await?)
    }

    /// As [`PgStore::rows`], for a function that only looks: it is called once more when the connection broke.
    pub(crate) async fn look(&self, sql: &'static str, params: &[Param<'_>]) -> Answer<Vec<Row>> {
        match self.rows(sql, params).await {
            Err(StoreError::Unavailable { .. }) => self.rows(sql, params).await,
            answer => answer,
        }
    }

    /// Puts the database's name into an error that lacks it.
    fn named<T>(&self, answer: Answer<T>) -> Answer<T> {
        answer.map_err(|fault| match fault {
            StoreError::SchemaMissing { .. } => {
                self.fits.store(false, Ordering::Relaxed);
                StoreError::SchemaMissing { database: self.target.shown.clone() }
            }
            other => other,
        })
    }
}

/// A transaction for several statements. It says its isolation level itself: behind a pooler the session was told nothing.
pub(crate) async fn begin(client: &mut Object) -> Answer<Transaction<'_>> {
    let begun = (***client).build_transaction().isolation_level(IsolationLevel::ReadCommitted).start().await;
    begun.map_err(|fault| store_error(&fault))
}

/// The row of a function that answers exactly one.
pub(crate) fn one(sql: &'static str, mut rows: Vec<Row>) -> Answer<Row> {
    rows.pop().ok_or_else(|| StoreError::Fault { code: "no row".to_owned(), detail: format!("no answer to {sql}") })
}
