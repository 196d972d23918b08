//! Whatever a page offers to do is done, by its own forms, on both stores.

use kinfolk_testkit::{Browser, Setup};
use serde_json::json;

use super::Site;
use crate::support::{Db, postgres, sqlite};

#[test]
fn what_pages_offer_is_done_on_sqlite() {
    what_pages_offer_is_done(sqlite);
}

#[test]
fn what_pages_offer_is_done_on_postgres() {
    what_pages_offer_is_done(postgres);
}

fn what_pages_offer_is_done(store: fn() -> Db) {
    let Some(browser) = Browser::start("what pages offer to do", Setup::default()) else { return };
    let db = store().migrated();
    db.ok(&["register", "fail", "--max-attempts", "1"]);
    let site = Site::on(db, browser);
    a_task_that_failed_is_retried(&site);
    a_task_that_waits_is_sent_a_signal(&site);
    a_task_that_is_not_due_runs_now(&site);
    a_task_that_runs_is_cancelled(&site);
    a_queue_is_paused_and_resumed(&site);
    many_tasks_are_retried_at_once(&site);
    a_family_leads_to_its_follow_up_and_back(&site);
    what_matches_is_counted_by_command(&site);
    let log = site.db.ok(&["audit"]);
    for what in ["retry", "signal", "run_now", "cancel", "pause", "resume"] {
        assert!(log.contains(what), "the audit log knows nothing of {what}:\n{log}");
    }
}

fn a_family_leads_to_its_follow_up_and_back(site: &Site) {
    site.db.ok(&["register", "echo", "--label", "to"]);
    let made =
        r#"{"children": [{"command": "echo", "payload": {"to": "cousin"}}], "follow_ups": [{"command": "noop"}]}"#;
    let family = site.enqueue(&["spawn", made]);
    site.reaches(&family, "completed");
    site.open(&format!("/families/{family}"));
    site.says("echo cousin");
    site.browser.click(".tl .name:has(.tag) a.over");
    site.browser.until("the follow-up is open", "document.querySelector('h1').innerText.startsWith('noop')");
    let follow_up = site.value("document.querySelector('h1 .faint').innerText.slice(1)");
    assert_eq!(site.db.one(&["show", follow_up.as_str().unwrap()])["follows"].to_string(), family);
    site.open(&format!("/tasks/{}", follow_up.as_str().unwrap()));
    site.browser.click(&format!(".crumbs a[href$='/families/{family}']"));
    site.browser.until("its maker's family is open", "document.querySelector('h1').innerText.startsWith('spawn')");
}

fn what_matches_is_counted_by_command(site: &Site) {
    site.open("/tasks?state=completed");
    site.browser.click(".head a[href*='count=command']");
    site.says("These are all.");
    site.browser.click("main table a[href*='command=noop']");
    site.browser.until("they are listed", "document.querySelector('table.tasks')");
    assert!(
        site.address().contains("state=completed") && site.address().contains("command=noop"),
        "{}",
        site.address()
    );
}

fn a_task_that_failed_is_retried(site: &Site) {
    let id = site.enqueue(&["fail", r#"{"message": "out of stock"}"#]);
    site.reaches(&id, "failed");
    let runs = || site.db.one(&["show", &id])["runs"].as_array().map_or(0, Vec::len);
    let before = runs();
    site.open(&format!("/tasks/{id}"));
    site.says("out of stock");
    site.browser.click("form[action$='/actions/retry'] button");
    site.says(&format!("Retry #{id} fail?"));
    site.agree();
    assert_eq!(site.address(), format!("/tasks/{id}"), "what was done is said once, and is no part of the address");
    site.db.until("it has run again", |_| runs() > before);
}

fn a_task_that_waits_is_sent_a_signal(site: &Site) {
    let id = site.enqueue(&["wait", r#"{"signal": "approve"}"#]);
    site.reaches(&id, "waiting");
    site.open(&format!("/tasks/{id}"));
    site.says("Its handler waits for the signal approve");
    site.browser.click("form[action$='/actions/signal'] button");
    site.browser.click("main .ask textarea");
    site.browser.run("document.querySelector('main .ask textarea').select()");
    site.browser.keys(r#"{"by": "ann"}"#);
    site.agree();
    site.reaches(&id, "completed");
    assert_eq!(site.db.one(&["show", &id])["result"]["by"], "ann");
    site.browser.until("the page shows what it gave back", "document.querySelector('.head .badge.completed')");
    site.open(&format!("/families/{id}?view=graph"));
    let said = site.value("[...document.querySelectorAll('.graph svg text')].map(text => text.textContent)");
    assert_eq!(said, json!(["approve", "signal"]), "the wait and its signal are one step, which is done");
}

fn a_task_that_is_not_due_runs_now(site: &Site) {
    let id = site.enqueue(&["echo", "7", "--in", "2h"]);
    site.open(&format!("/tasks/{id}"));
    site.says("It is not due until");
    site.press("form[action$='/actions/run-now'] button");
    site.reaches(&id, "completed");
}

fn a_task_that_runs_is_cancelled(site: &Site) {
    let id = site.enqueue(&["sleep", r#"{"ms": 3600000}"#]);
    site.reaches(&id, "running");
    site.open(&format!("/tasks/{id}"));
    site.press("form[action$='/actions/cancel'] button");
    site.reaches(&id, "cancelled");
}

fn a_queue_is_paused_and_resumed(site: &Site) {
    let paused = |site: &Site| !site.db.json(&["queue"])[0]["paused_at"].is_null();
    site.open("/queues/default");
    site.press("form[action$='/actions/pause-queue'] button");
    assert!(paused(site));
    site.browser.until("the bar marks it", "document.querySelector('#pages em')");
    let held = site.enqueue(&["noop"]);
    site.open(&format!("/tasks/{held}"));
    site.says("is paused by");
    site.press("#why form[action$='/actions/resume-queue'] button");
    assert!(!paused(site));
    site.reaches(&held, "completed");
}

fn many_tasks_are_retried_at_once(site: &Site) {
    let ids: Vec<String> = (0..3).map(|_| site.enqueue(&["fail", r#"{"message": "no stock", "times": 0}"#])).collect();
    for id in &ids {
        site.reaches(id, "completed");
    }
    let ids: Vec<String> = (0..3).map(|_| site.enqueue(&["fail", r#"{"message": "no room"}"#])).collect();
    for id in &ids {
        site.reaches(id, "failed");
    }
    let retried = |id: &String| site.db.one(&["show", id])["runs"].as_array().map_or(0, Vec::len) > 1;
    site.open("/tasks?state=failed&command=fail");
    site.browser.click(&format!("input.pick[value='{}']", ids[0]));
    site.browser.click(&format!("input.pick[value='{}']", ids[1]));
    site.says("2 selected");
    site.browser.click(".bulk [data-do='retry']");
    site.says("Retry 2");
    site.agree();
    site.db.until("both have run again", |_| retried(&ids[0]) && retried(&ids[1]));
    assert!(!retried(&ids[2]), "what was not ticked stays as it is");
}
