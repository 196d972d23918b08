//! The error log: every attempt that failed, also where the task went well afterwards.

use askama::Template;
use axum::response::Response;
use kinfolk_core::error_log::{ErrorFilter, LoggedError};
use kinfolk_core::{CommandName, QueueName, TaskId, Timestamp};

use super::address::Address;
use super::frame::Frame;
use super::part::{Moment, Named, words};
use super::{render, show};
use crate::problem::Problem;
use crate::visit::Visit;

/// Entries on a page.
const SHOWN: usize = 50;

#[derive(Template)]
#[template(path = "errors.html")]
struct Page {
    frame: Frame,
    /// Of what, if not of everything.
    of: String,
    rows: Vec<Row>,
    /// Whether any of them happened in a function in the database.
    handlers: bool,
    all: String,
    newest: Option<String>,
    older: Option<String>,
}

struct Row {
    id: i64,
    at: Moment,
    task: (String, String),
    name: Named,
    command: String,
    queue: String,
    attempt: u16,
    handler: String,
    kind: &'static str,
    sqlstate: String,
    message: String,
    context: String,
}

/// `GET /errors`
pub(crate) async fn page(visit: Visit, address: Address) -> Response {
    show(&visit, list(&visit, &address)).await
}

async fn list(visit: &Visit, address: &Address) -> Result<Response, Problem> {
    let filter = filter(address)?;
    let frame = Frame::of(visit, "/failures", "Errors").await?.live("overview");
    let entries = visit.view().errors(&filter).await?;
    let older = entries.last().filter(|_| entries.len() == SHOWN).map(|entry| entry.id.to_string());
    render(&Page {
        of: of(&filter),
        rows: entries.iter().map(|entry| row(visit, address, entry, frame.now)).collect(),
        handlers: entries.iter().any(|entry| entry.handler.is_some()),
        all: visit.links.to("/errors"),
        newest: filter.before.map(|_| address.without(&["before"])),
        older: older.map(|before| address.with("before", Some(&before))),
        frame,
    })
}

fn filter(address: &Address) -> Result<ErrorFilter, Problem> {
    let number = |name: &str| match address.get(name).map(str::parse::<i64>) {
        None => Ok(None),
        Some(Ok(number)) if number > 0 => Ok(Some(number)),
        Some(_) => Err(Problem::input(format!("{name} is no number of one; follow a link to get here"))),
    };
    Ok(ErrorFilter {
        task: number("task")?.map(TaskId),
        command: address.get("command").map(CommandName::new).transpose()?,
        queue: address.get("queue").map(QueueName::new).transpose()?,
        before: number("before")?,
        limit: SHOWN,
    })
}

fn of(filter: &ErrorFilter) -> String {
    let task = filter.task.map(|task| format!("task {task}"));
    let command = filter.command.as_ref().map(|command| format!("command {command}"));
    let queue = filter.queue.as_ref().map(|queue| format!("queue {queue}"));
    [task, command, queue].into_iter().flatten().collect::<Vec<_>>().join(", ")
}

fn row(visit: &Visit, address: &Address, entry: &LoggedError, now: Timestamp) -> Row {
    let newest = Address::at(&address.without(&["before"]));
    Row {
        id: entry.id,
        at: Moment::ago(entry.at, now),
        task: (entry.task.to_string(), visit.links.to(&format!("/tasks/{}", entry.task))),
        name: Named::command(&entry.command),
        command: newest.with("command", Some(entry.command.as_str())),
        queue: entry.queue.to_string(),
        attempt: entry.attempt,
        handler: entry.handler.clone().unwrap_or_default(),
        kind: entry.failure.kind.as_str(),
        sqlstate: entry.told("sqlstate").unwrap_or_default(),
        message: words::start(&entry.failure.message, 500),
        context: words::start(&entry.told("context").unwrap_or_default(), 2_000),
    }
}
