//! The one thread that writes: it gathers requests into groups and commits each group once.
//!
//! Requests come over a channel. Requests that arrive while a commit is on its way form the next group, so a lone caller waits
//! for no other and many callers share the cost of the disk. Each request runs under its own savepoint: one that fails is
//! undone alone. When the whole transaction fails, each request of the group is tried again by itself, so that only the
//! guilty one is told. Answers go out after the commit, never before.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};

use kinfolk_core::crash;
use kinfolk_core::store::Answer;
use kinfolk_core::{StoreError, Timestamp};
use rusqlite::Connection;
use tokio::sync::oneshot;

use crate::catalogue::Catalogue;
use crate::connect::patiently;
use crate::error::{Fault, Result};
use crate::family::fan_out::FanOuts;
use crate::migrate;
use crate::session::{News, Session};
use crate::store::Shared;

/// Requests in one group at most, so that the first of them does not wait for ever.
const GROUP_MAX: usize = 256;

/// The name of a request, and so the crash points that it passes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verb {
    Enqueue,
    RegisterWorker,
    Heartbeat,
    Claim,
    Settle,
    Record,
    Suspend,
    Expire,
    TakeSignal,
    Report,
    Signal,
    Recover,
    Leave,
    Fire,
    Prune,
    Cancel,
    Retry,
    Acquit,
    RetryFamily,
    Sweep,
    SetGroup,
    RemoveGroup,
    SlowDown,
    /// Changes to commands, queues, schedules and statuses, bulk actions, and records of what was done: no crash points, nor are
    /// there for a report.
    Arrange,
}

/// Something to be done in the writer's transaction. It may be run more than once, until it is answered.
pub(crate) trait Request: Send {
    fn verb(&self) -> Verb;
    /// Does it; false when it failed and its writes are to be undone.
    fn run(&mut self, session: &mut Session<'_>) -> bool;
    /// Tells the caller how it went, or that the transaction failed.
    fn answer(self: Box<Self>, fate: Result<()>);
}

/// A request made of a closure, and where its answer goes.
pub(crate) struct Call<T, F> {
    verb: Verb,
    act: F,
    outcome: Option<Result<T>>,
    answer: oneshot::Sender<Answer<T>>,
}

impl<T, F> Call<T, F>
where
    T: Send + 'static,
    F: FnMut(&mut Session<'_>) -> Result<T> + Send + 'static,
{
    /// The request, and where its answer arrives.
    pub(crate) fn request(verb: Verb, act: F) -> (Box<dyn Request>, oneshot::Receiver<Answer<T>>) {
        let (answer, receiver) = oneshot::channel();
        (Box::new(Self { verb, act, outcome: None, answer }), receiver)
    }
}

impl<T, F> Request for Call<T, F>
where
    T: Send + 'static,
    F: FnMut(&mut Session<'_>) -> Result<T> + Send + 'static,
{
    fn verb(&self) -> Verb {
        self.verb
    }

    fn run(&mut self, session: &mut Session<'_>) -> bool {
        let outcome = (self.act)(session).and_then(|answer| session.keep().map(|()| answer));
        let good = outcome.is_ok();
        self.outcome = Some(outcome);
        good
    }

    fn answer(self: Box<Self>, fate: Result<()>) {
        let answer = match (self.outcome, fate) {
            (Some(Err(own)), _) => Err(own),
            (_, Err(fault)) => Err(fault),
            (Some(Ok(good)), Ok(())) => Ok(good),
            (None, Ok(())) => unreachable!("a transaction that went well has run all its requests"),
        };
        // A caller that has gone away needs no answer.
        let _ = self.answer.send(answer.map_err(StoreError::from));
    }
}

/// The running thread, and where requests go.
pub(crate) struct Running {
    pub(crate) requests: Sender<Box<dyn Request>>,
    pub(crate) thread: std::thread::JoinHandle<()>,
}

/// The writer's own things.
pub(crate) struct Writer {
    conn: Connection,
    shared: Arc<Shared>,
    catalogue: Catalogue,
    catalogue_version: i64,
    /// SQLite's number for what other connections have committed; `None` when nothing is remembered.
    seen: Option<i64>,
    last_task: i64,
}

/// Starts the thread. It ends when the sender is dropped, after everything asked for is done.
pub(crate) fn start(conn: Connection, shared: Arc<Shared>) -> std::io::Result<Running> {
    let (sender, requests) = channel();
    let writer =
        Writer { conn, shared, catalogue: Catalogue::default(), catalogue_version: 0, seen: None, last_task: 0 };
    let thread =
        std::thread::Builder::new().name("kinfolk-writer".to_owned()).spawn(move || writer.serve(&requests))?;
    Ok(Running { requests: sender, thread })
}

impl Writer {
    fn serve(mut self, requests: &Receiver<Box<dyn Request>>) {
        while let Ok(first) = requests.recv() {
            let mut group = vec![first];
            group.extend(requests.try_iter().take(GROUP_MAX - 1));
            self.serve_group(group);
        }
        // The last connection that closes copies the log into the file; say so early, others may still read.
        let _ = self.conn.execute_batch("pragma wal_checkpoint(passive)");
    }

    fn serve_group(&mut self, mut group: Vec<Box<dyn Request>>) {
        match self.transact(&mut group) {
            Ok(()) => group.into_iter().for_each(|request| request.answer(Ok(()))),
            // Others would not let us: trying again one by one would only make everyone wait longer.
            Err(Fault::Store(StoreError::Busy { what })) => {
                group.into_iter().for_each(|request| request.answer(Err(StoreError::Busy { what }.into())));
            }
            Err(fault) if group.len() == 1 => {
                let mut fault = Some(fault);
                group.into_iter().for_each(|request| request.answer(fault.take().map_or(Ok(()), Err)));
            }
            Err(_) => {
                for request in group {
                    let mut alone = [request];
                    let fate = self.transact(&mut alone);
                    let [request] = alone;
                    request.answer(fate);
                }
            }
        }
    }

    /// Runs a group in one transaction. An error means that nothing of it was written.
    fn transact(&mut self, group: &mut [Box<dyn Request>]) -> Result<()> {
        patiently(self.shared.options.busy_timeout, "a write to the file", || {
            self.conn.prepare_cached("begin immediate")?.execute(())?;
            Ok(())
        })?;
        let news = self.run_group(group).and_then(|news| {
            group.iter().filter_map(|request| request.verb().points()).for_each(|(before, _)| crash::point(before));
            if !self.conn.is_autocommit() {
                self.conn.prepare_cached("commit")?.execute(())?;
            }
            Ok(news)
        });
        match news {
            Ok(news) => {
                group.iter().filter_map(|request| request.verb().points()).for_each(|(_, after)| crash::point(after));
                self.publish(&news);
                Ok(())
            }
            Err(fault) => {
                if !self.conn.is_autocommit() {
                    let _ = self.conn.execute_batch("rollback");
                }
                self.seen = None;
                Err(fault)
            }
        }
    }

    /// Runs all requests. A request that is alone needs no savepoint, which would cost a copy of every page it touches:
    /// when it fails, the transaction is undone and over.
    fn run_group(&mut self, group: &mut [Box<dyn Request>]) -> Result<News> {
        self.refresh()?;
        let alone = group.len() == 1;
        let before = self.conn.total_changes();
        let mut news = News::default();
        for request in group {
            if !alone {
                self.conn.prepare_cached("savepoint request")?.execute(())?;
            }
            let mut session = Session {
                conn: &self.conn,
                now: self.shared.clock.now(),
                catalogue: &self.catalogue,
                locks: &self.shared.locks,
                last_task: &mut self.last_task,
                fan_outs: FanOuts::default(),
                freed: BTreeMap::new(),
                doomed: Vec::new(),
                give_back: None,
                news: News::default(),
            };
            let good = request.run(&mut session);
            let made = std::mem::take(&mut session.news);
            drop(session);
            if self.conn.is_autocommit() {
                // SQLite gave the whole transaction up, as it does when the disk is full.
                return Err(StoreError::Unavailable { detail: "the transaction was given up".to_owned() }.into());
            }
            self.keep_or_undo(good, alone)?;
            if made.catalogue {
                self.catalogue = Catalogue::load(&self.conn)?;
            }
            if good {
                news.absorb(made);
            }
        }
        if !self.conn.is_autocommit() && self.conn.total_changes() != before {
            self.sign(&news)?;
        }
        Ok(news)
    }

    fn keep_or_undo(&self, good: bool, alone: bool) -> Result<()> {
        match (good, alone) {
            (true, true) => return Ok(()),
            (false, true) => self.conn.prepare_cached("rollback")?.execute(())?,
            (true, false) => self.conn.prepare_cached("release request")?.execute(())?,
            (false, false) => {
                self.conn.prepare_cached("rollback to request")?.execute(())?;
                self.conn.prepare_cached("release request")?.execute(())?
            }
        };
        Ok(())
    }

    /// Learns what other processes have done since the last transaction.
    fn refresh(&mut self) -> Result<()> {
        let data_version: i64 = self.conn.prepare_cached("pragma data_version")?.query_row((), |row| row.get(0))?;
        if self.seen == Some(data_version) {
            return Ok(());
        }
        migrate::refuse_newer(&self.conn)?;
        let mut statement = self.conn.prepare_cached(include_str!("../sql/base/read.sql"))?;
        let (clock, last_task, version): (i64, i64, i64) =
            statement.query_row((), |row| Ok((row.get("clock")?, row.get("last_task")?, row.get("catalogue")?)))?;
        self.shared.clock.raise(Timestamp::from_micros(clock));
        self.last_task = self.last_task.max(last_task);
        if self.seen.is_none() || self.catalogue_version != version {
            self.catalogue = Catalogue::load(&self.conn)?;
            self.catalogue_version = version;
        }
        self.seen = Some(data_version);
        Ok(())
    }

    /// Writes what other processes need to know of this commit.
    fn sign(&mut self, news: &News) -> Result<()> {
        let now = self.shared.clock.now().as_micros();
        self.conn.prepare_cached(include_str!("../sql/base/write.sql"))?.execute((
            now,
            self.last_task,
            i64::from(news.catalogue),
            i64::from(!news.cancels.is_empty()),
        ))?;
        self.catalogue_version += i64::from(news.catalogue);
        let mut wake = self.conn.prepare_cached(include_str!("../sql/base/wake.sql"))?;
        for queue in &news.queues {
            wake.execute((queue, self.shared.waker))?;
        }
        Ok(())
    }

    /// Tells the listeners of this process, after the commit.
    fn publish(&self, news: &News) {
        for worker in &news.gone {
            self.shared.locks.remove(*worker);
        }
        let queues = news.queues.iter().filter_map(|id| self.catalogue.queue_name(*id).ok());
        self.shared.hub.publish(queues, &news.cancels);
    }
}

impl Verb {
    /// The crash points before and after its commit.
    const fn points(self) -> Option<(&'static str, &'static str)> {
        Some(match self {
            Self::Enqueue => ("enqueue.before", "enqueue.after"),
            Self::RegisterWorker => ("register_worker.before", "register_worker.after"),
            Self::Heartbeat => ("heartbeat.before", "heartbeat.after"),
            Self::Claim => ("claim.before", "claim.after"),
            Self::Settle => ("settle.before", "settle.after"),
            Self::Record => ("record.before", "record.after"),
            Self::Suspend => ("suspend.before", "suspend.after"),
            Self::Expire => ("expire.before", "expire.after"),
            Self::TakeSignal => ("take_signal.before", "take_signal.after"),
            Self::Signal => ("signal.before", "signal.after"),
            Self::Recover => ("recover.before", "recover.after"),
            Self::Leave => ("leave.before", "leave.after"),
            Self::Fire => ("fire.before", "fire.after"),
            Self::Prune => ("prune.before", "prune.after"),
            Self::Cancel => ("cancel.before", "cancel.after"),
            Self::Retry => ("retry.before", "retry.after"),
            Self::Acquit => ("acquit.before", "acquit.after"),
            Self::RetryFamily => ("retry_family.before", "retry_family.after"),
            Self::Sweep => ("sweep.before", "sweep.after"),
            Self::SetGroup => ("set_group.before", "set_group.after"),
            Self::RemoveGroup => ("remove_group.before", "remove_group.after"),
            Self::SlowDown => ("slow_down.before", "slow_down.after"),
            Self::Report | Self::Arrange => return None,
        })
    }
}
