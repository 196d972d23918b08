//! The commands of a victim.

use std::time::Duration;

use deadpool_postgres::{Manager, Pool};
use kinfolk::{Ctx, Done, Json, TaskError, WorkerBuilder};
use tokio_postgres::types::Type;
use tokio_postgres::{IsolationLevel, NoTls};

use crate::flows::{self, FLOW, Flow, PAD};
use crate::ledger;
use crate::victim::Orders;
use crate::victim::plan::{self, FAMILY, LEAF, Plan};

/// Notes its task in the file.
pub const NOTE: &str = "note";
/// Notes its task in the table, in the transaction that settles it. PostgreSQL only.
pub const EFFECT: &str = "effect";
/// Takes its process down.
pub const KILL: &str = "kill";
/// Blocks its thread, so that it goes on after the process was stopped and continued, whatever the worker thinks.
pub const HOLD: &str = "hold";

/// Gives a worker all of them.
pub(super) fn add(builder: WorkerBuilder, orders: &Orders) -> WorkerBuilder {
    let (file, work) = (orders.ledger.clone(), Duration::from_millis(orders.work_ms));
    let note = move |ctx: Ctx, _: Json| {
        let file = file.clone();
        async move {
            tokio::time::sleep(work).await;
            ledger::note(&file, ctx.task())?;
            Ok::<_, TaskError>(())
        }
    };
    let file = orders.ledger.clone();
    let hold = move |ctx: Ctx, _: Json| {
        let file = file.clone();
        async move {
            std::thread::sleep(work);
            ledger::note(&file, ctx.task())?;
            Ok::<_, TaskError>(())
        }
    };
    let pool = (!orders.url.starts_with("sqlite:")).then(|| pool(&orders.url)).transpose();
    let effect = move |ctx: Ctx, _: Json| {
        let pool = pool.clone();
        // On its own feet: it goes on when the worker drops the attempt, and tries to commit all the same.
        async move { tokio::spawn(effect(ctx, pool?, work)).await? }
    };
    let kill = |_: Ctx, _: Json| async { std::process::abort() as Result<(), TaskError> };
    let file = orders.ledger.clone();
    let family = move |ctx: Ctx, plan: Plan| plan::act(ctx, plan, file.clone(), work);
    let leaf = |_: Ctx, _: Json| async { Ok::<_, TaskError>(()) };
    let builder = builder.handler(FAMILY, family).handler(LEAF, leaf).handler(PAD, flows::pad);
    let file = orders.ledger.clone();
    let flow = move |ctx: Ctx, flow: Flow| flows::act(ctx, flow, file.clone(), work);
    let builder = builder.handler(FLOW, flow);
    builder.handler(NOTE, note).handler(EFFECT, effect).handler(HOLD, hold).handler(KILL, kill)
}

/// Notes the task in the table and settles it, in one transaction. Blocks its thread in between, as [`HOLD`] does.
async fn effect(ctx: Ctx, pool: Option<Pool>, work: Duration) -> Result<Done<()>, TaskError> {
    let pool = pool.ok_or_else(|| TaskError::new("effects need PostgreSQL"))?;
    let mut client = pool.get().await?;
    let transaction = client.build_transaction().isolation_level(IsolationLevel::ReadCommitted).start().await?;
    transaction.execute_typed(ledger::INSERT, &[(&ctx.task().0, Type::INT8)]).await?;
    std::thread::sleep(work);
    let task = ctx.task();
    ctx.commit(transaction, ()).await.inspect_err(|_| println!("event refused {task}"))
}

/// Connections of the handlers' own, beside the worker's.
fn pool(url: &str) -> Result<Pool, String> {
    let config = url.parse().map_err(|fault: tokio_postgres::Error| fault.to_string())?;
    let manager = Manager::new(config, NoTls);
    Pool::builder(manager).max_size(8).build().map_err(|fault| fault.to_string())
}
