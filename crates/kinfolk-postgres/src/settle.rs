//! How settles are sent: those that made nothing together, as one array a property; one that made tasks by a call of its own, before
//! the others.
//!
//! What was settled in one call of the store is one transaction. Several calls in one transaction lock
//! ahead what they need, since each by itself takes its locks in order, but not the second after the first.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Mutex, MutexGuard, PoisonError};

use kinfolk_core::crash::point;
use kinfolk_core::limits::SETTLE_BATCH_MAX;
use kinfolk_core::store::Answer;
use kinfolk_core::{InputError, Made, Outcome, Retry, Settle, Settled, TaskId, Token};
use tokio_postgres::types::Type;
use tokio_postgres::{GenericClient, Row};
use uuid::Uuid;

use crate::call::Param;
use crate::error::store_error;
use crate::low_water::ClaimedAt;
use crate::produce::Columns;
use crate::rows;
use crate::store::{PgStore, begin};
use crate::values::{JsonIn, JsonText, micros};

const SETTLE: &str = "select nth, answer, state from kinfolk.settle($1, $2, $3, $4, $5, $6, $7, $8)";
const SETTLE_MADE: &str = "select 1, answer, state from kinfolk.settle_made($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, \
    $12, $13, $14, $15, $16, $17, $18, $19, p_slot_keys => $20, p_inherits => $21)";
const LOCK_SETTLED: &str = "select kinfolk.lock_settled($1, $2, $3)";

/// More claims than this are not remembered.
const OPEN_CLAIMS_MAX: usize = 100_000;

/// The claims of this process whose tasks are not all settled yet, and their families, so that a settle need not look
/// them up. Nothing depends on it: the store looks up a family that is not known here.
#[derive(Default)]
pub(crate) struct OpenClaims(Mutex<HashMap<Token, Open>>);

/// A claim whose tasks are not all settled yet.
#[derive(Default)]
struct Open {
    /// How many are not.
    tasks: usize,
    /// Its tasks that lock a family; most don't.
    families: HashMap<TaskId, Family>,
}

/// How the settle of a claimed task locks its family. A root that never was suspended locks none.
#[derive(Clone, Copy)]
enum Family {
    /// Shared with others.
    Of(TaskId),
    /// As a whole: the task was suspended before, and may have children.
    Whole(TaskId),
}

/// The roots of the families that a settle locks: shared, and whole.
type Families = (Vec<i64>, Vec<i64>);

impl OpenClaims {
    fn known(&self) -> MutexGuard<'_, HashMap<Token, Open>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes note of what was claimed under this token.
    pub(crate) fn claimed(&self, token: Token, taken: &[ClaimedAt]) {
        if taken.is_empty() {
            return;
        }
        let mut known = self.known();
        if known.len() > OPEN_CLAIMS_MAX {
            known.clear();
        }
        let open = known.entry(token).or_default();
        open.tasks += taken.len();
        open.families.extend(taken.iter().filter_map(|ClaimedAt { was_suspended, task, .. }| match task.parent {
            _ if *was_suspended => Some((task.id, Family::Whole(task.root))),
            Some(_) => Some((task.id, Family::Of(task.root))),
            None => None,
        }));
    }

    /// The families of these tasks; `None` when a claim of theirs is not known.
    fn families(&self, settles: &[&Settle]) -> Option<Families> {
        let known = self.known();
        let (mut shared, mut whole) = (Vec::new(), Vec::new());
        for of_claim in settles.chunk_by(|a, b| a.token == b.token) {
            let open = known.get(&of_claim[0].token)?;
            if open.families.is_empty() {
                continue;
            }
            for family in of_claim.iter().filter_map(|settle| open.families.get(&settle.task)) {
                match family {
                    Family::Of(root) => shared.push(root.0),
                    Family::Whole(root) => whole.push(root.0),
                }
            }
        }
        for families in [&mut shared, &mut whole] {
            families.sort_unstable();
            families.dedup();
        }
        Some((shared, whole))
    }

    /// Tasks that were claimed under these tokens are settled.
    pub(crate) fn settled(&self, tokens: impl Iterator<Item = Token>) {
        let mut known = self.known();
        for token in tokens {
            if let Entry::Occupied(mut open) = known.entry(token) {
                open.get_mut().tasks -= 1;
                if open.get().tasks == 0 {
                    open.remove();
                }
            }
        }
    }
}

impl PgStore {
    pub(crate) async fn send_settles(&self, settles: &[Settle]) -> Answer<Vec<Settled>> {
        check(settles)?;
        let calls = calls(settles, |plain| self.open_claims.families(plain))?;
        point("settle.before");
        let answers = match &calls[..] {
            [] => return Ok(Vec::new()),
            [only] => {
                let mut answers = vec![Settled::Stale; settles.len()];
                only.answers(&self.rows(only.sql(), &only.params()).await?, &mut answers)?;
                answers
            }
            several => self.send_together(settles, several).await?,
        };
        point("settle.after");
        self.open_claims.settled(settles.iter().map(|settle| settle.token));
        Ok(answers)
    }

    async fn send_together(&self, settles: &[Settle], calls: &[Call<'_>]) -> Answer<Vec<Settled>> {
        let mut client = self.client().await?;
        let sent = async {
            let transaction = begin(&mut client).await?;
            let answers = send(&transaction, settles, calls).await?;
            transaction.commit().await.map_err(|fault| store_error(&fault))?;
            Ok(answers)
        };
        let answer = tokio::time::timeout(self.options.answer_timeout, sent).await;
        answer.unwrap_or_else(|_| Err(self.given_up(client)))
    }
}

/// Settles in the transaction of this client.
pub(crate) async fn settle_by(client: &impl GenericClient, settles: &[Settle]) -> Answer<Vec<Settled>> {
    check(settles)?;
    send(client, settles, &calls(settles, |_| None)?).await
}

async fn send(client: &impl GenericClient, settles: &[Settle], calls: &[Call<'_>]) -> Answer<Vec<Settled>> {
    if calls.len() > 1 {
        let tasks: Vec<i64> = settles.iter().map(|settle| settle.task.0).collect();
        let follow_ups = settles.iter().filter_map(|settle| settle.made.as_deref()).flat_map(|made| &made.follow_ups);
        let (commands, keys): (Vec<&str>, Vec<Option<&str>>) = follow_ups
            .map(|one| (one.task.command.as_str(), one.task.unique.as_ref().map(|unique| unique.key.as_str())))
            .unzip();
        let params: [Param<'_>; 3] =
            [(&tasks, Type::INT8_ARRAY), (&commands, Type::TEXT_ARRAY), (&keys, Type::TEXT_ARRAY)];
        client.query_typed(LOCK_SETTLED, &params).await.map_err(|fault| store_error(&fault))?;
    }
    let mut answers = vec![Settled::Stale; settles.len()];
    for call in calls {
        let rows = client.query_typed(call.sql(), &call.params()).await.map_err(|fault| store_error(&fault))?;
        call.answers(&rows, &mut answers)?;
    }
    Ok(answers)
}

/// Refuses a call that no store would carry out.
fn check(settles: &[Settle]) -> Answer<()> {
    if settles.len() > SETTLE_BATCH_MAX {
        return Err(InputError::Batch { what: "settles", given: settles.len(), max: SETTLE_BATCH_MAX }.into());
    }
    for settle in settles {
        settle.check()?;
    }
    Ok(())
}

/// One call of a function, and the indices of its settles among those given.
enum Call<'a> {
    Plain(Vec<usize>, Box<Plain<'a>>),
    Made(usize, Box<MadeBy<'a>>),
}

fn calls<'a>(settles: &'a [Settle], families: impl Fn(&[&Settle]) -> Option<Families>) -> Answer<Vec<Call<'a>>> {
    let (mut calls, mut plain) = (Vec::new(), Vec::with_capacity(settles.len()));
    for (n, settle) in settles.iter().enumerate() {
        match settle.made() {
            Some(made) => calls.push(Call::Made(n, Box::new(MadeBy::of(settle, made)?))),
            None => plain.push(n),
        }
    }
    if !plain.is_empty() {
        let known = families(&plain.iter().map(|n| &settles[*n]).collect::<Vec<_>>());
        plain.sort_by_key(|n| settles[*n].task);
        let columns = Plain::of(settles, &plain, known);
        calls.push(Call::Plain(plain, Box::new(columns)));
    }
    Ok(calls)
}

impl Call<'_> {
    fn sql(&self) -> &'static str {
        match self {
            Self::Plain(..) => SETTLE,
            Self::Made(..) => SETTLE_MADE,
        }
    }

    fn params(&self) -> Vec<Param<'_>> {
        match self {
            Self::Plain(_, columns) => columns.params(),
            Self::Made(_, columns) => columns.params(),
        }
    }

    /// Puts the answers at the indices of their settles.
    fn answers(&self, rows: &[Row], answers: &mut [Settled]) -> Answer<()> {
        let indices = match self {
            Self::Plain(indices, _) => &indices[..],
            Self::Made(index, _) => std::slice::from_ref(index),
        };
        for (index, answer) in indices.iter().zip(rows::settled(indices.len(), rows)?) {
            answers[*index] = answer;
        }
        Ok(())
    }
}

/// Settles as one array a property, sorted by task: locks are taken in that order.
struct Plain<'a> {
    ids: Vec<i64>,
    tokens: Vec<Uuid>,
    outcomes: Vec<&'static str>,
    results: Vec<Option<JsonIn<'a>>>,
    failures: Vec<Option<JsonText>>,
    delays: Vec<Option<i64>>,
    families: Option<Vec<i64>>,
    suspended: Option<Vec<i64>>,
}

impl<'a> Plain<'a> {
    fn of(settles: &'a [Settle], sorted: &[usize], families: Option<Families>) -> Self {
        let (families, suspended) = families.unzip();
        let sorted = || sorted.iter().map(|n| &settles[*n]);
        Self {
            ids: sorted().map(|s| s.task.0).collect(),
            tokens: sorted().map(|s| s.token.0).collect(),
            outcomes: sorted().map(|s| word(&s.outcome)).collect(),
            results: emptied(sorted().map(|s| result(&s.outcome))),
            failures: emptied(sorted().map(|s| match &s.outcome {
                Outcome::Failed { failure, .. } => JsonText::of(failure).ok(),
                _ => None,
            })),
            delays: emptied(sorted().map(|s| match &s.outcome {
                Outcome::Snooze(delay)
                | Outcome::YieldFamilySlot(delay)
                | Outcome::Failed { retry: Retry::After(delay), .. } => Some(micros(*delay)),
                _ => None,
            })),
            families,
            suspended,
        }
    }

    /// The parameters of [`SETTLE`].
    fn params(&self) -> Vec<Param<'_>> {
        vec![
            (&self.ids, Type::INT8_ARRAY),
            (&self.tokens, Type::UUID_ARRAY),
            (&self.outcomes, Type::TEXT_ARRAY),
            (&self.results, Type::JSONB_ARRAY),
            (&self.failures, Type::JSONB_ARRAY),
            (&self.delays, Type::INT8_ARRAY),
            (&self.families, Type::INT8_ARRAY),
            (&self.suspended, Type::INT8_ARRAY),
        ]
    }
}

/// A settle and what its handler made.
struct MadeBy<'a> {
    task: i64,
    token: Uuid,
    result: Option<JsonIn<'a>>,
    order: &'static str,
    kinds: Vec<&'static str>,
    columns: Columns<'a>,
    whens: Vec<Option<&'static str>>,
}

impl<'a> MadeBy<'a> {
    fn of(settle: &'a Settle, made: &'a Made) -> Answer<Self> {
        let before = made.siblings.len() + made.children.len();
        let whens = made.follow_ups.iter().map(|follow_up| Some(follow_up.when.as_str()));
        Ok(Self {
            task: settle.task.0,
            token: settle.token.0,
            result: result(&settle.outcome),
            order: made.order.as_str(),
            kinds: kinds(made),
            columns: Columns::over(&made.iter().collect::<Vec<_>>())?,
            whens: emptied(std::iter::repeat_n(None, before).chain(whens)),
        })
    }

    /// The parameters of [`SETTLE_MADE`].
    fn params(&self) -> Vec<Param<'_>> {
        let mut params: Vec<Param<'_>> = vec![
            (&self.task, Type::INT8),
            (&self.token, Type::UUID),
            (&self.result, Type::JSONB),
            (&self.order, Type::TEXT),
            (&self.kinds, Type::TEXT_ARRAY),
        ];
        params.extend(self.columns.properties());
        params.push((&self.whens, Type::TEXT_ARRAY));
        params.extend(self.columns.keys());
        params
    }
}

/// The relation of each of the tasks that a handler made, in the order of making.
pub(crate) fn kinds(made: &Made) -> Vec<&'static str> {
    let kinds = [
        ("sibling", made.siblings.len()),
        ("child", made.children.len()),
        ("follow_up", made.follow_ups.len()),
        ("task", made.tasks.len()),
    ];
    kinds.into_iter().flat_map(|(kind, many)| std::iter::repeat_n(kind, many)).collect()
}

fn result(outcome: &Outcome) -> Option<JsonIn<'_>> {
    match outcome {
        Outcome::Done(Some(result)) => Some(JsonIn(result.as_str())),
        _ => None,
    }
}

pub(crate) fn emptied<T>(column: impl Iterator<Item = Option<T>>) -> Vec<Option<T>> {
    let column: Vec<Option<T>> = column.collect();
    if column.iter().all(Option::is_none) { Vec::new() } else { column }
}

fn word(outcome: &Outcome) -> &'static str {
    match outcome {
        Outcome::Done(_) => "done",
        Outcome::Failed { retry: Retry::Never, .. } => "never",
        Outcome::Failed { .. } => "failed",
        Outcome::Snooze(_) => "snooze",
        Outcome::YieldFamilySlot(_) => "yield",
        Outcome::Release => "release",
        Outcome::Cancelled => "cancelled",
    }
}
