//! The JSON API: its routes, and the document that describes them.

mod actions;
mod audit;
mod bulk;
mod doc;
mod errors;
mod extract;
mod families;
mod filter;
mod form;
mod minutes;
mod replay;
mod site;
mod tasks;
mod trouble;

use std::sync::LazyLock;

use axum::routing::get;
use axum::{Json, Router};
use utoipa::OpenApi as _;
use utoipa::openapi::{OpenApi, Server};
use utoipa_axum::router::OpenApiRouter;

use crate::app::Shared;
use crate::live;
use crate::visit::Visit;

pub(crate) use self::extract::{Named, Query};
pub(crate) use self::filter::{FilterQuery, Filtered};
pub(crate) use self::site::ActiveQuery;

fn described() -> OpenApiRouter<Shared> {
    OpenApiRouter::with_openapi(doc::Frame::openapi())
        .merge(tasks::routes())
        .merge(actions::routes())
        .merge(bulk::routes())
        .merge(replay::routes())
        .merge(families::routes())
        .merge(site::routes())
        .merge(trouble::routes())
        .merge(errors::routes())
        .merge(minutes::routes())
        .merge(audit::routes())
        .merge(live::routes())
}

/// The OpenAPI document; where it is served from is added to each answer.
static DOCUMENT: LazyLock<OpenApi> = LazyLock::new(|| {
    let (_, mut api) = described().split_for_parts();
    doc::complete(&mut api);
    api
});

/// The routes under `/api/v1`.
pub(crate) fn routes() -> Router<Shared> {
    let (router, _) = described().split_for_parts();
    router.route("/openapi.json", get(document))
}

async fn document(visit: Visit) -> Json<OpenApi> {
    let mut api = DOCUMENT.clone();
    api.servers = Some(vec![Server::new(visit.links.to("/api/v1"))]);
    Json(api)
}
