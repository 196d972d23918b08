//! The shop on both stores: an order is made with its task, its packing is followed to the end, the pages ask for a password.

use axum::Router;
use axum::body::Body;
use axum::http::header::{AUTHORIZATION, CONTENT_TYPE};
use axum::http::{Request, StatusCode};
use base64::Engine as _;
use http_body_util::BodyExt as _;
use serde_json::{Value, json};
use sqlx::Connection as _;
use tower::ServiceExt as _;

#[tokio::test]
async fn an_order_is_packed_and_followed_on_sqlite() {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("sqlite:{}", folder.path().join("shop.db").display());
    order_and_follow(&url).await;
}

#[tokio::test]
async fn an_order_is_packed_and_followed_on_postgresql() {
    let admin = std::env::var("KINFOLK_TEST_PG").expect("run the tests by `cargo xtask test`");
    let name = format!("kinfolk_web_{}", std::process::id());
    let url = format!("{}/{name}", admin.rsplit_once('/').unwrap().0);
    let mut server = sqlx::PgConnection::connect(&admin).await.unwrap();
    let create = sqlx::AssertSqlSafe(format!("create database {name}"));
    sqlx::raw_sql(create).execute(&mut server).await.unwrap();
    order_and_follow(&url).await;
    let drop = sqlx::AssertSqlSafe(format!("drop database {name} with (force)"));
    sqlx::raw_sql(drop).execute(&mut server).await.unwrap();
}

async fn order_and_follow(url: &str) {
    let (shop, worker) = kinfolk_example_web::open(url, "secret").await.unwrap();
    let (status, answer) = order(&shop, &json!({"customer": "Ada", "parcels": 3})).await;
    assert_eq!(status, StatusCode::CREATED, "{answer}");
    let number = serde_json::from_str::<Value>(&answer).unwrap()["order"].clone();

    let (status, events) = get(&shop, &format!("/orders/{number}/events"), None).await;
    assert_eq!(status, StatusCode::OK);
    let told = events.lines().filter_map(|line| line.strip_prefix("data: "));
    let told: Vec<Value> = told.map(|data| serde_json::from_str(data).unwrap()).collect();
    assert_eq!(told.last().unwrap(), &json!({"state": "completed", "progress": {"done": 3, "total": 3}}));
    assert!(told.len() > 1, "it was followed: {told:?}");

    let (status, answer) = order(&shop, &json!({"customer": "Ada", "parcels": 0})).await;
    assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY, "{answer}");
    assert_eq!(get(&shop, "/orders/99/events", None).await.0, StatusCode::NOT_FOUND);

    assert_eq!(get(&shop, "/admin/tasks", None).await.0, StatusCode::UNAUTHORIZED);
    assert_eq!(get(&shop, "/admin/tasks", Some("wrong")).await.0, StatusCode::UNAUTHORIZED);
    let (status, page) = get(&shop, "/admin/tasks", Some("secret")).await;
    assert_eq!(status, StatusCode::OK);
    assert!(page.contains("href=\"/admin/tasks/1\""), "{page}");
    for address in ["/admin", "/admin/"] {
        assert_eq!(get(&shop, address, None).await.0, StatusCode::UNAUTHORIZED, "{address}");
        let (status, page) = get(&shop, address, Some("secret")).await;
        assert!(status == StatusCode::OK && page.contains("href=\"/admin/tasks\""), "{address}: {status} {page}");
    }
    worker.stop().await.unwrap();
}

async fn order(shop: &Router, order: &Value) -> (StatusCode, String) {
    let request = Request::post("/orders").header(CONTENT_TYPE, "application/json");
    send(shop, request.body(Body::from(order.to_string())).unwrap()).await
}

async fn get(shop: &Router, path: &str, password: Option<&str>) -> (StatusCode, String) {
    let mut request = Request::get(path).header("host", "shop.example.org");
    if let Some(password) = password {
        let login = base64::prelude::BASE64_STANDARD.encode(format!("admin:{password}"));
        request = request.header(AUTHORIZATION, format!("Basic {login}"));
    }
    send(shop, request.body(Body::empty()).unwrap()).await
}

async fn send(shop: &Router, request: Request<Body>) -> (StatusCode, String) {
    let answer = shop.clone().oneshot(request).await.unwrap();
    let status = answer.status();
    let body = answer.into_body().collect().await.unwrap().to_bytes();
    (status, String::from_utf8(body.to_vec()).unwrap())
}
