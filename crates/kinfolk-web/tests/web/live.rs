//! Server-sent events: they come when something changes, and cost nothing while nothing does.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::{Body, BodyDataStream};
use futures_util::StreamExt as _;
use kinfolk_core::store::Answer;
use kinfolk_core::{Claim, Claimed, Settle, Settled, Store, forward};
use kinfolk_web::Config;
use serde_json::{Value, json};
use tower::ServiceExt as _;

use crate::lab::{Lab, queue_name, request};

/// How long a change may take to be told, on a machine that is busy with other tests.
const SOON: Duration = Duration::from_secs(60);

/// A stream of events.
struct Events {
    body: BodyDataStream,
    text: String,
}

/// One event.
#[derive(Debug)]
struct Told {
    event: String,
    id: String,
    data: Value,
}

impl Events {
    async fn open(app: &Router, path: &str, seen: Option<&str>) -> Self {
        let mut request = request("GET", path);
        if let Some(seen) = seen {
            request = request.header("last-event-id", seen);
        }
        let response = app.clone().oneshot(request.body(Body::empty()).unwrap()).await.unwrap();
        assert_eq!(response.status(), 200, "{path}");
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        Self { body: response.into_body().into_data_stream(), text: String::new() }
    }

    /// The next event; `None` when the stream has ended.
    async fn next(&mut self) -> Option<Told> {
        let next = async {
            loop {
                while let Some((block, rest)) = self.text.split_once("\n\n") {
                    let block = block.to_owned();
                    self.text = rest.to_owned();
                    let field = |name: &str| {
                        block.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default().trim().to_owned()
                    };
                    if !field("data:").is_empty() {
                        let data = serde_json::from_str(&field("data:")).unwrap();
                        return Some(Told { event: field("event:"), id: field("id:"), data });
                    }
                }
                let chunk = self.body.next().await?.ok()?;
                self.text.push_str(std::str::from_utf8(&chunk).unwrap());
            }
        };
        tokio::time::timeout(SOON, next).await.expect("an event comes in time")
    }

    /// The next event for which this holds.
    async fn until(&mut self, holds: impl Fn(&Told) -> bool) -> Told {
        loop {
            let told = self.next().await.expect("the stream goes on");
            if holds(&told) {
                return told;
            }
        }
    }
}

#[tokio::test]
async fn a_stream_begins_with_how_things_are_and_tells_what_changes() {
    for lab in Lab::both().await {
        let app = lab.open();
        let id = lab.enqueue("greet").await;
        let mut task = Events::open(&app, &format!("/api/v1/live/tasks/{id}"), None).await;
        let mut list = Events::open(&app, "/api/v1/live/tasks?state=pending", None).await;
        let mut family = Events::open(&app, &format!("/api/v1/live/families/{id}"), None).await;
        let mut overview = Events::open(&app, "/api/v1/live/overview", None).await;
        let mut active = Events::open(&app, "/api/v1/live/active?commands=greet", None).await;
        assert_eq!(task.next().await.unwrap().data["task"]["state"], "pending");
        assert_eq!(list.next().await.unwrap().data["tasks"].as_array().unwrap().len(), 1);
        assert_eq!(family.next().await.unwrap().data["root"]["state"], "pending");
        assert_eq!(overview.next().await.unwrap().data["counts"][0]["state"], "pending");
        assert_eq!(active.next().await.unwrap().data["active"], true);
        lab.store.cancel(id).await.unwrap();
        task.until(|told| told.data["task"]["state"] == "cancelled").await;
        list.until(|told| told.data["tasks"].as_array().unwrap().is_empty()).await;
        family.until(|told| told.data["root"]["state"] == "cancelled").await;
        overview.until(|told| told.data["counts"][0]["state"] == "cancelled").await;
        active.until(|told| told.data["active"] == false).await;
    }
}

#[tokio::test]
async fn a_pause_of_a_queue_is_told_wherever_its_tasks_are_shown() {
    for lab in Lab::both().await {
        let app = lab.open();
        let id = lab.enqueue("send").await;
        let mut task = Events::open(&app, &format!("/api/v1/live/tasks/{id}"), None).await;
        let mut list = Events::open(&app, "/api/v1/live/tasks?command=send", None).await;
        let mut family = Events::open(&app, &format!("/api/v1/live/families/{id}"), None).await;
        let mut other = Events::open(&app, "/api/v1/live/tasks?command=greet", None).await;
        assert_eq!(other.next().await.unwrap().data["paused"], json!([]));
        lab.store.pause(&queue_name("mail"), None).await.unwrap();
        task.until(|told| told.data["paused"] == true).await;
        list.until(|told| told.data["paused"] == json!(["mail"])).await;
        family.until(|told| told.data["paused"] == json!(["mail"])).await;
        lab.store.resume(&queue_name("mail")).await.unwrap();
        task.until(|told| told.data["paused"] == false).await;
        list.until(|told| told.data["paused"] == json!([])).await;
        family.until(|told| told.data["paused"] == json!([])).await;
    }
}

#[tokio::test]
async fn a_client_that_comes_back_is_told_what_it_missed_and_nothing_twice() {
    let lab = Lab::sqlite().await;
    let app = lab.open();
    let id = lab.enqueue("greet").await;
    let path = format!("/api/v1/live/tasks/{id}");
    let first = Events::open(&app, &path, None).await.next().await.unwrap();
    let mut again = Events::open(&app, &path, Some(&first.id)).await;
    lab.store.cancel(id).await.unwrap();
    let next = again.next().await.unwrap();
    assert_eq!(next.data["task"]["state"], "cancelled", "what it had seen is not told again");
    assert_eq!((first.event.as_str(), next.event.as_str()), ("change", "change"));
    let mut late = Events::open(&app, &path, Some(&first.id)).await;
    assert_eq!(late.next().await.unwrap().id, next.id);
}

/// A store that counts its calls.
struct Counting {
    store: Arc<dyn Store>,
    calls: Mutex<BTreeMap<&'static str, u64>>,
}

impl Counting {
    fn behind(&self) -> &dyn Store {
        &*self.store
    }

    async fn pass<T: Send>(&self, verb: &'static str, call: impl Future<Output = Answer<T>> + Send) -> Answer<T> {
        *self.calls.lock().unwrap_or_else(PoisonError::into_inner).entry(verb).or_default() += 1;
        call.await
    }

    fn calls(&self) -> BTreeMap<&'static str, u64> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

forward!(Counting {
    async fn claim(&self, claim: &Claim) -> Answer<Claimed> {
        self.store.claim(claim).await
    }

    async fn settle(&self, settles: &[Settle]) -> Answer<Vec<Settled>> {
        self.store.settle(settles).await
    }

    async fn sweep(&self) -> Answer<u64> {
        self.store.sweep().await
    }
});

#[tokio::test]
async fn two_hundred_idle_streams_cost_the_database_nothing_each() {
    let lab = Lab::sqlite().await;
    let ids = [lab.enqueue("greet").await, lab.enqueue("greet").await];
    let counting = Arc::new(Counting { store: Arc::clone(&lab.store), calls: Mutex::default() });
    let store: Arc<dyn Store> = Arc::clone(&counting) as _;
    let app = kinfolk_web::router(store, Config::for_this_machine());
    let mut streams = Vec::new();
    for n in 0..200 {
        let mut stream = Events::open(&app, &format!("/api/v1/live/tasks/{}", ids[n % 2]), None).await;
        stream.next().await.unwrap();
        streams.push(stream);
    }
    // The watcher's first look reads both subjects; from then on only the change number is asked for.
    let numbers = |calls: &BTreeMap<&str, u64>| calls.get("change_number").copied().unwrap_or_default();
    let deadline = Instant::now() + SOON;
    while numbers(&counting.calls()) < 2 {
        assert!(Instant::now() < deadline, "the watcher looks");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let (before, began) = (counting.calls(), Instant::now());
    while numbers(&counting.calls()) < numbers(&before) + 3 {
        assert!(Instant::now() < deadline, "the watcher looks on");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let after = counting.calls();
    let others = |calls: &BTreeMap<&'static str, u64>| calls.values().sum::<u64>() - numbers(calls);
    assert_eq!(others(&after), others(&before), "nothing but the change number: {before:?} {after:?}");
    let asked = numbers(&after) - numbers(&before);
    assert!(asked <= began.elapsed().as_secs() + 2, "once a second for all: {asked}");

    // One change is read once for each subject, not for each stream.
    lab.store.cancel(ids[0]).await.unwrap();
    for stream in streams.iter_mut().step_by(2) {
        stream.until(|told| told.data["task"]["state"] == "cancelled").await;
    }
    let read = counting.calls()["task"] - after["task"];
    assert!(read <= 12, "{read} reads of tasks for two subjects");

    // When all have gone, nobody asks any more.
    drop(streams);
    let deadline = Instant::now() + SOON;
    loop {
        let numbers_now = numbers(&counting.calls());
        tokio::time::sleep(Duration::from_millis(2_500)).await;
        if numbers(&counting.calls()) == numbers_now {
            break;
        }
        assert!(Instant::now() < deadline, "the watcher ends");
    }
}
