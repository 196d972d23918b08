//! Read connections beside the writer. A read never waits for a write, and sees one moment of the file.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use rusqlite::{Connection, TransactionBehavior};
use tokio::sync::Semaphore;

use kinfolk_core::store::Answer;
use kinfolk_core::{StoreError, Timestamp};

use crate::catalogue::Catalogue;
use crate::connect;
use crate::error::Result;
use crate::options::Options;
use crate::store::Shared;

/// A few connections, opened when they are first needed.
pub(crate) struct Readers {
    path: PathBuf,
    options: Options,
    idle: Mutex<Vec<Connection>>,
    turns: Arc<Semaphore>,
    /// Commands and queues as last seen, and the count of changes at which they were like that.
    catalogue: Mutex<(i64, Arc<Catalogue>)>,
}

/// One moment of the file.
pub(crate) struct Snapshot<'a> {
    pub(crate) conn: &'a Connection,
    /// The store's clock, not below what this snapshot holds.
    pub(crate) now: Timestamp,
    /// Commands and queues as they are in this snapshot.
    pub(crate) catalogue: Arc<Catalogue>,
    pub(crate) shared: &'a Shared,
}

impl Readers {
    pub(crate) fn new(path: PathBuf, options: Options) -> Self {
        let turns = Arc::new(Semaphore::new(options.readers.max(1)));
        Self { path, options, idle: Mutex::default(), turns, catalogue: Mutex::default() }
    }

    fn take(&self) -> Result<Connection> {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        idle.map_or_else(|| connect::reader(&self.path, &self.options), Ok)
    }

    fn give_back(&self, conn: Connection) {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(conn);
    }

    fn look<T>(&self, shared: &Shared, act: impl FnOnce(&Snapshot<'_>) -> Result<T>) -> Result<T> {
        let mut conn = self.take()?;
        let tx = conn.transaction_with_behavior(TransactionBehavior::Deferred)?;
        let answer = self.snapshot(&tx, shared).and_then(|snapshot| act(&snapshot));
        drop(tx);
        self.give_back(conn);
        answer
    }

    fn snapshot<'a>(&self, conn: &'a Connection, shared: &'a Shared) -> Result<Snapshot<'a>> {
        let mut statement = conn.prepare_cached(include_str!("../sql/base/read.sql"))?;
        let (clock, version): (i64, i64) =
            statement.query_row((), |row| Ok((row.get("clock")?, row.get("catalogue")?)))?;
        shared.clock.raise(Timestamp::from_micros(clock));
        let mut known = self.catalogue.lock().unwrap_or_else(PoisonError::into_inner);
        if known.0 != version {
            *known = (version, Arc::new(Catalogue::load(conn)?));
        }
        Ok(Snapshot { conn, now: shared.clock.now(), catalogue: known.1.clone(), shared })
    }

    /// Runs a read on a thread that may block.
    pub(crate) async fn read<T: Send + 'static>(
        self: &Arc<Self>,
        shared: &Arc<Shared>,
        act: impl FnOnce(&Snapshot<'_>) -> Result<T> + Send + 'static,
    ) -> Answer<T> {
        let (readers, shared) = (self.clone(), shared.clone());
        let turn = self.turns.clone().acquire_owned().await;
        let looked = tokio::task::spawn_blocking(move || {
            let _turn = turn;
            readers.look(&shared, act).map_err(StoreError::from)
        });
        looked.await.unwrap_or_else(|fault| Err(StoreError::Unavailable { detail: format!("a read ended: {fault}") }))
    }
}
