//! The commands of a victim.

use std::time::Duration;

use kinfolk::{Ctx, Json, TaskError, WorkerBuilder};

use crate::ledger;
use crate::victim::Orders;

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
    let kill = |_: Ctx, _: Json| async { std::process::abort() as Result<(), TaskError> };
    builder.handler(NOTE, note).handler(HOLD, hold).handler(KILL, kill)
}
