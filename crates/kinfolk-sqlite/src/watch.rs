//! Noticing the commits of other processes to the file, while this process has a listener.
//!
//! A thread of its own asks SQLite every few milliseconds whether another connection has committed; only then does it
//! read which queues were woken. Now and then it also looks for workers whose process has died, and has them recovered
//! at once. Without a listener it sleeps.

use std::collections::HashMap;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use kinfolk_core::{QueueName, WorkerId};
use rusqlite::Connection;
use tokio::sync::oneshot;

use crate::connect;
use crate::error::Result;
use crate::rows::worker_from;
use crate::store::Shared;
use crate::verb::recover::recover_dead;
use crate::writer::{Call, Request, Verb};

/// How often other processes' commits are looked for: well under the 50 ms within which they must be noticed.
const LOOK: Duration = Duration::from_millis(15);
/// How often the locks of other workers are tried.
const PROBE: Duration = Duration::from_millis(250);

/// How long to leave the file alone when it could not be read.
const AFTER_TROUBLE: Duration = Duration::from_secs(1);

/// The watcher of a store; its thread starts with the first listener.
#[derive(Default)]
pub(crate) struct Watcher(Mutex<Option<Running>>);

struct Running {
    /// Someone new listens; answered when nothing that is committed from then on goes unnoticed.
    listens: Sender<oneshot::Sender<()>>,
    thread: JoinHandle<()>,
}

impl Watcher {
    /// Watches for a listener that has just been added to the hub. Nothing committed after the answer goes unnoticed.
    pub(crate) fn attend(
        &self,
        shared: &Arc<Shared>,
        writer: &Sender<Box<dyn Request>>,
    ) -> Result<oneshot::Receiver<()>> {
        let mut running = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (answer, watching) = oneshot::channel();
        let unanswered = match running.as_ref() {
            Some(running) => running.listens.send(answer).err().map(|unsent| unsent.0),
            None => Some(answer),
        };
        // None runs yet, or the last one could not read the file.
        if let Some(answer) = unanswered {
            let started = start(shared.clone(), writer.clone())?;
            let _ = started.listens.send(answer);
            *running = Some(started);
        }
        Ok(watching)
    }

    /// Ends the thread.
    pub(crate) fn end(&self) {
        let running = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(Running { listens, thread }) = running {
            drop(listens);
            let _ = thread.join();
        }
    }
}

fn start(shared: Arc<Shared>, writer: Sender<Box<dyn Request>>) -> Result<Running> {
    let conn = connect::reader(&shared.path, &shared.options)?;
    let (listens, attended) = channel();
    let watch = Watch { conn, shared, writer, seen: 0, cancels: 0, wakes: HashMap::new() };
    let thread = std::thread::Builder::new()
        .name("kinfolk-watcher".to_owned())
        .spawn(move || watch.run(&attended))
        .map_err(|fault| kinfolk_core::StoreError::Unavailable { detail: format!("no thread: {fault}") })?;
    Ok(Running { listens, thread })
}

/// The thread's state.
struct Watch {
    conn: Connection,
    shared: Arc<Shared>,
    writer: Sender<Box<dyn Request>>,
    /// SQLite's number for what other connections have committed.
    seen: i64,
    cancels: i64,
    wakes: HashMap<QueueName, i64>,
}

impl Watch {
    /// Ends when the store is dropped.
    fn run(mut self, attended: &Receiver<oneshot::Sender<()>>) {
        while let Ok(answer) = attended.recv() {
            complain(self.look(|_, _| {}));
            let _ = answer.send(());
            if !self.watch(attended) {
                break;
            }
        }
    }

    /// Watches until the last listener has gone; false when the store is dropped.
    fn watch(&mut self, attended: &Receiver<oneshot::Sender<()>>) -> bool {
        let mut probed: Option<Instant> = None;
        let mut pause = LOOK;
        while self.shared.hub.is_heard() {
            if probed.is_none_or(|at| at.elapsed() >= PROBE) {
                complain(self.bury());
                probed = Some(Instant::now());
            }
            match attended.recv_timeout(pause) {
                Ok(answer) => drop(answer.send(())),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return false,
            }
            pause = if complain(self.tell()) { LOOK } else { AFTER_TROUBLE };
        }
        true
    }

    fn data_version(&self) -> Result<i64> {
        Ok(self.conn.prepare_cached("pragma data_version")?.query_row((), |row| row.get(0))?)
    }

    /// Tells the listeners what others have done since the last look.
    fn tell(&mut self) -> Result<()> {
        if self.data_version()? == self.seen {
            return Ok(());
        }
        self.look(|shared, news| match news {
            Change::Queue(queue) => shared.hub.publish(std::iter::once(queue), &std::collections::BTreeSet::new()),
            Change::Cancel => shared.hub.publish_cancel(),
        })
    }

    fn look(&mut self, tell: impl Fn(&Shared, Change<'_>)) -> Result<()> {
        self.seen = self.data_version()?;
        let mut statement = self.conn.prepare_cached(include_str!("../sql/base/read.sql"))?;
        let cancels = statement.query_row((), |row| row.get("cancels"))?;
        if std::mem::replace(&mut self.cancels, cancels) != cancels {
            tell(&self.shared, Change::Cancel);
        }
        let mut statement = self.conn.prepare_cached(include_str!("../sql/base/wakes.sql"))?;
        let mut rows = statement.query(())?;
        while let Some(row) = rows.next()? {
            let (name, wakes, waker): (String, i64, i64) = (row.get(0)?, row.get(1)?, row.get(2)?);
            let queue = QueueName::new(&name)?;
            // If this very store woke it last, its listeners have been told, and after any wake-up by others.
            if self.wakes.get(&queue) != Some(&wakes) && waker != self.shared.waker {
                tell(&self.shared, Change::Queue(&queue));
            }
            self.wakes.insert(queue, wakes);
        }
        Ok(())
    }

    /// Has the tasks of dead processes recovered.
    fn bury(&self) -> Result<()> {
        let mut statement = self.conn.prepare_cached(include_str!("../sql/base/workers.sql"))?;
        let workers: Vec<WorkerId> =
            statement.query_map((), |row| Ok(worker_from(row.get(0)?)))?.collect::<rusqlite::Result<_>>()?;
        self.shared.locks.sweep(&workers);
        let dead: Vec<WorkerId> = workers.into_iter().filter(|worker| self.shared.locks.is_dead(*worker)).collect();
        if !dead.is_empty() {
            tracing::info!(workers = dead.len(), "workers have died; their tasks are recovered");
            let (request, _) = Call::request(Verb::Recover, move |session| recover_dead(session, &dead));
            // More than one page is left to the next look; an ended writer means that the store is closing.
            let _ = self.writer.send(request);
        }
        Ok(())
    }
}

/// Whether it went well. Workers poll as well, so trouble here only makes them slower to notice.
fn complain(outcome: Result<()>) -> bool {
    outcome.inspect_err(|fault| tracing::warn!(?fault, "other processes can't be watched at the moment")).is_ok()
}

/// Something another process has done.
enum Change<'a> {
    Queue(&'a QueueName),
    Cancel,
}
