//! The errands of the shop beside its orders, so that every page has something to show: suppliers are called, each by one
//! person at a time, and a schedule has the till counted.

use std::time::Duration;

use kinfolk::{CommandName, Error, Filter, Kinfolk, Schedule, State, Task, TaskError, WorkerBuilder};
use serde::{Deserialize, Serialize};

const QUEUE: &str = "shop.calls";
const SUPPLIERS: [&str; 3] = ["north-mill", "oak-and-sons", "tea-house"];
const ITEMS: [&str; 6] = ["lamps", "desks", "blankets", "teapots", "clocks", "mirrors"];
/// With fewer calls to make than this, some more come up.
const CALLS: usize = 6;

/// Calls a supplier and orders something.
#[derive(Serialize, Deserialize, Task)]
#[task(command = "shop.call_supplier", output = String, queue = "shop.calls", label = "item", groups(supplier = 1))]
struct CallSupplier {
    #[task(key)]
    supplier: String,
    item: String,
}

async fn call_supplier(task: CallSupplier) -> Result<String, TaskError> {
    tokio::time::sleep(Duration::from_millis(2_500)).await;
    Ok(format!("{} will send {}", task.supplier, task.item))
}

/// Counts what is in the till.
#[derive(Serialize, Deserialize, Task)]
#[task(command = "shop.count_till", output = u32, queue = "shop.calls")]
struct CountTill {}

async fn count_till(_task: CountTill) -> Result<u32, TaskError> {
    tokio::time::sleep(Duration::from_millis(700)).await;
    Ok(217)
}

/// Adds the handlers of errands to a worker; day after day, the till is counted by a schedule.
pub(super) fn handlers(worker: WorkerBuilder, once: bool) -> WorkerBuilder {
    let worker = worker.handle(call_supplier).handle(count_till).queue(QUEUE, 4);
    let count = Schedule::cron("*/20 * * * * *", "UTC").task(&CountTill {}).named("count-the-till");
    if once { worker } else { worker.schedule(count) }
}

/// Makes calls come up, unless there are enough to make.
pub(super) async fn call(kinfolk: &Kinfolk, day: u32) -> Result<(), Error> {
    let command = CommandName::new(CallSupplier::COMMAND)?;
    let open =
        Filter { command: Some(command.clone()), state: vec![State::Pending], limit: CALLS, ..Filter::default() };
    if kinfolk.store().list(&open).await?.tasks.len() >= CALLS {
        return Ok(());
    }
    let calls = ITEMS.iter().enumerate().map(|(index, item)| {
        // Most calls go to one supplier, so that there is a line.
        let supplier = if index < 4 { SUPPLIERS[day as usize % 3] } else { SUPPLIERS[(day as usize + index) % 3] };
        CallSupplier { supplier: supplier.to_owned(), item: (*item).to_owned() }
    });
    kinfolk.enqueue_tasks(calls).await?;
    Ok(())
}
