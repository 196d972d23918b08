//! A first program: `cargo run --example first -- [sqlite:FILE | postgres://…]`.

use kinfolk::{Ctx, Kinfolk, Task, TaskError};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Task)]
#[task(command = "greet", output = String)]
struct Greet {
    name: String,
}

async fn greet(task: Greet, ctx: Ctx) -> Result<String, TaskError> {
    Ok(format!("Hello, {}! This is attempt {} of {}.", task.name, ctx.attempt(), ctx.max_attempts()))
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let url = std::env::args().nth(1).unwrap_or("sqlite:first.db".into());
    let kinfolk = Kinfolk::open(&url).await?;
    kinfolk.migrate().await?;

    let worker = kinfolk.worker().handle(greet).start().await?;
    let mut greetings = Vec::new();
    for n in 1..=20 {
        greetings.push(kinfolk.enqueue_task(&Greet { name: format!("cousin {n}") }).await?.id()?);
    }
    for greeting in greetings {
        println!("{}", kinfolk.result::<Greet>(greeting).await?);
    }
    worker.stop().await?;
    Ok(())
}
