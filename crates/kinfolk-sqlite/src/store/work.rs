//! The calls of a worker.

use std::sync::atomic::Ordering;

use async_trait::async_trait;
use kinfolk_core::limits::SETTLE_BATCH_MAX;
use kinfolk_core::minute::{self, MinuteRecord};
use kinfolk_core::schedule::{Fired, Plan};
use kinfolk_core::store::{Answer, Work};
use kinfolk_core::{
    Checkpoint, Claim, Claimed, FanOut, FanOutId, GroupName, Heartbeat, InputError, Json, Key, QueueName, Record,
    Recorded, Recovered, Report, Schedule, Settle, Settled, SignalName, Status, StepKind, Suspend, TakenSignal, TaskId,
    Timestamp, Token, WakeSource, WorkerId, WorkerSpec,
};

use super::{SqliteStore, closed};
use crate::admission::rate;
use crate::check::lost;
use crate::inspect::activity::turned;
use crate::verb::minute as minutes;
use crate::verb::{
    claim, expire, prune, record, recover, report, schedule, settle, signal, status, suspend, sweep, worker,
};
use crate::wake::Hub;
use crate::writer::Verb;

/// Pages of keys whose rate has passed that one call removes at most, each in a transaction of its own.
const RATE_PAGES_MAX: usize = 100;

#[async_trait]
impl Work for SqliteStore {
    async fn claim(&self, claim: &Claim) -> Answer<Claimed> {
        loop {
            let claim = claim.clone();
            let round = self.write(Verb::Claim, move |session| claim::claim(session, &claim)).await?;
            // Nothing so far, and there is more to look at: others may write in between.
            if !round.more || !round.claimed.tasks.is_empty() {
                return Ok(round.claimed);
            }
        }
    }

    async fn settle(&self, settles: &[Settle]) -> Answer<Vec<Settled>> {
        if settles.len() > SETTLE_BATCH_MAX {
            return Err(InputError::Batch { what: "settles", given: settles.len(), max: SETTLE_BATCH_MAX }.into());
        }
        settles.iter().try_for_each(Settle::check)?;
        let settles = settles.to_vec();
        self.write(Verb::Settle, move |session| settle::settle(session, &settles)).await
    }

    async fn register_worker(&self, worker: &WorkerSpec) -> Answer<()> {
        worker.check()?;
        // The lock comes first: no process may see a worker that does not hold its lock.
        self.shared().locks.hold(worker.id)?;
        let worker = worker.clone();
        self.write(Verb::RegisterWorker, move |session| worker::register(session, &worker)).await
    }

    async fn heartbeat(&self, worker: WorkerId) -> Answer<Heartbeat> {
        self.write(Verb::Heartbeat, move |session| worker::heartbeat(session, worker)).await
    }

    async fn leave(&self, worker: WorkerId) -> Answer<()> {
        self.write(Verb::Leave, move |session| worker::leave(session, worker)).await
    }

    async fn record(&self, records: &[Record]) -> Answer<Vec<Recorded>> {
        if records.len() > SETTLE_BATCH_MAX {
            return Err(InputError::Batch { what: "records", given: records.len(), max: SETTLE_BATCH_MAX }.into());
        }
        records.iter().try_for_each(Record::check)?;
        let records = records.to_vec();
        self.write(Verb::Record, move |session| record::record(session, &records)).await
    }

    async fn suspend(&self, suspends: &[Suspend]) -> Answer<Vec<Settled>> {
        if suspends.len() > SETTLE_BATCH_MAX {
            return Err(InputError::Batch { what: "suspends", given: suspends.len(), max: SETTLE_BATCH_MAX }.into());
        }
        suspends.iter().try_for_each(Suspend::check)?;
        let suspends = suspends.to_vec();
        self.write(Verb::Suspend, move |session| suspend::suspend(session, &suspends)).await
    }

    async fn expire(&self, task: TaskId, token: Token, fan_out: FanOutId) -> Answer<Option<FanOut>> {
        self.write(Verb::Expire, move |session| expire::expire(session, task, token, fan_out)).await
    }

    async fn take_signal(&self, task: TaskId, token: Token, key: &Key, name: &SignalName) -> Answer<TakenSignal> {
        let (value, kind) = (Json::null(), StepKind::Signal);
        let checkpoint = Checkpoint { key: key.clone(), kind, digest: String::new(), value };
        Record { task, token, checkpoints: vec![checkpoint] }.check()?;
        let (key, name) = (key.clone(), name.clone());
        self.write(Verb::TakeSignal, move |session| signal::take(session, task, token, &key, &name)).await
    }

    async fn slow_down(&self, task: TaskId, token: Token, group: &GroupName, until: Timestamp) -> Answer<bool> {
        let group = group.clone();
        self.write(Verb::SlowDown, move |session| rate::slow_down(session, task, token, &group, until)).await
    }

    async fn report(&self, task: TaskId, token: Token, report: &Report) -> Answer<bool> {
        report.check()?;
        let report = report.clone();
        self.write(Verb::Report, move |session| report::report(session, task, token, &report)).await
    }

    async fn record_minutes(&self, worker: WorkerId, number: u64, records: &[MinuteRecord]) -> Answer<()> {
        minute::check(records)?;
        let records = records.to_vec();
        self.write(Verb::Arrange, move |session| minutes::record(session, worker, number, &records)).await
    }

    async fn recover(&self, worker: WorkerId) -> Answer<Recovered> {
        self.write(Verb::Recover, move |session| recover::recover(session, worker)).await
    }

    async fn due_schedules(&self) -> Answer<Vec<Schedule>> {
        self.read(|snapshot| schedule::due(snapshot.conn, snapshot.now.as_micros())).await
    }

    async fn fire(&self, plan: &Plan) -> Answer<Fired> {
        let plan = plan.clone();
        self.write(Verb::Fire, move |session| schedule::fire(session, &plan)).await
    }

    async fn sweep(&self) -> Answer<u64> {
        let behind = self.shared().swept.load(Ordering::Relaxed);
        let looked = self.read(move |snapshot| {
            let lost = lost::lost(snapshot.conn, &snapshot.catalogue, snapshot.now)?;
            Ok((sweep::stuck(snapshot.conn, behind)?, !lost.is_empty()))
        });
        let ((stuck, next), any_lost) = looked.await?;
        self.shared().swept.store(next, Ordering::Relaxed);
        if stuck.is_empty() && !any_lost {
            return Ok(0);
        }
        self.write(Verb::Sweep, move |session| sweep::sweep(session, &stuck)).await
    }

    async fn refresh_statuses(&self) -> Answer<Vec<Status>> {
        // Mostly none has turned, and nothing is written.
        let turned = self.read(|snapshot| turned(snapshot.conn, &snapshot.catalogue, snapshot.now)).await?;
        if turned.is_empty() {
            return Ok(turned);
        }
        self.write(Verb::Arrange, status::refresh).await
    }

    async fn prune(&self) -> Answer<u64> {
        for _ in 0..RATE_PAGES_MAX {
            if !self.write(Verb::Prune, prune::prune_rates).await? {
                break;
            }
        }
        self.write(Verb::Prune, prune::prune).await
    }

    async fn wakes(&self, worker: WorkerId, queues: &[QueueName]) -> Answer<Option<Box<dyn WakeSource>>> {
        let wakes = Hub::listen(self.clone(), worker, queues);
        let watching = self.0.watcher.attend(self.shared(), &self.sender()?)?;
        watching.await.map_err(|_| closed())?;
        Ok(Some(Box::new(wakes)))
    }
}
