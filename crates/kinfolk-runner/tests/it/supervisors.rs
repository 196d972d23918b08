//! Business processes: supervisors, facts, and providers, by a worker that may do nothing else.

use std::time::Duration;

use kinfolk::State;
use kinfolk::core::error_log::ErrorFilter;
use kinfolk::core::inspect::Health;
use kinfolk_providers::Providers;
use kinfolk_testkit::{HttpSite, Reply};
use serde_json::json;

use crate::lab::within;
use crate::office::Office;
use crate::site::{SECRET, resend};

#[tokio::test]
async fn an_email_that_fails_once_is_sent_by_three_runs_of_its_supervisor() {
    let (office, site) = (Office::new().await, HttpSite::new(vec![Reply::broken(), Reply::fine()]).unwrap());
    let worker = office.worker(resend(site.url())).await;
    office.kickoff("").await;
    office.until_succeeded().await;
    assert_eq!(office.facts().await, ["2", "1", "1"]);
    // Three runs, woken by facts and not by time, and two attempts.
    assert_eq!(office.count("kinfolk.tasks where command = 'db_function' and state = 'completed'").await, "3");
    assert_eq!(office.count("kinfolk.tasks where command = 'email' and state = 'completed'").await, "2");
    let payload = "select payload::text from kinfolk.tasks where command = 'email' order by id limit 1";
    let payload: serde_json::Value = serde_json::from_str(&office.lab.database.texts(payload).await[0]).unwrap();
    assert_eq!(
        payload,
        json!({"task_type": "email", "send_email_task_id": 1, "attempt": 1, "before_handler": "comms.get_email_payload",
            "success_handler": "comms.record_email_success", "error_handler": "comms.record_email_failure"})
    );
    let asked = site.asked();
    assert_eq!(asked.len(), 2);
    assert_ne!(asked[0].key(), asked[1].key(), "each attempt that the supervisor schedules is a message of its own");
    assert!(asked[1].body.contains(r#""to":["ann@example.org"]"#), "{}", asked[1].body);
    let logged = office.lab.kinfolk.store().errors(&ErrorFilter::newest(10)).await.unwrap();
    assert_eq!(logged.iter().map(|entry| entry.command.as_str()).collect::<Vec<_>>(), ["email"]);
    assert!(logged[0].failure.message.contains("500"), "{logged:?}");
    assert!(!format!("{logged:?}").contains(SECRET));
    office.close(worker).await;
}

#[tokio::test]
async fn a_process_ends_at_its_limits() {
    let (office, site) = (
        Office::new().await,
        HttpSite::new(vec![Reply::broken(), Reply::broken(), Reply::broken(), Reply::broken()]).unwrap(),
    );
    let worker = office.worker(resend(site.url())).await;
    office.kickoff(", max_attempts => 3").await;
    office.lab.until("select count(*)::text from comms.send_email_task_failed", "3").await;
    office.lab.until("select count(*)::text from kinfolk.tasks where state in ('pending', 'running')", "0").await;
    assert_eq!(office.facts().await, ["3", "3", "0"]);
    assert_eq!(site.asked().len(), 3);
    // One that has run as often as it may without an end is stuck, and says so.
    office.kickoff(", max_runs => 1, max_attempts => 9").await;
    office.lab.until("select runs::text from comms.send_email_task_stuck where send_email_task_id = 2", "1").await;
    let doctor = || async {
        let all = office.lab.kinfolk.store().doctor().await.unwrap();
        all.into_iter().find(|finding| finding.subject == "comms.send_email").unwrap()
    };
    let stuck = doctor().await;
    assert_eq!(stuck.health, Health::Bad);
    assert!(stuck.found.contains("send_email_task 2 after 1 runs"), "{stuck:?}");
    // One that is resumed may run as often again.
    let (_, typed) = stuck.remedy.split_once("in psql: ").expect("a statement");
    assert_eq!(typed, "select comms.resume_send_email_task(2);");
    office.lab.database.try_run(typed).await.unwrap();
    assert_eq!(office.lab.database.texts("select comms.resume_send_email_task(2)::text").await, ["false"]);
    office.lab.until("select count(*)::text from kinfolk.tasks where state in ('pending', 'running')", "0").await;
    assert_eq!(doctor().await.health, Health::Good);
    office.close(worker).await;
}

#[tokio::test]
async fn a_supervisor_looks_again_only_after_an_attempt_that_is_delayed() {
    let office = Office::new().await;
    let run = async |sql: &str| {
        office.lab.database.run(sql).await;
        office.lab.database.run("call kinfolk.process_tasks(until_idle => true)").await;
    };
    let looks = "select string_agg((s.due > e.due)::text, ' ' order by s.id) from kinfolk.tasks s, lateral (
            select max(e.due) as due from kinfolk.tasks e
            where e.command = 'email' and e.payload -> 'send_email_task_id' = s.payload -> 'send_email_task_id') e
        where s.command = 'db_function' and s.state = 'pending'";
    for task in [1, 2] {
        office.kickoff(", retry_delay => '1 hour', max_attempts => 3, max_runs => 3").await;
        run("select").await;
        let original = json!({"send_email_task_id": task, "attempt": 1});
        let told = json!({"error": "closed", "original_payload": original});
        run(&format!("select comms.record_email_failure('{told}')")).await;
    }
    assert_eq!(office.lab.database.texts(looks).await, ["true true"]);
    // One that got stuck meanwhile and is resumed waits as long.
    for _ in 1..=2 {
        run("select comms.wake_send_email(2)").await;
    }
    assert_eq!(office.count("comms.send_email_task_stuck").await, "1");
    run("select comms.resume_send_email_task(2)").await;
    assert_eq!(office.lab.database.texts(looks).await, ["true true"]);
    office.remove().await;
}

#[tokio::test]
async fn a_worker_that_dies_before_the_answer_is_recorded_sends_again_under_the_same_key() {
    let (office, site) =
        (Office::new().await, HttpSite::new(vec![Reply::Stall(String::new()), Reply::fine()]).unwrap());
    let first = office.worker(resend(site.url())).await;
    office.kickoff("").await;
    within(async {
        while site.asked().is_empty() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await;
    within(first.kill()).await.unwrap();
    let second = office.worker(resend(site.url())).await;
    office.until_succeeded().await;
    let asked = site.asked();
    assert_eq!((asked.len(), &asked[0]), (2, &asked[1]));
    assert_eq!(office.facts().await, ["1", "0", "1"]);
    office.close(second).await;
}

#[tokio::test]
async fn what_was_sent_is_not_sent_again_when_the_fact_can_not_be_written_at_first() {
    let (office, site) = (Office::new().await, HttpSite::new(vec![]).unwrap());
    office.lab.database.run("revoke execute on function comms.record_email_success(jsonb) from kinfolk_worker").await;
    let worker = office.worker(resend(site.url())).await;
    office.kickoff("").await;
    office.lab.until("select (count(*) > 0)::text from kinfolk.errors where sqlstate = '42501'", "true").await;
    office.lab.database.run("grant execute on function comms.record_email_success(jsonb) to kinfolk_worker").await;
    office.until_succeeded().await;
    assert_eq!((site.asked().len(), office.facts().await), (1, ["1", "0", "1"].map(str::to_owned)));
    office.close(worker).await;
}

#[tokio::test]
async fn a_provider_that_asks_for_a_pause_gets_it_and_costs_no_attempt() {
    let slow = Reply::status("429 Too Many Requests", "retry-after: 1\r\n", "");
    let (office, site) = (Office::new().await, HttpSite::new(vec![slow, Reply::fine()]).unwrap());
    let worker = office.worker(resend(site.url())).await;
    office.kickoff("").await;
    office.until_succeeded().await;
    let asked = site.asked();
    assert_eq!(
        (asked.len(), asked[0].key(), office.facts().await),
        (2, asked[1].key(), ["1", "0", "1"].map(str::to_owned))
    );
    assert_eq!(office.count("kinfolk.tasks where command = 'email' and attempt = 1").await, "1");
    office.close(worker).await;
}

#[tokio::test]
async fn without_an_error_handler_the_policy_tries_again_and_a_wrong_message_fails_for_good() {
    let (office, site) = (Office::new().await, HttpSite::new(vec![Reply::broken(), Reply::fine()]).unwrap());
    office.lab.database.run("select kinfolk.register_command('email', backoff_base => '0', backoff_cap => '0')").await;
    let worker = office.worker(resend(site.url())).await;
    let sent = office.lab.enqueue("email", r#"{"to": "a@example.org", "subject": "s", "text": "t"}"#).await;
    let task = office.lab.ended(sent).await;
    assert_eq!((task.state, task.attempt), (State::Completed, 2));
    let asked = site.asked();
    assert_eq!(asked[0], asked[1], "the same message under the same key");
    let wrong = office.lab.ended(office.lab.enqueue("email", r#"{"to": "a@example.org"}"#).await).await;
    assert_eq!((wrong.state, wrong.attempt), (State::Failed, 1));
    office.close(worker).await;
}

#[tokio::test]
async fn an_attempt_that_is_cancelled_is_a_failure_and_the_supervisor_goes_on() {
    let (office, site) =
        (Office::new().await, HttpSite::new(vec![Reply::Stall(String::new()), Reply::fine()]).unwrap());
    let worker = office.worker(resend(site.url())).await;
    office.kickoff("").await;
    within(async {
        while site.asked().is_empty() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await;
    let running = office.lab.database.texts("select id::text from kinfolk.tasks where command = 'email'").await;
    office.lab.kinfolk.cancel(running[0].parse().map(kinfolk::TaskId).unwrap()).await.unwrap();
    office.until_succeeded().await;
    assert_eq!(office.facts().await, ["2", "1", "1"]);
    // One that never began counts as well: nobody else would tell.
    office.lab.database.run("select kinfolk.pause('default')").await;
    office.kickoff("").await;
    office.lab.database.run("select comms.send_email_supervisor('{\"send_email_task_id\": 2}')").await;
    let cancel = "select kinfolk.cancel(id) from kinfolk.tasks where command = 'email' and state = 'pending'";
    office.lab.database.run(cancel).await;
    office.lab.database.run("select kinfolk.resume('default')").await;
    office.lab.until("select count(*)::text from comms.send_email_task_succeeded", "2").await;
    office.lab.until("select count(*)::text from kinfolk.tasks where state in ('pending', 'running')", "0").await;
    assert_eq!(office.facts().await, ["4", "2", "2"]);
    office.close(worker).await;
}

#[tokio::test]
async fn a_message_that_can_not_be_made_is_a_failure_of_its_attempt_and_the_task_runs_once() {
    let (office, site) = (Office::new().await, HttpSite::new(vec![]).unwrap());
    office.lab.database.run("revoke execute on function comms.get_email_payload(jsonb) from kinfolk_worker").await;
    let worker = office.worker(resend(site.url())).await;
    office.kickoff("").await;
    office.lab.until("select count(*)::text from comms.send_email_task_failed", "2").await;
    office.lab.until("select count(*)::text from kinfolk.tasks where state in ('pending', 'running')", "0").await;
    assert_eq!((office.facts().await, site.asked().len()), (["2", "2", "0"].map(str::to_owned), 0));
    assert_eq!(
        office.count("kinfolk.tasks where command = 'email' and state = 'completed' and attempt = 1").await,
        "2"
    );
    assert_eq!(office.count("kinfolk.errors where command = 'email' and sqlstate = '42501'").await, "2");
    office.close(worker).await;
}

#[tokio::test]
async fn two_supervisors_at_once_schedule_one_attempt_and_facts_are_never_changed() {
    let office = Office::new().await;
    office.kickoff("").await;
    let supervise = "select comms.send_email_supervisor('{\"send_email_task_id\": 1}')";
    within(async { tokio::join!(office.lab.database.run(supervise), office.lab.database.run(supervise)) }).await;
    assert_eq!(office.facts().await, ["1", "0", "0"]);
    assert_eq!(office.count("kinfolk.tasks where command = 'email'").await, "1");
    for change in [
        "update comms.send_email_task_scheduled set attempt = 2",
        "delete from comms.send_email_task_scheduled",
        "truncate comms.send_email_task_run",
        "delete from comms.send_email_task",
    ] {
        let fault = office.lab.database.try_run(change).await.unwrap_err().to_string();
        assert!(fault.contains("only ever added to") || fault.contains("foreign key"), "{change}: {fault}");
    }
    let worker = office.worker(Providers::default()).await;
    office.close(worker).await;
}
