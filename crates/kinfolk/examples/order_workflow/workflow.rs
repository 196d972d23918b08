//! An order, from its validation to its last letter. The README shows this file, the example beside it runs it, and so does
//! `kinfolk demo`.

use std::time::Duration;

use kinfolk::{Ctx, Sub, Task, TaskError};
use serde::{Deserialize, Serialize};

use super::shop::{self, FinalizeOrder, Order, PackItem, SendInvoice, SendNotification, Shipped, ValidateOrder};

#[derive(Serialize, Deserialize, Task)]
#[task(command = "shop.process_order", output = Shipped, queue = "shop.orders", label = "number", attempts = 4, backoff = "200ms..1s")]
pub(crate) struct ProcessOrder(pub(crate) Order);

pub(crate) async fn process_order(task: ProcessOrder, ctx: Ctx) -> Result<Shipped, TaskError> {
    // One sub-task, and its answer. Until that is there the order waits in the database, without a worker.
    let order = ctx.call_task(&ValidateOrder(task.0)).await?;

    // A sub-task for each item, side by side; the first that fails for good fails the order.
    ctx.progress(1, 4, format!("packing {} items", order.items.len())).await?;
    let packed = ctx.fan_out_tasks(order.items().map(PackItem)).fail_fast().await?;

    // What is expensive needs a nod from someone: `kinfolk signal ID approve true`.
    if order.cents() > 100_000 {
        ctx.progress(2, 4, "waiting for approval").await?;
        let approved: Option<bool> = ctx.wait_signal("approve", Some(Duration::from_secs(3600))).await?;
        approved.filter(|&nod| nod).ok_or_else(|| TaskError::validation("nobody approved of it"))?;
    }

    // A side effect of its own: once it is recorded it is never done again, whatever happens later.
    ctx.progress(2, 4, "charging the card").await?;
    let receipt: String = ctx.step("charge the card", shop::charge(&ctx, &order)).await?;

    // Letters may get lost: all are waited for, and the order goes on with those that were sent.
    ctx.progress(3, 4, "writing letters").await?;
    let letters = [Sub::of(&SendNotification::about(&order)), Sub::of(&SendInvoice::of(&order, &receipt))];
    let sent = ctx.fan_out::<String>(letters).collect_all().named("letters").await?;

    ctx.call_task(&FinalizeOrder { number: order.number }).await?;
    ctx.progress(4, 4, "on its way").await?;
    Ok(Shipped { number: order.number, receipt, parcels: packed.values(), letters: sent.values() })
}
