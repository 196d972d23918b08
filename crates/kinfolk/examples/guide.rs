//! The program of the guide: `cargo run --example guide -- [sqlite:FILE | postgres://…]`.

use kinfolk::extract::State;
use kinfolk::{Ctx, HandlerError, Kinfolk, Overlap, Retry, Schedule, Task, TaskError, WorkerBuilder};
use serde::{Deserialize, Serialize};

/// Ships an order: a label for each of its parcels.
#[derive(Serialize, Deserialize, Task)]
#[task(command = "ship_order", output = Vec<String>, queue = "orders")]
struct ShipOrder {
    #[task(unique)]
    order: u32,
    parcels: Vec<u32>,
}

/// Prints the label of a parcel: tried four times, and at most two at once on each printer.
#[derive(Serialize, Deserialize, Task)]
#[task(command = "print_label", output = String, queue = "printing", groups(printer = 2))]
#[task(attempts = 4, backoff = "200ms..10s", timeout = "30s")]
struct PrintLabel {
    parcel: u32,
    #[task(key)]
    printer: String,
}

/// Closes the day.
#[derive(Serialize, Deserialize, Task)]
#[task(command = "close_day", unique)]
struct CloseDay;

/// The state that handlers share: a pool of connections, a mailer, a client of another service.
#[derive(Clone)]
struct Shop {
    printers: Vec<String>,
}

async fn ship_order(task: ShipOrder, ctx: Ctx, State(shop): State<Shop>) -> Result<Vec<String>, ShopError> {
    // One sub-task for each parcel, side by side, on any worker. Until the last one has ended this handler is suspended.
    let labels = task.parcels.iter().map(|parcel| PrintLabel {
        parcel: *parcel,
        printer: shop.printers[*parcel as usize % shop.printers.len()].clone(),
    });
    Ok(ctx.fan_out_tasks(labels).fail_fast().await?.values())
}

async fn print_label(task: PrintLabel, ctx: Ctx) -> Result<String, ShopError> {
    match task.parcel {
        0 => Err(ShopError::NoSuchParcel),
        // Out of paper once, for parcels with even numbers.
        n if n % 2 == 0 && ctx.attempt() == 1 => Err(ShopError::OutOfPaper(task.printer)),
        n => Ok(format!("parcel {n}, printed by {}", task.printer)),
    }
}

async fn close_day(_task: CloseDay) -> Result<(), TaskError> {
    Ok(())
}

/// The errors of a handler, and whether the task is tried again.
#[derive(Debug, thiserror::Error)]
enum ShopError {
    #[error("there is no such parcel")]
    NoSuchParcel,
    #[error("{0} is out of paper")]
    OutOfPaper(String),
    #[error(transparent)]
    Task(#[from] TaskError),
}

impl HandlerError for ShopError {
    fn retry(&self) -> Retry {
        match self {
            Self::NoSuchParcel => Retry::Never,
            Self::OutOfPaper(_) | Self::Task(_) => Retry::Policy,
        }
    }
}

/// The handlers and the schedule of a worker of this program.
fn handlers(worker: WorkerBuilder) -> WorkerBuilder {
    let shop = Shop { printers: vec!["laser".to_owned(), "inkjet".to_owned()] };
    let at_six = Schedule::cron("0 18 * * *", "Europe/Oslo").task(&CloseDay).overlap(Overlap::Skip);
    worker.state(shop).handle(ship_order).handle(print_label).handle(close_day).schedule(at_six)
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let url = std::env::args().nth(1).unwrap_or("sqlite:shop.db".into());
    let kinfolk = Kinfolk::open(&url).await?;
    kinfolk.migrate().await?;
    let worker = handlers(kinfolk.worker()).start().await?;

    let order = ShipOrder { order: 1, parcels: vec![1, 2, 3] };
    for label in kinfolk.enqueue_task(&order).wait(std::time::Duration::from_secs(60)).await? {
        println!("{label}");
    }
    worker.stop().await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use kinfolk::testing::TestKit;

    #[tokio::test]
    async fn an_order_is_shipped_when_there_is_paper_again() -> Result<(), Box<dyn std::error::Error>> {
        let mut kit = TestKit::new(handlers).await?;
        let order = ShipOrder { order: 7, parcels: vec![1, 2] };
        let id = kit.kinfolk().enqueue_task(&order).await?.id()?;
        kit.run_until_idle().await?;
        kit.assert_tree(
            id,
            "
            ship_order waiting
              print_label completed
              print_label pending
            ",
        )
        .await;
        // A test waits for nothing: the clock goes to the moment of the next attempt.
        kit.skip_ahead().await?;
        kit.run_until_idle().await?;
        let labels: Vec<String> = kit.result(id).await?;
        assert_eq!(labels, ["parcel 1, printed by inkjet", "parcel 2, printed by laser"]);
        Ok(())
    }
}
