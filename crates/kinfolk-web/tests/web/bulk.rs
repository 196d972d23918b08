//! One thing done to many tasks: counted first, done in pages, written to the audit log.

use axum::body::Body;
use axum::http::header;
use kinfolk_core::State;
use kinfolk_core::filter::Filter;
use kinfolk_web::{Config, Role, Token};
use serde_json::{Value, json};

use crate::lab::{Lab, get, post, queue_name, request, send, tokens};

async fn done_to(lab: &Lab, state: State) -> usize {
    let filter = Filter { state: vec![state], limit: 1_000, ..Filter::default() };
    lab.store.list(&filter).await.unwrap().tasks.len()
}

#[tokio::test]
async fn many_are_counted_first_and_done_only_as_counted() {
    for lab in Lab::both().await {
        let app = lab.open();
        for _ in 0..250 {
            lab.enqueue("greet").await;
        }
        lab.enqueue("send").await;
        let path = "/api/v1/tasks/bulk?command=greet";
        let counted = post(&app, path, r#"{"action":"cancel","dry_run":true}"#).await.json();
        assert_eq!((&counted["tasks"], &counted["more"], &counted["done"]), (&json!(250), &json!(false), &json!(0)));
        assert_eq!(done_to(&lab, State::Cancelled).await, 0, "a dry run does nothing");

        let unsaid = post(&app, path, r#"{"action":"cancel"}"#).await;
        assert_eq!((unsaid.status, unsaid.code().as_str()), (400, "input"));
        lab.enqueue("greet").await;
        let changed = post(&app, path, r#"{"action":"cancel","expect":250}"#).await;
        assert_eq!((changed.status, changed.code().as_str()), (409, "changed"), "{changed:?}");
        assert!(changed.text.contains("251"), "it says how many there are: {changed:?}");
        assert_eq!(done_to(&lab, State::Cancelled).await, 0);

        let (mut done, mut body, mut from) = (0, json!({"action": "cancel", "expect": 251}), String::new());
        loop {
            let page = post(&app, &format!("{path}{from}"), &body.to_string()).await.json();
            done += page["done"].as_u64().unwrap();
            let Some(next) = page["next"].as_i64() else { break };
            (body, from) = (json!({"action": "cancel"}), format!("&after={next}"));
        }
        assert_eq!((done, done_to(&lab, State::Cancelled).await), (251, 251));
        assert_eq!(done_to(&lab, State::Pending).await, 1, "the other command is left alone");
        let audit = get(&app, "/api/v1/audit").await.json();
        let told = audit["entries"].as_array().unwrap().iter().filter_map(|entry| entry["tasks"].as_u64()).sum::<u64>();
        assert_eq!(told, 251, "{audit}");
        assert!(audit["entries"][0]["subject"].as_str().unwrap().contains(r#""command":"greet""#), "{audit}");
    }
}

#[tokio::test]
async fn each_action_is_done_to_those_it_can_be_done_to() {
    for lab in Lab::both().await {
        let app = lab.open();
        lab.failed("greet", "default").await;
        let later = r#"{"command":"send","delay_ms":86400000}"#;
        let later = post(&app, "/api/v1/tasks", later).await.json()["task"].as_i64().unwrap();
        for (action, tasks) in [("retry", 1), ("run_now", 1), ("cancel", 1), ("delete", 1)] {
            // Each leaves what the next one finds: retried, run now, cancelled, gone.
            let filter = if action == "run_now" { "?command=send" } else { "?command=greet" };
            let path = format!("/api/v1/tasks/bulk{filter}");
            let counted = post(&app, &path, &json!({"action": action, "dry_run": true}).to_string()).await.json();
            assert_eq!(counted["tasks"], tasks, "{action}: {counted}");
            let done = post(&app, &path, &json!({"action": action, "expect": tasks}).to_string()).await.json();
            assert_eq!((&done["done"], &done["next"]), (&json!(1), &Value::Null), "{action}: {done}");
        }
        let task = lab.store.task(kinfolk_core::TaskId(later)).await.unwrap().unwrap();
        assert!(task.due <= lab.store.now().await.unwrap(), "it may run now: {task:?}");
        let left = get(&app, "/api/v1/tasks?command=greet").await.json();
        assert_eq!(left["tasks"], json!([]), "deleted for good");
        let unknown = post(&app, "/api/v1/tasks/bulk", r#"{"action":"dance","dry_run":true}"#).await;
        assert_eq!((unknown.status, unknown.code().as_str()), (400, "input"));
    }
}

#[tokio::test]
async fn a_delete_takes_an_admin_and_a_token_for_some_queues_reaches_only_those() {
    let lab = Lab::sqlite().await;
    let (own, other) = (lab.enqueue("send").await, lab.enqueue("greet").await);
    let (config, secrets) = tokens();
    let ask = async |app: &axum::Router, secret: &str, path: &str, body: &str| {
        let request = request("POST", path)
            .header(header::AUTHORIZATION, format!("Bearer {secret}"))
            .header(header::CONTENT_TYPE, "application/json");
        send(app, request.body(Body::from(body.to_owned())).unwrap()).await
    };
    let app = lab.router(config);
    let delete = r#"{"action":"delete","dry_run":true}"#;
    for (role, secret) in &secrets {
        let status = ask(&app, secret, "/api/v1/tasks/bulk", delete).await.status;
        assert_eq!(status == 200, *role == Role::Admin, "{}: {status}", role.as_str());
    }
    let (secret, kept) = Token::secret();
    let mailer = Token::new("mailer", Role::Operator, &kept).unwrap();
    let cancel = r#"{"action":"cancel","expect":1}"#;
    let both = mailer.clone().only([queue_name("mail"), queue_name("other")]);
    let app = lab.router(Config::with_tokens([both]));
    assert_eq!(ask(&app, &secret, "/api/v1/tasks/bulk", cancel).await.status, 400, "which queue?");
    assert_eq!(ask(&app, &secret, "/api/v1/tasks/bulk?queue=default", cancel).await.status, 404);
    let app = lab.router(Config::with_tokens([mailer.only([queue_name("mail")])]));
    assert_eq!(ask(&app, &secret, "/api/v1/tasks/bulk", cancel).await.json()["done"], 1);
    assert_eq!(lab.store.task(own).await.unwrap().unwrap().state, State::Cancelled);
    assert_eq!(lab.store.task(other).await.unwrap().unwrap().state, State::Pending);
    let app = lab.router(Config::for_this_machine().redact(["card.number".to_owned()]));
    let told = post(&app, "/api/v1/tasks/bulk?payload=card.number=4111", r#"{"action":"cancel","dry_run":true}"#).await;
    assert_eq!(told.code(), "forbidden", "a count would tell the field");
}
