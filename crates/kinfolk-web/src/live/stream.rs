//! The routes of the streams.

use std::convert::Infallible;
use std::time::Duration;

use axum::http::HeaderMap;
use axum::response::sse::{Event, KeepAlive, Sse};
use futures_util::Stream;
use kinfolk_core::TaskId;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::{Live, Said, Subject};
use crate::api::{ActiveQuery, FilterQuery, Filtered, Named, Query};
use crate::app::Shared;
use crate::problem::Problem;
use crate::visit::Visit;

/// How soon a client that was cut off comes back.
const COME_BACK: Duration = Duration::from_secs(2);
/// How often an idle stream shows that it lives.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// The streams under `/api/v1`.
pub(crate) fn routes() -> OpenApiRouter<Shared> {
    OpenApiRouter::new()
        .routes(routes!(overview))
        .routes(routes!(list))
        .routes(routes!(task))
        .routes(routes!(family))
        .routes(routes!(active))
        .routes(routes!(statuses))
}

type Events =
    Sse<axum::response::sse::KeepAliveStream<futures_util::stream::BoxStream<'static, Result<Event, Infallible>>>>;

/// Counts, workers and paused queues, whenever they change.
#[utoipa::path(get, path = "/live/overview", tag = "live",
    responses((status = 200, content_type = "text/event-stream", body = String)))]
async fn overview(visit: Visit, headers: HeaderMap) -> Result<Events, Problem> {
    open(visit, Subject::Overview, &headers).await
}

/// The first page of a listing, whenever it changes.
#[utoipa::path(get, path = "/live/tasks", tag = "live", params(FilterQuery),
    responses((status = 200, content_type = "text/event-stream", body = String)))]
async fn list(visit: Visit, Filtered(query): Filtered, headers: HeaderMap) -> Result<Events, Problem> {
    open(visit, Subject::List(Box::new(query)), &headers).await
}

/// A task, whenever it changes.
#[utoipa::path(get, path = "/live/tasks/{id}", tag = "live", params(("id" = i64, Path, minimum = 1)),
    responses((status = 200, content_type = "text/event-stream", body = String)))]
async fn task(visit: Visit, Named(id): Named<TaskId>, headers: HeaderMap) -> Result<Events, Problem> {
    open(visit, Subject::Task(id), &headers).await
}

/// The family of a task, whenever its counts change.
#[utoipa::path(get, path = "/live/families/{id}", tag = "live", params(("id" = i64, Path, minimum = 1)),
    responses((status = 200, content_type = "text/event-stream", body = String)))]
async fn family(visit: Visit, Named(id): Named<TaskId>, headers: HeaderMap) -> Result<Events, Problem> {
    open(visit, Subject::Family(id), &headers).await
}

/// Whether anything is going on among some commands, whenever that changes.
#[utoipa::path(get, path = "/live/active", tag = "live", params(ActiveQuery),
    responses((status = 200, content_type = "text/event-stream", body = String)))]
async fn active(visit: Visit, Query(query): Query<ActiveQuery>, headers: HeaderMap) -> Result<Events, Problem> {
    let mut commands = query.commands()?;
    commands.sort();
    commands.dedup();
    open(visit, Subject::Active(commands), &headers).await
}

/// All statuses, whenever one changes.
#[utoipa::path(get, path = "/live/statuses", tag = "live",
    responses((status = 200, content_type = "text/event-stream", body = String)))]
async fn statuses(visit: Visit, headers: HeaderMap) -> Result<Events, Problem> {
    open(visit, Subject::Statuses, &headers).await
}

async fn open(visit: Visit, subject: Subject, headers: &HeaderMap) -> Result<Events, Problem> {
    let seen = headers.get("last-event-id").and_then(|id| id.to_str().ok()).map(str::to_owned);
    let said = Live::watch(&visit.app, subject, &visit.caller).await?;
    let events: futures_util::stream::BoxStream<'static, _> = Box::pin(events(said, seen, visit.app.stop.clone()));
    Ok(Sse::new(events).keep_alive(KeepAlive::new().interval(KEEP_ALIVE)))
}

/// What is said, from how things are now on; what the client has seen already is left out. Ends with the server, and when the
/// subject is gone.
fn events(
    said: watch::Receiver<Option<Said>>,
    seen: Option<String>,
    stop: CancellationToken,
) -> impl Stream<Item = Result<Event, Infallible>> + Send {
    let first = Event::default().retry(COME_BACK).comment("kinfolk");
    let start = futures_util::stream::once(std::future::ready(Ok(first)));
    let rest = futures_util::stream::unfold((said, seen, stop, false), |(mut said, seen, stop, gone)| async move {
        loop {
            if gone {
                return None;
            }
            let now = said.borrow_and_update().clone();
            if let Some(now) = now.filter(|now| Some(&now.id) != seen.as_ref()) {
                let event = Event::default().event(now.event).id(now.id.clone()).data(&*now.data);
                return Some((Ok(event), (said, Some(now.id), stop, now.event == "gone")));
            }
            tokio::select! {
                changed = said.changed() => changed.ok()?,
                () = stop.cancelled() => return None,
            }
        }
    });
    futures_util::StreamExt::chain(start, rest)
}
