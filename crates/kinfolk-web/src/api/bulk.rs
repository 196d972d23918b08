//! One thing done to many tasks, which a filter names.

use axum::Json;
use kinfolk_core::TaskId;
use kinfolk_core::operate::Action;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::extract::Body;
use super::filter::{FilterQuery, Filtered};
use crate::app::Shared;
use crate::problem::Problem;
use crate::visit::Visit;

pub(super) fn routes() -> OpenApiRouter<Shared> {
    OpenApiRouter::new().routes(routes!(bulk))
}

/// The action on many tasks at once.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, ToSchema)]
#[schema(as = Action)]
#[serde(rename_all = "snake_case")]
enum ActionForm {
    /// Ask for their end, and for that of all below them.
    Cancel,
    /// Let them run again.
    Retry,
    /// Let those that are not due run now.
    RunNow,
    /// Remove them for good: roots that have ended, with all below them. Takes the role admin.
    Delete,
}

impl From<ActionForm> for Action {
    fn from(form: ActionForm) -> Self {
        match form {
            ActionForm::Cancel => Self::Cancel,
            ActionForm::Retry => Self::Retry,
            ActionForm::RunNow => Self::RunNow,
            ActionForm::Delete => Self::Delete,
        }
    }
}

/// The action on the tasks that match.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct Bulk {
    action: ActionForm,
    /// Only count to how many tasks it would be done.
    #[serde(default)]
    dry_run: bool,
    /// To how many tasks, as a dry run has told. If there are more or fewer by now, nothing is done. Needed unless `after` says
    /// where the last answer ended.
    #[serde(default)]
    expect: Option<u64>,
}

/// How far it came.
#[derive(Serialize, ToSchema)]
struct BulkAnswer {
    action: ActionForm,
    dry_run: bool,
    /// Of a dry run: to how many tasks it would be done.
    tasks: Option<u64>,
    /// Of a dry run: not all tasks were looked at, there may be more.
    more: bool,
    /// To how many tasks it was done; of a delete, how many went.
    done: u64,
    /// How many matched, and it could not be done to them.
    skipped: u64,
    /// There is more to do: send the same again, with this as `after`.
    next: Option<i64>,
}

/// Does one thing to all tasks that match, the oldest first, in pages; each page is one transaction. Count first, with
/// `dry_run`; then send the number as `expect`. `order` and `limit` count for nothing here.
#[utoipa::path(post, path = "/tasks/bulk", tag = "tasks", params(FilterQuery), request_body = Bulk,
    responses((status = 200, body = BulkAnswer)))]
async fn bulk(visit: Visit, Filtered(query): Filtered, Body(form): Body<Bulk>) -> Result<Json<BulkAnswer>, Problem> {
    let (act, action, filter) = (visit.act(), form.action.into(), query.filter()?);
    if form.dry_run {
        let matches = act.count_bulk(action, &filter).await?;
        return Ok(Json(BulkAnswer {
            action: form.action,
            dry_run: true,
            tasks: Some(matches.tasks),
            more: matches.more,
            done: 0,
            skipped: 0,
            next: None,
        }));
    }
    if form.expect.is_none() && filter.after.is_none() {
        return Err(Problem::input(
            "expect is missing: count first with \"dry_run\": true, then send the number as \"expect\"",
        ));
    }
    let page = act.bulk(action, &filter, form.expect).await?;
    Ok(Json(BulkAnswer {
        action: form.action,
        dry_run: false,
        tasks: None,
        more: false,
        done: page.done,
        skipped: page.skipped,
        next: page.next.map(|TaskId(id)| id),
    }))
}
