//! One attempt of one handler, on one connection.
//!
//! Whatever goes wrong, or whoever drops the future: the transaction is rolled back, or the connection is closed and what
//! it runs is cancelled. So an attempt that is over has no effect afterwards, except for what a procedure has committed.

use std::time::Duration;

use kinfolk::{Ctx, State};
use kinfolk_postgres::Line;
use tokio_postgres::types::{FromSql, ToSql, Type};
use tokio_postgres::{Error, Row};

use crate::fault::Fault;

const RUN: &str = "select kinfolk.run_task($1, $2)";
// Types are named with their schema: what ran before may have left a search path of its own.
const BEGIN: &str = "select call_name, has_answer, payload::pg_catalog.text from kinfolk.begin_procedure($1, $2)";
const END: &str = "select kinfolk.end_procedure($1, $2, $3::pg_catalog.text::pg_catalog.jsonb)";
const DEPART: &str = "select kinfolk.depart($1)";

/// Runs a function and settles its task, in one transaction. Answers the state the task is in then.
pub(crate) async fn function(line: Line, ctx: &Ctx, statement_timeout: Option<Duration>) -> Result<State, Fault> {
    let (task, token) = (ctx.task().0, ctx.token().0);
    let ids: [(&(dyn ToSql + Sync), Type); 2] = [(&task, Type::INT8), (&token, Type::UUID)];
    let client = line.client();
    let answer = match statement_timeout {
        // A statement is a transaction of its own.
        None => line.rows(RUN, &ids).await,
        Some(timeout) => {
            let begin = format!("begin isolation level read committed; {}", set_timeout("local", Some(timeout)));
            // Sent at once, one behind the other. After an error the commit is a rollback.
            let (begun, ran, ended) = tokio::join!(
                client.batch_execute(&begin),
                client.query_typed(RUN, &ids),
                client.batch_execute("commit"),
            );
            begun.and(ran).and_then(|rows| ended.map(|()| rows))
        }
    };
    let answer = answer.map_err(Fault::of).and_then(|rows| state(&rows));
    line.give_back();
    answer
}

/// Runs a procedure, which may commit as it goes, and then settles its task. Answers the state the task is in then.
pub(crate) async fn procedure(line: Line, ctx: &Ctx, statement_timeout: Option<Duration>) -> Result<State, Fault> {
    match in_session(&line, ctx, statement_timeout).await {
        Ok(state) => {
            line.give_back();
            Ok(state)
        }
        // The session still has the handler's lock and context: nothing but its end is sure to free them.
        Err(fault) => {
            line.close();
            Err(fault)
        }
    }
}

async fn in_session(line: &Line, ctx: &Ctx, statement_timeout: Option<Duration>) -> Result<State, Fault> {
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
    client.query_typed(DEPART, &[(&task, Type::INT8)]).await.map_err(Fault::of)?;
    Ok(state)
}

fn set_timeout(scope: &str, timeout: Option<Duration>) -> String {
    match timeout {
        Some(timeout) => format!("set {scope} statement_timeout = {}", timeout.as_millis().max(1)),
        None => "reset statement_timeout".to_owned(),
    }
}

fn state(rows: &[Row]) -> Result<State, Fault> {
    let word: Option<&str> = rows.first().and_then(|row| row.get(0));
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
