//! What the routes answer.

use std::sync::Arc;

use kinfolk::{Ctx, Json, Kinfolk, TaskError};
use kinfolk_web::{Config, Replayed, ReplayedEnd};
use serde_json::json;

use crate::lab::{Lab, get, is_good, post};

#[tokio::test]
async fn a_task_is_enqueued_shown_cancelled_and_retried() {
    for lab in Lab::both().await {
        let app = lab.open();
        let made = post(&app, "/api/v1/tasks", r#"{"command":"greet","payload":{"n":0.10},"priority":3}"#).await;
        assert_eq!(made.status, 201, "{made:?}");
        let id = made.json()["task"].as_i64().unwrap();
        let shown = get(&app, &format!("/api/v1/tasks/{id}")).await;
        assert!(
            shown.text.replace(": ", ":").contains(r#""payload":{"n":0.10}"#),
            "numbers keep every digit: {shown:?}"
        );
        let task = &shown.json()["task"];
        assert_eq!((&task["id"], &task["state"], &task["gate"]), (&json!(id), &json!("pending"), &json!("open")));
        let cancelled = post(&app, &format!("/api/v1/tasks/{id}/cancel"), "").await;
        assert_eq!(cancelled.json(), json!({"task": id, "cancel": "now"}));
        let retried = post(&app, &format!("/api/v1/tasks/{id}/retry"), "").await;
        assert_eq!(retried.json()["state"], "pending");
        let again = post(&app, &format!("/api/v1/tasks/{id}/retry"), "").await;
        assert_eq!((again.status, again.code().as_str()), (409, "wrong_state"));
        let audit = get(&app, "/api/v1/audit").await.json();
        let done: Vec<_> = audit["entries"].as_array().unwrap().iter().map(|entry| entry["what"].clone()).collect();
        assert_eq!(done, ["retry", "cancel", "enqueue"], "what was refused is not done: {audit}");
        assert_eq!(audit["entries"][1]["subject"], format!("task {id}"));
        assert_eq!(audit["entries"][1]["who"], "local");
    }
}

#[tokio::test]
async fn what_a_task_is_in_the_wrong_state_for_is_a_conflict_and_the_document_says_so() {
    for lab in Lab::both().await {
        let app = lab.open();
        let ended = lab.completed("greet", "default").await;
        let document = get(&app, "/api/v1/openapi.json").await.json();
        let refused = [
            ("tasks", "cancel", ""),
            ("tasks", "retry", ""),
            ("tasks", "run-now", ""),
            ("tasks", "acquit", ""),
            ("tasks", "signal", r#"{"name":"go"}"#),
            ("families", "cancel", ""),
            ("families", "retry", ""),
        ];
        for (things, verb, body) in refused {
            let answer = post(&app, &format!("/api/v1/{things}/{ended}/{verb}"), body).await;
            assert_eq!((answer.status, answer.code().as_str()), (409, "wrong_state"), "{things} {verb}");
            assert!(answer.text.contains(&format!("task {ended} is completed")), "{answer:?}");
            let problem = &document["paths"][format!("/{things}/{{id}}/{verb}")]["post"]["responses"]["409"];
            assert!(problem["content"]["application/problem+json"].is_object(), "{things} {verb}: {problem}");
        }
        let audit = get(&app, "/api/v1/audit").await.json();
        assert_eq!(audit["entries"], json!([]), "what was refused is not done");
    }
}

#[tokio::test]
async fn many_tasks_are_enqueued_at_once_and_listed_in_pages() {
    for lab in Lab::both().await {
        let app = lab.open();
        let tasks: Vec<_> = (0..25).map(|n| json!({"command": if n == 7 { "nobody" } else { "greet" }})).collect();
        let made = post(&app, "/api/v1/tasks/batch", &json!({"tasks": tasks}).to_string()).await;
        let answers = made.json();
        let outcomes: Vec<_> =
            answers["answers"].as_array().unwrap().iter().map(|one| one["outcome"].clone()).collect();
        assert_eq!(outcomes.iter().filter(|outcome| *outcome == "created").count(), 24);
        assert_eq!(outcomes[7], "rejected");
        let mut seen = Vec::new();
        let mut path = "/api/v1/tasks?state=pending,running&command=greet&limit=10".to_owned();
        loop {
            let page = get(&app, &path).await.json();
            seen.extend(page["tasks"].as_array().unwrap().iter().map(|task| task["id"].as_i64().unwrap()));
            let Some(next) = page["next"].as_i64() else { break };
            path = format!("/api/v1/tasks?state=pending,running&command=greet&limit=10&before={next}");
        }
        assert_eq!(seen.len(), 24);
        assert!(seen.windows(2).all(|pair| pair[0] > pair[1]), "{seen:?}");
        let count = get(&app, "/api/v1/tasks/count?command=greet&roots=true").await.json();
        assert_eq!(count, json!({"tasks": 24, "more": false}));
        let oldest = get(&app, "/api/v1/tasks?order=oldest&limit=1&payload=n=1").await;
        assert_eq!(oldest.json()["tasks"], json!([]), "{oldest:?}");
        let beyond = get(&app, "/api/v1/tasks?before=1").await;
        assert_eq!((beyond.status, beyond.json()), (200, json!({"tasks": [], "next": null})));
    }
}

#[tokio::test]
async fn everything_around_tasks_is_told() {
    for lab in Lab::both().await {
        let app = lab.open();
        let id = lab.failed("send", "mail").await;
        for path in [
            "stats",
            "queues",
            "commands",
            "workers",
            "groups",
            "keys",
            "schedules",
            "statuses",
            "failures",
            "failures?span_ms=60000",
            "errors",
            "errors?limit=1",
            "held",
            "held?queue=mail",
            "minutes",
            "minutes?span_ms=21600000",
            "me",
            "audit",
            "active?commands=greet,send",
            "openapi.json",
        ] {
            let answer = get(&app, &format!("/api/v1/{path}")).await;
            assert!(is_good(&answer), "{path}: {answer:?}");
            answer.json();
        }
        for path in ["", "/children", "/attempts", "/runs", "/fan-outs", "/checkpoints", "/explain"] {
            assert!(is_good(&get(&app, &format!("/api/v1/tasks/{id}{path}")).await), "{path}");
        }
        for path in ["progress", "tree", "timeline", "graph", "graph?format=dot", "graph?format=mermaid"] {
            assert!(is_good(&get(&app, &format!("/api/v1/families/{id}/{path}")).await), "{path}");
        }
        assert_eq!(get(&app, "/api/v1/active?commands=send").await.json(), json!({"active": false}));
        lab.enqueue("send").await;
        assert_eq!(get(&app, "/api/v1/active?commands=send").await.json(), json!({"active": true}));
        let detail = get(&app, &format!("/api/v1/tasks/{id}")).await.json();
        assert_eq!(detail["attempts"][0]["failure"]["message"], "no such address");
        let runs = get(&app, &format!("/api/v1/tasks/{id}/runs")).await.json();
        assert_eq!((&runs[0]["ending"], &runs[0]["attempt"]), (&json!("failed"), &json!(1)), "{runs}");
        let course = get(&app, &format!("/api/v1/families/{id}/timeline")).await.json();
        assert_eq!(course["tasks"][0]["runs"], runs, "{course}");
        let failures = get(&app, "/api/v1/failures").await.json();
        let cause = &failures["causes"][0];
        assert_eq!((&cause["text"], &cause["sample"]), (&json!("no such address"), &json!(id.0)), "{failures}");
        let errors = get(&app, &format!("/api/v1/errors?task={id}&command=send&queue=mail")).await.json();
        assert_eq!((&errors["entries"][0]["task"], &errors["next"]), (&json!(id.0), &json!(null)), "{errors}");
        assert_eq!(errors["entries"][0]["failure"]["message"], "no such address", "{errors}");
        let other = lab.failed("send", "mail").await;
        let newest = get(&app, "/api/v1/errors?limit=1").await.json();
        let rest = get(&app, &format!("/api/v1/errors?limit=1&before={}", newest["next"])).await.json();
        assert_eq!((&newest["entries"][0]["task"], &rest["entries"][0]["task"]), (&json!(other.0), &json!(id.0)));
        assert_eq!(get(&app, "/api/v1/errors?command=greet").await.json(), json!({"entries": [], "next": null}));
        let page = get(&app, &format!("/errors?task={id}")).await.text;
        assert!(page.contains("no such address") && !page.contains(&format!("/tasks/{other}\"")), "{page}");
        let held = get(&app, "/api/v1/held?queue=mail").await.json();
        assert_eq!((&held[0]["by"], &held[0]["command"]), (&json!("no_worker"), &json!("send")), "{held}");
        assert_eq!(post(&app, "/api/v1/queues/mail/pause", "").await.status, 204);
        let queues = get(&app, "/api/v1/queues").await.json();
        let mail = queues.as_array().unwrap().iter().find(|queue| queue["name"] == "mail").unwrap();
        assert_eq!(mail["paused_by"], "local");
        assert_eq!(post(&app, "/api/v1/queues/mail/resume", "").await.status, 204);
        let metrics = get(&app, "/metrics").await.text;
        assert!(metrics.contains("kinfolk_tasks{queue=\"mail\",command=\"send\",state=\"failed\"} 2"), "{metrics}");
        assert_eq!(get(&app, "/healthz").await.text, "ok\n");
        assert_eq!(get(&app, "/readyz").await.text, "ready\n");
    }
}

#[tokio::test]
async fn a_history_is_replayed_by_the_program_that_has_the_handlers() {
    for lab in Lab::both().await {
        let id = lab.enqueue("greet").await;
        let path = format!("/api/v1/tasks/{id}/replay");
        let none = post(&lab.open(), &path, "").await;
        assert_eq!((none.status, none.code().as_str()), (422, "unsupported"));
        let kinfolk = Kinfolk::new(Arc::clone(&lab.store));
        let config = Config::for_this_machine().replays(move |id| {
            let worker = kinfolk.worker().handler("greet", |ctx: Ctx, _: Json| async move {
                ctx.step("say", async { Ok(1) }).await?;
                Ok::<_, TaskError>(())
            });
            async move {
                let replay = worker.replay(id).await?;
                let kinfolk::ReplayEnd::GoesOn(next) = replay.end else { panic!("{replay:?}") };
                Ok(Replayed { task: id, steps: replay.steps, end: ReplayedEnd::GoesOn(next), unused: replay.unused })
            }
        });
        let app = lab.router(config);
        let replayed = post(&app, &path, "").await.json();
        assert_eq!((&replayed["end"], &replayed["sound"]), (&json!("goes_on"), &json!(true)), "{replayed}");
        assert_eq!(replayed["next"][0]["name"], "say", "{replayed}");
        let other = lab.enqueue("send").await;
        let refused = post(&app, &format!("/api/v1/tasks/{other}/replay"), "").await;
        assert_eq!((refused.status, refused.code().as_str()), (422, "unsupported"), "{refused:?}");
        assert_eq!(
            lab.store.task(id).await.unwrap().unwrap().state,
            kinfolk_core::State::Pending,
            "nothing is written"
        );
    }
}

#[tokio::test]
async fn it_can_be_mounted_under_any_prefix() {
    let lab = Lab::sqlite().await;
    let app = axum::Router::new().nest_service("/a/b", lab.open());
    let document = get(&app, "/a/b/api/v1/openapi.json").await.json();
    assert_eq!(document["servers"][0]["url"], "/a/b/api/v1");
    for address in ["/a/b", "/a/b/", "/a/b/tasks"] {
        let page = get(&app, address).await;
        assert!(is_good(&page) && page.text.contains("\"/a/b/assets/"), "{address}: {page:?}");
    }
}

#[tokio::test]
async fn an_asset_is_kept_by_browsers_under_the_address_of_its_content_alone() {
    let lab = Lab::sqlite().await;
    let app = lab.open();
    let page = get(&app, "/").await.text;
    let start = page.find("/assets/kinfolk.css?v=").expect("a link to the stylesheet");
    let address = page[start..].split('"').next().unwrap();
    assert!(get(&app, address).await.headers["cache-control"].to_str().unwrap().contains("immutable"));
    assert_eq!(get(&app, "/assets/kinfolk.css").await.headers["cache-control"], "no-cache");
    assert_eq!(get(&app, "/assets/..%2FCargo.toml").await.code(), "not_found");
}
