//! Resend, Twilio and any endpoint.

use std::time::Duration;

use kinfolk_providers::{Config, SendError, Then};
use kinfolk_testkit::{HttpSite, Reply};
use serde_json::{Value, json};

use crate::provider;

fn secret(text: &str) -> (tempfile::NamedTempFile, Value) {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), text).unwrap();
    let at = json!({"file": file.path()});
    (file, at)
}

#[tokio::test]
async fn resend_gets_the_email_the_key_and_the_idempotency_key() {
    let server = HttpSite::new(vec![Reply::status("200 OK", "", r#"{"id": "abc"}"#)]).unwrap();
    let (_file, key) = secret("re_hush\n");
    let config =
        json!({"kind": "resend", "base": server.url(), "key": key, "from": "shop@example.org", "allow_private": true});
    let email = json!({"to": ["ann@example.org"], "subject": "Paid", "text": "Thank you.", "send_email_task_id": 7});
    let answer = provider("email", &config).send(&email, "k1").await.unwrap();
    assert_eq!(answer, json!({"provider": "resend", "id": "abc"}));
    let asked = &server.asked()[0];
    assert!(asked.head.starts_with("POST /emails HTTP/1.1\r\n"), "{}", asked.head);
    assert_eq!(asked.header("authorization"), Some("Bearer re_hush"));
    assert_eq!(asked.header("idempotency-key"), Some("k1"));
    let body: Value = serde_json::from_str(&asked.body).unwrap();
    assert_eq!(
        body,
        json!({"from": "shop@example.org", "to": ["ann@example.org"], "subject": "Paid", "text": "Thank you."})
    );
}

#[tokio::test]
async fn twilio_gets_a_form() {
    let server = HttpSite::new(vec![Reply::status("201 Created", "", r#"{"sid": "SM1"}"#)]).unwrap();
    let (_file, token) = secret("hush");
    let config = json!({"kind": "twilio", "base": server.url(), "account": "AC1", "token": token, "from": "+1", "allow_private": true});
    let answer = provider("sms", &config).send(&json!({"to": "+47 1", "body": "a&b=ü"}), "k").await.unwrap();
    assert_eq!(answer, json!({"provider": "twilio", "id": "SM1"}));
    let asked = &server.asked()[0];
    assert!(asked.head.starts_with("POST /2010-04-01/Accounts/AC1/Messages.json "), "{}", asked.head);
    assert_eq!(asked.body, "To=%2B47%201&From=%2B1&Body=a%26b%3D%C3%BC");
    assert_eq!(asked.header("authorization"), Some("Basic QUMxOmh1c2g="));
}

#[tokio::test]
async fn an_endpoint_gets_method_headers_body_key_and_signature() {
    let server =
        HttpSite::new(vec![Reply::status("200 OK", "", "[1]"), Reply::status("204 No Content", "", "")]).unwrap();
    let (_file, secret) = secret("hush");
    let http = provider("http", &json!({"kind": "http", "secret": secret, "allow_private": true}));
    let call = json!({"url": format!("{}/hook?a=1", server.url()), "headers": {"X-Order": "7"}, "body": {"n": 1}});
    assert_eq!(http.send(&call, "k").await.unwrap(), json!({"provider": "http", "status": 200, "body": [1]}));
    let asked = &server.asked()[0];
    assert!(asked.head.starts_with("POST /hook?a=1 HTTP/1.1\r\n"), "{}", asked.head);
    assert_eq!((asked.header("x-order"), asked.header("content-type")), (Some("7"), Some("application/json")));
    assert_eq!((asked.header("idempotency-key"), asked.body.as_str()), (Some("k"), r#"{"n":1}"#));
    // printf 'k.{"n":1}' | openssl dgst -sha256 -hmac hush
    assert_eq!(
        asked.header("kinfolk-signature"),
        Some("sha256=7d99d046275cd82cbe1bd06b13c72991daf611e03c899e59dbc8c8391b5dffd4")
    );
    let call = json!({"url": server.url(), "method": "DELETE"});
    assert_eq!(http.send(&call, "k").await.unwrap()["status"], 204);
}

/// Sends a request to a server that answers like this.
async fn ask(script: Reply, config: Value) -> (SendError, usize) {
    let server = HttpSite::new(vec![script]).unwrap();
    let mut whole = json!({"kind": "http", "allow_private": true});
    whole.as_object_mut().unwrap().extend(config.as_object().unwrap().clone());
    let fault = provider("http", &whole).send(&json!({"url": server.url(), "body": "x"}), "k").await.unwrap_err();
    (fault, server.asked().len())
}

#[tokio::test]
async fn what_may_help_after_a_failure_is_what_the_answer_says() {
    let pause = |secs| Then::SlowDown(Duration::from_secs(secs));
    for (script, then, words) in [
        (Reply::status("500 Internal Server Error", "", "oh"), Then::Retry, "answered 500"),
        (Reply::status("503 Service Unavailable", "", ""), Then::Retry, "503"),
        (Reply::status("503 Service Unavailable", "retry-after: 7\r\n", ""), pause(7), "503"),
        (Reply::status("429 Too Many Requests", "retry-after: 2\r\n", ""), pause(2), "429"),
        (Reply::status("429 Too Many Requests", "", ""), pause(30), "429"),
        (Reply::status("429 Too Many Requests", "retry-after: 999999\r\n", ""), pause(3600), "429"),
        (Reply::status("422 Unprocessable Entity", "", "no such user"), Then::GiveUp, "no such user"),
        (Reply::status("302 Found", "location: http://169.254.169.254/\r\n", ""), Then::GiveUp, "302"),
        (Reply::Say("HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhalf".to_owned()), Then::Retry, "broke off"),
        (Reply::Say("nonsense\r\n\r\n".to_owned()), Then::Retry, "can't be reached"),
        (Reply::Say(String::new()), Then::Retry, "can't be reached"),
        (Reply::status("200 OK", "", &"x".repeat(2000)), Then::Retry, "too large"),
    ] {
        let (fault, asked) = ask(script.clone(), json!({"answer_bytes_max": 1000})).await;
        assert_eq!((fault.then, asked), (then, 1), "{script:?}: {fault}");
        assert!(fault.message.contains(words), "{script:?}: {fault}");
    }
    let (fault, _) = ask(Reply::Stall("HTTP/1.1 200 OK\r\n".to_owned()), json!({"timeout_secs": 1})).await;
    assert_eq!(fault.then, Then::Retry);
    assert!(fault.message.contains("did not answer within"), "{fault}");
}

#[tokio::test]
async fn nothing_in_a_private_network_is_asked() {
    let server = HttpSite::new(Vec::new()).unwrap();
    let port = server.url().rsplit(':').next().unwrap();
    let http = provider("http", &json!({"kind": "http"}));
    for host in ["127.0.0.1", "localhost", "0.0.0.0", "[::1]", "[::ffff:127.0.0.1]", "2130706433", "0x7f.1", "127.1"] {
        let fault = http.send(&json!({"url": format!("http://{host}:{port}/")}), "k").await.unwrap_err();
        assert!(
            fault.message.contains("not an address of the public internet")
                || fault.message.contains("can't be reached"),
            "{host}: {fault}"
        );
    }
    assert_eq!(server.asked().len(), 0);
}

#[tokio::test]
async fn a_request_that_is_wrong_is_refused_for_good() {
    let http = provider("http", &json!({"kind": "http", "allow_private": true}));
    for call in [
        json!({}),
        json!({"url": "ftp://example.org/"}),
        json!({"url": "/path"}),
        json!({"url": "http://user:word@127.0.0.1/"}),
        json!({"url": "http://127.0.0.1/", "method": "CONNECT"}),
        json!({"url": "http://127.0.0.1/", "method": "GET\r\nX: y"}),
        json!({"url": "http://127.0.0.1/", "headers": {"Host": "other"}}),
        json!({"url": "http://127.0.0.1/", "headers": {"Content-Length": "0"}}),
        json!({"url": "http://127.0.0.1/", "headers": {"x": "a\r\nb: c"}}),
        json!({"url": "http://127.0.0.1/", "headers": {"a b": "c"}}),
        json!({"url": "http://127.0.0.1/a b"}),
    ] {
        assert_eq!(http.send(&call, "k").await.unwrap_err().then, Then::GiveUp, "{call}");
    }
}

#[test]
fn secrets_are_shown_nowhere() {
    let (_file, key) = secret("re_hush");
    let config: Config = serde_json::from_value(json!({"email": {"kind": "resend", "key": key}})).unwrap();
    let shown = format!("{:?} {:?}", config, config.open().unwrap());
    assert!(!shown.contains("re_hush"), "{shown}");
    for written in [json!("re_hush"), json!({"secret": "re_hush"}), json!(["re_hush"])] {
        let config: Config = serde_json::from_value(json!({"email": {"kind": "resend", "key": written}})).unwrap();
        let fault = config.open().unwrap_err().to_string();
        assert!(fault.contains("not written into a configuration") && !fault.contains("re_hush"), "{fault}");
        assert!(!format!("{config:?}").contains("re_hush"));
    }
    for wrong in [
        json!({"email": {"kind": "pigeon", "key": "re_hush"}}),
        json!({"email": {"kind": "outbox", "folder": "x", "fodler": "y"}}),
        json!({"fax": {}}),
    ] {
        let fault = serde_json::from_value::<Config>(wrong.clone()).unwrap_err();
        assert!(!fault.to_string().contains("re_hush"), "{wrong}: {fault}");
    }
}
