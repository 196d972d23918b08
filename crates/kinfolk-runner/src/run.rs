//! One phase of an attempt, on one connection: a handler from its call to its settle, or the part before or after a provider.
//!
//! When something goes wrong, or the future is dropped, the transaction is rolled back, or the connection is closed and what
//! it runs is cancelled. So an attempt that is over has no effect afterwards, except for what a procedure has committed.
//! When the end of the task is asked for, the statement that runs is cancelled at once: it can hear nothing else.

use std::pin::{Pin, pin};
use std::time::Duration;

use kinfolk::core::crash::point;
use kinfolk::{Ctx, State};
use kinfolk_postgres::PooledConnection;
use tokio_postgres::types::{FromSql, ToSql, Type};
use tokio_postgres::{Error, Row};

use crate::fault::Fault;
use crate::send::{Draft, Sent};

/// How soon the server is asked again to cancel: a request that arrives between two statements of an attempt hits none.
const ASKED_AGAIN: Duration = Duration::from_millis(200);

const RUN: &str = "select s.state, kinfolk.wakes_put_off() from kinfolk.run_task($1, $2, true) as s(state)";
// Types are named with their schema: what ran before may have left a search path of its own.
const BEGIN: &str = "select call_name, has_answer, payload::pg_catalog.text from kinfolk.begin_procedure($1, $2)";
const END: &str = "select kinfolk.end_procedure($1, $2, $3::pg_catalog.text::pg_catalog.jsonb)";
const END_HANDLING: &str = "select kinfolk.end_handling($1)";
const BEGIN_SEND: &str = "select message::pg_catalog.text, is_told, key from kinfolk.begin_send($1, $2)";
const END_SEND: &str = "select s.state, kinfolk.wakes_put_off() from kinfolk.end_send($1, $2, $3::pg_catalog.text::pg_catalog.jsonb, \
    $4::pg_catalog.text::pg_catalog.jsonb, true) as s(state)";
const WAKE: &str = "select kinfolk.wake_queues($1)";

/// The work to do in the database.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Phase<'a> {
    /// Run a function and settle its task.
    Function,
    /// Run a procedure, which may commit as it goes, and settle its task.
    Procedure,
    /// Make the message for a provider.
    BeginSend,
    /// Tell what became of it, and settle the task.
    EndSend(&'a Sent),
}

impl Phase<'_> {
    /// The crash point right before it.
    const fn before(self) -> &'static str {
        match self {
            Self::Function | Self::Procedure => "function.before",
            Self::BeginSend => "begin_send.before",
            Self::EndSend(_) => "end_send.before",
        }
    }

    /// The crash point right after it was committed.
    const fn after(self) -> &'static str {
        match self {
            Self::Function | Self::Procedure => "function.after",
            Self::BeginSend => "begin_send.after",
            Self::EndSend(_) => "end_send.after",
        }
    }
}

/// How far that has come.
#[derive(Debug)]
pub(crate) enum Reached {
    /// The task is settled, and in this state.
    Settled(State),
    /// The handler has fanned out: the task is run again with the results.
    Suspended,
    /// This is to be sent.
    Draft(Draft),
}

/// Runs one phase.
pub(crate) async fn attempt(
    line: PooledConnection,
    ctx: &Ctx,
    phase: Phase<'_>,
    timeout: Option<Duration>,
) -> Result<Reached, Fault> {
    let (answer, cancelled) = {
        let mut work = pin!(async {
            point(phase.before());
            let reached = match phase {
                Phase::Function => in_transaction(&line, ctx, timeout).await,
                Phase::Procedure => in_session(&line, ctx, timeout).await.map(Reached::Settled),
                Phase::BeginSend => begin_send(&line, ctx, timeout).await.map(Reached::Draft),
                Phase::EndSend(sent) => end_send(&line, ctx, sent, timeout).await,
            }?;
            point(phase.after());
            Ok(reached)
        });
        tokio::select! {
            biased;
            answer = &mut work => (answer, false),
            () = ctx.cancelled() => (stop(&line, work).await, true),
        }
    };
    // A late request to cancel must hit no other task's statement. A procedure that failed has left its lock and its context in
    // the session: nothing but its end is sure to free them.
    if cancelled || (matches!(phase, Phase::Procedure) && answer.is_err()) {
        line.close();
    } else {
        line.give_back();
    }
    answer
}

/// Has the server cancel what an attempt runs, as often as it takes. No request is left under way when the attempt has ended.
async fn stop(
    line: &PooledConnection,
    mut work: Pin<&mut impl Future<Output = Result<Reached, Fault>>>,
) -> Result<Reached, Fault> {
    loop {
        let mut asked = pin!(line.cancel());
        tokio::select! {
            answer = &mut work => {
                asked.await;
                return answer;
            }
            () = &mut asked => {}
        }
        if let Ok(answer) = tokio::time::timeout(ASKED_AGAIN, &mut work).await {
            return answer;
        }
    }
}

/// Runs a function and settles or suspends its task, in one transaction.
async fn in_transaction(
    line: &PooledConnection,
    ctx: &Ctx,
    statement_timeout: Option<Duration>,
) -> Result<Reached, Fault> {
    let (task, token) = (ctx.task().0, ctx.token().0);
    let rows = transaction(line, RUN, &[(&task, Type::INT8), (&token, Type::UUID)], statement_timeout).await?;
    settled(line, &rows).await
}

/// The part before a provider is called.
async fn begin_send(line: &PooledConnection, ctx: &Ctx, statement_timeout: Option<Duration>) -> Result<Draft, Fault> {
    let (task, token) = (ctx.task().0, ctx.token().0);
    let ids: [(&(dyn ToSql + Sync), Type); 2] = [(&task, Type::INT8), (&token, Type::UUID)];
    let rows = transaction(line, BEGIN_SEND, &ids, statement_timeout).await?;
    let row = rows.first().ok_or_else(|| Fault::Strange("no message, and no error".to_owned()))?;
    let message: &str = row.try_get(0).map_err(Fault::of)?;
    let message = serde_json::from_str(message).map_err(|fault| Fault::Strange(fault.to_string()))?;
    Ok(Draft { message, is_told: row.try_get(1).map_err(Fault::of)?, key: row.try_get(2).map_err(Fault::of)? })
}

/// The part after it.
async fn end_send(
    line: &PooledConnection,
    ctx: &Ctx,
    sent: &Sent,
    statement_timeout: Option<Duration>,
) -> Result<Reached, Fault> {
    let (task, token) = (ctx.task().0, ctx.token().0);
    let (answer, failure) = sent.told();
    let told: [(&(dyn ToSql + Sync), Type); 4] =
        [(&task, Type::INT8), (&token, Type::UUID), (&answer, Type::TEXT), (&failure, Type::TEXT)];
    settled(line, &transaction(line, END_SEND, &told, statement_timeout).await?).await
}

/// How far a task has come that is settled or suspended. Wakes the workers that its transaction did not wake: a lost wake-up only costs a poll, so
/// an error in that is none of the task.
async fn settled(line: &PooledConnection, rows: &[Row]) -> Result<Reached, Fault> {
    let reached = match word(rows) {
        Some("suspended") => Reached::Suspended,
        _ => Reached::Settled(state(rows)?),
    };
    let queues: Vec<i32> = rows.first().map_or_else(Vec::new, |row| row.get(1));
    if !queues.is_empty() {
        let _ = line.rows(WAKE, &[(&queues, Type::INT4_ARRAY)]).await;
    }
    Ok(reached)
}

/// One statement in a transaction of its own.
async fn transaction(
    line: &PooledConnection,
    sql: &str,
    params: &[(&(dyn ToSql + Sync), Type)],
    statement_timeout: Option<Duration>,
) -> Result<Vec<Row>, Fault> {
    let client = line.client();
    let answer = match statement_timeout {
        None => line.rows(sql, params).await,
        Some(timeout) => {
            let begin = format!("begin isolation level read committed; {}", set_timeout("local", Some(timeout)));
            // Sent at once, one behind the other. After an error the commit is a rollback.
            let (begun, ran, ended) = tokio::join!(
                client.batch_execute(&begin),
                client.query_typed(sql, params),
                client.batch_execute("commit"),
            );
            begun.and(ran).and_then(|rows| ended.map(|()| rows))
        }
    };
    answer.map_err(Fault::of)
}

/// Runs a procedure, which may commit as it goes, and then settles its task.
async fn in_session(line: &PooledConnection, ctx: &Ctx, statement_timeout: Option<Duration>) -> Result<State, Fault> {
    let (task, token) = (ctx.task().0, ctx.token().0);
    let client = line.client();
    let ids: [(&(dyn ToSql + Sync), Type); 2] = [(&task, Type::INT8), (&token, Type::UUID)];
    let begun = client.query_typed_one(BEGIN, &ids).await.map_err(Fault::of)?;
    let (name, has_answer, payload): (&str, bool, &str) = (begun.get(0), begun.get(1), begun.get(2));

    if statement_timeout.is_some() {
        client.batch_execute(&set_timeout("session", statement_timeout)).await.map_err(Fault::of)?;
    }
    // The name is from the catalogue, quoted by the database. It can't commit unless it is called by itself.
    let call = format!("call {name}($1::pg_catalog.text::pg_catalog.jsonb)");
    let rows = client.query_typed(&call, &[(&payload, Type::TEXT)]).await.map_err(Fault::of)?;
    if statement_timeout.is_some() {
        client.batch_execute(&set_timeout("session", None)).await.map_err(Fault::of)?;
    }
    let result = match rows.first() {
        Some(row) if has_answer => row.try_get::<_, Option<Text>>(0).map_err(Fault::of)?.map(|text| text.0),
        _ => None,
    };
    let end: [(&(dyn ToSql + Sync), Type); 3] = [(&task, Type::INT8), (&token, Type::UUID), (&result, Type::TEXT)];
    let state = state(&client.query_typed(END, &end).await.map_err(Fault::of)?)?;
    client.query_typed(END_HANDLING, &[(&task, Type::INT8)]).await.map_err(Fault::of)?;
    Ok(state)
}

fn set_timeout(scope: &str, timeout: Option<Duration>) -> String {
    match timeout {
        Some(timeout) => format!("set {scope} statement_timeout = {}", timeout.as_millis().max(1)),
        None => "reset statement_timeout".to_owned(),
    }
}

fn word(rows: &[Row]) -> Option<&str> {
    rows.first().and_then(|row| row.get(0))
}

fn state(rows: &[Row]) -> Result<State, Fault> {
    let word = word(rows);
    word.and_then(|word| word.parse().ok()).ok_or_else(|| Fault::Strange(format!("an answer of {word:?}")))
}

/// A JSON value as it came, to the digit.
struct Text(String);

impl<'a> FromSql<'a> for Text {
    fn from_sql(_: &Type, raw: &'a [u8]) -> Result<Self, Box<dyn std::error::Error + Sync + Send>> {
        match raw {
            [1, text @ ..] => Ok(Self(std::str::from_utf8(text)?.to_owned())),
            _ => Err("unknown version of jsonb".into()),
        }
    }

    fn accepts(kind: &Type) -> bool {
        *kind == Type::JSONB
    }
}

impl Fault {
    fn of(fault: Error) -> Self {
        Self::Database(fault)
    }
}
