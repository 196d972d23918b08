//! Traces: from the request that enqueues a task, over its attempts, to the last of its sub-tasks. A program of its own, since a
//! process has one collector.

use std::time::Duration;

use kinfolk::{Ctx, Kinfolk, Task, TaskError, TraceAs};
use opentelemetry::trace::{SpanId, TracerProvider};
use opentelemetry_sdk::trace::{InMemorySpanExporter, SdkTracerProvider, SpanData};
use serde::{Deserialize, Serialize};
use tracing::{Instrument, info_span};
use tracing_subscriber::prelude::*;

#[derive(Serialize, Deserialize, Task)]
#[task(command = "parent")]
struct Parent;

#[derive(Serialize, Deserialize, Task)]
#[task(command = "child", output = u32)]
struct Child(u32);

async fn parent(_task: Parent, ctx: Ctx) -> Result<(), TaskError> {
    ctx.spawn_task(&Child(1)).await?;
    ctx.fan_out_tasks([Child(2), Child(3)]).await?;
    Ok(())
}

async fn child(task: Child) -> Result<u32, TaskError> {
    Ok(task.0)
}

/// The spans of attempts of a command.
fn attempts<'a>(spans: &'a [SpanData], command: &str) -> Vec<&'a SpanData> {
    let of = |span: &SpanData| {
        span.attributes.iter().any(|field| field.key.as_str() == "command" && field.value.as_str() == command)
    };
    spans.iter().filter(|span| span.name == "attempt" && of(span)).collect()
}

async fn run(how: TraceAs) {
    let kinfolk = Kinfolk::open(":memory:").await.unwrap();
    let worker = kinfolk.worker().trace_as(how).handle(parent).handle(child).start().await.unwrap();
    let request = async { kinfolk.enqueue_task(&Parent).wait(Duration::from_secs(30)).await.unwrap() };
    request.instrument(info_span!("request")).await;
    worker.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn attempts_hang_below_the_span_that_enqueued_their_task() {
    let collector = InMemorySpanExporter::default();
    let provider = SdkTracerProvider::builder().with_simple_exporter(collector.clone()).build();
    let layer = tracing_opentelemetry::layer().with_tracer(provider.tracer("kinfolk"));
    tracing::subscriber::set_global_default(tracing_subscriber::registry().with(layer)).unwrap();

    run(TraceAs::Child).await;
    let spans = collector.get_finished_spans().unwrap();
    let request = spans.iter().find(|span| span.name == "request").unwrap();
    let parents = attempts(&spans, "parent");
    assert_eq!(parents.len(), 2, "it was suspended once: {spans:?}");
    assert!(parents.iter().all(|span| span.parent_span_id == request.span_context.span_id()));
    let ids: Vec<SpanId> = parents.iter().map(|span| span.span_context.span_id()).collect();
    let children = attempts(&spans, "child");
    assert_eq!(children.len(), 3);
    for span in &children {
        assert!(ids.contains(&span.parent_span_id), "sub-tasks hang below the attempt that made them: {span:?}");
        assert_eq!(span.span_context.trace_id(), request.span_context.trace_id());
    }

    collector.reset();
    run(TraceAs::Link).await;
    let spans = collector.get_finished_spans().unwrap();
    let request = spans.iter().find(|span| span.name == "request").unwrap();
    for span in attempts(&spans, "parent") {
        assert_ne!(span.span_context.trace_id(), request.span_context.trace_id(), "a trace of its own");
        assert!(span.links.iter().any(|link| link.span_context.span_id() == request.span_context.span_id()));
    }
}
