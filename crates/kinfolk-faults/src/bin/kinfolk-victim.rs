//! The process that the fault tests start, stop and kill. See `kinfolk_faults::victim`.

use anyhow::{Context, Result};
use kinfolk_faults::victim::{self, Orders};

#[tokio::main]
async fn main() -> Result<()> {
    let text = std::env::args().nth(1).context("the orders are missing: this program is for the fault tests")?;
    let orders: Orders = serde_json::from_str(&text).context("not orders")?;
    victim::run(orders).await
}
