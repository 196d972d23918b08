//! Who may do what: every route of the document with every role, and what is refused to everyone.

use axum::Router;
use axum::body::Body;
use axum::http::{Request, header};
use kinfolk_core::Made;
use kinfolk_postgres::PgStore;
use kinfolk_web::{Caller, Config, Role, Server, Token};
use serde_json::{Value, json};
use std::sync::Arc;
use tower::ServiceExt as _;

use crate::lab::{Lab, failure, get, is_good, post, queue_name, request, send, tokens};

/// The role that an operation takes: to look takes a viewer, to change an operator, but for these.
const TAKES_ADMIN: &[(&str, &str)] = &[("get", "/audit"), ("put", "/keys")];

fn takes(method: &str, path: &str) -> Role {
    match method {
        _ if TAKES_ADMIN.contains(&(method, path)) => Role::Admin,
        "get" => Role::Viewer,
        _ => Role::Operator,
    }
}

/// A body that an operation can use.
fn body(path: &str) -> Value {
    match path {
        "/tasks" => json!({"command": "greet"}),
        "/tasks/batch" => json!({"tasks": [{"command": "greet"}]}),
        "/tasks/{id}/signal" => json!({"name": "go"}),
        "/tasks/bulk" => json!({"action": "cancel", "dry_run": true}),
        "/keys" => json!({"command": "send", "group": "tenant", "setting": {"limit": 3}}),
        _ => Value::Null,
    }
}

/// Every operation of the OpenAPI document: method, its path there, and an address for it.
async fn operations(app: &Router, bearer: &str, id: i64) -> Vec<(String, String, String)> {
    let document = request("GET", "/api/v1/openapi.json").header(header::AUTHORIZATION, format!("Bearer {bearer}"));
    let document = send(app, document.body(Body::empty()).unwrap()).await.json();
    let mut found = Vec::new();
    for (path, item) in document["paths"].as_object().unwrap() {
        let name = if path.starts_with("/queues") { "mail" } else { "nightly" };
        let address = path.replace("{id}", &id.to_string()).replace("{fan_out}", "1").replace("{name}", name);
        let query = if path.ends_with("/active") { "?commands=greet" } else { "" };
        for (method, _) in item.as_object().unwrap() {
            found.push((method.clone(), path.clone(), format!("/api/v1{address}{query}")));
        }
    }
    assert!(found.len() > 30, "the document has all routes: {found:?}");
    found
}

fn asked(method: &str, path: &str, address: &str, bearer: Option<&str>) -> Request<Body> {
    let mut request = request(&method.to_uppercase(), address).header(header::CONTENT_TYPE, "application/json");
    if let Some(bearer) = bearer {
        request = request.header(header::AUTHORIZATION, format!("Bearer {bearer}"));
    }
    request.body(Body::from(body(path).to_string())).unwrap()
}

/// The status alone: a stream has no end.
async fn status(app: &Router, request: Request<Body>) -> u16 {
    app.clone().oneshot(request).await.unwrap().status().as_u16()
}

#[tokio::test]
async fn every_route_takes_its_role_and_no_less() {
    for lab in Lab::both().await {
        let (config, secrets) = tokens();
        let app = lab.router(config);
        let id = lab.failed("greet", "default").await.0;
        for (method, path, address) in operations(&app, &secrets[0].1, id).await {
            assert_eq!(status(&app, asked(&method, &path, &address, None)).await, 401, "{method} {path} by anyone");
            let wrong = asked(&method, &path, &address, Some("kinfolk_0123"));
            let refused = status(&app, wrong).await;
            assert!(refused == 401 || refused == 429, "{method} {path} with a wrong token: {refused}");
            for (role, secret) in &secrets {
                let status = status(&app, asked(&method, &path, &address, Some(secret))).await;
                let enough = *role >= takes(&method, &path);
                assert_eq!(status != 403, enough, "{method} {path} as {}: {status}", role.as_str());
                assert_ne!(status, 401, "{method} {path} as {}", role.as_str());
                assert!(status < 500, "{method} {path} as {}: {status}", role.as_str());
            }
        }
    }
}

#[tokio::test]
async fn a_server_that_only_shows_changes_nothing_for_anyone() {
    let lab = Lab::sqlite().await;
    let (config, secrets) = tokens();
    let app = lab.router(config.read_only(true));
    let id = lab.failed("greet", "default").await.0;
    for (method, path, address) in operations(&app, &secrets[2].1, id).await {
        let status = status(&app, asked(&method, &path, &address, Some(&secrets[2].1))).await;
        assert_eq!(status == 403, method != "get", "{method} {path}: {status}");
    }
}

#[tokio::test]
async fn a_token_for_some_queues_sees_and_changes_only_those() {
    for lab in Lab::both().await {
        let (secret, kept) = Token::secret();
        let token = Token::new("mailer", Role::Operator, &kept).unwrap().only([queue_name("mail")]);
        let app = lab.router(Config::with_tokens([token]));
        let ask = async |method: &str, path: &str, body: &str| {
            let request = request(method, path)
                .header(header::AUTHORIZATION, format!("Bearer {secret}"))
                .header(header::CONTENT_TYPE, "application/json");
            send(&app, request.body(Body::from(body.to_owned())).unwrap()).await
        };
        let (own, other) = (lab.enqueue("send").await, lab.enqueue("greet").await);
        let listed = ask("GET", "/api/v1/tasks", "").await.json();
        let ids: Vec<_> = listed["tasks"].as_array().unwrap().iter().map(|task| task["id"].clone()).collect();
        assert_eq!(ids, [json!(own.0)]);
        for path in ["", "/explain", "/children", "/attempts", "/runs", "/fan-outs", "/checkpoints"] {
            assert_eq!(ask("GET", &format!("/api/v1/tasks/{own}{path}"), "").await.status, 200, "{path}");
            assert_eq!(ask("GET", &format!("/api/v1/tasks/{other}{path}"), "").await.status, 404, "{path}");
        }
        lab.failed("greet", "default").await;
        lab.failed("send", "mail").await;
        let failures = ask("GET", "/api/v1/failures", "").await.json();
        let failed: Vec<_> = failures["causes"].as_array().unwrap().iter().map(|cause| &cause["command"]).collect();
        assert_eq!(failed, ["send"], "{failures}");
        for path in ["/api/v1/errors", "/api/v1/errors?queue=default", "/api/v1/errors?command=greet", "/errors"] {
            assert!(!ask("GET", path, "").await.text.contains("greet"), "{path}");
        }
        let errors = ask("GET", "/api/v1/errors", "").await.json();
        assert_eq!(
            (errors["entries"].as_array().unwrap().len(), &errors["entries"][0]["command"]),
            (1, &json!("send"))
        );
        let held = ask("GET", "/api/v1/held", "").await.text;
        assert!(held.contains("mail") && !held.contains("default"), "{held}");
        assert_eq!(ask("GET", "/metrics", "").await.status, 403, "they tell of all queues");
        for action in ["cancel", "retry", "run-now", "acquit"] {
            assert_eq!(ask("POST", &format!("/api/v1/tasks/{other}/{action}"), "").await.status, 404, "{action}");
        }
        assert_eq!(ask("POST", "/api/v1/queues/default/pause", "").await.status, 404);
        assert_eq!(ask("POST", "/api/v1/queues/mail/pause", "").await.status, 204);
        assert_eq!(ask("POST", "/api/v1/tasks", r#"{"command":"greet"}"#).await.status, 403);
        assert_eq!(ask("POST", "/api/v1/tasks", r#"{"command":"send"}"#).await.status, 201);
        assert_eq!(ask("POST", "/api/v1/tasks", r#"{"command":"send","queue":"default"}"#).await.status, 403);
        let stats = ask("GET", "/api/v1/stats", "").await.text;
        assert!(stats.contains("mail") && !stats.contains("greet"), "{stats}");
        let queues = ask("GET", "/api/v1/queues", "").await.json();
        assert_eq!(queues.as_array().unwrap().len(), 1, "{queues}");
        assert_eq!(ask("GET", "/api/v1/active?commands=greet", "").await.json(), json!({"active": false}));
        assert_eq!(lab.store.task(other).await.unwrap().unwrap().state, kinfolk_core::State::Pending);
    }
}

#[tokio::test]
async fn a_token_for_some_queues_sees_its_part_of_a_family_and_no_task_of_the_rest() {
    for lab in Lab::both().await {
        let (secret, kept) = Token::secret();
        let queues = ["mail", "spare", "mail"].map(queue_name);
        let app = lab.router(Config::with_tokens([Token::new("mailer", Role::Viewer, &kept).unwrap().only(queues)]));
        let ask = async |path: &str| {
            let request = request("GET", path).header(header::AUTHORIZATION, format!("Bearer {secret}"));
            send(&app, request.body(Body::empty()).unwrap()).await
        };
        // The one child that it may see was made after many that it may not.
        let children = [vec![lab.new_task("greet"); 210], vec![lab.new_task("send")]].concat();
        let root = lab.made("send", "mail", Made { children, ..Made::default() }).await;
        lab.end_all("greet", "default", |_| failure("greet did not go")).await;
        let (mut seen, mut after) = (Vec::new(), Some(String::new()));
        while let Some(here) = after {
            let page = ask(&format!("/api/v1/families/{root}/timeline?limit=1{here}")).await.json();
            let tasks = page["tasks"].as_array().unwrap();
            assert_eq!(tasks.len(), 1, "a page is full, and goes on at a task that may be seen: {page}");
            seen.push(tasks[0]["task"].clone());
            after = page["next"].as_i64().map(|next| format!("&after={next}"));
        }
        let own = ask(&format!("/api/v1/tasks?root={root}&order=oldest")).await.json();
        let own: Vec<_> = own["tasks"].as_array().unwrap().iter().map(|task| task["id"].clone()).collect();
        assert_eq!((seen.len(), seen == own), (2, true), "{seen:?} {own:?}");
        assert_eq!(ask(&format!("/api/v1/tasks/count?root={root}")).await.json()["tasks"], 2, "each queue once");
        let graph = ask(&format!("/api/v1/families/{root}/graph")).await.json();
        let drawn: Vec<_> = graph["nodes"].as_array().unwrap().iter().map(|node| node["task"].clone()).collect();
        assert_eq!((drawn, &graph["not_drawn"]), (own, &json!(210)), "{graph}");
        for path in [
            "/api/v1/families/{id}/graph",
            "/api/v1/families/{id}/graph?format=dot",
            "/api/v1/families/{id}/tree?depth=3&limit=1000",
            "/api/v1/families/{id}/timeline?limit=1000",
            "/api/v1/tasks?queue=default",
            "/families/{id}",
            "/families/{id}?view=tree",
            "/families/{id}?view=graph",
            "/tasks/{id}",
        ] {
            let told = ask(&path.replace("{id}", &root.to_string())).await;
            assert!(is_good(&told) && !told.text.contains("greet"), "{path}: {}", told.text);
        }
        assert_eq!(ask("/api/v1/tasks?queue=default").await.json(), json!({"tasks": [], "next": null}));
    }
}

#[tokio::test]
async fn a_browser_logs_in_with_a_token_and_out_again() {
    let lab = Lab::sqlite().await;
    let (config, secrets) = tokens();
    let app = lab.router(config);
    let first = get(&app, "/?x=1").await;
    assert_eq!((first.status, first.headers["location"].to_str().unwrap()), (303, "/login?next=/%3Fx%3D1"));
    let form = async |token: &str| {
        let request = request("POST", "/login")
            .header(header::CONTENT_TYPE, "application/x-www-form-urlencoded")
            .header(header::ORIGIN, "http://localhost:8080");
        send(&app, request.body(Body::from(format!("token={token}&next=/%3Fx%3D1"))).unwrap()).await
    };
    let wrong = form("kinfolk_wrong").await;
    assert!(wrong.status == 401 && !wrong.headers.contains_key("set-cookie"), "{wrong:?}");
    let right = form(&secrets[1].1).await;
    assert_eq!((right.status, right.headers["location"].to_str().unwrap()), (303, "/?x=1"));
    let cookie = right.headers["set-cookie"].to_str().unwrap().to_owned();
    assert!(cookie.contains("HttpOnly") && cookie.contains("SameSite=Strict"), "{cookie}");
    assert!(!cookie.contains(&secrets[1].1), "the token itself is not in it");
    let pair = cookie.split(';').next().unwrap();
    let with = |pair: &str| request("GET", "/api/v1/me").header(header::COOKIE, pair).body(Body::empty()).unwrap();
    assert_eq!(send(&app, with(pair)).await.json()["role"], "operator");
    assert_eq!(send(&app, with(&pair.replace('a', "b"))).await.status, 401, "a cookie that was changed");
    let out = send(&app, request("POST", "/logout").body(Body::empty()).unwrap()).await;
    assert!(out.headers["set-cookie"].to_str().unwrap().contains("Max-Age=0"));
}

#[tokio::test]
async fn other_hosts_and_other_sites_are_refused() {
    let lab = Lab::sqlite().await;
    let app = lab.open();
    let rebound = Request::builder().uri("/api/v1/tasks").header(header::HOST, "evil.example").body(Body::empty());
    assert_eq!(send(&app, rebound.unwrap()).await.code(), "host");
    for sign in ["/healthz", "/readyz"] {
        let probe = Request::builder().uri(sign).header(header::HOST, "10.0.0.7:8080").body(Body::empty());
        assert_eq!(send(&app, probe.unwrap()).await.status, 200, "{sign}");
    }
    for (name, value) in [("origin", "https://evil.example"), ("sec-fetch-site", "cross-site"), ("origin", "null")] {
        let request = request("POST", "/api/v1/tasks").header(name, value).header("content-type", "application/json");
        let refused = send(&app, request.body(Body::from(r#"{"command":"greet"}"#)).unwrap()).await;
        assert_eq!((refused.status, refused.code().as_str()), (403, "cross_site"), "{name}: {value}");
    }
    assert!(lab.store.audit_log(None, 1).await.unwrap().is_empty());
}

#[tokio::test]
async fn every_answer_has_the_headers_that_keep_a_browser_safe() {
    let lab = Lab::sqlite().await;
    let app = lab.open();
    for path in ["/", "/api/v1/stats", "/nowhere", "/assets/kinfolk.css", "/api/v1/tasks?x=y"] {
        let headers = get(&app, path).await.headers;
        let policy = headers["content-security-policy"].to_str().unwrap();
        assert!(policy.contains("default-src 'none'") && policy.contains("frame-ancestors 'none'"), "{path}: {policy}");
        assert!(!policy.contains("unsafe"), "{path}: {policy}");
        assert_eq!(headers["x-content-type-options"], "nosniff", "{path}");
        assert_eq!(headers["referrer-policy"], "same-origin", "{path}");
    }
    assert_eq!(get(&app, "/api/v1/stats").await.headers["cache-control"], "no-store");
}

#[tokio::test]
async fn redacted_fields_leave_the_process_nowhere() {
    for lab in Lab::both().await {
        let app = lab.router(Config::for_this_machine().redact(["**.number".to_owned()]));
        let id = lab.completed("greet", "default").await;
        for path in [format!("/api/v1/tasks/{id}"), "/api/v1/tasks".to_owned(), format!("/api/v1/families/{id}/tree")] {
            let text = get(&app, &path).await.text;
            assert!(text.contains(r#""number":"redacted""#) && !text.contains("4111"), "{path}: {text}");
            assert!(text.contains(r#""n":0.10"#), "the rest stays: {text}");
        }
        let told = get(&app, "/api/v1/tasks?payload=card.number=4111").await;
        assert_eq!(told.code(), "forbidden", "a filter would tell it");
    }
}

#[tokio::test]
async fn an_address_that_others_can_reach_needs_tokens() {
    let lab = Lab::sqlite().await;
    let anywhere = "0.0.0.0:0".parse().unwrap();
    let refused = Server::bind(anywhere, Arc::clone(&lab.store), Config::for_this_machine()).await;
    assert!(refused.is_err_and(|refusal| refusal.to_string().contains("kinfolk token new")));
    let none = Server::bind(anywhere, Arc::clone(&lab.store), Config::with_tokens([])).await;
    assert!(none.is_err(), "no token at all lets nobody in, and is a mistake");
    assert!(Server::bind(anywhere, Arc::clone(&lab.store), tokens().0).await.is_ok());
    assert!(Server::bind("127.0.0.1:0".parse().unwrap(), lab.store, Config::for_this_machine()).await.is_ok());
}

#[tokio::test]
async fn an_application_that_knows_its_users_says_who_they_are() {
    let lab = Lab::sqlite().await;
    let app = lab.router(Config::behind_your_own_login()).layer(axum::Extension(Caller::new("ann", Role::Viewer)));
    assert_eq!(get(&app, "/api/v1/me").await.json()["name"], "ann");
    assert_eq!(post(&app, "/api/v1/tasks", r#"{"command":"greet"}"#).await.status, 403);
}

/// On PostgreSQL the server needs no right on any table: membership in the roles for its verbs is enough.
#[tokio::test]
async fn a_database_role_without_rights_on_tables_is_enough() {
    let lab = Lab::postgres().await;
    let database = lab.database.as_ref().unwrap();
    let role = format!("web_{}", uuid::Uuid::new_v4().simple());
    let client = database.client().await;
    let make = format!(
        "create role {role} login; grant kinfolk_viewer, kinfolk_operator, kinfolk_producer, kinfolk_worker to {role}"
    );
    client.batch_execute(&make).await.unwrap();
    let url = database.url.replacen("postgres@", &format!("{role}@"), 1);
    let store = PgStore::connect(&url, kinfolk_postgres::PgOptions::default()).await.unwrap();
    let app = kinfolk_web::router(Arc::new(store), Config::for_this_machine());
    let id = lab.failed("greet", "default").await.0;
    let token = String::new();
    for (method, path, address) in operations(&app, &token, id).await {
        let status = status(&app, asked(&method, &path, &address, None)).await;
        assert!(status < 500 && status != 403, "{method} {path}: {status}");
    }
    let made = post(&app, "/api/v1/tasks", r#"{"command":"greet"}"#).await;
    assert!(is_good(&made), "{made:?}");
    assert!(client.batch_execute(&format!("set role {role}; select * from kinfolk.task")).await.is_err());
    client.batch_execute("reset role").await.unwrap();
    drop(app);
    client.batch_execute(&format!("drop owned by {role}; drop role {role}")).await.unwrap();
}
