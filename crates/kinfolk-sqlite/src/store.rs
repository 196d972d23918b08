//! The store: a handle that hands every call to the writer or to a reader.

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicI64;
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, PoisonError};

use kinfolk_core::store::Answer;
use kinfolk_core::{Clock, StoreError};

use crate::change_number::ChangeNumber;
use crate::clock::{StoreClock, SystemClock};
use crate::error::{Result, refuse_no_file, while_opening};
use crate::locks::Locks;
use crate::options::{Options, Synchronous};
use crate::readers::{Readers, Snapshot};
use crate::session::Session;
use crate::wake::Hub;
use crate::watch::Watcher;
use crate::writer::{self, Call, Request, Running, Verb};
use crate::{connect, migrate};

mod inspect;
mod operate;
mod produce;
mod work;

pub(crate) use self::produce::check_batch;

/// The embedded store. Cheap to clone; the file is closed when the last clone is dropped.
#[derive(Clone)]
pub struct SqliteStore(Arc<Inner>);

/// The state that the writer, the readers and the watcher share.
pub(crate) struct Shared {
    pub(crate) path: PathBuf,
    pub(crate) options: Options,
    pub(crate) clock: StoreClock,
    pub(crate) hub: Hub,
    pub(crate) locks: Locks,
    /// This open store's own number, to tell its wake-ups from the wake-ups of others.
    pub(crate) waker: i64,
    /// The last waiting task that the sweep has looked at.
    pub(crate) swept: AtomicI64,
}

struct Inner {
    shared: Arc<Shared>,
    readers: Arc<Readers>,
    watcher: Watcher,
    change_number: Arc<ChangeNumber>,
    writer: Mutex<Option<Running>>,
    /// A folder that goes with the store.
    temporary: Option<PathBuf>,
}

impl SqliteStore {
    /// Opens a file, makes it if there is none, and brings its schema up to date. Blocks for as long as that takes.
    /// `:memory:` is [`SqliteStore::temporary`].
    pub fn open(path: impl AsRef<Path>) -> Answer<Self> {
        Self::open_with(path, Arc::new(SystemClock))
    }

    /// Opens a file with a clock of one's own.
    pub fn open_with(path: impl AsRef<Path>, clock: Arc<dyn Clock>) -> Answer<Self> {
        Self::open_as(path, clock, Options::default())
    }

    /// Opens a file with a clock and options of one's own.
    pub fn open_as(path: impl AsRef<Path>, clock: Arc<dyn Clock>, options: Options) -> Answer<Self> {
        let path = path.as_ref();
        if path == Path::new(":memory:") {
            return Self::temporary(clock, options);
        }
        refuse_no_file(path)?;
        // An absolute path can't be mistaken for a URI.
        let absolute = std::path::absolute(path)
            .map_err(|fault| StoreError::Unavailable { detail: format!("{}: {fault}", path.display()) })?;
        let locks = Locks::beside(&absolute);
        Self::start(absolute, clock, options, locks, None)
    }

    /// A store for tests and trials: a file of its own, gone when the last clone is dropped. Its commits do not wait for
    /// the disk, and it has no lock files: no other process knows of it.
    pub fn temporary(clock: Arc<dyn Clock>, options: Options) -> Answer<Self> {
        let options = Options { synchronous: Synchronous::Normal, ..options };
        let folder = std::env::temp_dir().join(format!("kinfolk-{}", uuid::Uuid::new_v4()));
        std::fs::create_dir(&folder)
            .map_err(|fault| StoreError::Unavailable { detail: format!("{}: {fault}", folder.display()) })?;
        let opened = Self::start(folder.join("kinfolk.db"), clock, options, Locks::none(), Some(folder.clone()));
        opened.inspect_err(|_| drop(std::fs::remove_dir_all(&folder)))
    }

    fn start(
        path: PathBuf,
        clock: Arc<dyn Clock>,
        options: Options,
        locks: Locks,
        temporary: Option<PathBuf>,
    ) -> Answer<Self> {
        let opened = connect::writer(&path, &options).and_then(|mut conn| {
            migrate::prepare(&mut conn, &path, options.busy_timeout)?;
            connect::hurry(&conn)?;
            Ok(conn)
        });
        let conn = opened.map_err(|fault| while_opening(&path, fault))?;
        let waker = i64::from_ne_bytes(uuid::Uuid::new_v4().as_bytes()[..8].try_into().unwrap_or_default());
        let readers = Arc::new(Readers::new(path.clone(), options));
        let shared = Arc::new(Shared {
            path,
            options,
            clock: StoreClock::new(clock),
            hub: Hub::default(),
            locks,
            waker,
            swept: AtomicI64::new(0),
        });
        let writer = writer::start(conn, shared.clone())
            .map_err(|fault| StoreError::Unavailable { detail: format!("no thread: {fault}") })?;
        let (watcher, change_number) = (Watcher::default(), Arc::default());
        let inner = Inner { shared, readers, watcher, change_number, writer: Mutex::new(Some(writer)), temporary };
        Ok(Self(Arc::new(inner)))
    }

    /// Where the file is.
    pub fn path(&self) -> &Path {
        &self.0.shared.path
    }

    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.0.shared
    }

    fn sender(&self) -> Answer<Sender<Box<dyn Request>>> {
        let writer = self.0.writer.lock().unwrap_or_else(PoisonError::into_inner);
        writer.as_ref().map(|running| running.requests.clone()).ok_or_else(closed)
    }

    async fn write<T: Send + 'static>(
        &self,
        verb: Verb,
        act: impl FnMut(&mut Session<'_>) -> Result<T> + Send + 'static,
    ) -> Answer<T> {
        let (request, answer) = Call::request(verb, act);
        self.sender()?.send(request).map_err(|_| closed())?;
        answer.await.unwrap_or_else(|_| Err(closed()))
    }

    /// Whether anything may have been committed since this was last asked.
    async fn change_number(&self) -> Answer<u64> {
        let (change_number, shared) = (Arc::clone(&self.0.change_number), self.0.shared.clone());
        let read = tokio::task::spawn_blocking(move || change_number.read(&shared).map_err(StoreError::from)).await;
        read.unwrap_or_else(|fault| Err(StoreError::Unavailable { detail: format!("a read ended: {fault}") }))
    }

    async fn read<T: Send + 'static>(
        &self,
        act: impl FnOnce(&Snapshot<'_>) -> Result<T> + Send + 'static,
    ) -> Answer<T> {
        self.0.readers.read(&self.0.shared, act).await
    }
}

impl std::fmt::Debug for SqliteStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SqliteStore").field("path", &self.0.shared.path).finish_non_exhaustive()
    }
}

fn closed() -> StoreError {
    StoreError::Unavailable { detail: "the store's writer has ended".to_owned() }
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.watcher.end();
        let writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(Running { requests, thread }) = writer {
            drop(requests);
            let _ = thread.join();
        }
        if let Some(folder) = &self.temporary
            && let Err(fault) = std::fs::remove_dir_all(folder)
        {
            tracing::warn!(folder = %folder.display(), %fault, "a temporary store can't be removed");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kinfolk_core::store::{Inspect, Produce};
    use kinfolk_core::{Command, CommandName, Enqueued, Json, NewTask};

    #[tokio::test]
    async fn a_full_disk_is_told_as_such_and_what_was_there_stays() {
        let store = SqliteStore::open(":memory:").unwrap();
        let echo = CommandName::new("echo").unwrap();
        store.register(&[Command::new(echo.clone())]).await.unwrap();
        store
            .write(Verb::Arrange, |session| {
                let pages: i64 = session.conn.pragma_query_value(None, "page_count", |row| row.get(0))?;
                session.conn.pragma_update_and_check(None, "max_page_count", pages + 4, |_| Ok(()))?;
                Ok(())
            })
            .await
            .unwrap();
        let small = [NewTask::new(echo.clone(), Json::object())];
        let large = [NewTask::new(echo, Json::of(&"x".repeat(100_000)).unwrap())];
        let (one, full, other) = tokio::join!(store.enqueue(&small), store.enqueue(&large), store.enqueue(&small));
        assert!(matches!(full, Err(StoreError::Full { .. })), "{full:?}");
        let made: Vec<Enqueued> = [one, other].into_iter().flat_map(|answer| answer.unwrap()).collect();
        assert_eq!(store.stats().await.unwrap().counts[0].tasks, made.len() as u64);
        assert_eq!(store.check().await.unwrap(), []);
    }
}
