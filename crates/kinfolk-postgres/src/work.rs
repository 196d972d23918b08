//! The calls of a worker.

use std::collections::HashMap;

use async_trait::async_trait;
use kinfolk_core::claim::ClaimedTask;
use kinfolk_core::crash::point;
use kinfolk_core::limits::CLAIM_BATCH_MAX;
use kinfolk_core::minute::{self, MinuteRecord};
use kinfolk_core::schedule::{Fired, Plan};
use kinfolk_core::store::Answer;
use kinfolk_core::{
    Claim, Claimed, FanOut, FanOutId, GroupName, Heartbeat, InputError, Key, QueueName, Record, Recorded, Recovered,
    Report, Schedule, Settle, Settled, SignalName, Status, StoreError, Suspend, TaskId, Timestamp, Token, WakeSource,
    Work, WorkerId, WorkerSpec,
};
use tokio_postgres::Row;
use tokio_postgres::types::Type;

use crate::call::Param;
use crate::error::worker_error;
use crate::low_water::{ClaimedAt, Cost, Lane};
use crate::operate::not_there;
use crate::rows;
use crate::store::PgStore;
use crate::values::{Interval, JsonOut, JsonText, Moment, micros, span};
use crate::wake::Listener;

const REGISTER_WORKER: &str = "select kinfolk.register_worker($1, $2, $3, $4, $5, $6)";
const HEARTBEAT: &str = "select id, token from kinfolk.heartbeat($1)";
const LEAVE: &str = "select kinfolk.leave($1)";
const CLAIM: &str = "select id, command, payload, attempt, max_attempts, timeout_us, trace, priority, position, next_due, \
    again, parent, root, depth, lane, steps, recorded, was_suspended, holds_slots, more, unflushed, turns, keys, waited \
    from kinfolk.claim($1, $2, $3, $4, $5, $6, true, $7, $8, $9)";
const FLUSH: &str = "select kinfolk.flush()";
const SLOW_DOWN: &str = "select answer, ahead_ms from kinfolk.slow_down($1, $2, $3, $4)";
const RECORD_MINUTES: &str = "select kinfolk.record_minutes($1, $2, $3)";
const RECOVER: &str = "select returned, poisoned, cancelled, workers, more from kinfolk.recover($1)";
const DUE_SCHEDULES: &str = "select * from kinfolk.due_schedules()";
const FIRE: &str = "select tasks, overlapped, too_late, rejected, missing from kinfolk.fire($1, $2, $3, $4)";
const REFRESH_STATUSES: &str = "select name, commands, active, changed_at from kinfolk.refresh_statuses()";
const SWEEP: &str = "select kinfolk.sweep()";
const PRUNE: &str = "select kinfolk.prune()";
const PRUNE_RATES: &str = "select kinfolk.prune_rates()";
/// Pages of keys whose rate has passed that one call removes at most.
const RATE_PAGES_MAX: usize = 100;

#[async_trait]
impl Work for PgStore {
    async fn claim(&self, claim: &Claim) -> Answer<Claimed> {
        let asked = claim.limit.min(CLAIM_BATCH_MAX);
        let mut taken = self.claim_once(claim, asked).await?;
        let mut looks = 1;
        while taken.tasks.len() < asked && !claim.repeated && (taken.more || (taken.again && looks < 2)) {
            // An enqueue while this worker went to sleep may have seen it awake.
            let more = self.claim_once(claim, asked - taken.tasks.len()).await?;
            let in_line = [&taken.tasks, &more.tasks].iter().all(|look| look.is_sorted_by_key(|one| one.stand));
            taken.tasks.extend(more.tasks);
            // Where values take turns, each look is in the order of the turns.
            if in_line {
                taken.tasks.sort_by_key(|one| one.stand);
            }
            (taken.next_due, taken.again, taken.more) = (more.next_due, more.again, more.more);
            looks += usize::from(!taken.more);
        }
        Ok(Claimed { tasks: taken.tasks.into_iter().map(|one| one.task).collect(), next_due: taken.next_due })
    }

    async fn settle(&self, settles: &[Settle]) -> Answer<Vec<Settled>> {
        self.send_settles(settles).await
    }

    async fn register_worker(&self, worker: &WorkerSpec) -> Answer<()> {
        worker.check()?;
        let queues: Vec<&str> = worker.queues.iter().map(QueueName::as_str).collect();
        let commands: Vec<&str> = worker.commands.iter().map(AsRef::as_ref).collect();
        let name = worker.name.replace('\0', "\u{fffd}");
        let version = worker.version.replace('\0', "\u{fffd}");
        let lease = micros(worker.lease);
        point("register_worker.before");
        self.rows(
            REGISTER_WORKER,
            &[
                (&worker.id.0, Type::UUID),
                (&name, Type::TEXT),
                (&queues, Type::TEXT_ARRAY),
                (&commands, Type::TEXT_ARRAY),
                (&lease, Type::INT8),
                (&version, Type::TEXT),
            ],
        )
        .await?;
        point("register_worker.after");
        Ok(())
    }

    async fn heartbeat(&self, worker: WorkerId) -> Answer<Heartbeat> {
        point("heartbeat.before");
        let rows = self.rows(HEARTBEAT, &[(&worker.0, Type::UUID)]).await.map_err(|f| worker_error(f, worker))?;
        point("heartbeat.after");
        Ok(Heartbeat { cancel: rows.iter().map(|row| (TaskId(row.get(0)), Token(row.get(1)))).collect() })
    }

    async fn leave(&self, worker: WorkerId) -> Answer<()> {
        point("leave.before");
        self.rows(LEAVE, &[(&worker.0, Type::UUID)]).await?;
        point("leave.after");
        Ok(())
    }

    async fn record(&self, records: &[Record]) -> Answer<Vec<Recorded>> {
        self.send_records(records).await
    }

    async fn suspend(&self, suspends: &[Suspend]) -> Answer<Vec<Settled>> {
        self.send_suspends(suspends).await
    }

    async fn expire(&self, task: TaskId, token: Token, fan_out: FanOutId) -> Answer<Option<FanOut>> {
        self.send_expire(task, token, fan_out).await
    }

    async fn take_signal(
        &self,
        task: TaskId,
        token: Token,
        key: &Key,
        name: &SignalName,
    ) -> Answer<kinfolk_core::TakenSignal> {
        self.send_take_signal(task, token, key, name).await
    }

    async fn slow_down(&self, task: TaskId, token: Token, group: &GroupName, until: Timestamp) -> Answer<bool> {
        let params: [Param<'_>; 4] = [
            (&task.0, Type::INT8),
            (&token.0, Type::UUID),
            (&group.as_str(), Type::TEXT),
            (&Moment(until), Type::TIMESTAMPTZ),
        ];
        point("slow_down.before");
        let row = self.row(SLOW_DOWN, &params).await?;
        point("slow_down.after");
        match row.get(0) {
            "done" => Ok(true),
            "stale" => Ok(false),
            "far" => Err(InputError::Delay(u64::try_from(row.get::<_, i64>(1)).unwrap_or_default()).into()),
            _ => Err(StoreError::not_found("group", group)),
        }
    }

    async fn report(&self, task: TaskId, token: Token, report: &Report) -> Answer<bool> {
        self.send_report(task, token, report).await
    }

    async fn record_minutes(&self, worker: WorkerId, number: u64, records: &[MinuteRecord]) -> Answer<()> {
        minute::check(records)?;
        let number = i64::try_from(number).unwrap_or(i64::MAX);
        let records = JsonText::of(&records)?;
        let params: [Param<'_>; 3] = [(&worker.0, Type::UUID), (&number, Type::INT8), (&records, Type::JSONB)];
        self.rows(RECORD_MINUTES, &params).await.map_err(|fault| not_there(worker_error(fault, worker)))?;
        Ok(())
    }

    async fn recover(&self, worker: WorkerId) -> Answer<Recovered> {
        point("recover.before");
        let row = self.row(RECOVER, &[(&worker.0, Type::UUID)]).await.map_err(|f| worker_error(f, worker))?;
        point("recover.after");
        let count = |index| u64::try_from(row.get::<_, i64>(index)).unwrap_or_default();
        Ok(Recovered {
            returned: count(0),
            poisoned: count(1),
            cancelled: count(2),
            workers: count(3),
            more: row.get(4),
        })
    }

    async fn due_schedules(&self) -> Answer<Vec<Schedule>> {
        self.look(DUE_SCHEDULES, &[]).await?.iter().map(rows::schedule).collect()
    }

    async fn fire(&self, plan: &Plan) -> Answer<Fired> {
        let ticks: Vec<Moment> = plan.ticks.iter().copied().map(Moment).collect();
        let next_at = plan.next_at.map(Moment);
        point("fire.before");
        let row = self
            .row(
                FIRE,
                &[
                    (&plan.name.as_str(), Type::TEXT),
                    (&Moment(plan.armed_for), Type::TIMESTAMPTZ),
                    (&ticks, Type::TIMESTAMPTZ_ARRAY),
                    (&next_at, Type::TIMESTAMPTZ),
                ],
            )
            .await
            .map_err(|fault| match fault {
                StoreError::NotFound { .. } => StoreError::not_found("schedule", &plan.name),
                other => other,
            })?;
        point("fire.after");
        rows::fired(&row)
    }

    async fn refresh_statuses(&self) -> Answer<Vec<Status>> {
        self.rows(REFRESH_STATUSES, &[]).await?.iter().map(rows::status).collect()
    }

    async fn sweep(&self) -> Answer<u64> {
        point("sweep.before");
        let row = self.row(SWEEP, &[]).await?;
        point("sweep.after");
        Ok(u64::try_from(row.get::<_, i64>(0)).unwrap_or_default())
    }

    async fn prune(&self) -> Answer<u64> {
        point("prune.before");
        for _ in 0..RATE_PAGES_MAX {
            if !self.row(PRUNE_RATES, &[]).await?.get::<_, bool>(0) {
                break;
            }
        }
        let row = self.row(PRUNE, &[]).await?;
        point("prune.after");
        Ok(u64::try_from(row.get::<_, i64>(0)).unwrap_or_default())
    }

    async fn wakes(&self, worker: WorkerId, queues: &[QueueName]) -> Answer<Option<Box<dyn WakeSource>>> {
        if !self.options.notify {
            return Ok(None);
        }
        // Says first whether the schema fits.
        drop(self.client().await?);
        let listener = Listener::start(self, worker, queues).await?;
        Ok(Some(Box::new(listener)))
    }
}

impl PgStore {
    async fn claim_once(&self, claim: &Claim, limit: usize) -> Answer<Batch> {
        let commands: Vec<&str> = claim.commands.iter().map(AsRef::as_ref).collect();
        let rows = limit as i32;
        let low = self.low_water.before(claim);
        point("claim.before");
        let began = std::time::Instant::now();
        let params: [Param<'_>; 9] = [
            (&claim.worker.0, Type::UUID),
            (&claim.token.0, Type::UUID),
            (&claim.queue.as_str(), Type::TEXT),
            (&commands, Type::TEXT_ARRAY),
            (&rows, Type::INT4),
            (&claim.repeated, Type::BOOL),
            (&low.priorities, Type::INT4_ARRAY),
            (&low.positions, Type::TIMESTAMPTZ_ARRAY),
            (&low.ids, Type::INT8_ARRAY),
        ];
        let mut taken = Batch { tasks: Vec::with_capacity(limit), ..Batch::default() };
        let read = self.each_row(CLAIM, &params, |row| taken.read(claim, row));
        read.await.map_err(|fault| worker_error(fault, claim.worker))?;
        taken.line_up();
        if taken.unflushed {
            self.rows(FLUSH, &[]).await?;
        }
        point("claim.after");
        self.open_claims.claimed(claim.token, &taken.tasks);
        let cost = Cost { took: began.elapsed(), steps: taken.steps };
        self.low_water.after(claim, &low, &taken.tasks, cost, taken.again);
        Ok(taken)
    }
}

/// The tasks of one call of the claim function, in order.
#[derive(Default)]
struct Batch {
    tasks: Vec<ClaimedAt>,
    next_due: Option<Timestamp>,
    again: bool,
    /// It ended at tasks that are held up by their keys: there may be others behind them.
    more: bool,
    /// Its tasks must not start before its commit is on the disk.
    unflushed: bool,
    /// Its tasks in the order in which values take turns, where they do.
    turns: Option<Vec<i64>>,
    /// Entries of the ready index that it stepped over.
    steps: u64,
}

impl Batch {
    /// Takes in a row of the answer: a task, or the last one, which tells of the call as a whole.
    fn read(&mut self, claim: &Claim, row: &Row) -> Answer<()> {
        if let Some(id) = row.get::<_, Option<i64>>(0) {
            let stand = (row.get(7), row.get(8), id);
            let lane = Lane::from_word(row.get(14));
            self.tasks.push(ClaimedAt { stand, lane, was_suspended: row.get(17), task: claimed_task(claim, id, row)? });
        } else {
            self.next_due = row.get::<_, Option<Moment>>(9).map(|moment| moment.0);
            self.again = row.get(10);
            self.more = row.get(19);
            self.unflushed = row.get(20);
            self.turns = row.get(21);
            self.steps = row.get::<_, Option<i64>>(15).and_then(|many| u64::try_from(many).ok()).unwrap_or_default();
        }
        Ok(())
    }

    /// Puts the tasks that were taken in the order in which they are to start.
    fn line_up(&mut self) {
        match &self.turns {
            None => self.tasks.sort_by_key(|one| one.stand),
            Some(turns) => {
                let turns: HashMap<i64, usize> = turns.iter().enumerate().map(|(nth, id)| (*id, nth)).collect();
                self.tasks.sort_by_key(|one| turns.get(&one.task.id.0).copied());
            }
        }
    }
}

fn claimed_task(claim: &Claim, id: i64, row: &Row) -> Answer<ClaimedTask> {
    let command: &str = row.get(1);
    let small = |index| u16::try_from(row.get::<_, i32>(index)).unwrap_or_default();
    let command = claim.commands.iter().find(|name| name.as_str() == command).cloned().ok_or_else(|| {
        StoreError::Fault { code: "claim".to_owned(), detail: format!("task {id} of a command not asked for") }
    })?;
    Ok(ClaimedTask {
        id: TaskId(id),
        token: claim.token,
        command,
        payload: row.get::<_, JsonOut>(2).0,
        attempt: small(3),
        max_attempts: small(4),
        timeout: row.get::<_, Option<i64>>(5).map(span),
        trace: row.get(6),
        holds_slots: row.get(18),
        keys: rows::keys(row, 22)?,
        waited: row.get::<_, Option<Interval>>(23).map(|waited| waited.0),
        parent: row.get::<_, Option<i64>>(11).map(TaskId),
        root: TaskId(row.get(12)),
        depth: small(13),
        steps: u32::try_from(row.get::<_, i32>(16)).unwrap_or_default(),
    })
}
