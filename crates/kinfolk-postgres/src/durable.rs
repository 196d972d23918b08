//! How checkpoints and suspensions are sent: checkpoints of several attempts as one array a property; a suspension by a call of
//! its own, several of them in one transaction, all on their way at once.

use futures_util::future::join_all;
use kinfolk_core::crash::point;
use kinfolk_core::limits::SETTLE_BATCH_MAX;
use kinfolk_core::store::Answer;
use kinfolk_core::{
    Checkpoint, FanOut, FanOutId, InputError, Json, Key, Made, Record, Recorded, Report, Rule, Settled, SignalName,
    StoreError, Suspend, TakenSignal, TaskId, Token,
};
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{GenericClient, Row, Statement};
use uuid::Uuid;

use crate::call::Param;
use crate::error::store_error;
use crate::produce::Columns;
use crate::rows;
use crate::settle::{emptied, kinds};
use crate::store::{PgStore, begin};
use crate::values::{JsonIn, JsonOut, Moment, micros};

// Rows are built in the text of a statement, so that their encoding is the server's.
const RECORD: &str =
    "select nth, answer from kinfolk.record($1, $2, $3, row($4, $5, $6, $7, $8, $9)::kinfolk.checkpoints)";
const SUSPEND: &str = "select 1, answer, state from kinfolk.suspend($1, $2, \
    p_awaits => row($3, $4, $5, $6)::kinfolk.awaits, \
    p_steps => row($7, $8, $9, $10, $11, $12)::kinfolk.checkpoints, \
    p_made => row($13, '{}', $14, $15, $16, $17, $18, $19, $20, $21, $22, $23, $24, $25, $26, $27, $28, $29)\
    ::kinfolk.given_tasks, \
    p_order => $30, \
    p_fans => row($31, $32, $33, $34, $35, $36, $37, $38, $39, $40)::kinfolk.begun_fan_outs)";
const LOCK_SUSPENDED: &str = "select kinfolk.lock_suspended($1, $2, $3, $4)";
const EXPIRE: &str = "select id, task, rule, parts, total, completed, failed, cancelled, verdict, decided_at, deadline, \
    created_at, settled_at from kinfolk.expire($1, $2, $3)";
const TAKE_SIGNAL: &str = "select answer, value from kinfolk.take_signal($1, $2, $3, $4, $5, $6)";
const REPORT: &str = "select kinfolk.report($1, $2, $3)";

impl PgStore {
    pub(crate) async fn send_records(&self, records: &[Record]) -> Answer<Vec<Recorded>> {
        check_records(records)?;
        if records.is_empty() {
            return Ok(Vec::new());
        }
        let columns = Records::of(records);
        point("record.before");
        let rows = self.rows(RECORD, &columns.params()).await?;
        point("record.after");
        recorded(&rows)
    }

    pub(crate) async fn send_suspends(&self, suspends: &[Suspend]) -> Answer<Vec<Settled>> {
        if suspends.len() > SETTLE_BATCH_MAX {
            let given = suspends.len();
            return Err(InputError::Batch { what: "suspends", given, max: SETTLE_BATCH_MAX }.into());
        }
        for suspend in suspends {
            suspend.check()?;
        }
        // Rows are locked in the order of the tasks.
        let mut order: Vec<usize> = (0..suspends.len()).collect();
        order.sort_by_key(|index| suspends[*index].task);
        let calls: Vec<Call<'_>> = order.iter().map(|index| Call::of(&suspends[*index])).collect::<Answer<_>>()?;
        point("suspend.before");
        let sorted = match &calls[..] {
            [] => return Ok(Vec::new()),
            [only] => rows::settled(1, &self.rows(SUSPEND, &only.params()).await?)?,
            several => self.suspend_together(several).await?,
        };
        point("suspend.after");
        self.open_claims.settled(suspends.iter().map(|suspend| suspend.token));
        let mut answers = sorted.clone();
        for (index, answer) in order.into_iter().zip(sorted) {
            answers[index] = answer;
        }
        Ok(answers)
    }

    async fn suspend_together(&self, calls: &[Call<'_>]) -> Answer<Vec<Settled>> {
        let mut client = self.client().await?;
        let sent = async {
            let types: Vec<Type> = calls[0].params().into_iter().map(|(_, kind)| kind).collect();
            let prepared = match self.options.prepared {
                true => Some(client.prepare_typed_cached(SUSPEND, &types).await.map_err(|fault| store_error(&fault))?),
                false => None,
            };
            let transaction = begin(&mut client).await?;
            let answers = send(&transaction, prepared.as_ref(), calls).await?;
            transaction.commit().await.map_err(|fault| store_error(&fault))?;
            Ok(answers)
        };
        let answer = tokio::time::timeout(self.options.answer_timeout, sent).await;
        answer.unwrap_or_else(|_| Err(self.given_up(client)))
    }

    pub(crate) async fn send_expire(&self, task: TaskId, token: Token, fan_out: FanOutId) -> Answer<Option<FanOut>> {
        let params: [Param<'_>; 3] = [(&task.0, Type::INT8), (&token.0, Type::UUID), (&fan_out.0, Type::INT8)];
        point("expire.before");
        let rows = self.rows(EXPIRE, &params).await.map_err(|fault| no_such_fan_out(fault, fan_out))?;
        point("expire.after");
        rows.first().map(|row| rows::fan_out(row, 1, 0, 2)).transpose()
    }

    pub(crate) async fn send_take_signal(
        &self,
        task: TaskId,
        token: Token,
        key: &Key,
        name: &SignalName,
    ) -> Answer<TakenSignal> {
        let occurrence = occurrence(key);
        let params: [Param<'_>; 6] = [
            (&task.0, Type::INT8),
            (&token.0, Type::UUID),
            (&key.branch, Type::TEXT),
            (&key.name, Type::TEXT),
            (&occurrence, Type::INT4),
            (&name.as_str(), Type::TEXT),
        ];
        point("take_signal.before");
        let row = self.row(TAKE_SIGNAL, &params).await?;
        point("take_signal.after");
        Ok(match (row.get(0), row.get::<_, Option<JsonOut>>(1)) {
            ("taken", Some(value)) => TakenSignal::Signal(value.0),
            ("stale", _) => TakenSignal::Stale,
            _ => TakenSignal::Nothing,
        })
    }

    pub(crate) async fn send_report(&self, task: TaskId, token: Token, report: &Report) -> Answer<bool> {
        report.check()?;
        let report = Json::of(report)?;
        let json = JsonIn(report.as_str());
        let params: [Param<'_>; 3] = [(&task.0, Type::INT8), (&token.0, Type::UUID), (&json, Type::JSONB)];
        Ok(self.row(REPORT, &params).await?.get(0))
    }
}

/// Writes checkpoints in the transaction of this client.
pub(crate) async fn record_by(client: &impl GenericClient, records: &[Record]) -> Answer<Vec<Recorded>> {
    check_records(records)?;
    let rows = client.query_typed(RECORD, &Records::of(records).params()).await;
    recorded(&rows.map_err(|fault| store_error(&fault))?)
}

/// Locks ahead what these suspensions need, since each by itself takes its locks in order, but not the second after the first;
/// then sends them, all at once.
async fn send(client: &impl GenericClient, prepared: Option<&Statement>, calls: &[Call<'_>]) -> Answer<Vec<Settled>> {
    let tasks: Vec<i64> = calls.iter().map(|call| call.task).collect();
    let (commands, keys): (Vec<&str>, Vec<Option<&str>>) = calls.iter().flat_map(|call| call.follow_ups()).unzip();
    let makers: Vec<bool> = calls.iter().map(Call::meets_others).collect();
    let locks: [Param<'_>; 4] = [
        (&tasks, Type::INT8_ARRAY),
        (&makers, Type::BOOL_ARRAY),
        (&commands, Type::TEXT_ARRAY),
        (&keys, Type::TEXT_ARRAY),
    ];
    let params: Vec<Vec<Param<'_>>> = calls.iter().map(Call::params).collect();
    let locked = client.query_typed(LOCK_SUSPENDED, &locks);
    let sent = join_all(params.iter().map(async |params| match prepared {
        Some(statement) => {
            let values: Vec<&(dyn ToSql + Sync)> = params.iter().map(|(value, _)| *value).collect();
            client.query(statement, &values).await
        }
        None => client.query_typed(SUSPEND, params).await,
    }));
    let (locked, sent) = futures_util::future::join(locked, sent).await;
    locked.map_err(|fault| store_error(&fault))?;
    let mut answers = Vec::with_capacity(calls.len());
    for rows in sent {
        answers.extend(rows::settled(1, &rows.map_err(|fault| store_error(&fault))?)?);
    }
    Ok(answers)
}

pub(crate) fn no_such_fan_out(fault: StoreError, id: FanOutId) -> StoreError {
    match fault {
        StoreError::NotFound { what: "", .. } => StoreError::not_found("fan-out", id),
        other => other,
    }
}

fn occurrence(key: &Key) -> i32 {
    i32::try_from(key.occurrence).unwrap_or(i32::MAX)
}

fn check_records(records: &[Record]) -> Answer<()> {
    if records.len() > SETTLE_BATCH_MAX {
        return Err(InputError::Batch { what: "records", given: records.len(), max: SETTLE_BATCH_MAX }.into());
    }
    for record in records {
        record.check()?;
    }
    Ok(())
}

fn recorded(rows: &[Row]) -> Answer<Vec<Recorded>> {
    let answer = |row: &Row| if row.get::<_, &str>(1) == "written" { Recorded::Written } else { Recorded::Stale };
    let mut rows: Vec<(i32, Recorded)> = rows.iter().map(|row| (row.get(0), answer(row))).collect();
    rows.sort_by_key(|(nth, _)| *nth);
    Ok(rows.into_iter().map(|(_, answer)| answer).collect())
}

/// Checkpoints as one array a property.
#[derive(Default)]
struct Steps<'a> {
    branches: Vec<&'a str>,
    names: Vec<&'a str>,
    occurrences: Vec<i32>,
    kinds: Vec<&'static str>,
    digests: Vec<&'a str>,
    values: Vec<JsonIn<'a>>,
}

impl<'a> Steps<'a> {
    fn of(checkpoints: impl Iterator<Item = &'a Checkpoint>) -> Self {
        let mut steps = Self::default();
        for checkpoint in checkpoints {
            steps.branches.push(&checkpoint.key.branch);
            steps.names.push(&checkpoint.key.name);
            steps.occurrences.push(occurrence(&checkpoint.key));
            steps.kinds.push(checkpoint.kind.as_str());
            steps.digests.push(&checkpoint.digest);
            steps.values.push(JsonIn(checkpoint.value.as_str()));
        }
        steps
    }

    fn params(&self) -> [Param<'_>; 6] {
        [
            (&self.branches, Type::TEXT_ARRAY),
            (&self.names, Type::TEXT_ARRAY),
            (&self.occurrences, Type::INT4_ARRAY),
            (&self.kinds, Type::TEXT_ARRAY),
            (&self.digests, Type::TEXT_ARRAY),
            (&self.values, Type::JSONB_ARRAY),
        ]
    }
}

/// Checkpoints of several attempts.
struct Records<'a> {
    tasks: Vec<i64>,
    tokens: Vec<Uuid>,
    of: Vec<i32>,
    steps: Steps<'a>,
}

impl<'a> Records<'a> {
    fn of(records: &'a [Record]) -> Self {
        let of = (1..).zip(records).flat_map(|(nth, record)| record.checkpoints.iter().map(move |_| nth));
        Self {
            tasks: records.iter().map(|record| record.task.0).collect(),
            tokens: records.iter().map(|record| record.token.0).collect(),
            of: of.collect(),
            steps: Steps::of(records.iter().flat_map(|record| &record.checkpoints)),
        }
    }

    /// The parameters of [`RECORD`].
    fn params(&self) -> Vec<Param<'_>> {
        let mut params: Vec<Param<'_>> =
            vec![(&self.tasks, Type::INT8_ARRAY), (&self.tokens, Type::UUID_ARRAY), (&self.of, Type::INT4_ARRAY)];
        params.extend(self.steps.params());
        params
    }
}

/// One suspension.
struct Call<'a> {
    task: i64,
    token: Uuid,
    made: Option<&'a Made>,
    steps: Steps<'a>,
    order: &'static str,
    kinds: Vec<&'static str>,
    columns: Columns<'a>,
    whens: Vec<Option<&'static str>>,
    fan_outs: FanOuts<'a>,
    awaits: Vec<i64>,
    wakes: Vec<i32>,
    until: Option<Moment>,
    signals: Vec<&'a str>,
}

/// The fan-outs that a suspension begins, as one array a property.
struct FanOuts<'a> {
    sizes: Vec<i32>,
    branches: Vec<&'a str>,
    names: Vec<&'a str>,
    occurrences: Vec<i32>,
    digests: Vec<&'a str>,
    rules: Vec<&'static str>,
    parts: Vec<Option<i32>>,
    timeouts: Vec<Option<i64>>,
    cancels: Vec<bool>,
    wakes: Vec<i32>,
}

fn small(many: usize) -> i32 {
    i32::try_from(many).unwrap_or(i32::MAX)
}

fn wake(at: u32) -> i32 {
    i32::try_from(at).unwrap_or(i32::MAX)
}

impl<'a> FanOuts<'a> {
    fn of(suspend: &'a Suspend) -> Self {
        let all = || suspend.fan_outs.iter();
        Self {
            sizes: all().map(|fan_out| small(fan_out.children.len())).collect(),
            branches: all().map(|fan_out| fan_out.key.branch.as_str()).collect(),
            names: all().map(|fan_out| fan_out.key.name.as_str()).collect(),
            occurrences: all().map(|fan_out| occurrence(&fan_out.key)).collect(),
            digests: all().map(|fan_out| fan_out.digest.as_str()).collect(),
            rules: all().map(|fan_out| fan_out.rule.as_str()).collect(),
            parts: all()
                .map(|fan_out| match fan_out.rule {
                    Rule::Threshold(parts) => Some(wake(parts)),
                    Rule::FailFast | Rule::CollectAll => None,
                })
                .collect(),
            timeouts: all().map(|fan_out| fan_out.timeout.map(micros)).collect(),
            cancels: all().map(|fan_out| fan_out.cancel_on_failure).collect(),
            wakes: all().map(|fan_out| wake(fan_out.wake_at)).collect(),
        }
    }

    fn params(&self) -> [Param<'_>; 10] {
        [
            (&self.sizes, Type::INT4_ARRAY),
            (&self.branches, Type::TEXT_ARRAY),
            (&self.names, Type::TEXT_ARRAY),
            (&self.occurrences, Type::INT4_ARRAY),
            (&self.digests, Type::TEXT_ARRAY),
            (&self.rules, Type::TEXT_ARRAY),
            (&self.parts, Type::INT4_ARRAY),
            (&self.timeouts, Type::INT8_ARRAY),
            (&self.cancels, Type::BOOL_ARRAY),
            (&self.wakes, Type::INT4_ARRAY),
        ]
    }
}

impl<'a> Call<'a> {
    fn of(suspend: &'a Suspend) -> Answer<Self> {
        let made = suspend.made.as_deref();
        let follow_ups = made.map_or(&[][..], |made| &made.follow_ups);
        let before = made.map_or(0, |made| made.siblings.len() + made.children.len());
        let whens = follow_ups.iter().map(|follow_up| Some(follow_up.when.as_str()));
        Ok(Self {
            task: suspend.task.0,
            token: suspend.token.0,
            made,
            steps: Steps::of(suspend.checkpoints.iter()),
            order: made.map(|made| made.order).unwrap_or_default().as_str(),
            kinds: made.map(kinds).unwrap_or_default(),
            columns: Columns::over(&suspend.iter().collect::<Vec<_>>())?,
            whens: emptied(std::iter::repeat_n(None, before).chain(whens)),
            fan_outs: FanOuts::of(suspend),
            awaits: suspend.awaits.iter().map(|one| one.fan_out.0).collect(),
            wakes: suspend.awaits.iter().map(|one| wake(one.wake_at)).collect(),
            until: suspend.until.map(Moment),
            signals: suspend.signals.iter().map(SignalName::as_str).collect(),
        })
    }

    /// Whether it makes tasks beside its own children, and so may lock rows that others have.
    fn meets_others(&self) -> bool {
        self.made.is_some_and(|made| made.len() > made.children.len())
    }

    /// The commands and unique keys of the follow-ups it makes.
    fn follow_ups(&self) -> impl Iterator<Item = (&'a str, Option<&'a str>)> + use<'a> {
        let follow_ups = self.made.map_or(&[][..], |made| &made.follow_ups);
        follow_ups
            .iter()
            .map(|one| (one.task.command.as_str(), one.task.unique.as_ref().map(|unique| unique.key.as_str())))
    }

    /// The parameters of [`SUSPEND`].
    fn params(&self) -> Vec<Param<'_>> {
        let mut params: Vec<Param<'_>> = vec![
            (&self.task, Type::INT8),
            (&self.token, Type::UUID),
            (&self.awaits, Type::INT8_ARRAY),
            (&self.wakes, Type::INT4_ARRAY),
            (&self.until, Type::TIMESTAMPTZ),
            (&self.signals, Type::TEXT_ARRAY),
        ];
        params.extend(self.steps.params());
        params.push((&self.kinds, Type::TEXT_ARRAY));
        params.extend(self.columns.properties());
        params.push((&self.whens, Type::TEXT_ARRAY));
        params.extend(self.columns.keys());
        params.push((&self.order, Type::TEXT));
        params.extend(self.fan_outs.params());
        params
    }
}
