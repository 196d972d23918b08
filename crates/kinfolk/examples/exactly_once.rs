//! Effects that happen exactly once: `cargo run -p kinfolk --example exactly_once -- postgres://…`.
//!
//! An order and the task that bills it are made in one transaction. The handler writes the bill and settles the task in
//! one transaction, too. However often anything is killed in between, each order has one bill.

use deadpool_postgres::{Config, Pool, Runtime};
use kinfolk::pg::enqueue_in;
use kinfolk::{Command, Ctx, Done, Json, Kinfolk, NewTask, TaskError};
use tokio_postgres::NoTls;

const TABLES: &str = "
    create table if not exists purchase (number bigint generated always as identity primary key, cents bigint);
    create table if not exists bill (purchase bigint, cents bigint);
";

async fn order(pool: &Pool, cents: i64) -> Result<(), Box<dyn std::error::Error>> {
    let mut client = pool.get().await?;
    let transaction = client.transaction().await?;
    let sql = "insert into purchase (cents) values ($1) returning number";
    let number: i64 = transaction.query_one(sql, &[&cents]).await?.get(0);
    enqueue_in(&*transaction, &[NewTask::new("bill".parse()?, Json::of(&number)?)]).await?;
    Ok(transaction.commit().await?)
}

async fn bill(ctx: Ctx, pool: Pool, number: i64) -> Result<Done<i64>, TaskError> {
    let mut client = pool.get().await?;
    let transaction = client.transaction().await?;
    let sql = "insert into bill select number, cents from purchase where number = $1 returning cents";
    let cents: i64 = transaction.query_one(sql, &[&number]).await?.get(0);
    if ctx.attempt() == 1 && number % 3 == 0 {
        return Err(TaskError::new("the printer is jammed").retry_after(std::time::Duration::ZERO));
    }
    ctx.commit(transaction, cents).await
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let url = std::env::args().nth(1).ok_or("give me the address of a PostgreSQL database")?;
    let kinfolk = Kinfolk::open(&url).await?;
    kinfolk.migrate().await?;
    kinfolk.register(&[Command::new("bill".parse()?)]).await?;

    let pool = Config { url: Some(url), ..Config::new() }.create_pool(Some(Runtime::Tokio1), NoTls)?;
    pool.get().await?.batch_execute(TABLES).await?;
    for cents in 1..=30 {
        order(&pool, cents).await?;
    }

    let bills = pool.clone();
    let worker = kinfolk.worker().handler("bill", move |ctx, number: i64| bill(ctx, bills.clone(), number));
    let worker = worker.start().await?;
    worker.wait_idle().await;
    worker.stop().await?;

    let sql = "select count(*), count(distinct purchase), sum(cents)::bigint from bill";
    let row = pool.get().await?.query_one(sql, &[]).await?;
    println!("{} bills for {} purchases, {} cents", row.get::<_, i64>(0), row.get::<_, i64>(1), row.get::<_, i64>(2));
    Ok(())
}
