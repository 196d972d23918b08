//! What the shop answers.

use std::convert::Infallible;
use std::time::Duration;

use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{Html, IntoResponse, Response};
use futures_util::{Stream, stream};
use kinfolk::TaskId;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{App, Fault};

/// How often a task is looked at that someone follows.
const LOOK: Duration = Duration::from_millis(200);

/// What a customer sends.
#[derive(Debug, Deserialize)]
pub(crate) struct NewOrder {
    customer: String,
    parcels: u32,
}

/// The one page.
pub(crate) async fn page() -> Html<&'static str> {
    Html(include_str!("page.html"))
}

/// `POST /orders`: the number of the order.
pub(crate) async fn place(State(app): State<App>, Json(order): Json<NewOrder>) -> Result<Response, Failed> {
    if order.customer.trim().is_empty() || !(1..=100).contains(&order.parcels) {
        let why = "an order has a customer, and 1 to 100 parcels";
        return Ok((StatusCode::UNPROCESSABLE_ENTITY, why).into_response());
    }
    let number = app.shop.place(&app.kinfolk, &order.customer, order.parcels).await?;
    Ok((StatusCode::CREATED, Json(json!({"order": number}))).into_response())
}

/// `GET /orders/{number}/events`: how the packing is doing, until it has ended.
pub(crate) async fn follow(State(app): State<App>, Path(number): Path<i64>) -> Result<Response, Failed> {
    let Some(task) = app.shop.task_of(number).await? else {
        return Ok((StatusCode::NOT_FOUND, "there is no such order").into_response());
    };
    Ok(Sse::new(changes(app, task)).keep_alive(KeepAlive::default()).into_response())
}

/// What is told of a task: at once, and at every change; the last one says how it ended.
fn changes(app: App, task: TaskId) -> impl Stream<Item = Result<Event, Infallible>> {
    let start = (app, Value::Null, false);
    stream::unfold(start, move |(app, told, ended)| async move {
        if ended {
            return None;
        }
        loop {
            // A task that can't be looked at right now is looked at again: the browser need not know.
            if let Ok(view) = app.kinfolk.task(task).await {
                let report = view.report.as_ref().map(|report| json!({"done": report.done, "total": report.total}));
                let now = json!({"state": view.state.as_str(), "progress": report});
                if now != told {
                    let event = Event::default().data(now.to_string());
                    return Some((Ok(event), (app, now, view.state.is_terminal())));
                }
            }
            tokio::time::sleep(LOOK).await;
        }
    })
}

/// What went wrong stays in the log of the shop.
pub(crate) struct Failed;

impl From<Fault> for Failed {
    fn from(fault: Fault) -> Self {
        eprintln!("{fault}");
        Self
    }
}

impl IntoResponse for Failed {
    fn into_response(self) -> Response {
        (StatusCode::SERVICE_UNAVAILABLE, "the shop can't be reached; nothing was ordered").into_response()
    }
}
