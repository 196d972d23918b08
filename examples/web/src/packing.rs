//! The one task of the shop.

use std::time::Duration;

use kinfolk::{Ctx, Task, TaskError};
use serde::{Deserialize, Serialize};

/// Packs the parcels of an order.
#[derive(Debug, Deserialize, Serialize)]
pub(crate) struct Pack {
    pub(crate) order: i64,
    pub(crate) parcels: u32,
}

impl Task for Pack {
    const COMMAND: &'static str = "web.pack";
    type Output = u32;

    async fn run(self, ctx: Ctx) -> Result<u32, TaskError> {
        for parcel in 1..=self.parcels {
            // Recorded: a parcel that was packed before a crash is not packed again.
            ctx.step("pack", pack()).await?;
            ctx.progress(parcel.into(), u64::from(self.parcels), format!("parcel {parcel} of order {}", self.order))
                .await?;
        }
        Ok(self.parcels)
    }
}

async fn pack() -> Result<(), TaskError> {
    tokio::time::sleep(Duration::from_millis(100)).await;
    Ok(())
}
