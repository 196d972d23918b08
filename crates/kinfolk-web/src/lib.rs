//! The HTTP API and the pages of Kinfolk: one axum router, to be served by `kinfolk serve` or mounted in an application.
//!
//! ```no_run
//! # async fn example(store: std::sync::Arc<dyn kinfolk_core::Store>) {
//! let tasks = kinfolk_web::router(store, kinfolk_web::Config::behind_your_own_login());
//! let app: axum::Router = axum::Router::new().nest_service("/tasks", tasks);
//! # }
//! ```
//!
//! - `view`: what a caller may see. Reads of the store go through it, and it hides what the caller has no right to.
//! - `act`: what a caller may do. Every change goes through it; it asks for the role and writes the audit log.
//! - `access`: who the caller is; hosts, origins and security headers.
//! - `api`: the JSON forms and routes under `/api/v1`. `pages`: the same for people. `live`: server-sent events.
//!
//! **Never:** reads or changes the store other than through `view` and `act`; keeps state that a second server would miss.

mod access;
mod act;
mod api;
mod app;
mod assets;
mod config;
mod graph;
mod health;
mod link;
mod live;
mod metrics;
mod own;
mod pages;
mod problem;
mod replay;
mod serve;
mod view;
mod visit;

use std::sync::Arc;

use axum::Router;
use axum::routing::get;
use kinfolk_core::Store;

pub use crate::access::{Caller, Role, Token};
pub use crate::config::Config;
pub use crate::graph::{Graph, Node};
pub use crate::metrics::{Measures, measure};
pub use crate::replay::{Replayed, ReplayedEnd};
pub use crate::serve::{Refusal, Server};

use crate::app::{App, Shared};

/// The whole application on a store: pages at `/`, the API under `/api/v1`. It can be nested under any prefix, by
/// `nest_service`: to `nest` of axum an address with a slash behind the prefix is another one.
pub fn router(store: Arc<dyn Store>, config: Config) -> Router {
    router_of(everything(), Arc::new(App::new(store, config)))
}

/// Signs of life alone: `/metrics`, `/healthz` and `/readyz`.
fn probes() -> Router<Shared> {
    Router::new()
        .route("/metrics", get(metrics::show))
        .route("/healthz", get(health::alive))
        .route("/readyz", get(health::ready))
}

fn everything() -> Router<Shared> {
    probes()
        .nest("/api/v1", api::routes())
        .merge(pages::routes())
        .merge(access::routes())
        .route("/assets/{name}", get(assets::serve))
        .route("/app/", get(own::index))
        .route("/app/{name}", get(own::file))
}

fn router_of(routes: Router<Shared>, app: Shared) -> Router {
    let routes = routes.fallback(pages::not_here).method_not_allowed_fallback(problem::no_such_method);
    access::guard(routes, &app).layer(axum::middleware::from_fn(link::find_prefix)).with_state(app)
}
