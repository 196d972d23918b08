//! The one task of the shop.

use std::time::Duration;

use kinfolk::{Ctx, Task, TaskError};
use serde::{Deserialize, Serialize};

/// Packs the parcels of an order.
#[derive(Debug, Deserialize, Serialize, Task)]
#[task(command = "web.pack", output = u32)]
pub(crate) struct Pack {
    pub(crate) order: i64,
    pub(crate) parcels: u32,
}

/// Packs one parcel after another, and says how far it has come.
pub(crate) async fn pack(task: Pack, ctx: Ctx) -> Result<u32, TaskError> {
    for parcel in 1..=task.parcels {
        // Recorded: a parcel that was packed before a crash is not packed again.
        ctx.step("pack", wrap()).await?;
        let note = format!("parcel {parcel} of order {}", task.order);
        ctx.progress(parcel.into(), u64::from(task.parcels), note).await?;
    }
    Ok(task.parcels)
}

async fn wrap() -> Result<(), TaskError> {
    tokio::time::sleep(Duration::from_millis(100)).await;
    Ok(())
}
