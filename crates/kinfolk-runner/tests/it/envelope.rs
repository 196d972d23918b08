//! Answers that say how it went: the envelope.

use kinfolk::core::error_log::ErrorFilter;
use kinfolk::{FailureKind, State};

use crate::lab::Lab;

/// A handler that answers its payload, which is an envelope or is not. What `before` answers is handed on.
const HANDLERS: &str = "
    create function app.say(p jsonb) returns jsonb language plpgsql as $$ begin
        insert into app.note (what) values (coalesce(nullif(p ->> 'error', ''), p ->> 'validation_failure_message', 'fine'));
        return p;
    end $$;
    create function app.inner(p jsonb) returns jsonb language sql as $$ select p -> 'inner' $$;
    create procedure app.told(inout p jsonb) language plpgsql as $$ begin commit; end $$;
    select kinfolk.register_command('say', handler => 'app.say', max_attempts => 1);
    select kinfolk.register_command('told', handler => 'app.told', max_attempts => 1);
    select kinfolk.register_command('plain', handler => 'app.say', envelope => false, max_attempts => 1);
    select kinfolk.register_command('around', handler => 'app.say', before => 'app.inner', max_attempts => 1)";

/// What becomes of a task: its result, or the kind of failure and a part of its message.
type End = Result<Option<&'static str>, (FailureKind, &'static str)>;

/// What is answered, and what becomes of the task.
const ANSWERS: [(&str, End); 13] = [
    (r#"{"success": true, "payload": {"n": 1}}"#, Ok(Some(r#"{"n": 1}"#))),
    (r#"{"success": true, "error": "", "validation_failure_message": null, "payload": 7}"#, Ok(Some("7"))),
    (r#"{"success": true}"#, Ok(None)),
    (r#"{"success": "yes"}"#, Ok(Some(r#"{"success": "yes"}"#))),
    (r#"{"n": 1}"#, Ok(Some(r#"{"n": 1}"#))),
    (r#"[{"success": true}]"#, Ok(Some(r#"[{"success": true}]"#))),
    (r#"{"success": false, "error": "the bank is away"}"#, Err((FailureKind::Error, "the bank is away"))),
    (
        r#"{"success": false, "validation_failure_message": "no such account"}"#,
        Err((FailureKind::Validation, "no such account")),
    ),
    (r#"{"success": false}"#, Err((FailureKind::Error, "app.say answered a malformed envelope: success is false"))),
    (r#"{"success": false, "error": 7}"#, Err((FailureKind::Error, "error is no text"))),
    (r#"{"success": false, "validation_failure_message": {}}"#, Err((FailureKind::Error, "message is no text"))),
    (r#"{"success": false, "error": "a", "validation_failure_message": "b"}"#, Err((FailureKind::Error, "both"))),
    (r#"{"success": true, "error": "a"}"#, Err((FailureKind::Error, "success is true, but a failure is set"))),
];

#[tokio::test]
async fn an_envelope_says_how_it_went_to_a_worker_and_in_a_transaction_alike() {
    let lab = Lab::new(HANDLERS).await;
    let mut tasks = Vec::new();
    for (answer, _) in &ANSWERS {
        tasks.push(lab.enqueue("say", answer).await);
    }
    lab.database.run("call kinfolk.process_tasks()").await;
    let by_hand = tasks.len();
    let worker = lab.worker().await;
    for (answer, _) in &ANSWERS {
        tasks.push(lab.enqueue("say", answer).await);
    }
    for (n, id) in tasks.iter().enumerate() {
        let (answer, expected) = &ANSWERS[n % by_hand];
        let task = lab.ended(*id).await;
        match expected {
            Ok(result) => {
                assert_eq!(task.state, State::Completed, "{answer}");
                assert_eq!(task.result.as_ref().map(|json| json.as_str()), *result, "{answer}");
            }
            Err((kind, words)) => {
                let failure = task.failure.unwrap();
                assert_eq!((task.state, failure.kind), (State::Failed, *kind), "{answer}");
                assert!(failure.message.contains(words), "{answer}: {}", failure.message);
            }
        }
    }
    let logged = lab.kinfolk.store().errors(&ErrorFilter::newest(100)).await.unwrap();
    assert_eq!(logged.len(), 2 * ANSWERS.iter().filter(|(_, expected)| expected.is_err()).count());
    assert!(logged.iter().all(|entry| entry.handler.as_deref() == Some("app.say") && entry.told("sqlstate").is_some()));
    let kept: Vec<String> = lab.notes().await.into_iter().filter(|note| note != "fine").collect();
    assert_eq!(kept, Vec::<String>::new(), "what a handler did that answers a failure is undone");
    lab.close(worker).await;
}

#[tokio::test]
async fn an_operational_error_is_tried_again_and_a_failed_validation_never_is() {
    let lab = Lab::new(HANDLERS).await;
    lab.database
        .run("select kinfolk.register_command('say', max_attempts => 3, backoff_base => '0', backoff_cap => '0')")
        .await;
    let worker = lab.worker().await;
    let error = lab.enqueue("say", r#"{"success": false, "error": "away"}"#).await;
    let invalid = lab.enqueue("say", r#"{"success": false, "validation_failure_message": "never"}"#).await;
    assert_eq!(lab.ended(error).await.attempt, 3);
    assert_eq!(lab.ended(invalid).await.attempt, 1);
    lab.close(worker).await;
}

#[tokio::test]
async fn a_procedure_speaks_it_too_and_a_command_may_say_that_its_handler_does_not() {
    let lab = Lab::new(HANDLERS).await;
    let worker = lab.worker().await;
    let refused = r#"{"success": false, "validation_failure_message": "no"}"#;
    let task = lab.enqueue("told", refused).await;
    assert_eq!(lab.ended(task).await.failure.unwrap().kind, FailureKind::Validation);
    let task = lab.enqueue("told", r#"{"success": true, "payload": [1]}"#).await;
    assert_eq!(lab.ended(task).await.result.unwrap().as_str(), "[1]");
    let task = lab.ended(lab.enqueue("plain", refused).await).await;
    assert_eq!((task.state, task.result.unwrap().as_str()), (State::Completed, refused));
    let fault = lab.database.try_run("select kinfolk.register_command('bare', envelope => false)").await.unwrap_err();
    assert!(fault.to_string().contains("no handler"), "{fault}");
    lab.close(worker).await;
}

#[tokio::test]
async fn the_handler_gets_what_the_hook_before_it_answers() {
    let lab = Lab::new(HANDLERS).await;
    let worker = lab.worker().await;
    for (payload, result) in [
        (r#"{"inner": {"n": 1}}"#, r#"{"n": 1}"#),
        (r#"{"inner": {"success": true, "payload": {"n": 2}}}"#, r#"{"n": 2}"#),
        (r#"{"inner": {"success": true}, "n": 3}"#, r#"{"n": 3, "inner": {"success": true}}"#),
        (r#"{"n": 4}"#, r#"{"n": 4}"#),
    ] {
        let task = lab.ended(lab.enqueue("around", payload).await).await;
        assert_eq!(task.result.unwrap().as_str(), result);
    }
    let refused = r#"{"inner": {"success": false, "validation_failure_message": "not you"}}"#;
    let task = lab.ended(lab.enqueue("around", refused).await).await;
    assert_eq!(task.failure.unwrap().message, "not you");
    lab.close(worker).await;
}
