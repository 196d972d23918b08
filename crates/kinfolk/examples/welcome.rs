//! The shortest program: `cargo run -p kinfolk --example welcome`.

use std::time::Duration;

use kinfolk::{Ctx, Kinfolk, TaskError};

async fn welcome(ctx: Ctx, name: String) -> Result<String, TaskError> {
    let letter = ctx.step("write", async { Ok(format!("Welcome, {name}!")) }).await?; // once recorded, never done again
    ctx.sleep(Duration::from_secs(1)).await?; // or a month: it waits in the database, without a worker
    Ok(letter)
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let kinfolk = Kinfolk::open("sqlite:welcome.db").await?; // or postgres://…
    kinfolk.migrate().await?;
    let worker = kinfolk.worker().handler("welcome", welcome).start().await?;
    let task = kinfolk.enqueue("welcome", "cousin").await?.id()?;
    println!("{:?}", kinfolk.wait(task).await?.result);
    Ok(worker.stop().await?)
}
