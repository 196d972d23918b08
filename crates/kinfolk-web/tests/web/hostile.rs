//! Text that others have written, in every field that a page, a feed or an answer shows: none of it becomes markup, and all of it
//! is told as it is.

mod markup;
mod texts;

use std::collections::BTreeSet;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use futures_util::StreamExt as _;
use kinfolk_core::durable::{Checkpoint, Record, Report};
use kinfolk_core::{
    Claim, Failure, FailureKind, Json, Key, Keys, NewTask, Outcome, Retry, Schedule, ScheduleName, Settle, StepKind,
    TaskId, Token, Unique, WorkerSpec,
};
use kinfolk_web::{Caller, Config, Role};
use serde_json::{Value, json};
use tower::ServiceExt as _;

use self::markup::Markup;
use self::texts::HARMLESS;
use crate::lab::{Answer, Lab, command_name, get, post, queue_name, request, worker_of};

/// Puts each text into every field of a task, of a worker and of a schedule. A third of the tasks runs, a third has failed, a
/// third is completed.
async fn fill(lab: &Lab, texts: &[String]) -> Vec<TaskId> {
    let short = |text: &str| text.chars().take(60).collect::<String>();
    let mut tasks = Vec::new();
    for text in texts {
        tasks.push(NewTask {
            unique: Some(Unique::key(short(text))),
            keys: Keys::of([("tenant", short(text).as_str())]).unwrap(),
            trace: Some(short(text)),
            ..NewTask::new(command_name("send"), json(text))
        });
    }
    let made = lab.store.enqueue(&tasks).await.unwrap();
    let ids: Vec<TaskId> = made.iter().map(|answer| answer.id().unwrap()).collect();
    let task = NewTask::new(command_name("send"), Json::of(texts).unwrap());
    let schedule = Schedule::new(ScheduleName::new("nightly").unwrap(), "0 0 * * *", task);
    lab.store.put_schedule(&schedule).await.unwrap();
    for text in texts.iter().rev() {
        lab.store.register_worker(&worker(text)).await.unwrap();
    }
    let worker = worker(&texts[0]);
    lab.store.register_worker(&worker).await.unwrap();
    let token = Token(uuid::Uuid::new_v4());
    let (queue, commands) = (queue_name("mail"), worker.commands.clone());
    let claim = Claim { worker: worker.id, token, queue, commands, limit: 1_000, repeated: false };
    assert_eq!(lab.store.claim(&claim).await.unwrap().tasks.len(), texts.len());
    for (n, (id, text)) in ids.iter().zip(texts).enumerate() {
        write(lab, n, *id, token, text).await;
    }
    ids
}

/// What a handler writes of a task.
async fn write(lab: &Lab, n: usize, task: TaskId, token: Token, text: &str) {
    let key = Key { branch: String::new(), name: text.to_owned(), occurrence: 0 };
    let value = json(text);
    let checkpoint = Checkpoint { key, kind: StepKind::Step, digest: String::new(), value };
    lab.store.record(&[Record { task, token, checkpoints: vec![checkpoint] }]).await.unwrap();
    let report = Report { done: 1, total: Some(2), note: Some(text.to_owned()) };
    lab.store.report(task, token, &report).await.unwrap();
    let outcome = match n % 3 {
        0 => return,
        1 => Outcome::Failed {
            failure: Failure { kind: FailureKind::Error, message: text.to_owned(), detail: Some(json(text)) },
            retry: Retry::Never,
        },
        _ => Outcome::Done(Some(json(text))),
    };
    lab.store.settle(&[Settle { task, token, outcome, made: None }]).await.unwrap();
}

fn worker(name: &str) -> WorkerSpec {
    WorkerSpec { name: name.to_owned(), lease: Duration::from_secs(600), ..worker_of("send", "mail") }
}

/// The text as a key and as a value, on its own and below.
fn json(text: &str) -> Json {
    Json::of(&json!({"text": text, text: 1, "below": [{text: text}]})).unwrap()
}

fn encoded(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02X}")).collect()
}

/// The pages that show what was written, and those that show what was asked for.
fn pages(ids: &[TaskId], texts: &[String]) -> Vec<String> {
    let fixed = [
        "/",
        "/tasks",
        "/families",
        "/failures",
        "/errors",
        "/groups",
        "/queues",
        "/queues/mail",
        "/workers",
        "/schedules",
        "/schedules/nightly",
        "/keys",
        "/tasks?state=running",
        "/tasks?state=failed",
        "/tasks?state=completed",
    ];
    let mut pages: Vec<String> = fixed.map(str::to_owned).to_vec();
    for (id, text) in ids.iter().zip(texts) {
        pages.push(format!("/tasks/{id}"));
        pages.push(format!("/tasks?failure_text={}", encoded(text)));
    }
    for (id, text) in ids.iter().zip(texts).step_by(9) {
        let text = encoded(text);
        pages.push(format!("/families/{id}"));
        for path in
            ["/find?q=", "/tasks?unique=", "/tasks?payload=text=", "/tasks?command=", "/queues/", "/login?next="]
        {
            pages.push(format!("{path}{text}"));
        }
        pages.push(format!("/{text}"));
    }
    pages
}

/// The page as a browser gets it.
async fn page(app: &Router, path: &str) -> Answer {
    let asked = request("GET", path).header("accept", "text/html").body(Body::empty()).unwrap();
    crate::lab::send(app, asked).await
}

/// Looks at a page: it is markup of ours, leads nowhere else and has no script but ours.
async fn look(app: &Router, path: &str) -> Markup {
    let answer = page(app, path).await;
    assert!(answer.status < 500, "{path}: {answer:?}");
    let kind = answer.headers.get("content-type").map_or("", |kind| kind.to_str().unwrap());
    if !kind.starts_with("text/html") {
        assert!(answer.text.is_empty() || kind == "application/problem+json", "{path}: {answer:?}");
        return Markup::default();
    }
    let markup = markup::read(&answer.text).unwrap_or_else(|fault| panic!("{path}: {fault}"));
    for (element, attribute, value) in &markup.values {
        assert!(!attribute.starts_with("on") && attribute != "style", "{path}: <{element} {attribute}>");
        if matches!(attribute.as_str(), "href" | "src" | "action" | "formaction") {
            let own = value.is_empty() || value.starts_with(['#', '?']) || value.starts_with('/');
            assert!(own && !value.starts_with("//"), "{path}: <{element} {attribute}=\"{value}\">");
        }
        if element == "script" && attribute == "src" {
            assert!(value.starts_with("/assets/"), "{path}: {value}");
        }
    }
    markup
}

async fn words(app: &Router, paths: &[String]) -> BTreeSet<String> {
    let mut words = BTreeSet::new();
    for path in paths {
        words.extend(look(app, path).await.words);
    }
    words
}

#[tokio::test]
async fn no_text_becomes_markup_on_any_page() {
    let texts = texts::all();
    assert!(texts.len() >= 250, "{}", texts.len());
    for (lab, plain) in Lab::both().await.into_iter().zip(Lab::both().await) {
        // More than fit on a page, so that lists have a next one here too.
        let harmless: Vec<String> = (0..60).map(|n| format!("{HARMLESS} {n}")).collect();
        let known = words(&plain.open(), &pages(&fill(&plain, &harmless).await, &harmless)).await;
        let ids = fill(&lab, &texts).await;
        let every = if lab.database.is_some() { 8 } else { 1 };
        let paths: Vec<String> = pages(&ids, &texts).into_iter().step_by(every).collect();
        let found = words(&lab.open(), &paths).await;
        let new: Vec<_> = found.difference(&known).collect();
        assert!(new.is_empty(), "markup that harmless text does not make: {new:?}");
    }
}

#[tokio::test]
async fn every_text_is_told_as_it_is_by_the_api_and_the_feeds() {
    let texts = texts::all();
    for lab in Lab::both().await {
        let ids = fill(&lab, &texts).await;
        let app = lab.open();
        let listed = get(&app, "/api/v1/tasks?limit=1000&order=oldest").await;
        assert_eq!(listed.headers["content-type"], "application/json");
        let listed = listed.json();
        for ((task, text), n) in listed["tasks"].as_array().unwrap().iter().zip(&texts).zip(0..) {
            assert_eq!(task["payload"]["text"], **text, "{task}");
            assert_eq!(task["report"]["note"], **text, "{task}");
            match n % 3 {
                1 => assert_eq!(task["failure"]["detail"][text], 1, "{task}"),
                2 => assert_eq!(task["result"]["below"][0][text], **text, "{task}"),
                _ => {}
            }
        }
        for path in ["stats", "workers", "groups", "keys?limit=1000", "schedules", "failures", "held"] {
            get(&app, &format!("/api/v1/{path}")).await.json();
        }
        let told = first_event(&app, "/api/v1/live/tasks?limit=1000&order=oldest").await;
        let feed: Vec<_> = told["tasks"].as_array().unwrap().iter().map(|task| task["id"].as_i64().unwrap()).collect();
        assert_eq!(feed, ids.iter().map(|id| id.0).collect::<Vec<_>>(), "one event, not cut or forged by any text");
        assert_eq!(told["tasks"][1]["failure"], *texts[1]);
    }
}

/// The data of the first event of a stream, which is one line.
async fn first_event(app: &Router, path: &str) -> Value {
    let response = app.clone().oneshot(request("GET", path).body(Body::empty()).unwrap()).await.unwrap();
    let mut body = response.into_body().into_data_stream();
    let mut text = String::new();
    loop {
        if let Some(data) = text.split("\n\n").find(|block| block.contains("data: ") && text.contains("\n\n")) {
            let lines: Vec<&str> = data.lines().filter(|line| line.starts_with("data: ")).collect();
            if let ([line], true) = (lines.as_slice(), text.matches("\n\n").count() >= 2) {
                return serde_json::from_str(&line["data: ".len()..]).unwrap();
            }
        }
        let chunk = body.next().await.expect("the stream goes on").unwrap();
        text.push_str(std::str::from_utf8(&chunk).unwrap());
    }
}

#[tokio::test]
async fn the_name_of_a_caller_is_no_markup_either() {
    let lab = Lab::sqlite().await;
    let id = lab.enqueue("greet").await;
    let known = words(&lab.open(), &["/".to_owned(), "/queues".to_owned()]).await;
    for text in texts::all().iter().step_by(5) {
        let who = axum::Extension(Caller::new(text.clone(), Role::Admin));
        let app = lab.router(Config::behind_your_own_login()).layer(who);
        post(&app, &format!("/api/v1/tasks/{id}/signal"), &json!({"name": "go", "value": text}).to_string()).await;
        assert_eq!(post(&app, "/api/v1/queues/default/pause", "").await.status, 204, "{text:?}");
        let found = words(&app, &["/".to_owned(), "/queues".to_owned(), format!("/tasks/{id}")]).await;
        let new: Vec<_> =
            found.difference(&known).filter(|word| word.contains("evil") || word.contains(" on")).collect();
        assert!(new.is_empty(), "{text:?}: {new:?}");
        assert_eq!(get(&app, "/api/v1/queues").await.json()[0]["paused_by"], *text);
        assert_eq!(get(&app, "/api/v1/audit?limit=1").await.json()["entries"][0]["who"], *text);
        assert_eq!(post(&app, "/api/v1/queues/default/resume", "").await.status, 204, "{text:?}");
    }
}

#[tokio::test]
async fn a_text_of_a_megabyte_is_refused_or_cut_wherever_it_is_sent() {
    for lab in Lab::both().await {
        let app = lab.open();
        let long = "<b>\"'".repeat(200_000);
        let id = lab.enqueue("greet").await;
        for (path, body) in [
            ("/api/v1/tasks", json!({"command": "greet", "payload": long})),
            ("/api/v1/tasks", json!({"command": long})),
            ("/api/v1/tasks", json!({"command": "greet", "queue": long})),
            ("/api/v1/tasks", json!({"command": "greet", "trace": long})),
            ("/api/v1/tasks", json!({"command": "greet", "unique": {"key": long}})),
            ("/api/v1/tasks", json!({"command": "send", "keys": {"tenant": long}})),
            ("/api/v1/tasks", json!({long.as_str(): 1})),
            (&format!("/api/v1/tasks/{id}/signal"), json!({"name": long})),
            (&format!("/api/v1/tasks/{id}/signal"), json!({"name": "go", "value": long})),
            ("/api/v1/tasks/bulk", json!({"action": long})),
        ] {
            let refused = post(&app, path, &body.to_string()).await;
            assert!(matches!(refused.status, 400 | 413 | 422), "{path}: {}", refused.status);
            assert!(refused.text.len() < 5_000, "{path} answers with {} bytes", refused.text.len());
            refused.code();
        }
        let long = "<b>".repeat(20_000);
        for path in ["/tasks?failure_text=", "/tasks?queue=", "/find?q=", "/queues/", "/"] {
            let answer = page(&app, &format!("{path}{}", encoded(&long[..9_000]))).await;
            assert!(answer.status < 500, "{path}: {}", answer.status);
        }
    }
}
