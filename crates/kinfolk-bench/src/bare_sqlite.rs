//! What SQLite itself can do: the same work as the engine's, by the fewest and best statements one would write by hand,
//! with nothing of what makes an engine (no fence, no retry, no history of attempts, no dedup, no lease).
//!
//! Write-ahead log, the engine's own `synchronous` setting, rows as wide as the engine's, transactions of 100 for the
//! drain, prepared statements, one connection. `--verbose` prints the statements below.

use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use rusqlite::{Connection, TransactionBehavior};

use super::load::{ENQUEUE_BATCH, Timed, payload};

/// Tasks claimed, and completed, by one transaction.
const DRAIN_BATCH: usize = 100;

const SETTINGS: &str = "\
pragma journal_mode = wal;
pragma synchronous = full;
pragma busy_timeout = 10000;";
const TABLE: &str = "\
drop table if exists bare_task;
create table bare_task (
  id integer primary key,
  state integer not null default 0,
  priority integer not null default 0,
  position integer not null,
  claimed_at integer,
  finished_at integer,
  payload text not null,
  filler text not null
);
create index bare_ready on bare_task (priority, position, id) where state = 0;";
const ENQUEUE: &str = "insert into bare_task (position, payload, filler) values (?1, ?2, ?3)";
const CLAIM: &str = "\
update bare_task set state = 1, claimed_at = ?1
where id in (select id from bare_task where state = 0 order by priority, position, id limit ?2)
returning id, payload";
const COMPLETE: &str = "update bare_task set state = 2, finished_at = ?1 where id = ?2";

/// The statements, with what each is for.
pub(super) const STATEMENTS: [(&str, &str); 5] = [
    ("settings", SETTINGS),
    ("table", TABLE),
    ("enqueue, 1,000 in a transaction", ENQUEUE),
    ("claim, 100 in a transaction", CLAIM),
    ("complete, 100 in a transaction", COMPLETE),
];

/// The bare loop on one file.
#[derive(Clone)]
pub(super) struct BareSqlite {
    path: PathBuf,
    filler: String,
}

impl BareSqlite {
    /// Makes the file and its table, with rows that are `filler` bytes wider than their own columns.
    pub(super) async fn open(path: &Path, filler: usize) -> anyhow::Result<Self> {
        let bare = Self { path: path.to_owned(), filler: "x".repeat(filler) };
        bare.run(|_, connection| Ok(connection.execute_batch(TABLE)?)).await?;
        Ok(bare)
    }

    /// Enqueues `n` tasks in batches; the time of each call comes along.
    pub(super) async fn enqueue(&self, n: usize) -> anyhow::Result<Timed> {
        self.run(move |bare, connection| {
            let payloads: Vec<_> = (0..n).map(payload).collect();
            let mut calls = Vec::new();
            let start = Instant::now();
            for batch in payloads.chunks(ENQUEUE_BATCH) {
                let call = Instant::now();
                let tx = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
                {
                    let mut insert = tx.prepare_cached(ENQUEUE)?;
                    for payload in batch {
                        let _id = insert.insert((micros(), payload.as_str(), &bare.filler))?;
                    }
                }
                tx.commit()?;
                calls.push(call.elapsed());
            }
            Ok(Timed { took: start.elapsed(), calls })
        })
        .await
    }

    /// Claims and completes all there is, `n` tasks.
    pub(super) async fn drain(&self, n: usize) -> anyhow::Result<Duration> {
        self.run(move |_, connection| {
            let start = Instant::now();
            let mut done = 0;
            loop {
                let ids = claim(connection, DRAIN_BATCH)?;
                if ids.is_empty() {
                    break;
                }
                done += complete(connection, &ids)?;
            }
            let took = start.elapsed();
            anyhow::ensure!(done == n, "the bare drain completed {done} of {n}");
            Ok(took)
        })
        .await
    }

    /// Claims and completes all there is, `n` tasks, one after another.
    pub(super) async fn one_by_one(&self, n: usize) -> anyhow::Result<Duration> {
        self.run(move |_, connection| {
            let start = Instant::now();
            for done in 0..n {
                let ids = claim(connection, 1)?;
                anyhow::ensure!(ids.len() == 1, "the bare loop completed {done} of {n}");
                complete(connection, &ids)?;
            }
            Ok(start.elapsed())
        })
        .await
    }

    /// From an insert, through a signal to another thread, until that one has claimed the task, `samples` times.
    pub(super) async fn latency(&self, samples: usize, idle: Duration) -> anyhow::Result<Vec<Duration>> {
        let (wake, woken) = mpsc::channel::<()>();
        let (claimed, started) = mpsc::channel::<Instant>();
        let claimer = self.run(move |_, connection| {
            while woken.recv().is_ok() {
                let ids = claim(connection, 1)?;
                claimed.send(Instant::now())?;
                anyhow::ensure!(ids.len() == 1, "a signal without a task");
                complete(connection, &ids)?;
            }
            Ok(())
        });
        let producer = self.run(move |bare, connection| {
            let mut taken = Vec::with_capacity(samples);
            for n in 0..samples {
                std::thread::sleep(idle);
                let payload = payload(n);
                let start = Instant::now();
                let _id = connection.prepare_cached(ENQUEUE)?.insert((micros(), payload.as_str(), &bare.filler))?;
                wake.send(())?;
                taken.push(started.recv().context("the claiming thread has ended")? - start);
            }
            Ok(taken)
        });
        Ok(tokio::try_join!(producer, claimer)?.0)
    }

    async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Self, &mut Connection) -> anyhow::Result<T> + Send + 'static,
    ) -> anyhow::Result<T> {
        let bare = self.clone();
        tokio::task::spawn_blocking(move || {
            let mut connection = Connection::open(&bare.path)?;
            connection.execute_batch(SETTINGS)?;
            work(&bare, &mut connection)
        })
        .await?
    }
}

fn claim(connection: &mut Connection, limit: usize) -> anyhow::Result<Vec<i64>> {
    let tx = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let ids = {
        let mut claim = tx.prepare_cached(CLAIM)?;
        let mut rows = claim.query((micros(), i64::try_from(limit)?))?;
        let mut ids = Vec::with_capacity(limit);
        while let Some(row) = rows.next()? {
            let _payload: String = row.get(1)?;
            ids.push(row.get(0)?);
        }
        ids
    };
    tx.commit()?;
    Ok(ids)
}

fn complete(connection: &mut Connection, ids: &[i64]) -> anyhow::Result<usize> {
    let tx = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let mut done = 0;
    {
        let mut complete = tx.prepare_cached(COMPLETE)?;
        for id in ids {
            done += complete.execute((micros(), id))?;
        }
    }
    tx.commit()?;
    Ok(done)
}

fn micros() -> i64 {
    jiff::Timestamp::now().as_microsecond()
}
