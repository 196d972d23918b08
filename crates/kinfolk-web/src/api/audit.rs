//! The caller and its rights, and the audit log.

use axum::Json;
use kinfolk_core::Timestamp;
use kinfolk_core::audit::Audited;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::extract::{Query, page_size};
use crate::access::Role;
use crate::app::Shared;
use crate::problem::Problem;
use crate::visit::Visit;

pub(super) fn routes() -> OpenApiRouter<Shared> {
    OpenApiRouter::new().routes(routes!(me)).routes(routes!(audit))
}

/// The caller.
#[derive(Serialize, ToSchema)]
struct Me {
    name: String,
    role: Option<Role>,
    /// The only queues that this token is for; null is all.
    queues: Option<Vec<String>>,
    /// Whether this server changes nothing.
    read_only: bool,
}

/// The caller and its rights.
#[utoipa::path(get, path = "/me", tag = "access", responses((status = 200, body = Me)))]
async fn me(visit: Visit) -> Json<Me> {
    Json(Me {
        name: visit.caller.name.clone(),
        role: visit.caller.role,
        queues: visit.caller.queues.as_ref().map(|queues| queues.iter().map(ToString::to_string).collect()),
        read_only: visit.app.config.read_only,
    })
}

/// Which page.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct AuditQuery {
    /// Only entries with a smaller number than this: `next` of the page before.
    #[param(minimum = 1)]
    before: Option<i64>,
    /// At most this many; 50 unless said otherwise.
    #[param(minimum = 1, maximum = 1000)]
    limit: Option<usize>,
}

/// An entry of the audit log.
#[derive(Serialize, ToSchema)]
#[schema(as = Audited)]
struct AuditedForm {
    id: i64,
    #[schema(value_type = String, format = DateTime)]
    written_at: Timestamp,
    who: String,
    what: String,
    subject: String,
    tasks: u64,
}

impl From<Audited> for AuditedForm {
    fn from(audited: Audited) -> Self {
        let audit = audited.audit;
        Self {
            id: audited.id,
            written_at: audited.at,
            who: audit.who,
            what: audit.what,
            subject: audit.subject,
            tasks: audit.tasks,
        }
    }
}

/// A page of the audit log, newest first.
#[derive(Serialize, ToSchema)]
struct AuditPage {
    entries: Vec<AuditedForm>,
    /// Where the next page goes on: the value for `before`.
    next: Option<i64>,
}

/// The actions of callers, newest first. Needs the role admin, on all queues.
#[utoipa::path(get, path = "/audit", tag = "access", params(AuditQuery), responses((status = 200, body = AuditPage)))]
async fn audit(visit: Visit, Query(query): Query<AuditQuery>) -> Result<Json<AuditPage>, Problem> {
    let limit = page_size(query.limit)?;
    let entries = visit.view().audit_log(query.before, limit).await?;
    let next = if entries.len() == limit { entries.last().map(|audited| audited.id) } else { None };
    Ok(Json(AuditPage { entries: entries.into_iter().map(AuditedForm::from).collect(), next }))
}
