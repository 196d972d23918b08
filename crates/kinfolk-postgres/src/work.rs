//! What a worker may do.

use async_trait::async_trait;
use kinfolk_core::claim::ClaimedTask;
use kinfolk_core::crash::point;
use kinfolk_core::limits::{CLAIM_BATCH_MAX, SETTLE_BATCH_MAX};
use kinfolk_core::schedule::{Fired, Plan};
use kinfolk_core::store::Answer;
use kinfolk_core::{
    Claim, Claimed, Heartbeat, InputError, Json, Outcome, QueueName, Recovered, Retry, Schedule, Settle, Settled,
    Status, StoreError, TaskId, Timestamp, Token, WakeSource, Work, WorkerId, WorkerSpec,
};
use tokio_postgres::Row;
use tokio_postgres::types::Type;
use uuid::Uuid;

use crate::call::Param;
use crate::error::worker_error;
use crate::low_water::{Lane, Taken};
use crate::rows;
use crate::store::PgStore;
use crate::values::{JsonIn, JsonOut, Moment, micros, span};
use crate::wake::Listener;

const REGISTER_WORKER: &str = "select kinfolk.register_worker($1, $2, $3, $4, $5)";
const HEARTBEAT: &str = "select id, token from kinfolk.heartbeat($1)";
const LEAVE: &str = "select kinfolk.leave($1)";
const CLAIM: &str = "select id, command, payload, attempt, max_attempts, timeout_us, trace, priority, place, next_due, \
    again, parent, root, depth, lane from kinfolk.claim($1, $2, $3, $4, $5, $6, true, $7, $8, $9)";
pub(crate) const SETTLE: &str = "select nth, answer, state from kinfolk.settle_tersely($1, $2, $3, $4, $5, $6)";
const RECOVER: &str = "select returned, poisoned, cancelled, workers, more from kinfolk.recover($1)";
const DUE_SCHEDULES: &str = "select * from kinfolk.due_schedules()";
const FIRE: &str = "select tasks, overlapped, too_late from kinfolk.fire($1, $2, $3, $4)";
const REFRESH_STATUSES: &str = "select name, commands, active, changed_at from kinfolk.refresh_statuses()";
const PRUNE: &str = "select kinfolk.prune()";

#[async_trait]
impl Work for PgStore {
    async fn register_worker(&self, worker: &WorkerSpec) -> Answer<()> {
        worker.check()?;
        let queues: Vec<&str> = worker.queues.iter().map(QueueName::as_str).collect();
        let commands: Vec<&str> = worker.commands.iter().map(AsRef::as_ref).collect();
        let name = worker.name.replace('\0', "\u{fffd}");
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

    async fn claim(&self, claim: &Claim) -> Answer<Claimed> {
        let asked = claim.limit.min(CLAIM_BATCH_MAX);
        let mut taken = self.claim_once(claim, asked).await?;
        let left = asked - taken.tasks.len().min(asked);
        if taken.again && left > 0 && !claim.repeated {
            // What was enqueued while this worker went to sleep may have seen it awake.
            let more = self.claim_once(claim, left).await?;
            taken.tasks.extend(more.tasks);
            taken.tasks.sort_by_key(|one| one.position);
            taken.next_due = more.next_due;
        }
        Ok(Claimed { tasks: taken.tasks.into_iter().map(|one| one.task).collect(), next_due: taken.next_due })
    }

    async fn settle(&self, settles: &[Settle]) -> Answer<Vec<Settled>> {
        check(settles)?;
        if settles.is_empty() {
            return Ok(Vec::new());
        }
        let (order, columns) = SettleColumns::sorted(settles);
        point("settle.before");
        let rows = self.rows(SETTLE, &columns.params()).await?;
        point("settle.after");
        answers(&order, &rows)
    }

    async fn recover(&self, worker: WorkerId) -> Answer<Recovered> {
        point("recover.before");
        let row = self.row(RECOVER, &[(&worker.0, Type::UUID)]).await.map_err(|f| worker_error(f, worker))?;
        point("recover.after");
        let count = |place| u64::try_from(row.get::<_, i64>(place)).unwrap_or_default();
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

    async fn prune(&self) -> Answer<u64> {
        point("prune.before");
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
        let listener = Listener::start(self.target.clone(), worker, queues).await?;
        Ok(Some(Box::new(listener)))
    }
}

impl PgStore {
    async fn claim_once(&self, claim: &Claim, limit: usize) -> Answer<Batch> {
        let commands: Vec<&str> = claim.commands.iter().map(AsRef::as_ref).collect();
        let limit = limit as i32;
        let low = self.low_water.before(claim);
        point("claim.before");
        let began = std::time::Instant::now();
        let params: [Param<'_>; 9] = [
            (&claim.worker.0, Type::UUID),
            (&claim.token.0, Type::UUID),
            (&claim.queue.as_str(), Type::TEXT),
            (&commands, Type::TEXT_ARRAY),
            (&limit, Type::INT4),
            (&claim.repeated, Type::BOOL),
            (&low.priorities, Type::INT4_ARRAY),
            (&low.places, Type::TIMESTAMPTZ_ARRAY),
            (&low.ids, Type::INT8_ARRAY),
        ];
        let rows = self.rows(CLAIM, &params).await.map_err(|fault| worker_error(fault, claim.worker))?;
        point("claim.after");
        let mut taken = Batch { tasks: Vec::with_capacity(rows.len()), next_due: None, again: false };
        for row in &rows {
            if let Some(id) = row.get::<_, Option<i64>>(0) {
                let position = (row.get(7), row.get(8), id);
                let lane = Lane::from_word(row.get(14));
                taken.tasks.push(Taken { position, lane, task: claimed_task(claim, id, row)? });
            } else {
                taken.next_due = row.get::<_, Option<Moment>>(9).map(|moment| moment.0);
                taken.again = row.get(10);
            }
        }
        taken.again |= self.low_water.after(claim, &low, &taken.tasks, began.elapsed(), limit as usize);
        Ok(taken)
    }
}

/// What one call of the claim function took, in order.
struct Batch {
    tasks: Vec<Taken>,
    next_due: Option<Timestamp>,
    again: bool,
}

fn claimed_task(claim: &Claim, id: i64, row: &Row) -> Answer<ClaimedTask> {
    let command: &str = row.get(1);
    let small = |place| u16::try_from(row.get::<_, i32>(place)).unwrap_or_default();
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
        parent: row.get::<_, Option<i64>>(11).map(TaskId),
        root: TaskId(row.get(12)),
        depth: small(13),
    })
}

/// Refuses a call that no store would carry out.
pub(crate) fn check(settles: &[Settle]) -> Answer<()> {
    if settles.len() > SETTLE_BATCH_MAX {
        return Err(InputError::Batch { what: "settles", given: settles.len(), max: SETTLE_BATCH_MAX }.into());
    }
    for settle in settles {
        settle.check()?;
    }
    Ok(())
}

/// Settles as one array a property, sorted by task: locks are taken in that order.
pub(crate) struct SettleColumns<'a> {
    ids: Vec<i64>,
    tokens: Vec<Uuid>,
    outcomes: Vec<&'static str>,
    results: Vec<Option<JsonIn<'a>>>,
    failures: Vec<Option<FailureIn>>,
    delays: Vec<Option<i64>>,
}

#[derive(Debug)]
struct FailureIn(Json);

impl tokio_postgres::types::ToSql for FailureIn {
    fn to_sql(
        &self,
        kind: &Type,
        out: &mut tokio_postgres::types::private::BytesMut,
    ) -> Result<tokio_postgres::types::IsNull, Box<dyn std::error::Error + Sync + Send>> {
        JsonIn(self.0.as_str()).to_sql(kind, out)
    }

    fn accepts(kind: &Type) -> bool {
        <JsonIn<'_> as tokio_postgres::types::ToSql>::accepts(kind)
    }

    tokio_postgres::types::to_sql_checked!();
}

impl<'a> SettleColumns<'a> {
    /// The columns, and for each of their rows the place of its settle in the call.
    pub(crate) fn sorted(settles: &'a [Settle]) -> (Vec<usize>, Self) {
        let mut order: Vec<usize> = (0..settles.len()).collect();
        order.sort_by_key(|place| settles[*place].task);
        let sorted = || order.iter().map(|place| &settles[*place]);
        let columns = Self {
            ids: sorted().map(|s| s.task.0).collect(),
            tokens: sorted().map(|s| s.token.0).collect(),
            outcomes: sorted().map(|s| word(&s.outcome)).collect(),
            results: emptied(sorted().map(|s| match &s.outcome {
                Outcome::Done(Some(result)) => Some(JsonIn(result.as_str())),
                _ => None,
            })),
            failures: emptied(sorted().map(|s| match &s.outcome {
                Outcome::Failed { failure, .. } => Json::of(failure).ok().map(FailureIn),
                _ => None,
            })),
            delays: emptied(sorted().map(|s| match &s.outcome {
                Outcome::Snooze(delay)
                | Outcome::YieldPlace(delay)
                | Outcome::Failed { retry: Retry::After(delay), .. } => Some(micros(*delay)),
                _ => None,
            })),
        };
        (order, columns)
    }

    /// The parameters of [`SETTLE`].
    pub(crate) fn params(&self) -> [Param<'_>; 6] {
        [
            (&self.ids, Type::INT8_ARRAY),
            (&self.tokens, Type::UUID_ARRAY),
            (&self.outcomes, Type::TEXT_ARRAY),
            (&self.results, Type::JSONB_ARRAY),
            (&self.failures, Type::JSONB_ARRAY),
            (&self.delays, Type::INT8_ARRAY),
        ]
    }
}

/// The answers in the order of the call.
pub(crate) fn answers(order: &[usize], rows: &[Row]) -> Answer<Vec<Settled>> {
    let sorted = rows::settled(order.len(), rows)?;
    let mut answers = sorted.clone();
    for (place, answer) in order.iter().zip(sorted) {
        answers[*place] = answer;
    }
    Ok(answers)
}

fn emptied<T>(column: impl Iterator<Item = Option<T>>) -> Vec<Option<T>> {
    let column: Vec<Option<T>> = column.collect();
    if column.iter().all(Option::is_none) { Vec::new() } else { column }
}

fn word(outcome: &Outcome) -> &'static str {
    match outcome {
        Outcome::Done(_) => "done",
        Outcome::Failed { retry: Retry::Never, .. } => "never",
        Outcome::Failed { .. } => "failed",
        Outcome::Snooze(_) | Outcome::YieldPlace(_) => "snooze",
        Outcome::Release => "release",
        Outcome::Cancelled => "cancelled",
    }
}
