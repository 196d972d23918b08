//! The story of a message, step by step, against servers on this machine that refuse, delay, break off in the middle of an answer, or
//! ask for a pause; and a thousand such stories at once.

use std::collections::HashSet;
use std::time::Duration;

use kinfolk_providers::Providers;
use kinfolk_runner::new_module;
use kinfolk_testkit::{HttpSite, Mail, MailSite, Reply, message_id};

use crate::office::Office;
use crate::site::{http, resend, smtp, twilio};

const EMAIL: &str =
    "select comms.kickoff_send_email_task(comms.create_email_message('ann@example.org', 'Paid', 'Thank you.'))";
const SMS: &str = "select comms.kickoff_send_sms_task(comms.create_sms_message('+47', 'Thank you.'))";

/// Answers of an HTTP server that are failures of an attempt.
fn failures() -> Vec<Reply> {
    vec![
        Reply::broken(),
        Reply::status("422 Unprocessable Entity", "", "no such user"),
        Reply::status("302 Found", "location: http://169.254.169.254/\r\n", ""),
        Reply::Say("HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhalf".to_owned()),
        Reply::Say(String::new()),
        Reply::Stall("HTTP/1.1 200 OK\r\n".to_owned()),
    ]
}

/// Plays one story after another, each with a failure first. Each ends with two scheduled attempts, a failure and a success.
async fn play(office: &Office, providers: Providers, kickoff: &str, task: &str, stories: usize) {
    let worker = office.worker(providers).await;
    for story in 1..=stories {
        office.lab.database.run(kickoff).await;
        office.lab.until(&format!("select count(*)::text from {task}_succeeded"), &story.to_string()).await;
        let facts = format!(
            "select concat((select count(*) from {task}_scheduled), ' ', (select count(*) from {task}_failed), ' ',
                (select count(*) from {task}_stuck))"
        );
        assert_eq!(office.lab.database.texts(&facts).await, [format!("{} {story} 0", 2 * story)], "story {story}");
    }
    office.lab.until("select count(*)::text from kinfolk.tasks where state in ('pending', 'running')", "0").await;
    // Three runs of each supervisor, two attempts, no polling.
    let tasks = "select string_agg(format('%s %s %s', command, state, n), ', ' order by command) \
        from (select command, state, count(*) as n from kinfolk.tasks group by 1, 2) t";
    let told = office.lab.database.texts(tasks).await.remove(0);
    assert!(told.contains(&format!("db_function completed {}", 3 * stories)), "{told}");
    assert!(!told.contains("failed"), "{told}");
    let errors = office.count("kinfolk.errors where message <> ''").await;
    assert_eq!(errors, stories.to_string());
    office.stop(worker).await;
}

/// Each failure, and then an answer that all is well.
fn each_then_fine(failures: Vec<Reply>) -> Vec<Reply> {
    failures.into_iter().flat_map(|reply| [reply, Reply::fine()]).collect()
}

#[tokio::test]
async fn an_email_goes_out_by_resend_after_each_kind_of_failure() {
    let (office, site) = (Office::new().await, HttpSite::new(each_then_fine(failures())).unwrap());
    play(&office, resend(site.url()), EMAIL, "comms.send_email_task", failures().len()).await;
    let keys: HashSet<String> = site.asked().iter().map(|asked| asked.key().to_owned()).collect();
    assert_eq!((site.asked().len(), keys.len()), (2 * failures().len(), 2 * failures().len()));
    office.remove().await;
}

#[tokio::test]
async fn a_text_message_goes_out_by_twilio_after_each_kind_of_failure() {
    let (office, site) = (Office::new().await, HttpSite::new(each_then_fine(failures())).unwrap());
    play(&office, twilio(site.url()), SMS, "comms.send_sms_task", failures().len()).await;
    assert_eq!(site.asked().len(), 2 * failures().len());
    office.remove().await;
}

#[tokio::test]
async fn a_request_of_a_new_process_goes_out_after_each_kind_of_failure() {
    let (office, site) = (Office::new().await, HttpSite::new(each_then_fine(failures())).unwrap());
    office.lab.database.run(&new_module("refund").unwrap()).await;
    let kickoff = format!("select refund.kickoff_refund_task('{{\"url\": \"{}\", \"order\": 7}}')", site.url());
    play(&office, http(), &kickoff, "refund.refund_task", failures().len()).await;
    assert_eq!(site.asked().len(), 2 * failures().len());
    assert!(site.asked()[0].body.contains(r#""order":7"#), "{:?}", site.asked()[0]);
    office.remove().await;
}

#[tokio::test]
async fn an_email_goes_out_by_smtp_after_each_kind_of_failure() {
    // By the number of the letter, since one connection may carry several: the odd ones fail.
    let failures = [Mail::Return("451 later"), Mail::Return("552 too large"), Mail::BreakOff];
    let mut read = 0;
    let site = MailSite::by(move |_| {
        read += 1;
        if read % 2 == 1 { failures[read / 2 % 3] } else { Mail::Take }
    });
    let (office, site) = (Office::new().await, site.unwrap());
    play(&office, smtp(site.port()), EMAIL, "comms.send_email_task", failures.len()).await;
    // That whose answer broke off was taken, for all the worker knows it was not, so the process sent another.
    let ids: HashSet<String> = site.letters().iter().map(|letter| message_id(letter).to_owned()).collect();
    assert_eq!((site.letters().len(), ids.len()), (4, 4));
    office.remove().await;
}

#[tokio::test]
async fn a_mail_server_that_refuses_hangs_up_or_falls_silent_costs_one_attempt() {
    for mail in [Mail::Refuse("550 no such user"), Mail::HangUp, Mail::Stall] {
        let (office, site) = (Office::new().await, MailSite::new(vec![mail]).unwrap());
        play(&office, smtp(site.port()), EMAIL, "comms.send_email_task", 1).await;
        assert_eq!(site.letters().len(), 1, "{mail:?}");
        office.remove().await;
    }
}

#[tokio::test]
async fn a_provider_that_asks_for_a_pause_slows_its_key_down_for_all() {
    let slow = Reply::status("429 Too Many Requests", "retry-after: 2\r\n", "");
    let (office, site) = (Office::new().await, HttpSite::new(vec![slow]).unwrap());
    let sql = "select kinfolk.register_command('email', groups => '{\"provider\": {\"limit\": 1}}')";
    office.lab.database.run(sql).await;
    let send = |key: &str| {
        format!(
            "select kinfolk.enqueue('email', '{{\"to\": \"a@example.org\", \"subject\": \"s\", \"text\": \"t\"}}',
                keys => '{{\"provider\": \"{key}\"}}')"
        )
    };
    office.lab.database.run(&send("resend")).await;
    let worker = office.worker(resend(site.url())).await;
    office.lab.until("select count(*)::text from kinfolk.keys() where until is not null", "1").await;
    // The next one under that key waits as long; one under another key does not.
    office.lab.database.run(&format!("{}; {}", send("resend"), send("other"))).await;
    office.lab.until("select count(*)::text from kinfolk.tasks where state = 'completed'", "1").await;
    let first =
        "select (keys ->> 'provider') from kinfolk.tasks where state = 'completed' order by finished_at limit 1";
    assert_eq!(office.lab.database.texts(first).await, ["other"]);
    office.lab.until("select count(*)::text from kinfolk.tasks where state = 'completed'", "3").await;
    assert_eq!(site.asked().len(), 4);
    office.stop(worker).await;
    office.remove().await;
}

#[tokio::test]
async fn a_thousand_processes_at_once_each_schedule_what_they_must_and_end() {
    const MANY: usize = 1_000;
    // The first message to each receiver fails.
    let mut seen = HashSet::new();
    let site = HttpSite::by(move |asked| if seen.insert(asked.body.clone()) { Reply::broken() } else { Reply::fine() });
    let (office, site) = (Office::new().await, site.unwrap());
    let kickoff = format!(
        "select comms.kickoff_send_email_task(comms.create_email_message(format('a%s@example.org', n), 'Paid', 'Thank you.'),
            recheck_delay => '1 hour') from generate_series(1, {MANY}) n"
    );
    office.lab.database.run(&kickoff).await;
    let workers = [office.worker(resend(site.url())).await, office.worker(resend(site.url())).await];
    let succeeded = "select count(*)::text from comms.send_email_task_succeeded";
    office.lab.until_within(succeeded, &MANY.to_string(), Duration::from_secs(240)).await;
    office.lab.until("select count(*)::text from kinfolk.tasks where state in ('pending', 'running')", "0").await;
    assert_eq!(office.facts().await, [2 * MANY, MANY, MANY].map(|n| n.to_string()));
    let twice = "select count(*)::text from comms.send_email_task t where 2 <> (select count(*) \
        from comms.send_email_task_scheduled s where s.send_email_task_id = t.send_email_task_id)";
    assert_eq!(office.lab.database.texts(twice).await, ["0"]);
    assert_eq!(office.count("comms.send_email_task_stuck").await, "0");
    let keys: HashSet<String> = site.asked().iter().map(|asked| asked.key().to_owned()).collect();
    assert_eq!((site.asked().len(), keys.len()), (2 * MANY, 2 * MANY));
    // Woken by facts alone: three runs each.
    assert_eq!(office.count("kinfolk.tasks where command = 'db_function'").await, (3 * MANY).to_string());
    for worker in workers {
        office.stop(worker).await;
    }
    office.remove().await;
}
