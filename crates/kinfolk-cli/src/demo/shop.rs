//! What a small web shop does at night, as typed tasks. Read this file to learn how handlers are written.
//!
//! The shop sells nothing and charges nobody: each handler waits a moment, as if it had called someone, and then ends
//! well or badly by rules that depend only on its payload, so that every night ends with the same numbers.

use std::time::Duration;

use kinfolk::core::inspect::Filter;
use kinfolk::core::limits::PAGE_MAX;
use kinfolk::{Command, CommandName, Ctx, Done, InputError, QueueName, RetryPolicy, State, Task, TaskError};
use serde::{Deserialize, Serialize};

/// Charges a customer's card at a payment provider that is not always well.
#[derive(Serialize, Deserialize)]
pub(crate) struct ChargeCard {
    pub(crate) night: u32,
    pub(crate) order: u32,
    pub(crate) cents: u64,
    pub(crate) card: Card,
}

/// What will become of a charge.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Card {
    /// It goes through.
    Good,
    /// It goes through when the provider has failed this often.
    Flaky(u16),
    /// It goes through when the provider has asked for patience once.
    Busy,
    /// The bank says no, and will say so tomorrow.
    Expired,
}

/// The result of a charge.
#[derive(Serialize, Deserialize)]
pub(crate) struct Receipt {
    receipt: String,
    cents: u64,
}

impl Task for ChargeCard {
    const COMMAND: &'static str = "shop.charge_card";
    type Output = Receipt;

    /// Patient: a lost payment costs more than a late one. The delays are short because this is a demo.
    fn command() -> Result<Command, InputError> {
        Ok(Command {
            retry: RetryPolicy { max_attempts: 8, base_ms: 250, cap_ms: 2_000, ..RetryPolicy::default() },
            timeout: Some(Duration::from_secs(10)),
            ..on_queue(Self::COMMAND, "shop.payments")?
        })
    }

    async fn run(self, ctx: Ctx) -> Result<Receipt, TaskError> {
        takes(self.order, 60..160).await;
        match self.card {
            Card::Expired => Err(TaskError::new("the bank refused: card expired").do_not_retry()),
            // Any error is tried again as the command's policy says.
            Card::Flaky(failures) if ctx.attempt() <= failures => {
                Err("payment provider: 503 Service Unavailable".into())
            }
            // A handler that knows better says when.
            Card::Busy if ctx.attempt() == 1 => {
                Err(TaskError::new("payment provider: 429 Too Many Requests").retry_after(Duration::from_millis(700)))
            }
            _ => Ok(Receipt { receipt: format!("R-{}-{:04}", self.night, self.order), cents: self.cents }),
        }
    }
}

/// Takes an order into the books.
#[derive(Serialize, Deserialize)]
pub(crate) struct ConfirmOrder {
    pub(crate) night: u32,
    pub(crate) order: u32,
}

impl Task for ConfirmOrder {
    const COMMAND: &'static str = "shop.confirm_order";
    type Output = ();

    fn command() -> Result<Command, InputError> {
        on_queue(Self::COMMAND, "shop.orders")
    }

    async fn run(self, _ctx: Ctx) -> Result<(), TaskError> {
        takes(self.order, 20..90).await;
        Ok(())
    }
}

/// Sends a mail.
#[derive(Serialize, Deserialize)]
pub(crate) struct SendMail {
    pub(crate) night: u32,
    pub(crate) order: u32,
    pub(crate) to: String,
}

impl Task for SendMail {
    const COMMAND: &'static str = "shop.send_mail";
    type Output = String;

    fn command() -> Result<Command, InputError> {
        on_queue(Self::COMMAND, "shop.mail")
    }

    async fn run(self, _ctx: Ctx) -> Result<String, TaskError> {
        // What no retry can mend is a validation failure: the task fails at once and says why.
        if !self.to.contains('@') {
            return Err(TaskError::validation(format!("not a mail address: {:?}", self.to)));
        }
        takes(self.order, 50..200).await;
        Ok(format!("<{}.{}@mail.shop.example>", self.night, self.order))
    }
}

/// Makes a small picture of a large one.
#[derive(Serialize, Deserialize)]
pub(crate) struct MakeThumbnail {
    pub(crate) night: u32,
    pub(crate) picture: String,
    pub(crate) millis: u64,
}

impl Task for MakeThumbnail {
    const COMMAND: &'static str = "shop.make_thumbnail";
    type Output = String;

    fn command() -> Result<Command, InputError> {
        on_queue(Self::COMMAND, "shop.images")
    }

    /// Long work listens for a request to stop, so that a cancelled task ends at once and in good order.
    async fn run(self, ctx: Ctx) -> Result<String, TaskError> {
        tokio::select! {
            () = tokio::time::sleep(Duration::from_millis(self.millis)) => Ok(format!("thumb/{}", self.picture)),
            () = ctx.cancelled() => Err("stopped halfway".into()),
        }
    }
}

/// Sums a night up, when its orders are through. The schedule that runs it at three in the morning names no night.
#[derive(Serialize, Deserialize)]
pub(crate) struct NightlyReport {
    pub(crate) night: Option<u32>,
}

/// The result of a night.
#[derive(Default, Serialize, Deserialize)]
pub(crate) struct Report {
    charged: u64,
    refused: u64,
    cents: u64,
}

impl Task for NightlyReport {
    const COMMAND: &'static str = "shop.nightly_report";
    type Output = Done<Report>;

    fn command() -> Result<Command, InputError> {
        on_queue(Self::COMMAND, "shop.reports")
    }

    /// While payments of its night are open it snoozes, which costs no attempt and holds no place in the worker.
    async fn run(self, ctx: Ctx) -> Result<Done<Report>, TaskError> {
        let mut report = Report::default();
        for (charge, state) in charges(&ctx).await? {
            match state {
                _ if self.night.is_some_and(|night| night != charge.night) => {}
                State::Completed => {
                    report.charged += 1;
                    report.cents += charge.cents;
                }
                State::Failed | State::Cancelled => report.refused += 1,
                _ if self.night.is_none() => {}
                _ => return Ok(Done::snooze(Duration::from_millis(400))),
            }
        }
        Ok(Done::value(report))
    }
}

async fn charges(ctx: &Ctx) -> Result<Vec<(ChargeCard, State)>, TaskError> {
    let command = Some(CommandName::new(ChargeCard::COMMAND)?);
    let mut filter = Filter { command, limit: PAGE_MAX, ..Filter::default() };
    let mut charges = Vec::new();
    loop {
        let page = ctx.kinfolk().store().list(&filter).await?;
        for task in page.tasks {
            charges.push((task.payload.to()?, task.state));
        }
        filter.before = page.next;
        if page.next.is_none() {
            return Ok(charges);
        }
    }
}

/// Opens a night. Its payload says how many tasks the night has.
#[derive(Serialize, Deserialize)]
pub(crate) struct OpenShop {
    pub(crate) night: u32,
    pub(crate) tasks: u32,
}

impl Task for OpenShop {
    const COMMAND: &'static str = "shop.open_shop";
    type Output = String;

    fn command() -> Result<Command, InputError> {
        on_queue(Self::COMMAND, "shop.orders")
    }

    async fn run(self, _ctx: Ctx) -> Result<String, TaskError> {
        Ok(format!("night {} is open", self.night))
    }
}

fn on_queue(command: &str, queue: &str) -> Result<Command, InputError> {
    Ok(Command { queue: QueueName::new(queue)?, ..Command::new(CommandName::new(command)?) })
}

/// A wait whose length depends on the order alone.
async fn takes(order: u32, millis: std::ops::Range<u64>) {
    let spread = u64::from(order) * 7_919 % (millis.end - millis.start);
    tokio::time::sleep(Duration::from_millis(millis.start + spread)).await;
}
