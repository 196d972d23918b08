//! What is reported: events, spans, metrics.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use kinfolk::{Ctx, Event, Json, TaskError};
use metrics::{Counter, Gauge, Histogram, Key, KeyName, Metadata, Recorder, SharedString, Unit};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Record};
use tracing_subscriber::layer::{Context, SubscriberExt};

use crate::lab::{Lab, within};

const PAGE: &str = include_str!("../../../../docs/events.md");

fn first_column(prefix: &str) -> Vec<&'static str> {
    let names = PAGE.lines().filter_map(|line| line.strip_prefix("| `")?.split_once("` |").map(|(name, _)| name));
    names.filter(|name| name.starts_with("kinfolk_") == (prefix == "kinfolk_")).collect()
}

#[test]
fn the_documentation_lists_every_event_and_no_other() {
    assert_eq!(first_column(""), Event::NAMES);
}

#[tokio::test(flavor = "multi_thread")]
async fn every_attempt_has_a_beginning_and_one_ending() {
    let lab = Lab::new().await;
    let worker = lab.worker().handler("twice", fails_once).start().await.unwrap();
    lab.enqueue_many("twice", 50).await;
    within(worker.wait_idle()).await;
    worker.stop().await.unwrap();
    let count = |name: &str| lab.events.count(|event| event.name() == name);
    assert_eq!((count("started"), count("retried"), count("completed")), (100, 50, 50));
    let all = lab.events.all();
    assert_eq!(all.first().map(Event::name), Some("worker_started"));
    assert_eq!(all.last().map(Event::name), Some("worker_stopped"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failure_is_reported_with_its_message_command_queue_attempt_and_duration() {
    let lab = Lab::new().await;
    let handler = |ctx: Ctx, _: Json| async move {
        tokio::time::sleep(Duration::from_millis(5)).await;
        match ctx.attempt() {
            1 => Err::<(), _>(TaskError::new("not yet").retry_after(Duration::ZERO)),
            _ => Err(TaskError::validation("never")),
        }
    };
    let worker = lab.worker().handler("broken", handler).start().await.unwrap();
    let id = lab.enqueue("broken").await;
    lab.ended(id).await;
    worker.stop().await.unwrap();
    let told: Vec<_> = lab
        .events
        .all()
        .into_iter()
        .filter_map(|event| match event {
            Event::Retried { task, command, queue, attempt, took, kind, message }
            | Event::Failed { task, command, queue, attempt, took, kind, message } => {
                assert!(task == id && took >= Duration::from_millis(5));
                Some(format!("{command} on {queue}, attempt {attempt}, {kind}: {message}"))
            }
            _ => None,
        })
        .collect();
    let wanted = ["broken on default, attempt 1, error: not yet", "broken on default, attempt 2, validation: never"];
    assert_eq!(told, wanted);
}

async fn fails_once(ctx: Ctx, _: Json) -> Result<(), TaskError> {
    match ctx.attempt() {
        1 => Err(TaskError::new("once more").retry_after(Duration::ZERO)),
        _ => Ok(()),
    }
}

type Fields = BTreeMap<&'static str, String>;

/// Keeps the fields of spans, by the span.
#[derive(Clone, Default)]
struct Spans(Arc<Mutex<BTreeMap<u64, Fields>>>, Arc<Mutex<Vec<Fields>>>);

struct Keeping<'a>(&'a mut Fields);

impl Visit for Keeping<'_> {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.insert(field.name(), value.to_owned());
    }
    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        self.0.insert(field.name(), format!("{value:?}"));
    }
}

impl<S: tracing::Subscriber> tracing_subscriber::Layer<S> for Spans {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &tracing::span::Id, _: Context<'_, S>) {
        if attributes.metadata().target() == "kinfolk" && attributes.metadata().name() == "attempt" {
            let mut fields = Fields::new();
            attributes.record(&mut Keeping(&mut fields));
            self.0.lock().unwrap().insert(id.into_u64(), fields);
        }
    }

    fn on_record(&self, id: &tracing::span::Id, values: &Record<'_>, _: Context<'_, S>) {
        if let Some(fields) = self.0.lock().unwrap().get_mut(&id.into_u64()) {
            values.record(&mut Keeping(fields));
        }
    }

    fn on_close(&self, id: tracing::span::Id, _: Context<'_, S>) {
        // Numbers of spans are used again.
        let closed = self.0.lock().unwrap().remove(&id.into_u64());
        self.1.lock().unwrap().extend(closed);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_attempt_runs_in_a_span_that_carries_the_enqueuers_trace() {
    let spans = Spans::default();
    // For the whole process: what is set for one thread only is overlooked by callsites that other tests met first.
    tracing::subscriber::set_global_default(tracing_subscriber::registry().with(spans.clone())).unwrap();
    let lab = Lab::new().await;
    let handler = |_: Ctx, _: Json| async {
        assert_eq!(tracing::Span::current().metadata().map(tracing::Metadata::name), Some("attempt"));
        Ok(())
    };
    let broken = |_: Ctx, _: Json| async { Err::<(), _>(TaskError::validation("two\nlines")) };
    let worker = lab.worker().handler("traced", handler).handler("broken", broken).start().await.unwrap();
    let trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    let id = lab.kinfolk.enqueue("traced", &()).trace(trace).await.unwrap().id().unwrap();
    assert_eq!(lab.ended(id).await.failure, None);
    let failed = lab.enqueue("broken").await;
    lab.ended(failed).await;
    worker.stop().await.unwrap();
    let closed = spans.1.lock().unwrap().clone();
    let mut spans = closed.clone();
    // Other tests of this process have their spans here too.
    spans.retain(|span| span["command"] == "traced");
    for span in &mut spans {
        assert!(span.remove("took_ms").is_some_and(|took| took.parse::<u64>().is_ok()), "{span:?}");
    }
    let broken = closed.iter().find(|span| span["command"] == "broken" && span["task"] == failed.to_string());
    let broken = broken.filter(|span| span.contains_key("message") && span["message"] == "two lines");
    assert_eq!(broken.map(|span| span["kind"].as_str()), Some("validation"), "{closed:?}");
    let wanted = [
        ("task", id.0.to_string()),
        ("command", "traced".into()),
        ("queue", "default".into()),
        ("attempt", "1".into()),
    ];
    assert_eq!(spans, [BTreeMap::from_iter(wanted.into_iter().chain([("trace", trace.to_owned())]))]);
}

/// Counts what is recorded, by metric and labels.
#[derive(Clone, Default)]
struct Counts(Arc<Mutex<BTreeMap<String, Arc<AtomicU64>>>>);

impl Counts {
    fn of(&self, key: &Key) -> Arc<AtomicU64> {
        let mut labels: Vec<_> = key.labels().map(|label| format!("{}={}", label.key(), label.value())).collect();
        labels.sort();
        let name = format!("{} {}", key.name(), labels.join(" "));
        Arc::clone(self.0.lock().unwrap().entry(name).or_default())
    }
}

struct Recorded(Arc<AtomicU64>);

impl metrics::HistogramFn for Recorded {
    fn record(&self, _: f64) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

impl Recorder for Counts {
    fn describe_counter(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}
    fn describe_gauge(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}
    fn describe_histogram(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}
    fn register_counter(&self, key: &Key, _: &Metadata<'_>) -> Counter {
        Counter::from_arc(self.of(key))
    }
    fn register_gauge(&self, key: &Key, _: &Metadata<'_>) -> Gauge {
        Gauge::from_arc(self.of(key))
    }
    fn register_histogram(&self, key: &Key, _: &Metadata<'_>) -> Histogram {
        Histogram::from_arc(Arc::new(Recorded(self.of(key))))
    }
}

#[tokio::test]
async fn metrics_count_every_ending_and_are_documented() {
    let counts = Counts::default();
    let _here = metrics::set_default_local_recorder(&counts);
    let lab = Lab::new().await;
    let worker = lab.worker().handler("twice", fails_once).start().await.unwrap();
    lab.enqueue_many("twice", 10).await;
    within(worker.wait_idle()).await;
    worker.stop().await.unwrap();
    let all = counts.0.lock().unwrap().clone();
    let count = |name: &str| all.get(name).map(|count| count.load(Ordering::SeqCst));
    assert_eq!(count("kinfolk_attempts_total command=twice ending=retried queue=default"), Some(10));
    assert_eq!(count("kinfolk_attempts_total command=twice ending=completed queue=default"), Some(10));
    assert_eq!(count("kinfolk_attempt_seconds command=twice queue=default"), Some(20));
    assert_eq!(count("kinfolk_running ").map(f64::from_bits), Some(0.0), "all that was begun has ended");
    let documented = first_column("kinfolk_");
    for name in all.keys() {
        let name = name.split(' ').next().unwrap();
        assert!(documented.contains(&name), "{name} is not in docs/events.md");
    }
}
