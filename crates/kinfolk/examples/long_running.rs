//! A worker as a program: `cargo run -p kinfolk --example long_running -- [sqlite:FILE | postgres://…]`.
//!
//! Its handler takes long and says what it does when it is asked to end. Ctrl-C stops the worker in order: the task goes
//! back to its queue, at no cost, and the next start of this program takes it up again. A second Ctrl-C stops it hard.

use std::time::Duration;

use kinfolk::{Ctx, Done, Kinfolk, OnDuplicate, TaskError, Unique, UniqueScope};

async fn count_sheep(ctx: Ctx, sheep: u64) -> Result<Done<String>, TaskError> {
    for n in 1..=sheep {
        tokio::select! {
            () = tokio::time::sleep(Duration::from_millis(200)) => println!("sheep {n} of {sheep}"),
            () = ctx.stopping() => {
                println!("the worker stops: someone else may count");
                return Ok(Done::release());
            }
            () = ctx.cancelled() => {
                println!("cancelled: never mind");
                return Err(TaskError::new("asked to end"));
            }
        }
    }
    Ok(Done::value(format!("counted {sheep} sheep")))
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let url = std::env::args().nth(1).unwrap_or("sqlite:sheep.db".into());
    let kinfolk = Kinfolk::open(&url).await?;
    kinfolk.migrate().await?;
    let worker = kinfolk.worker().handler("count_sheep", count_sheep).start().await?;

    let once = Unique::key("tonight").scope(UniqueScope::Active).on_duplicate(OnDuplicate::Keep);
    let answer = kinfolk.enqueue("count_sheep", &1000).unique(once).await?;
    println!("{answer:?}; press Ctrl-C to stop");
    worker.run_until_signal().await?;
    println!("good night");
    Ok(())
}
