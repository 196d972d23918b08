//! What goes on in the shop beside its orders, so that every page has something to show: suppliers are called, each by one
//! person at a time, and a schedule has the till counted.

use std::time::Duration;

use kinfolk::core::inspect::Filter;
use kinfolk::{
    Command, CommandName, Ctx, Error, Groups, InputError, Json, Keys, Kinfolk, NewTask, QueueName, Schedule,
    ScheduleName, State, Task, TaskError, WorkerBuilder,
};
use serde::{Deserialize, Serialize};

const QUEUE: &str = "shop.calls";
const SUPPLIERS: [&str; 3] = ["north-mill", "oak-and-sons", "tea-house"];
const ITEMS: [&str; 6] = ["lamps", "desks", "blankets", "teapots", "clocks", "mirrors"];
/// With fewer calls to make than this, some more come up.
const CALLS: usize = 6;

/// Calls a supplier and orders something.
#[derive(Serialize, Deserialize, Task)]
#[task(command = "shop.call_supplier", output = String, queue = "shop.calls", groups(supplier = 1))]
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

/// Adds the handlers of errands to a worker.
pub(super) fn handlers(worker: WorkerBuilder) -> WorkerBuilder {
    worker.handle(call_supplier).handle(count_till).queue(QUEUE, 4)
}

/// Has the till counted by a schedule. The commands are known: the worker has registered them.
pub(super) async fn begin(kinfolk: &Kinfolk) -> Result<(), Error> {
    let task = NewTask::new(CommandName::new(CountTill::COMMAND)?, Json::of(&CountTill {})?);
    let schedule = Schedule::new(ScheduleName::new("count-the-till")?, "*/20 * * * * *", task);
    kinfolk.store().put_schedule(&schedule).await?;
    Ok(())
}

/// Makes calls come up, unless there are enough to make.
pub(super) async fn call(kinfolk: &Kinfolk, day: u32) -> Result<(), Error> {
    let command = CommandName::new(CallSupplier::COMMAND)?;
    let open =
        Filter { command: Some(command.clone()), state: vec![State::Pending], limit: CALLS, ..Filter::default() };
    if kinfolk.store().list(&open).await?.tasks.len() >= CALLS {
        return Ok(());
    }
    let mut calls = Vec::new();
    for (place, item) in ITEMS.iter().enumerate() {
        // Most calls go to one supplier, so that there is a line.
        let supplier = if place < 4 { SUPPLIERS[day as usize % 3] } else { SUPPLIERS[(day as usize + place) % 3] };
        let payload = Json::of(&CallSupplier { supplier: supplier.to_owned(), item: (*item).to_owned() })?;
        let keys = Keys::of([("supplier", supplier)])?;
        calls.push(NewTask { keys, ..NewTask::new(command.clone(), payload) });
    }
    kinfolk.enqueue_many(&calls).await?;
    Ok(())
}
