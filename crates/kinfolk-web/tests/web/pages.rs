//! What the pages show, and what their forms do, on both stores.

use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::http::header;
use kinfolk_core::filter::Filter;
use kinfolk_core::minute::{Figures, MinuteRecord};
use kinfolk_core::{Due, Json, Keys, NewTask, Schedule, ScheduleName, State, TaskId};

use crate::lab::{Answer, Lab, claim_of, command_name, get, queue_name, request, send};

/// Sends a form as a page does.
async fn form(app: &Router, path: &str, fields: &[(&str, &str)]) -> Answer {
    let encoded = |text: &str| -> String {
        text.bytes()
            .map(|byte| match byte {
                b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' => char::from(byte).to_string(),
                _ => format!("%{byte:02X}"),
            })
            .collect()
    };
    let body: Vec<String> =
        fields.iter().map(|(name, value)| format!("{}={}", encoded(name), encoded(value))).collect();
    let request = request("POST", path).header(header::CONTENT_TYPE, "application/x-www-form-urlencoded");
    send(app, request.body(Body::from(body.join("&"))).unwrap()).await
}

/// The value of a hidden field on a page.
fn field(page: &str, name: &str) -> String {
    let at = page.find(&format!("name=\"{name}\" value=\"")).unwrap_or_else(|| panic!("no field {name}: {page}"));
    page[at..].split('"').nth(3).unwrap_or_default().to_owned()
}

/// The address of a link with these words.
fn link(page: &str, words: &str) -> Option<String> {
    let end = page.find(&format!(">{words}</a>"))?;
    let begin = page[..end].rfind("href=\"")? + 6;
    Some(page[begin..].split('"').next()?.replace("&#38;", "&").replace("&amp;", "&"))
}

/// The numbers of the tasks that a list shows, in its order.
fn listed(page: &str) -> Vec<i64> {
    page.split("data-key=\"t").skip(1).filter_map(|rest| rest.split('"').next()?.parse().ok()).collect()
}

#[tokio::test]
async fn a_list_is_turned_on_and_back_and_around() {
    for lab in Lab::both().await {
        let app = lab.open();
        let mut made = Vec::new();
        for _ in 0..120 {
            made.push(lab.enqueue("greet").await.0);
        }
        made.reverse();
        let first = get(&app, "/tasks?state=pending").await.text;
        assert!(first.contains("120 match"), "{first}");
        assert_eq!(listed(&first), made[..50]);
        assert_eq!((link(&first, "Page before"), link(&first, "First page")), (None, None));
        let second = get(&app, &link(&first, "Next page").unwrap()).await.text;
        assert_eq!(listed(&second), made[50..100]);
        let third = get(&app, &link(&second, "Next page").unwrap()).await.text;
        assert_eq!((listed(&third).as_slice(), link(&third, "Next page")), (&made[100..], None));
        let back = get(&app, &link(&third, "Page before").unwrap()).await.text;
        assert_eq!(listed(&back), made[50..100]);
        let back = get(&app, &link(&back, "Page before").unwrap()).await.text;
        assert_eq!((listed(&back).as_slice(), link(&back, "Page before")), (&made[..50], None));
        made.reverse();
        let around = get(&app, "/tasks?state=pending&order=oldest").await.text;
        assert_eq!(listed(&around), made[..50]);
        let on = get(&app, &link(&around, "Next page").unwrap()).await.text;
        assert_eq!(listed(&on), made[50..100]);
        let back = get(&app, &link(&on, "Page before").unwrap()).await.text;
        assert_eq!(listed(&back), made[..50]);
    }
}

#[tokio::test]
async fn a_task_on_a_paused_queue_says_so_wherever_its_state_is_shown() {
    for lab in Lab::both().await {
        let app = lab.open();
        let id = lab.enqueue("send").await;
        let pages = ["/tasks".to_owned(), format!("/tasks/{id}"), format!("/families/{id}?view=tree")];
        for (paused, word) in [(false, "Pending"), (true, "Pending, paused"), (false, "Pending")] {
            match paused {
                true => lab.store.pause(&queue_name("mail"), Some("ann")).await.unwrap(),
                false => lab.store.resume(&queue_name("mail")).await.unwrap(),
            }
            for path in &pages {
                let page = get(&app, path).await.text;
                let main = page.split("<tbody").last().filter(|_| path == "/tasks").unwrap_or(&page);
                assert!(main.contains(&format!("</svg>{word}</span>")), "{path} {word}: {page}");
            }
        }
        // What is not due waits for its time first.
        let later = NewTask { due: Due::After(Duration::from_secs(3_600)), ..lab.new_task("send") };
        lab.store.enqueue(&[later]).await.unwrap();
        lab.store.pause(&queue_name("mail"), None).await.unwrap();
        let page = get(&app, "/tasks").await.text;
        assert!(
            page.contains("</svg>Pending, later</span>") && page.contains("</svg>Pending, paused</span>"),
            "{page}"
        );
    }
}

#[tokio::test]
async fn a_task_that_is_not_due_is_drawn_from_its_creation_until_now() {
    for lab in Lab::both().await {
        let later = NewTask { due: Due::After(Duration::from_secs(3_600)), ..lab.new_task("greet") };
        let id = lab.store.enqueue(&[later]).await.unwrap()[0].id().unwrap();
        let task = lab.store.task(id).await.unwrap().unwrap();
        let page = get(&lab.open(), &format!("/tasks/{id}")).await.text;
        let made = task.created_at.to_jiff().strftime("%H:%M:%S").to_string();
        assert!(page.contains(&format!(r#"<text x="0" y="23">{made}</text>"#)), "{page}");
    }
}

#[tokio::test]
async fn all_that_match_are_counted_asked_for_and_done() {
    for lab in Lab::both().await {
        let app = lab.open();
        for _ in 0..60 {
            lab.enqueue("greet").await;
        }
        let other = lab.enqueue("send").await;
        let list = get(&app, "/tasks?command=greet").await.text;
        let filter = field(&list, "filter").replace("&#38;", "&");
        assert_eq!(filter, "?command=greet");
        assert!(!get(&app, "/tasks").await.text.contains("With all that match"), "not without a filter");
        let asked = form(&app, "/actions/cancel", &[("filter", &filter), ("back", "/tasks?command=greet")]).await;
        assert!(asked.text.contains("Cancel 60 tasks that match?"), "{asked:?}");
        assert_eq!(field(&asked.text, "expect"), "60");
        lab.enqueue("greet").await;
        let moved = form(&app, "/actions/cancel", &[("filter", &filter), ("expect", "60")]).await;
        assert!(moved.text.contains("Nothing was done") && moved.text.contains("Cancel 61 tasks"), "{moved:?}");
        let pending = Filter { state: vec![State::Pending], ..Filter::default() };
        assert_eq!(lab.store.count(&pending).await.unwrap().tasks, 62);
        let fields = [("filter", filter.as_str()), ("expect", "61"), ("back", "/tasks?command=greet")];
        let done = form(&app, "/actions/cancel", &fields).await;
        assert_eq!(done.status, 303, "{done:?}");
        let back = done.headers[header::LOCATION].to_str().unwrap().to_owned();
        assert!(get(&app, &back).await.text.contains("61 tasks are cancelled, or asked to stop."));
        assert_eq!(lab.store.count(&pending).await.unwrap().tasks, 1);
        assert_eq!(lab.store.task(other).await.unwrap().unwrap().state, State::Pending);
        for (path, fields) in [
            ("/actions/cancel", vec![("filter", "")]),
            ("/actions/cancel", vec![("filter", "?colour=red")]),
            ("/actions/dance", vec![("filter", "?command=greet")]),
        ] {
            let refused = form(&app, path, &fields).await;
            assert!([400, 404].contains(&refused.status), "{path} {fields:?}: {refused:?}");
        }
    }
}

#[tokio::test]
async fn failures_stand_under_their_cause_and_are_retried_together() {
    for lab in Lab::both().await {
        let app = lab.open();
        let mut failed = Vec::new();
        for _ in 0..3 {
            failed.push(lab.failed("greet", "default").await);
        }
        let other = lab.failed("send", "mail").await;
        let page = get(&app, "/failures").await.text;
        assert!(page.contains("4 tasks by 2 causes"), "{page}");
        assert!(page.contains("Retry these 3…") && page.contains("Retry this one…"), "{page}");
        let open = link(&page, "Open").unwrap();
        let opened = get(&app, &open).await.text;
        assert!(opened.contains(&format!("#{}", failed[2])) && opened.contains("queue default"), "{opened}");
        assert!(opened.contains("payload.card.number = 4111") && opened.contains("3 of 3"), "{opened}");
        assert!(!get(&app, "/failures?q=send").await.text.contains("Retry these 3"));
        assert!(get(&app, "/failures?q=nonsense").await.text.contains("No cause matches"));
        // What fails after the page was drawn, nobody has seen.
        let unseen = lab.failed("greet", "default").await;
        let fields = ["command", "kind", "text", "since", "until"].map(|name| (name, field(&page, name)));
        let mut fields: Vec<(&str, &str)> = fields.iter().map(|(name, value)| (*name, value.as_str())).collect();
        let asked = form(&app, "/actions/retry-cause", &fields).await;
        assert!(asked.text.contains("Retry these 3 tasks?"), "{asked:?}");
        fields.push(("expect", "3"));
        let done = form(&app, "/actions/retry-cause", &fields).await;
        assert_eq!(done.status, 303, "{done:?}");
        for id in failed {
            assert_eq!(lab.store.task(id).await.unwrap().unwrap().state, State::Pending);
        }
        for left in [other, unseen] {
            assert_eq!(lab.store.task(left).await.unwrap().unwrap().state, State::Failed);
        }
    }
}

/// Lets two tasks of one tenant run, and a third wait behind its key.
async fn full_key(lab: &Lab) -> TaskId {
    let task = || NewTask {
        keys: Keys::of([("tenant", "acme")]).unwrap(),
        ..NewTask::new(command_name("send"), Json::object())
    };
    let made = lab.store.enqueue(&[task(), task(), task()]).await.unwrap();
    let worker = lab.worker("send", "mail").await;
    assert_eq!(lab.store.claim(&claim_of(&worker)).await.unwrap().tasks.len(), 2);
    made[2].id().unwrap()
}

#[tokio::test]
async fn what_pends_is_told_with_its_reason() {
    for lab in Lab::both().await {
        let app = lab.open();
        lab.enqueue("greet").await;
        let waits = full_key(&lab).await;
        let page = get(&app, "/").await.text;
        assert!(page.contains("has all 2 slots taken."), "{page}");
        assert!(page.contains("is full, 2 of 2") && page.contains("No worker handles"), "{page}");
        assert!(page.contains("1 held up") || page.contains("2 held up"), "{page}");
        let queues = get(&app, "/queues").await.text;
        assert!(queues.contains("no worker"), "{queues}");
        let one = get(&app, "/queues/mail").await.text;
        assert!(one.contains("is full, 2 of 2") && one.contains("mail-1"), "{one}");
        assert!(get(&app, "/workers").await.text.contains("Commands without a worker"));
        let groups = get(&app, "/groups").await.text;
        assert!(groups.contains("1 of 1 key in use holds tasks up") && groups.contains("first for"), "{groups}");
        let key = get(&app, "/groups?group=tenant&command=send&key=acme").await.text;
        assert!(key.contains("holds a slot") && key.contains(&format!("#{waits}")), "{key}");
    }
}

#[tokio::test]
async fn a_limit_tells_its_effect_before_it_is_set() {
    for lab in Lab::both().await {
        let app = lab.open();
        full_key(&lab).await;
        let key = [("group", "tenant"), ("command", "send"), ("key", "acme")];
        let asked = form(&app, "/actions/set-limit", &[&key[..], &[("slots", "5")]].concat()).await;
        assert!(asked.text.contains("can start at once with 5 slots, 0 still wait"), "{asked:?}");
        let done = form(&app, "/actions/set-limit", &[&key[..], &[("slots", "5"), ("expect", "1")]].concat()).await;
        assert_eq!(done.status, 303, "{done:?}");
        assert!(get(&app, "/groups").await.text.contains("acme: 5 slots"));
    }
}

#[tokio::test]
async fn a_schedule_says_its_rule_and_can_be_run_now() {
    for lab in Lab::both().await {
        let app = lab.open();
        let task = NewTask::new(command_name("greet"), Json::parse(r#"{"secret":7}"#).unwrap());
        let schedule = Schedule {
            zone: "Europe/Stockholm".to_owned(),
            ..Schedule::new(ScheduleName::new("nightly").unwrap(), "30 6 * * 1-5", task)
        };
        lab.store.put_schedule(&schedule).await.unwrap();
        let page = get(&app, "/schedules/nightly").await.text;
        assert!(page.contains("Every weekday at 06:30") && page.contains("The next 10 ticks"), "{page}");
        assert_eq!(page.matches(" 06:30</span>").count(), 10, "{page}");
        assert!(page.contains("Clocks go "), "{page}");
        let hidden = lab.router(kinfolk_web::Config::for_this_machine().redact(["secret".to_owned()]));
        let done = form(&hidden, "/actions/run-schedule", &[("schedule", "nightly"), ("expect", "1")]).await;
        assert_eq!(done.status, 303, "{done:?}");
        let made = lab.store.list(&Filter { limit: 10, ..Filter::default() }).await.unwrap().tasks;
        let hidden = Json::parse(r#"{"secret":7}"#).unwrap();
        assert_eq!((made.len(), &made[0].payload), (1, &hidden), "what is hidden is enqueued all the same");
        let nowhere = form(&app, "/actions/run-schedule", &[("schedule", "nowhere"), ("expect", "1")]).await;
        assert_eq!(nowhere.status, 404);
    }
}

#[tokio::test]
async fn what_workers_did_is_drawn_by_the_minute_and_told_in_a_table() {
    for lab in Lab::both().await {
        let app = lab.open();
        let none = get(&app, "/").await.text;
        assert!(
            none.contains("No worker ended a task in the last hour") && !none.contains("class=\"steps\""),
            "{none}"
        );
        let worker = lab.worker("send", "mail").await;
        let figures = Figures { completed: 120, failed: 3, retried: 7, ..Figures::default() };
        let note = MinuteRecord { queue: queue_name("mail"), command: command_name("send"), figures };
        lab.store.record_minutes(worker.id, 1, &[note]).await.unwrap();
        let page = get(&app, "/").await.text;
        assert!(page.contains("In the last hour: 120 completed, 120 a minute at most; 3 failed"), "{page}");
        assert!(page.contains("<td class=\"num\">120</td><td class=\"num\">7</td><td class=\"num\">3</td>"), "{page}");
        assert!(page.contains("in the last hour, 120 a minute"), "{page}");
        let queues = get(&app, "/queues").await.text;
        assert_eq!(queues.matches("class=\"spark").count(), 1, "one queue has done something: {queues}");
    }
}
