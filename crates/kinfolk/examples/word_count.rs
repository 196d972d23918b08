//! As many sub-tasks as the input asks for, and their results as they come:
//! `cargo run --example word_count -- TEXT [sqlite:FILE | postgres://…]`.
//!
//! The number of parts is known when the handler runs. The counts are folded page by page in the order in which they came,
//! and the parent's memory does not grow with their number.

use std::collections::BTreeMap;

use kinfolk::{Ctx, Kinfolk, Sub, TaskError};

type Counts = BTreeMap<String, u64>;

async fn count_words(ctx: Ctx, text: String) -> Result<Counts, TaskError> {
    let parts = text.lines().map(|line| Sub::new("count_line", line));
    let counts = ctx.fan_out_stream::<Counts>(parts).fold(Counts::new(), |mut all, part| {
        for (word, count) in part.outcome.unwrap_or_default() {
            *all.entry(word).or_default() += count;
        }
        all
    });
    counts.await
}

async fn count_line(_ctx: Ctx, line: String) -> Result<Counts, TaskError> {
    let mut counts = Counts::new();
    for word in line.split_whitespace() {
        *counts.entry(word.to_lowercase()).or_default() += 1;
    }
    Ok(counts)
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let text = args.next().unwrap_or("so many words\nso many lines\nso what".into());
    let kinfolk = Kinfolk::open(&args.next().unwrap_or("sqlite:words.db".into())).await?;
    kinfolk.migrate().await?;
    let worker = kinfolk.worker().handler("count_words", count_words).handler("count_line", count_line);
    let worker = worker.start().await?;
    let id = kinfolk.enqueue("count_words", &text).await?.id()?;
    let counts: Counts = kinfolk.wait(id).await?.result.unwrap_or(kinfolk::Json::object()).to()?;
    for (word, count) in counts {
        println!("{count} {word}");
    }
    worker.stop().await?;
    Ok(())
}
