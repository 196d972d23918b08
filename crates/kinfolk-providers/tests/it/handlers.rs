//! Providers in handlers of one's own, on the embedded store, which has no functions of its own.

use std::sync::Arc;

use kinfolk::{Command, CommandName, Ctx, Kinfolk, RetryPolicy, State, TaskError};
use kinfolk_providers::{Provider, SendError, Then};
use kinfolk_testkit::{HttpSite, Reply};
use serde_json::{Value, json};

use crate::provider;

/// What a failure means for the task.
fn blame(fault: SendError) -> TaskError {
    match fault.then {
        Then::Retry => TaskError::new(fault.message),
        Then::SlowDown(span) => TaskError::new(fault.message).retry_after(span),
        Then::GiveUp => TaskError::new(fault.message).do_not_retry(),
    }
}

/// Sends once: what the provider said is recorded, and an attempt that comes after it does not send again.
async fn send(ctx: Ctx, provider: Arc<dyn Provider>, message: Value) -> Result<Value, TaskError> {
    let key = format!("order-{}", ctx.task());
    ctx.step("send", async { provider.send(&message, &key).await.map_err(blame) }).await
}

#[tokio::test]
async fn a_handler_in_rust_sends_on_sqlite_and_tries_again_as_the_failure_says() {
    let slow = Reply::status("429 Too Many Requests", "retry-after: 1\r\n", "");
    let wrong = Reply::status("422 Unprocessable Entity", "", "no such user");
    let site = HttpSite::new(vec![Reply::broken(), slow, Reply::fine(), wrong]).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let key = folder.path().join("key");
    std::fs::write(&key, "hush").unwrap();
    let config = json!({"kind": "resend", "base": site.url(), "key": {"file": key}, "from": "shop@example.org", "allow_private": true});
    let resend = provider("email", &config);
    let kinfolk = Kinfolk::open(&format!("sqlite:{}", folder.path().join("tasks.db").display())).await.unwrap();
    kinfolk.migrate().await.unwrap();
    let retry = RetryPolicy { base_ms: 0, cap_ms: 0, ..RetryPolicy::default() };
    kinfolk.register(&[Command { retry, ..Command::new(CommandName::new("mail").unwrap()) }]).await.unwrap();
    let handler = move |ctx: Ctx, message: Value| send(ctx, Arc::clone(&resend), message);
    let worker = kinfolk.worker().queue("default", 1).handler("mail", handler).start().await.unwrap();
    let email = json!({"to": "ann@example.org", "subject": "Paid", "text": "Thank you."});

    let sent = kinfolk.enqueue("mail", &email).await.unwrap().id().unwrap();
    let task = kinfolk.wait(sent).await.unwrap();
    assert_eq!((task.state, task.attempt), (State::Completed, 3));
    let keys: Vec<String> = site.asked().iter().map(|asked| asked.key().to_owned()).collect();
    assert_eq!(keys, vec![format!("order-{sent}"); 3]);
    let refused = kinfolk.enqueue("mail", &email).await.unwrap().id().unwrap();
    let task = kinfolk.wait(refused).await.unwrap();
    assert_eq!((task.state, task.attempt), (State::Failed, 1));
    worker.stop().await.unwrap();
}
