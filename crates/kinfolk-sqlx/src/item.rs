//! A task as `kinfolk.enqueue_many` reads it. Spans go as text, to the microsecond.

use std::time::Duration;

use kinfolk_core::{Due, Json, NewTask, UniqueScope};
use serde::Serialize;

/// One element of the array; what is `None` is left out and comes from the command.
#[derive(Serialize)]
pub(crate) struct Item<'a> {
    command: &'a str,
    payload: &'a Json,
    #[serde(skip_serializing_if = "Option::is_none")]
    queue: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    priority: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    due: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    delay: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    unique_key: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    unique_scope: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    unique_window: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    on_duplicate: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_attempts: Option<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    timeout: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    trace: Option<&'a str>,
}

impl<'a> Item<'a> {
    pub(crate) fn of(task: &'a NewTask) -> Self {
        let unique = task.unique.as_ref();
        Self {
            command: task.command.as_str(),
            payload: &task.payload,
            queue: task.queue.as_ref().map(AsRef::as_ref),
            priority: task.priority,
            due: match task.due {
                Due::At(moment) => Some(moment.to_string()),
                _ => None,
            },
            delay: match task.due {
                Due::After(span) => Some(span_text(span)),
                _ => None,
            },
            unique_key: unique.map(|unique| unique.key.as_str()),
            unique_scope: unique.map(|unique| unique.scope.as_str()),
            unique_window: unique.and_then(|unique| match unique.scope {
                UniqueScope::Window(span) => Some(span_text(span)),
                _ => None,
            }),
            on_duplicate: unique.map(|unique| unique.on_duplicate.as_str()),
            max_attempts: task.max_attempts,
            timeout: task.timeout.map(span_text),
            trace: task.trace.as_deref(),
        }
    }
}

/// A span as PostgreSQL's `interval` reads it; whole seconds apart, since it reads no more than 32 bits of microseconds.
fn span_text(span: Duration) -> String {
    format!("{} seconds {} microseconds", span.as_secs(), span.subsec_micros())
}
