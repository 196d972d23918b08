//! Traces of OpenTelemetry: `cargo run --example traces -- [sqlite:FILE | postgres://…] [http://localhost:4317]`.
//!
//! The collector is whatever speaks OTLP by gRPC at that address: Jaeger, Tempo, the collector of OpenTelemetry itself. One trace leads
//! from the request that enqueues a task over its attempts to those of its sub-tasks.

use std::error::Error;
use std::time::Duration;

use kinfolk::{Ctx, Kinfolk, Task, TaskError};
use opentelemetry::trace::TracerProvider;
use opentelemetry_otlp::{SpanExporter, WithExportConfig};
use opentelemetry_sdk::trace::SdkTracerProvider;
use serde::{Deserialize, Serialize};
use tracing::level_filters::LevelFilter;
use tracing::{Instrument, info_span};
use tracing_subscriber::prelude::*;

#[derive(Serialize, Deserialize, Task)]
#[task(command = "ship", output = u32)]
struct Ship {
    parcels: u32,
}

#[derive(Serialize, Deserialize, Task)]
#[task(command = "weigh", output = u32)]
struct Weigh {
    parcel: u32,
}

async fn ship(task: Ship, ctx: Ctx) -> Result<u32, TaskError> {
    let weights = ctx.fan_out_tasks((1..=task.parcels).map(|parcel| Weigh { parcel })).await?;
    Ok(weights.values().into_iter().sum())
}

async fn weigh(task: Weigh) -> Result<u32, TaskError> {
    Ok(10 * task.parcel)
}

/// Has the spans of this program sent to a collector. Of what others trace, and the exporter itself, only what matters to people goes
/// there.
fn send_traces(collector: &str) -> Result<SdkTracerProvider, Box<dyn Error>> {
    let exporter = SpanExporter::builder().with_tonic().with_endpoint(collector).build()?;
    let provider = SdkTracerProvider::builder().with_batch_exporter(exporter).build();
    let layer = tracing_opentelemetry::layer().with_tracer(provider.tracer("shop")).with_filter(LevelFilter::INFO);
    tracing_subscriber::registry().with(layer).try_init()?;
    Ok(provider)
}

async fn run(url: &str, collector: &str) -> Result<u32, Box<dyn Error>> {
    let traces = send_traces(collector)?;
    let kinfolk = Kinfolk::open(url).await?;
    kinfolk.migrate().await?;
    let worker = kinfolk.worker().handle(ship).handle(weigh).start().await?;
    let request = async { kinfolk.enqueue_task(&Ship { parcels: 3 }).wait(Duration::from_secs(60)).await };
    let grams = request.instrument(info_span!("request")).await?;
    worker.stop().await?;
    // What has not been sent goes out before the program ends.
    traces.shutdown()?;
    Ok(grams)
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let url = arguments.next().unwrap_or("sqlite:traces.db".into());
    let collector = arguments.next().unwrap_or("http://localhost:4317".into());
    println!("{} grams", run(&url, &collector).await?);
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use opentelemetry_proto::tonic::collector::trace::v1::trace_service_server::{TraceService, TraceServiceServer};
    use opentelemetry_proto::tonic::collector::trace::v1::{ExportTraceServiceRequest, ExportTraceServiceResponse};
    use opentelemetry_proto::tonic::common::v1::any_value::Value;
    use opentelemetry_proto::tonic::trace::v1::Span;
    use tonic::transport::Server;
    use tonic::transport::server::TcpIncoming;
    use tonic::{Request, Response, Status};

    use super::run;

    /// A collector that keeps what it is sent.
    #[derive(Clone, Default)]
    struct Collector(Arc<Mutex<Vec<Span>>>);

    #[tonic::async_trait]
    impl TraceService for Collector {
        async fn export(
            &self,
            request: Request<ExportTraceServiceRequest>,
        ) -> Result<Response<ExportTraceServiceResponse>, Status> {
            let scopes = request.into_inner().resource_spans.into_iter().flat_map(|resource| resource.scope_spans);
            self.0.lock().unwrap().extend(scopes.flat_map(|scope| scope.spans));
            Ok(Response::new(ExportTraceServiceResponse::default()))
        }
    }

    /// The spans of attempts of a command.
    fn attempts<'a>(spans: &'a [Span], command: &str) -> Vec<&'a Span> {
        let wanted = Value::StringValue(command.to_owned());
        let is_so = |span: &&Span| {
            span.attributes.iter().any(|field| {
                field.key == "command" && field.value.as_ref().and_then(|value| value.value.as_ref()) == Some(&wanted)
            })
        };
        spans.iter().filter(|span| span.name == "attempt").filter(is_so).collect()
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
    async fn a_collector_gets_one_trace_from_the_request_to_the_sub_tasks() {
        let collector = Collector::default();
        let incoming = TcpIncoming::bind("127.0.0.1:0".parse().unwrap()).unwrap();
        let address = format!("http://{}", incoming.local_addr().unwrap());
        let server = Server::builder().add_service(TraceServiceServer::new(collector.clone()));
        let server = tokio::spawn(server.serve_with_incoming(incoming));
        assert_eq!(run(":memory:", &address).await.unwrap(), 60);
        server.abort();

        let spans = collector.0.lock().unwrap();
        let request = spans.iter().find(|span| span.name == "request").unwrap();
        assert!(request.parent_span_id.is_empty(), "{request:?}");
        let shipped = attempts(&spans, "ship");
        assert_eq!(shipped.len(), 2, "it was suspended once: {spans:?}");
        assert!(shipped.iter().all(|span| span.parent_span_id == request.span_id), "{shipped:?}");
        let weighed = attempts(&spans, "weigh");
        assert_eq!(weighed.len(), 3);
        for span in weighed {
            assert!(shipped.iter().any(|shipped| shipped.span_id == span.parent_span_id), "{span:?}");
            assert_eq!(span.trace_id, request.trace_id);
        }
    }
}
