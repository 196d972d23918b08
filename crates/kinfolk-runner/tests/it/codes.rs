//! Errors with the codes of the engine that a handler raises by itself.

use kinfolk::{FailureKind, State};
use serde_json::{Value, json};

use crate::lab::Lab;

const HANDLERS: &str = "
    create function app.say(p jsonb) returns void language plpgsql as $$ begin
        raise exception using errcode = p ->> 'code', message = 'my own words', detail = p ->> 'detail'; end $$;
    select kinfolk.register_command('say', handler => 'app.say', max_attempts => 2, backoff_base => '0', backoff_cap => '0')";

/// Details that the engine would not have written.
const STRANGE: [&str; 11] = [
    "",
    "no json",
    "5",
    "null",
    "{}",
    r#"{"delay_us": "soon"}"#,
    r#"{"delay_us": -1}"#,
    r#"{"delay_us": 1e300}"#,
    r#"{"delay_us": 0, "slow_down": 5}"#,
    r#"{"kind": 7, "verdict": "failed", "failures": 1}"#,
    r#"{"state": 7, "failure": {"kind": "bad luck"}}"#,
];

/// What becomes of a task whose handler raises this: the kind of failure, and how many attempts it takes.
fn expected(code: &str, detail: &str) -> (FailureKind, u16) {
    match code {
        "KF022" => (FailureKind::Validation, 1),
        "KF009" => (FailureKind::Refused, 2),
        "KF011" if detail.starts_with("unknown") => (FailureKind::Refused, 2),
        "KF011" => (FailureKind::Refused, 1),
        _ => (FailureKind::Error, 2),
    }
}

#[tokio::test]
async fn a_code_of_the_engine_with_a_strange_detail_is_an_error_like_any_other() {
    let lab = Lab::new(HANDLERS).await;
    let codes = ["KF009", "KF011", "KF012", "KF020", "KF021", "KF022", "KF023", "KF024", "KF025", "KF099"];
    let mut raised: Vec<(&str, &str)> = codes.iter().flat_map(|code| STRANGE.map(|detail| (*code, detail))).collect();
    raised.push(("KF011", "unknown_queue"));
    let mut tasks = Vec::new();
    for in_worker in [false, true] {
        for (code, detail) in &raised {
            let id = lab.enqueue("say", &json!({"code": code, "detail": detail}).to_string()).await;
            tasks.push((id, *code, *detail, in_worker));
        }
        if !in_worker {
            lab.database.run("call kinfolk.process_tasks(until_idle => true, skip_ahead => true)").await;
        }
    }
    let worker = lab.worker().await;
    for (id, code, detail, in_worker) in tasks {
        let task = lab.ended(id).await;
        let failure = task.failure.expect("a failure");
        let whose = format!("{code} {detail:?}, in a worker: {in_worker}: {failure:?}");
        assert_eq!((task.state, (failure.kind, task.attempt)), (State::Failed, expected(code, detail)), "{whose}");
        assert_eq!(failure.message, "my own words", "{whose}");
        let kept: Value = failure.detail.expect("a detail").to().unwrap();
        assert_eq!((kept["sqlstate"].as_str(), kept["detail"].as_str().unwrap_or_default()), (Some(code), detail));
    }
    lab.close(worker).await;
}
