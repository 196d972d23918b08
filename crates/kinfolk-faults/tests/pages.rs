//! The SQL that the pages show is run as it stands there, on a fresh migrated database.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use kinfolk::{Ctx, Json, Kinfolk, TaskError};
use kinfolk_core::State;
use kinfolk_faults::bed::{Bed, Kind};
use kinfolk_faults::sound::{all_tasks, wait_drained};

/// The blocks of SQL on a page of the project.
fn blocks(page: &str) -> Result<Vec<String>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(page);
    let text = std::fs::read_to_string(&path).with_context(|| format!("can't read {page}"))?;
    let blocks: Vec<_> = text.split("\n```sql\n").skip(1).filter_map(|rest| rest.split("\n```").next()).collect();
    ensure!(!blocks.is_empty(), "{page} shows no SQL");
    Ok(blocks.into_iter().map(str::to_owned).collect())
}

async fn run(bed: &Bed, page: &str) -> Result<()> {
    let client = bed.plain().await?;
    for block in blocks(page)? {
        client.batch_execute(&block).await.with_context(|| format!("in this block of {page}:\n{block}"))?;
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn the_readme_enqueues_from_sql_what_a_rust_worker_runs() -> Result<()> {
    let bed = Bed::new(Kind::Postgres).await?;
    run(&bed, "README.md").await?;
    let kinfolk = Kinfolk::open(bed.url()).await?;
    let greet = |_: Ctx, payload: Json| async move { Ok::<_, TaskError>(format!("Hello, {payload}!")) };
    let worker = kinfolk.worker().handler("greet", greet).start().await?;
    wait_drained(&**kinfolk.store(), Duration::from_secs(120)).await?;
    worker.stop().await?;
    let tasks = all_tasks(&**kinfolk.store()).await?;
    ensure!(!tasks.is_empty(), "the README's SQL enqueued nothing");
    ensure!(tasks.values().all(|task| task.state == State::Completed), "{tasks:#?}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn the_page_about_sql_shows_sql_that_runs() -> Result<()> {
    run(&Bed::new(Kind::Postgres).await?, "docs/sql.md").await
}

#[tokio::test(flavor = "multi_thread")]
async fn the_trigger_on_the_page_about_sql_lets_no_row_in_without_its_task() -> Result<()> {
    let bed = Bed::new(Kind::Postgres).await?;
    run(&bed, "docs/sql.md").await?;
    let page = blocks("docs/sql.md")?;
    let block = page.iter().find(|block| block.contains("returns trigger")).context("the page shows no trigger")?;
    let (_, function) = block.split_once("create function").context("the trigger has no function")?;
    let (function, _) = function.split_once("create trigger").context("the function has no trigger")?;
    let client = bed.plain().await?;
    let misspelt = function.replace("send_invoice", "send_invoce");
    client.batch_execute(&format!("create or replace function {misspelt}")).await?;
    let fault = client.batch_execute("insert into customer_order values (3001)").await.unwrap_err();
    let said = fault.as_db_error().map(|fault| fault.message().to_owned()).unwrap_or_default();
    ensure!(said.contains("unknown command send_invoce"), "{said}: {fault}");
    let rows = client.query("select from customer_order where number = 3001", &[]).await?;
    ensure!(rows.is_empty(), "the order is there, its task is not");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn the_page_about_handlers_in_sql_shows_sql_that_runs() -> Result<()> {
    run(&Bed::new(Kind::Postgres).await?, "docs/sql-handlers.md").await
}
