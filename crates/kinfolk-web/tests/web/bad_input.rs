//! What bad input gets: the right status, a problem document, and nothing half done.

use std::time::{Duration, Instant};

use axum::body::Body;
use kinfolk_core::inspect::Filter;

use crate::lab::{Lab, get, post, request, send};

#[tokio::test]
async fn bad_input_is_answered_with_its_status_and_changes_nothing() {
    for lab in Lab::both().await {
        let app = lab.open();
        for (path, status, code) in [
            ("/api/v1/tasks?colour=red", 400, "input"),
            ("/api/v1/tasks?state=lost", 400, "input"),
            ("/api/v1/tasks?limit=0", 400, "input"),
            ("/api/v1/tasks?limit=1001", 400, "input"),
            ("/api/v1/tasks?limit=many", 400, "input"),
            ("/api/v1/tasks?before=-1", 400, "input"),
            ("/api/v1/tasks?queue=a%20b", 400, "input"),
            ("/api/v1/tasks/none", 400, "input"),
            ("/api/v1/tasks/0", 400, "input"),
            ("/api/v1/tasks/99999999999999999999", 400, "input"),
            ("/api/v1/tasks/12345", 404, "not_found"),
            ("/api/v1/tasks/12345/children", 404, "not_found"),
            ("/api/v1/tasks/12345/explain", 404, "not_found"),
            ("/api/v1/families/12345/tree", 404, "not_found"),
            ("/api/v1/families/12345/progress", 404, "not_found"),
            ("/api/v1/families/12345/graph?format=png", 400, "input"),
            ("/api/v1/keys?after_group=g", 400, "input"),
            ("/api/v1/schedules/nightly/ticks", 404, "not_found"),
            ("/api/v1/live/tasks/12345", 404, "not_found"),
            ("/api/v1/live/tasks?colour=red", 400, "input"),
            ("/api/v1/active", 400, "input"),
            ("/api/v1/failures?span_ms=0", 400, "input"),
            ("/api/v1/errors?limit=0", 400, "input"),
            ("/api/v1/errors?task=x", 400, "input"),
            ("/api/v1/errors?command=a%20b", 400, "input"),
            ("/api/v1/errors?kind=error", 400, "input"),
            ("/api/v1/failures?span_ms=99999999999999", 400, "input"),
            ("/api/v1/held?queue=a%20b", 400, "input"),
            ("/api/v1/minutes?span_ms=0", 400, "input"),
            ("/api/v1/minutes?span_ms=21600001", 400, "input"),
            ("/api/v1/tasks/12345/runs", 404, "not_found"),
            ("/api/v1/families/12345/timeline", 404, "not_found"),
            ("/api/v1/nowhere", 404, "not_found"),
            ("/nowhere", 404, "not_found"),
        ] {
            let answer = get(&app, path).await;
            assert_eq!((answer.status, answer.code().as_str()), (status, code), "{path}: {answer:?}");
        }
        for (path, body, status, code) in [
            ("/api/v1/tasks", "", 400, "input"),
            ("/api/v1/tasks", "{", 400, "input"),
            ("/api/v1/tasks", "[]", 400, "input"),
            ("/api/v1/tasks", r#"{"command":"greet","color":1}"#, 400, "input"),
            ("/api/v1/tasks", r#"{"command":"a b"}"#, 400, "input"),
            ("/api/v1/tasks", r#"{"command":"greet","delay_ms":1,"due_at":"2030-01-01T00:00:00Z"}"#, 400, "input"),
            ("/api/v1/tasks", r#"{"command":"greet","due_at":"soon"}"#, 400, "input"),
            ("/api/v1/tasks", r#"{"command":"greet","payload":"\u0000"}"#, 400, "input"),
            ("/api/v1/tasks", r#"{"command":"greet","keys":{"tenant":"a"}}"#, 422, "rejected"),
            ("/api/v1/tasks", r#"{"command":"nobody"}"#, 422, "rejected"),
            ("/api/v1/tasks", r#"{"command":"greet","queue":"nowhere"}"#, 422, "rejected"),
            ("/api/v1/tasks/batch", r#"{"tasks":[{"command":"greet"},{"command":"a b"}]}"#, 400, "input"),
            ("/api/v1/tasks", "[]", 400, "input"),
            ("/api/v1/tasks", r#"["greet",null,null,null,null,null,null,null,null,null,null]"#, 400, "input"),
            ("/api/v1/tasks", " ", 400, "input"),
            ("/api/v1/tasks/12345/cancel", "", 404, "not_found"),
            ("/api/v1/tasks/12345/signal", r#"{"name":"go"}"#, 404, "not_found"),
            ("/api/v1/families/12345/retry", "", 404, "not_found"),
            ("/api/v1/queues/nowhere/pause", "", 404, "not_found"),
            ("/api/v1/schedules/nowhere/pause", "", 404, "not_found"),
            ("/api/v1/tasks/12345/run-now", "", 404, "not_found"),
            ("/api/v1/tasks/12345/acquit", "", 404, "not_found"),
            ("/api/v1/tasks/bulk?colour=red", r#"{"action":"cancel","dry_run":true}"#, 400, "input"),
            ("/api/v1/tasks/bulk", r#"{"action":"cancel","expect":7}"#, 409, "changed"),
            ("/api/v1/tasks/12345/dance", "", 404, "not_found"),
            ("/api/v1/stats", "", 405, "method"),
        ] {
            let answer = post(&app, path, body).await;
            assert_eq!((answer.status, answer.code().as_str()), (status, code), "{path} {body}: {answer:?}");
        }
        let plain =
            request("POST", "/api/v1/tasks").header("content-type", "text/plain").body(Body::from("{}")).unwrap();
        assert_eq!(send(&app, plain).await.code(), "media_type");
        let large = format!(r#"{{"command":"greet","payload":"{}"}}"#, "x".repeat(300_000));
        assert_eq!(post(&app, "/api/v1/tasks", &large).await.status, 413);
        let larger = format!(r#"{{"command":"greet","payload":"{}"}}"#, "x".repeat(17 * 1024 * 1024));
        assert_eq!(post(&app, "/api/v1/tasks", &larger).await.code(), "too_large");
        let page = lab.store.list(&Filter { limit: 10, ..Filter::default() }).await.unwrap();
        assert!(page.tasks.is_empty(), "nothing was made: {page:?}");
        assert!(lab.store.audit_log(None, 10).await.unwrap().is_empty());
    }
}

#[tokio::test]
async fn a_database_that_is_away_is_told_and_the_server_lives() {
    let lab = Lab::postgres().await;
    let app = lab.open();
    assert_eq!(get(&app, "/readyz").await.status, 200);
    let name = lab.database.as_ref().unwrap().name().to_owned();
    let other = kinfolk_postgres::testing::TestDatabase::create_empty().await;
    let client = other.client().await;
    client.batch_execute(&format!("alter database {name} allow_connections false")).await.unwrap();
    let away = "select pg_terminate_backend(pid) from pg_stat_activity where datname = $1";
    client.execute(away, &[&name]).await.unwrap();
    for path in ["/api/v1/tasks", "/api/v1/stats", "/readyz", "/api/v1/live/overview"] {
        let answer = get(&app, path).await;
        assert_eq!(answer.status, 503, "{path}: {answer:?}");
        answer.code();
    }
    assert_eq!(post(&app, "/api/v1/tasks", r#"{"command":"greet"}"#).await.status, 503);
    assert_eq!(get(&app, "/healthz").await.status, 200);
    client.batch_execute(&format!("alter database {name} allow_connections true")).await.unwrap();
    let deadline = Instant::now() + Duration::from_secs(60);
    while get(&app, "/api/v1/stats").await.status != 200 {
        assert!(Instant::now() < deadline, "it goes on by itself");
    }
}
