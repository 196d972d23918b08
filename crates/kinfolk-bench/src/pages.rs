//! What is shown must not get slower with what there is: every page, every filter and every reading route of the HTTP API, in a
//! store full of tasks beside a small one; and a worker must not notice that someone looks.

use std::time::Duration;

use anyhow::Context as _;
use serde_json::Value;

use super::BenchArgs;
use super::burden::Burden;
use super::engine::{Engine, NOOP};
use super::figure::{Figure, Output};
use super::looker::Looker;
use super::rounds::{Sample, interleave};
use super::scratch::Scratch;
use super::site::Sites;
use super::stats::{per_second, percentile_ms};

/// Tasks of the small store, a tenth of them in one family.
const SMALL: usize = 1_000;
/// How much of the speed in a small store is to be left.
const BAR: f64 = 0.1;
/// How often an address is asked for in a round. The fastest answer counts: what else the machine does only adds to it.
const ASKED: usize = 3;
/// How long an answer may take, in milliseconds.
const WITHIN_MS: f64 = 200.0;

/// The pages.
const PAGES: &[&str] = &[
    "/",
    "/?span=6h",
    "/find?q={root}",
    "/tasks",
    "/tasks/{root}",
    "/tasks/{child}",
    "/tasks/{completed}",
    "/tasks/{failed}",
    "/tasks/{later}",
    "/tasks/{blocked}",
    "/families",
    "/families/{root}",
    "/families/{root}?view=graph",
    "/families/{child}",
    "/failures",
    "/failures?span=1h",
    "/failures?span=30d&sort=worse",
    "/groups",
    "/queues",
    "/queues/{queue}",
    "/queues/{still}",
    "/workers",
    "/schedules",
    "/schedules/{schedule}",
    "/keys",
    "/metrics",
    "/readyz",
];

/// Filters of a listing. Each is asked for as a page, as a list and as a count.
const FILTERS: &[&str] = &[
    "state=pending",
    "state=running",
    "state=waiting",
    "state=completed",
    "state=failed",
    "state=cancelled",
    "state=failed,cancelled",
    "queue={still}",
    "queue={queue}&state=completed",
    "command={command}",
    "command={fails}",
    "command={grouped}&state=pending",
    "command={dropped}&state=failed",
    "parent={root}",
    "parent={root}&state=pending",
    "root={root}",
    "root={root}&state=failed",
    "has_children=true",
    "has_children=false&state=waiting",
    "fan_out={fan_out}",
    "roots=true",
    "unique={unique}",
    "key=tenant%3Dfull-0",
    "created_after={hour}",
    "created_before={hour}",
    "finished_after={hour}",
    "finished_before={now}&state=failed",
    "failure_kind=error",
    "failure_kind=timeout",
    "failure_text=paper",
    "failure_text=nothing%20says%20this",
    "payload=number%3D17",
    "payload=number%3D17&command={fails}",
    "order=oldest",
    "before={child}",
    "order=oldest&after={child}",
    "limit=1000",
];

/// Fills two stores and walks both, then drains while pages are open.
pub(super) async fn pages(args: &BenchArgs, sites: &Sites, output: &mut Output) -> anyhow::Result<()> {
    output.progress(&format!("pages: filling stores with {SMALL} and {} tasks", args.load));
    let small = Store::fill(SMALL, args, sites).await?;
    let large = Store::fill(args.load, args, sites).await?;
    let addresses = addresses(&large.looker).await?;
    output.progress(&format!("pages: {} addresses", addresses.len()));
    for address in &addresses {
        walk(address, args, (&small, &large), output).await.with_context(|| format!("GET {address}"))?;
    }
    beside(args, &large, output).await?;
    for store in [small, large] {
        store.remove().await?;
    }
    Ok(())
}

/// A store that is looked at.
struct Store {
    scratch: Scratch,
    engine: Engine,
    burden: Burden,
    looker: Looker,
}

impl Store {
    async fn fill(load: usize, args: &BenchArgs, sites: &Sites) -> anyhow::Result<Self> {
        let (scratch, engine) = sites.engine().await?;
        let burden = engine.burden(load, args.capacity).await?;
        scratch.rest().await?;
        let looker = Looker::serve(engine.kinfolk().store(), burden.words.clone()).await?;
        Ok(Self { scratch, engine, burden, looker })
    }

    /// How long an answer takes.
    async fn ask(&self, address: &str) -> anyhow::Result<Sample> {
        let mut took = Duration::MAX;
        for _ in 0..ASKED {
            took = took.min(self.looker.ask(address).await?.0);
        }
        Ok(Sample { rate: per_second(1, took), times: vec![took] })
    }

    /// How fast so many tasks are drained.
    async fn drain(&self, args: &BenchArgs) -> anyhow::Result<Sample> {
        self.engine.enqueue(args.n).await?;
        self.scratch.rest().await?;
        let took = self.engine.drain_of(&[NOOP], args.n, args.capacity).await?;
        Ok(Sample { rate: per_second(args.n, took), times: Vec::new() })
    }

    async fn remove(self) -> anyhow::Result<()> {
        self.looker.stop().await?;
        self.burden.holder.kill().await?;
        drop((self.burden, self.engine));
        self.scratch.remove().await
    }
}

/// Every address: the pages, the filters, and what the API's own document says can be read.
async fn addresses(looker: &Looker) -> anyhow::Result<Vec<String>> {
    let mut addresses: Vec<String> = PAGES.iter().map(|&page| page.to_owned()).collect();
    for filter in FILTERS {
        addresses.extend(["/tasks?", "/api/v1/tasks?", "/api/v1/tasks/count?"].map(|list| format!("{list}{filter}")));
    }
    let document: Value = serde_json::from_str(&looker.ask("/api/v1/openapi.json").await?.1)?;
    let paths = document["paths"].as_object().context("the document has paths")?;
    for (path, verbs) in paths {
        // A stream never ends. What it tells is read by the pages as well.
        if verbs.get("get").is_some() && !path.starts_with("/live/") {
            addresses.push(route(path, &verbs["get"])?);
        }
    }
    Ok(addresses)
}

/// The address of a route, with the largest thing that there is in each place.
fn route(path: &str, verb: &Value) -> anyhow::Result<String> {
    let path = path.replace("{id}", "{root}").replace("{name}", "{schedule}");
    let known = ["{root}", "{fan_out}", "{schedule}"].iter().fold(path.clone(), |path, word| path.replace(word, ""));
    anyhow::ensure!(!known.contains('{'), "the bench does not know what stands for the words of {path}");
    let asked = verb["parameters"].as_array().map(Vec::as_slice).unwrap_or_default();
    let needed = asked.iter().filter(|one| one["in"] == "query" && one["required"] == true);
    let query = needed.map(|one| match one["name"].as_str() {
        Some("commands") => Ok("commands={command}"),
        other => anyhow::bail!("the bench does not know what {path} takes as {other:?}"),
    });
    let query: Vec<&str> = query.collect::<anyhow::Result<_>>()?;
    let question = if query.is_empty() { "" } else { "?" };
    Ok(format!("/api/v1{path}{question}{}", query.join("&")))
}

/// One address in both stores.
async fn walk(
    address: &str,
    args: &BenchArgs,
    (small, large): (&Store, &Store),
    output: &mut Output,
) -> anyhow::Result<()> {
    // Once to warm up what a first visit warms up.
    small.ask(address).await?;
    large.ask(address).await?;
    let mut small_times = Vec::new();
    let rounds = interleave(
        args.rounds,
        address,
        output,
        async || {
            let sample = small.ask(address).await?;
            small_times.extend(sample.times.clone());
            Ok(sample)
        },
        async || large.ask(address).await,
    )
    .await?;
    let baseline = format!("{:.1} ms in a store of {SMALL} tasks", percentile_ms(&small_times, 0.5));
    let times = rounds.times();
    let figure = Figure::new(address, large.scratch.store(), args.load, &baseline, rounds.comparison()).times(times);
    let slow = times.is_some_and(|(p50, _)| p50 > WITHIN_MS);
    let note = if slow { format!("MORE than {WITHIN_MS:.0} ms") } else { String::new() };
    output.figure(figure.bar(Some(BAR)).note(note))
}

/// A drain while streams and pages are open, beside one that nobody looks at.
async fn beside(args: &BenchArgs, large: &Store, output: &mut Output) -> anyhow::Result<()> {
    output.progress(&format!("pages-beside, {} tasks a round", args.n));
    large.drain(args).await?;
    let rounds = interleave(
        args.rounds,
        "pages-beside",
        output,
        async || large.drain(args).await,
        async || {
            let looking = large.looker.look().await?;
            let sample = large.drain(args).await?;
            drop(looking);
            Ok(sample)
        },
    )
    .await?;
    let baseline = "the same drain while nobody looks";
    let figure = Figure::new("pages-beside", large.scratch.store(), args.n, baseline, rounds.comparison());
    output.figure(figure.note(format!("200 streams and 4 pages open, {} tasks in the store", args.load)))
}
