//! How far a running attempt has come, in its handler's own words.

use kinfolk_core::durable::Report;
use kinfolk_core::{Json, TaskId, Token};

use crate::error::Result;
use crate::session::Session;

/// Keeps what a running task says; false when the token does not hold.
pub(crate) fn report(session: &mut Session<'_>, task: TaskId, token: Token, report: &Report) -> Result<bool> {
    let mut statement = session.sql(include_str!("../../sql/durable/record/report.sql"))?;
    Ok(statement.execute((task.0, token.0.as_bytes(), Json::of(report)?.as_str()))? > 0)
}
