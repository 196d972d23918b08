//! A small shop on axum: an order and the task that packs it are made in one transaction, a browser follows the packing by
//! server-sent events, and the pages of Kinfolk are mounted under `/admin`, behind the shop's own log-in.
//!
//! The shop's tables are its own; the address decides whether all is in PostgreSQL, by sqlx, or in an SQLite file.

mod admin;
mod packing;
mod routes;
mod shop;

use axum::Router;
use axum::routing::{get, post};
use kinfolk::{Kinfolk, WorkerHandle};

use crate::shop::Shop;

/// What every request can reach.
#[derive(Clone, Debug)]
struct App {
    kinfolk: Kinfolk,
    shop: Shop,
}

/// Whatever goes wrong while the shop is opened.
pub type Fault = Box<dyn std::error::Error + Send + Sync>;

/// Opens the shop on a database, and starts the worker that packs. In a larger one the worker is another program.
pub async fn open(url: &str, password: &str) -> Result<(Router, WorkerHandle), Fault> {
    let kinfolk = Kinfolk::open(url).await?;
    kinfolk.migrate().await?;
    let shop = Shop::open(url).await?;
    let worker = kinfolk.worker().handle(packing::pack).start().await?;
    let pages = kinfolk_web::router(kinfolk.store().clone(), kinfolk_web::Config::behind_your_own_login());
    let router = Router::new()
        .route("/", get(routes::page))
        .route("/orders", post(routes::place))
        .route("/orders/{number}/events", get(routes::follow))
        .with_state(App { kinfolk, shop })
        .nest_service("/admin", admin::behind_a_password(pages, password));
    Ok((router, worker))
}
