//! `/metrics`: what the workers of this process have measured, and counts of the store, which are read when someone asks.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse as _, Response};
use kinfolk_core::inspect::Stats;
use kinfolk_core::worker::WorkerView;
use metrics_exporter_prometheus::{BuildError, Matcher, PrometheusBuilder, PrometheusHandle};
use tokio::sync::Mutex;

use crate::access::Role;
use crate::problem::Problem;
use crate::visit::Visit;

/// Scrapes within this span see the same counts: several servers that scrape do not ask the store each.
const KEEP: Duration = Duration::from_secs(5);

/// Seconds, from a millisecond to an hour.
const BUCKETS: [f64; 14] = [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 10.0, 30.0, 60.0, 300.0, 900.0, 3600.0];

/// Measures what happens in this process from now on. At most once in a process.
pub fn measure() -> Result<Measures, BuildError> {
    let seconds = Matcher::Suffix("_seconds".to_owned());
    let handle = PrometheusBuilder::new().set_buckets_for_metric(seconds, &BUCKETS)?.install_recorder()?;
    Ok(Measures(handle))
}

/// What is measured in this process.
#[derive(Clone, Debug)]
pub struct Measures(PrometheusHandle);

/// Counts of the store, for a moment.
#[derive(Default)]
pub(crate) struct Scraped(Mutex<Option<(Instant, String)>>);

/// `GET /metrics`, in the text format of Prometheus.
pub(crate) async fn show(visit: Visit) -> Result<Response, Problem> {
    if !visit.caller.is(Role::Viewer) || visit.caller.queues.is_some() {
        return Err(Problem::forbidden("metrics tell of all queues; send a token that is for all of them"));
    }
    let app = visit.app;
    let mut text = String::new();
    if let Some(Measures(handle)) = &app.config.measures {
        handle.run_upkeep();
        text.push_str(&handle.render());
    }
    let mut kept = app.scraped.0.lock().await;
    let fresh = kept.as_ref().filter(|(at, _)| at.elapsed() < KEEP).map(|(_, text)| text.clone());
    let counts = match fresh {
        Some(counts) => counts,
        None => {
            let counts = gauges(&app.store.stats().await?, &app.store.workers().await?);
            *kept = Some((Instant::now(), counts.clone()));
            counts
        }
    };
    text.push_str(&counts);
    Ok(([(CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], text).into_response())
}

fn gauges(stats: &Stats, workers: &[WorkerView]) -> String {
    let mut text = String::new();
    family(&mut text, "kinfolk_tasks", "Tasks in the store; what is open up to 10,000 for each queue and command.");
    // A count of what has ended is no measure where it does not go back to the first task. A line that is longer than what is
    // counted is long all the same.
    let counts = stats.counts.iter().filter(|count| !count.state.is_terminal() || !stats.more.contains(&count.state));
    for count in counts {
        let (queue, command, state) = (&count.queue, &count.command, count.state.as_str());
        line(
            &mut text,
            format_args!("kinfolk_tasks{{queue=\"{queue}\",command=\"{command}\",state=\"{state}\"}}"),
            count.tasks as f64,
        );
    }
    family(&mut text, "kinfolk_oldest_open_seconds", "How long the first in line of a queue has stood there.");
    for (queue, since) in &stats.oldest_open {
        let age = stats.now.since(*since).as_secs_f64();
        line(&mut text, format_args!("kinfolk_oldest_open_seconds{{queue=\"{queue}\"}}"), age);
    }
    family(&mut text, "kinfolk_workers", "Workers with a live lease.");
    line(&mut text, format_args!("kinfolk_workers"), stats.workers as f64);
    family(&mut text, "kinfolk_leases_ended", "Workers whose lease has ended and who were not recovered yet.");
    let ended = workers.iter().filter(|worker| worker.lease_until <= stats.now).count();
    line(&mut text, format_args!("kinfolk_leases_ended"), ended as f64);
    text
}

fn family(text: &mut String, name: &str, help: &str) {
    let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} gauge");
}

/// Names of queues and commands hold nothing that would have to be quoted.
fn line(text: &mut String, name: std::fmt::Arguments<'_>, value: f64) {
    let _ = writeln!(text, "{name} {value}");
}
