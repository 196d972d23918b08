//! Fan-outs inside fan-outs, with thresholds: `cargo run --example categories -- [sqlite:FILE | postgres://…]`.
//!
//! A category is in order if at least nine in ten of its products are; a product only if all its variants are. How many
//! sub-tasks there are is known when the handlers run, not before.

use kinfolk::{Ctx, Kinfolk, Sub, Task, TaskError};
use serde::{Deserialize, Serialize};

/// A category of so many products; some of them have a broken variant.
#[derive(Serialize, Deserialize, Task)]
#[task(command = "check_category", output = String)]
struct CheckCategory {
    name: String,
    products: u32,
    broken: u32,
}

async fn check_category(task: CheckCategory, ctx: Ctx) -> Result<String, TaskError> {
    let products = (0..task.products).map(|number| CheckProduct { number, broken: number < task.broken });
    let checked = ctx.fan_out_tasks(products).threshold(0.9).max_attempts(1).await?;
    let (variants, broken) = checked.partition();
    let total: u32 = variants.into_iter().sum();
    Ok(format!("{}: {total} variants are in order, {} products are not", task.name, broken.len()))
}

#[derive(Serialize, Deserialize, Task)]
#[task(command = "check_product", output = u32)]
struct CheckProduct {
    number: u32,
    broken: bool,
}

async fn check_product(task: CheckProduct, ctx: Ctx) -> Result<u32, TaskError> {
    // Between one and five variants, and only the product knows how many.
    let variants = 1 + task.number % 5;
    let checked = ctx.fan_out::<()>((0..variants).map(|n| Sub::new("check_variant", &(task.broken && n == 0))));
    Ok(u32::try_from(checked.fail_fast().await?.len())?)
}

async fn check_variant(_ctx: Ctx, broken: bool) -> Result<(), TaskError> {
    if broken { Err(TaskError::validation("it has no price")) } else { Ok(()) }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let url = std::env::args().nth(1).unwrap_or("sqlite:categories.db".into());
    let kinfolk = Kinfolk::open(&url).await?;
    kinfolk.migrate().await?;
    let worker = kinfolk.worker().handle(check_category).handle(check_product);
    let worker = worker.handler("check_variant", check_variant).start().await?;
    let mut checks = Vec::new();
    for (name, products, broken) in [("lamps", 20, 0), ("chairs", 20, 2), ("unicorns", 20, 3)] {
        let check = CheckCategory { name: name.to_owned(), products, broken };
        checks.push(kinfolk.enqueue_task(&check).await?.id()?);
    }
    for id in checks {
        match kinfolk.result::<CheckCategory>(id).await {
            Ok(report) => println!("{report}"),
            Err(fault) => println!("{fault}"),
        }
    }
    worker.stop().await?;
    Ok(())
}
