//! Trace contexts of OpenTelemetry: a task takes that of the span it is enqueued in along, and its attempts hang below it.
//!
//! A context is the text of a W3C `traceparent`, which any language can read and write. Without the feature `otel`, tasks have the
//! context that they are given by hand, and spans carry it as a field.

#[cfg(feature = "otel")]
use opentelemetry::trace::{SpanContext, SpanId, TraceContextExt, TraceFlags, TraceId, TraceState};
use tracing::Span;
#[cfg(feature = "otel")]
use tracing_opentelemetry::OpenTelemetrySpanExt;

/// The relation of an attempt's span to the span in which its task was enqueued.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TraceAs {
    /// Its child: one trace from the request to the last sub-task.
    #[default]
    Child,
    /// The root of a trace of its own, with a link: for tasks that run long after their enqueue.
    Link,
}

/// The context of the current span, if it is traced.
#[cfg(feature = "otel")]
pub(crate) fn current() -> Option<String> {
    let context = Span::current().context();
    let span = context.span();
    let span = span.span_context();
    span.is_valid().then(|| format!("00-{}-{}-{:02x}", span.trace_id(), span.span_id(), span.trace_flags().to_u8()))
}

/// The context of the current span: not known here.
#[cfg(not(feature = "otel"))]
pub(crate) fn current() -> Option<String> {
    None
}

/// Hangs the span of an attempt below the context of its task, before it begins.
#[cfg(feature = "otel")]
pub(crate) fn adopt(span: &Span, trace: Option<&str>, how: TraceAs) {
    let Some(context) = trace.and_then(read) else { return };
    match how {
        // A program that collects no traces has no span to hang anywhere.
        TraceAs::Child => drop(span.set_parent(opentelemetry::Context::new().with_remote_span_context(context))),
        TraceAs::Link => span.add_link(context),
    }
}

/// Nothing is known of traces here.
#[cfg(not(feature = "otel"))]
pub(crate) fn adopt(_span: &Span, _trace: Option<&str>, _how: TraceAs) {}

/// `00-<trace, 32 digits>-<span, 16 digits>-<flags, 2 digits>`; of a later version, as far as it says the same.
#[cfg(feature = "otel")]
fn read(traceparent: &str) -> Option<SpanContext> {
    let mut parts = traceparent.split('-');
    let (version, trace, span, flags) = (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
    if version.len() != 2 || version == "ff" || trace.len() != 32 || span.len() != 16 || flags.len() != 2 {
        return None;
    }
    let (trace, span) = (TraceId::from_hex(trace).ok()?, SpanId::from_hex(span).ok()?);
    let flags = TraceFlags::new(u8::from_str_radix(flags, 16).ok()?);
    Some(SpanContext::new(trace, span, flags, true, TraceState::default())).filter(SpanContext::is_valid)
}

#[cfg(all(test, feature = "otel"))]
mod tests {
    use super::*;

    #[test]
    fn a_context_is_read_and_what_is_none_is_left_alone() {
        let read_back = read("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01").unwrap();
        assert_eq!(read_back.trace_id().to_string(), "4bf92f3577b34da6a3ce929d0e0e4736");
        assert!(read_back.is_remote() && read_back.is_sampled());
        let zero = "00-00000000000000000000000000000000-00f067aa0ba902b7-01";
        for wrong in ["", "00-abc-def-01", "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", zero] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
    }
}
