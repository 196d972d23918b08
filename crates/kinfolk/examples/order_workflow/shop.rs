//! The shop around the workflow: what an order is, and the handlers of its sub-tasks.
//!
//! The shop sells nothing and charges nobody. Each handler waits a moment, as if it had called someone, and then ends well
//! or badly by rules that depend only on its payload and its attempt, so that an order always ends in the same way.

use std::time::Duration;

use kinfolk::{Ctx, Task, TaskError};
use serde::{Deserialize, Serialize};

/// An order, as the web page sends it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Order {
    pub(crate) number: u32,
    pub(crate) customer: String,
    pub(crate) mail: String,
    pub(crate) items: Vec<Item>,
    pub(crate) card: Card,
    /// The day it came in.
    pub(crate) day: u32,
    /// How many orders came in that day.
    pub(crate) of: u32,
}

/// A line of an order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Item {
    pub(crate) name: String,
    pub(crate) cents: u64,
    pub(crate) shelf: Shelf,
}

/// What will become of an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Shelf {
    /// It is there.
    Full,
    /// It is there, but the scanner has to try so often before it reads the label.
    Smudged(u16),
    /// There is none.
    Empty,
    /// It takes ten minutes to get down.
    High,
}

/// What will become of a charge.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Card {
    /// It goes through.
    Good,
    /// It goes through when the payment provider has failed so often.
    Flaky(u16),
    /// The bank says no, and will say so tomorrow.
    Expired,
}

/// What has become of an order.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Shipped {
    pub(crate) number: u32,
    pub(crate) receipt: String,
    pub(crate) parcels: Vec<String>,
    pub(crate) letters: Vec<String>,
}

impl Order {
    /// What the customer pays.
    pub(crate) fn cents(&self) -> u64 {
        self.items.iter().map(|item| item.cents).sum()
    }

    /// Each item, to be packed.
    pub(crate) fn items(&self) -> impl Iterator<Item = (u32, Item)> + Send {
        self.items.iter().map(|item| (self.number, item.clone()))
    }
}

/// Charges the customer's card. The body of a step of the workflow, not a task of its own.
pub(crate) async fn charge(ctx: &Ctx, order: &Order) -> Result<String, TaskError> {
    takes(order.number, 80..240).await;
    match order.card {
        Card::Expired => Err(TaskError::new("the bank refused: card expired").do_not_retry()),
        // The next attempt begins from the top, and is answered from the records up to here.
        Card::Flaky(failures) if ctx.attempt() <= failures => Err("payment provider: 503 Service Unavailable".into()),
        _ => Ok(format!("R-{:05}, {}.{:02} €", order.number, order.cents() / 100, order.cents() % 100)),
    }
}

/// Looks whether an order makes sense.
#[derive(Serialize, Deserialize, Task)]
#[task(command = "shop.validate_order", output = Order, queue = "shop.orders", label = "number", attempts = 4, backoff = "200ms..1s")]
pub(crate) struct ValidateOrder(pub(crate) Order);

pub(crate) async fn validate_order(task: ValidateOrder) -> Result<Order, TaskError> {
    takes(task.0.number, 60..180).await;
    // What no retry can mend is a validation failure: it fails at once and says why.
    match task.0.mail.contains('@') {
        true => Ok(task.0),
        false => Err(TaskError::validation(format!("not a mail address: {:?}", task.0.mail))),
    }
}

/// Takes an item of an order from its shelf and packs it.
#[derive(Serialize, Deserialize, Task)]
#[task(command = "shop.pack_item", output = String, queue = "shop.packing", label = "1.name", attempts = 4, backoff = "200ms..1s")]
pub(crate) struct PackItem(pub(crate) (u32, Item));

pub(crate) async fn pack_item(task: PackItem, ctx: Ctx) -> Result<String, TaskError> {
    let PackItem((number, item)) = task;
    let seed = number + item.name.len() as u32;
    match item.shelf {
        Shelf::Full | Shelf::Smudged(_) => takes(seed, 150..450).await,
        Shelf::Empty => {
            takes(seed, 150..450).await;
            return Err(TaskError::new(format!("out of stock: {:?}", item.name)).do_not_retry());
        }
        // Long work listens for a request to stop, so that a cancelled task ends at once and in good order.
        Shelf::High => tokio::select! {
            () = tokio::time::sleep(Duration::from_secs(600)) => {}
            () = ctx.cancelled() => return Err("left on its shelf".into()),
        },
    }
    // Packed once: an attempt that comes after this has been recorded is told the same label.
    let label = ctx.step("pack", async { Ok(format!("P-{}-{}", ctx.task(), ctx.attempt())) }).await?;
    takes(seed, 50..150).await;
    match item.shelf {
        Shelf::Smudged(tries) if ctx.attempt() <= tries => Err("scanner: the label can't be read".into()),
        _ => Ok(label),
    }
}

/// Tells the customer.
#[derive(Serialize, Deserialize, Task)]
#[task(command = "shop.send_notification", output = String, queue = "shop.mail", label = "to", attempts = 4, backoff = "200ms..1s")]
pub(crate) struct SendNotification {
    to: String,
    text: String,
}

impl SendNotification {
    /// The words for an order.
    pub(crate) fn about(order: &Order) -> Self {
        let text = format!("Dear {}, order {} is on its way.", order.customer, order.number);
        Self { to: order.mail.clone(), text }
    }
}

pub(crate) async fn send_notification(task: SendNotification) -> Result<String, TaskError> {
    takes(task.text.len() as u32, 100..260).await;
    match task.to.ends_with(".invalid") {
        true => Err(TaskError::new("550 mailbox unavailable").do_not_retry()),
        false => Ok(format!("notification to {}", task.to)),
    }
}

/// Writes the invoice.
#[derive(Serialize, Deserialize, Task)]
#[task(command = "shop.send_invoice", output = String, queue = "shop.mail", label = "order", attempts = 4, backoff = "200ms..1s")]
pub(crate) struct SendInvoice {
    order: u32,
    receipt: String,
}

impl SendInvoice {
    /// The invoice over a charge.
    pub(crate) fn of(order: &Order, receipt: &str) -> Self {
        Self { order: order.number, receipt: receipt.to_owned() }
    }
}

pub(crate) async fn send_invoice(task: SendInvoice) -> Result<String, TaskError> {
    takes(task.order, 120..300).await;
    Ok(format!("invoice for {}", task.receipt))
}

/// Hands the parcels to the carrier.
#[derive(Serialize, Deserialize, Task)]
#[task(command = "shop.finalize_order", queue = "shop.orders", label = "number", attempts = 4, backoff = "200ms..1s")]
pub(crate) struct FinalizeOrder {
    pub(crate) number: u32,
}

pub(crate) async fn finalize_order(task: FinalizeOrder, ctx: Ctx) -> Result<(), TaskError> {
    takes(task.number, 40..120).await;
    // It starts when the whole order has completed, and belongs to nobody.
    ctx.follow_up_task(&AskForReview { number: task.number }).when_completed().await?;
    Ok(())
}

/// Asks the customer how it was.
#[derive(Serialize, Deserialize, Task)]
#[task(command = "shop.ask_for_review", queue = "shop.mail", label = "number", attempts = 4, backoff = "200ms..1s")]
pub(crate) struct AskForReview {
    number: u32,
}

pub(crate) async fn ask_for_review(task: AskForReview) -> Result<(), TaskError> {
    takes(task.number, 60..160).await;
    Ok(())
}

/// A wait whose length depends on the seed alone.
async fn takes(seed: u32, millis: std::ops::Range<u64>) {
    let spread = u64::from(seed) * 7_919 % (millis.end - millis.start);
    tokio::time::sleep(Duration::from_millis(millis.start + spread)).await;
}
