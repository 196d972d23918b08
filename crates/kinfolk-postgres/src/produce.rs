//! The calls of a producer.

use std::collections::BTreeSet;

use async_trait::async_trait;
use deadpool_postgres::Object;
use kinfolk_core::crash::point;
use kinfolk_core::limits::ENQUEUE_BATCH_MAX;
use kinfolk_core::store::Answer;
use kinfolk_core::{Command, Due, Enqueued, InputError, NewTask, Produce, SqlHandler, StoreError, UniqueScope};
use tokio_postgres::Row;
use tokio_postgres::types::Type;

use crate::call::{self, Param};
use crate::numbers::Source;
use crate::rows;
use crate::store::{self, PgStore};
use crate::values::{JsonIn, JsonText, Moment, micros};

const REGISTER: &str =
    "select kinfolk.register_commands($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18)";
pub(crate) const TAKE_IDS: &str = "select kinfolk.take_ids($1)";
pub(crate) const ENQUEUE: &str = "select nth, outcome, id, name \
    from kinfolk.enqueue_rows($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17)";
const WAKE: &str = "select kinfolk.wake($1, $2)";

/// How often an enqueue whose connection broke is sent again, with the same numbers.
const REPEATS: u32 = 3;

#[async_trait]
impl Produce for PgStore {
    async fn register(&self, commands: &[Command]) -> Answer<()> {
        for command in commands {
            command.check()?;
        }
        if commands.is_empty() {
            return Ok(());
        }
        // In SQL null leaves what is registered, '' takes a function away, 0 a timeout or the attempts.
        let names: Vec<&str> = commands.iter().map(|c| c.name.as_str()).collect();
        let queues: Vec<&str> = commands.iter().map(|c| c.queue.as_str()).collect();
        let priorities: Vec<i32> = commands.iter().map(|c| c.priority).collect();
        let attempts: Vec<i32> = commands.iter().map(|c| i32::from(c.retry.max_attempts.unwrap_or(0))).collect();
        let base: Vec<i64> = commands.iter().map(|c| i64::from(c.retry.base_ms)).collect();
        let cap: Vec<i64> = commands.iter().map(|c| i64::from(c.retry.cap_ms)).collect();
        let jitter: Vec<i32> = commands.iter().map(|c| i32::from(c.retry.jitter_pct)).collect();
        let strikes: Vec<i32> = commands.iter().map(|c| i32::from(c.retry.max_strikes)).collect();
        let timeouts: Vec<i64> = commands.iter().map(|c| c.timeout.map_or(0, micros)).collect();
        let handler = |of: fn(&SqlHandler) -> &str| -> Vec<Option<&str>> {
            commands.iter().map(|c| c.handler.as_ref().map(of)).collect()
        };
        let handlers = handler(|handler| &handler.function);
        let befores = handler(|handler| handler.before.as_deref().unwrap_or_default());
        let afters = handler(|handler| handler.after.as_deref().unwrap_or_default());
        let on_successes = handler(|handler| handler.on_success.as_deref().unwrap_or_default());
        let on_errors = handler(|handler| handler.on_error.as_deref().unwrap_or_default());
        let statement_timeouts: Vec<Option<i64>> =
            commands.iter().map(|c| c.handler.as_ref().map(|h| h.statement_timeout.map_or(0, micros))).collect();
        let envelopes: Vec<Option<bool>> = commands.iter().map(|c| c.handler.as_ref().map(|h| h.envelope)).collect();
        let groups: Vec<Option<JsonText>> =
            commands.iter().map(|c| c.groups.as_ref().map(JsonText::of).transpose()).collect::<Answer<_>>()?;
        let labels: Vec<Option<String>> = commands.iter().map(|c| c.label.as_ref().map(ToString::to_string)).collect();
        self.rows(
            REGISTER,
            &[
                (&names, Type::TEXT_ARRAY),
                (&queues, Type::TEXT_ARRAY),
                (&priorities, Type::INT4_ARRAY),
                (&attempts, Type::INT4_ARRAY),
                (&base, Type::INT8_ARRAY),
                (&cap, Type::INT8_ARRAY),
                (&jitter, Type::INT4_ARRAY),
                (&timeouts, Type::INT8_ARRAY),
                (&handlers, Type::TEXT_ARRAY),
                (&befores, Type::TEXT_ARRAY),
                (&afters, Type::TEXT_ARRAY),
                (&statement_timeouts, Type::INT8_ARRAY),
                (&groups, Type::JSONB_ARRAY),
                (&strikes, Type::INT4_ARRAY),
                (&envelopes, Type::BOOL_ARRAY),
                (&on_successes, Type::TEXT_ARRAY),
                (&on_errors, Type::TEXT_ARRAY),
                (&labels, Type::TEXT_ARRAY),
            ],
        )
        .await?;
        Ok(())
    }

    async fn enqueue(&self, tasks: &[NewTask]) -> Answer<Vec<Enqueued>> {
        self.enqueue_or(tasks, Unknown::Answered).await
    }

    async fn enqueue_all(&self, tasks: &[NewTask]) -> Answer<Vec<Enqueued>> {
        self.enqueue_or(tasks, Unknown::Refused).await
    }
}

/// The answer to a call with a task whose command, queue or group is not there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unknown {
    /// It is answered so, and the others are made.
    Answered,
    /// Nothing is made.
    Refused,
}

impl PgStore {
    async fn enqueue_or(&self, tasks: &[NewTask], unknown: Unknown) -> Answer<Vec<Enqueued>> {
        check(tasks)?;
        if tasks.is_empty() {
            return Ok(Vec::new());
        }
        let (client, ids) = self.numbered(self.client().await?, tasks.len()).await?;
        let mut answer = self.enqueue_as(client, &ids, tasks, unknown).await;
        for _ in 0..REPEATS {
            // It may have been carried out: the numbers tell.
            let Err(StoreError::Unavailable { .. }) = answer else { break };
            answer = match self.client().await {
                Ok(client) => self.enqueue_as(client, &ids, tasks, unknown).await,
                Err(fault) => Err(fault),
            };
        }
        answer
    }

    /// Numbers for so many tasks, to be sent over the same connection.
    async fn numbered(&self, client: Object, many: usize) -> Answer<(Object, Vec<i64>)> {
        // Behind a pooler the client does not know whether the server is still the one that gave the numbers.
        let source = if self.options.prepared { self.numbers.take(many) } else { Source::Ask { many, made: 0 } };
        let (asked, made) = match source {
            Source::AtHand(ids) => return Ok((client, ids)),
            Source::Ask { many, made } => (many as i32, made),
        };
        let (client, rows) = self.rows_over(client, TAKE_IDS, &[(&asked, Type::INT4)]).await?;
        let ids = store::one(TAKE_IDS, rows)?.get(0);
        Ok((client, self.numbers.keep(ids, many, made)))
    }

    async fn enqueue_as(
        &self,
        client: Object,
        ids: &[i64],
        tasks: &[NewTask],
        unknown: Unknown,
    ) -> Answer<Vec<Enqueued>> {
        point("enqueue.before");
        let call = self.send_enqueue(&client, ids, tasks, unknown);
        let Ok(rows) = tokio::time::timeout(self.options.answer_timeout, call).await else {
            return Err(self.given_up(client));
        };
        point("enqueue.after");
        rows::enqueued(ids, tasks, &rows?)
    }

    async fn send_enqueue(
        &self,
        client: &Object,
        ids: &[i64],
        tasks: &[NewTask],
        unknown: Unknown,
    ) -> Answer<Vec<Row>> {
        let columns = Columns::of(tasks)?;
        let strict = unknown == Unknown::Refused;
        let params = columns.params(&ids, &false, &strict);
        let prepared = self.options.prepared;
        let enqueue = call::rows(client, prepared, ENQUEUE, &params);
        if !self.options.notify {
            return enqueue.await;
        }
        // Sent right behind the enqueue, in a transaction of its own: it sees a worker that goes to sleep meanwhile.
        let wakes: BTreeSet<(&str, Option<&str>)> =
            tasks.iter().map(|t| (t.command.as_str(), t.queue.as_ref().map(AsRef::as_ref))).collect();
        let (commands, queues): (Vec<&str>, Vec<Option<&str>>) = wakes.into_iter().unzip();
        let wake_params: [Param<'_>; 2] = [(&commands, Type::TEXT_ARRAY), (&queues, Type::TEXT_ARRAY)];
        let wake = call::rows(client, prepared, WAKE, &wake_params);
        futures_util::future::join(enqueue, wake).await.0
    }
}

/// Refuses a call that no store would carry out.
pub(crate) fn check(tasks: &[NewTask]) -> Answer<()> {
    if tasks.len() > ENQUEUE_BATCH_MAX {
        return Err(InputError::Batch { what: "tasks", given: tasks.len(), max: ENQUEUE_BATCH_MAX }.into());
    }
    for task in tasks {
        task.check()?;
    }
    Ok(())
}

/// Tasks as one array a property. A property that no task has is an empty array: the function reads null for all.
pub(crate) struct Columns<'a> {
    commands: Vec<&'a str>,
    payloads: Vec<JsonIn<'a>>,
    queues: Vec<Option<&'a str>>,
    priorities: Vec<Option<i32>>,
    dues: Vec<Option<Moment>>,
    delays: Vec<Option<i64>>,
    keys: Vec<Option<&'a str>>,
    scopes: Vec<Option<&'static str>>,
    windows: Vec<Option<i64>>,
    on_duplicates: Vec<Option<&'static str>>,
    attempts: Vec<Option<i32>>,
    timeouts: Vec<Option<i64>>,
    traces: Vec<Option<&'a str>>,
    slot_keys: Vec<Option<JsonText>>,
    inherits: Vec<Option<bool>>,
}

impl<'a> Columns<'a> {
    pub(crate) fn of(tasks: &'a [NewTask]) -> Answer<Self> {
        Self::over(&tasks.iter().collect::<Vec<_>>())
    }

    pub(crate) fn over(tasks: &[&'a NewTask]) -> Answer<Self> {
        fn column<'a, T>(tasks: &[&'a NewTask], of: impl Fn(&'a NewTask) -> Option<T>) -> Vec<Option<T>> {
            let column: Vec<Option<T>> = tasks.iter().copied().map(of).collect();
            if column.iter().all(Option::is_none) { Vec::new() } else { column }
        }
        let has_keys = tasks.iter().any(|t| !t.keys.is_empty());
        let slot_keys = |t: &&NewTask| (!t.keys.is_empty()).then(|| JsonText::of(&t.keys)).transpose();
        Ok(Self {
            commands: tasks.iter().map(|t| t.command.as_str()).collect(),
            payloads: tasks.iter().map(|t| JsonIn(t.payload.as_str())).collect(),
            queues: column(tasks, |t| t.queue.as_ref().map(AsRef::as_ref)),
            priorities: column(tasks, |t| t.priority),
            dues: column(tasks, |t| match t.due {
                Due::At(moment) => Some(Moment(moment)),
                Due::Now | Due::After(_) => None,
            }),
            delays: column(tasks, |t| match t.due {
                Due::After(delay) => Some(micros(delay)),
                Due::Now | Due::At(_) => None,
            }),
            keys: column(tasks, |t| t.unique.as_ref().map(|u| u.key.as_str())),
            scopes: column(tasks, |t| t.unique.as_ref().map(|u| u.scope.as_str())),
            windows: column(tasks, |t| match t.unique.as_ref()?.scope {
                UniqueScope::Window(span) => Some(micros(span)),
                UniqueScope::Pending | UniqueScope::Active => None,
            }),
            on_duplicates: column(tasks, |t| t.unique.as_ref().map(|u| u.on_duplicate.as_str())),
            attempts: column(tasks, |t| t.max_attempts.map(i32::from)),
            timeouts: column(tasks, |t| t.timeout.map(micros)),
            traces: column(tasks, |t| t.trace.as_deref()),
            slot_keys: if has_keys { tasks.iter().map(slot_keys).collect::<Answer<_>>()? } else { Vec::new() },
            inherits: column(tasks, |t| t.inherit_keys.then_some(true)),
        })
    }

    /// The parameters of [`ENQUEUE`].
    pub(crate) fn params<'p>(&'p self, ids: &'p &[i64], notify: &'p bool, strict: &'p bool) -> Vec<Param<'p>> {
        let mut params: Vec<Param<'p>> = vec![(ids, Type::INT8_ARRAY)];
        params.extend(self.properties());
        params.push((notify, Type::BOOL));
        params.push((&self.slot_keys, Type::JSONB_ARRAY));
        params.push((strict, Type::BOOL));
        params
    }

    /// The keys of the tasks in groups, and which of the tasks take their maker's keys too.
    pub(crate) fn keys(&self) -> [Param<'_>; 2] {
        [(&self.slot_keys, Type::JSONB_ARRAY), (&self.inherits, Type::BOOL_ARRAY)]
    }

    /// One parameter a property, in the order of every function that takes tasks so.
    pub(crate) fn properties(&self) -> [Param<'_>; 13] {
        [
            (&self.commands, Type::TEXT_ARRAY),
            (&self.payloads, Type::JSONB_ARRAY),
            (&self.queues, Type::TEXT_ARRAY),
            (&self.priorities, Type::INT4_ARRAY),
            (&self.dues, Type::TIMESTAMPTZ_ARRAY),
            (&self.delays, Type::INT8_ARRAY),
            (&self.keys, Type::TEXT_ARRAY),
            (&self.scopes, Type::TEXT_ARRAY),
            (&self.windows, Type::INT8_ARRAY),
            (&self.on_duplicates, Type::TEXT_ARRAY),
            (&self.attempts, Type::INT4_ARRAY),
            (&self.timeouts, Type::INT8_ARRAY),
            (&self.traces, Type::TEXT_ARRAY),
        ]
    }
}
