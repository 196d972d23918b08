//! At most twenty at once of one tenant, and one of one message: `cargo run --example tenants -- [sqlite:FILE | postgres://…]`.
//!
//! Both limits hold at once and over all workers. Receipts go out through a provider that is asked for ten a second at most,
//! and that may ask to be left alone for a while. Whoever does not start is asked why.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use kinfolk::{Ctx, Kinfolk, State, Task, TaskError, TaskId};
use serde::{Deserialize, Serialize};
use tokio::sync::Semaphore;

#[derive(Serialize, Deserialize, Task)]
#[task(command = "process-message", groups(tenant = 20, message = 1))]
struct ProcessMessage {
    #[task(key)]
    tenant: String,
    #[task(key)]
    message: String,
}

async fn process_message(task: ProcessMessage) -> Result<(), TaskError> {
    let _inside = [Inside::enter("tenant", &task.tenant), Inside::enter("message", &task.message)];
    // Until the desk opens, nobody gets past it.
    drop(DESK.acquire().await);
    tokio::time::sleep(Duration::from_millis(20)).await;
    Ok(())
}

/// A group with a rate, and no limit on how many run at once. Others who send through the provider may share it.
#[derive(Serialize, Deserialize, Task)]
#[task(command = "send-receipt", output = u32, groups(provider(rate = "10/s", shared)))]
struct SendReceipt {
    number: u32,
    #[task(key)]
    provider: String,
}

async fn send_receipt(task: SendReceipt, ctx: Ctx) -> Result<u32, TaskError> {
    if task.number == 1 {
        // "429 Too Many Requests": nothing more is sent until then, by any worker.
        ctx.slow_down_for("provider", Duration::from_secs(2)).await?;
    }
    Ok(task.number)
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let url = std::env::args().nth(1).unwrap_or("sqlite:tenants.db".into());
    let kinfolk = Kinfolk::open(&url).await?;
    kinfolk.migrate().await?;
    let worker = kinfolk.worker().handle(process_message).handle(send_receipt).start().await?;

    // The second message of acme runs beside the first; the first message of beta is the same one, and waits.
    let mut tasks = Vec::new();
    for (tenant, message) in [("acme", "msg-1"), ("acme", "msg-2"), ("beta", "msg-1")] {
        tasks.push(enqueue(&kinfolk, tenant, message.to_owned()).await?);
    }
    while kinfolk.task(tasks[1]).await?.state == State::Pending {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    println!("{}", why(&kinfolk, tasks[2]).await?);

    // A crowd: the desk opens, and a hundred more come in.
    for number in 3..=102 {
        tasks.push(enqueue(&kinfolk, "acme", format!("msg-{number}")).await?);
    }
    DESK.close();
    for task in &tasks {
        kinfolk.result::<ProcessMessage>(*task).await?;
    }
    let (tenant, message) = (most("tenant", "acme"), most("message", "msg-1"));
    println!("{} messages: at most {tenant} of acme at once, and {message} of msg-1", tasks.len());

    let mut receipts = Vec::new();
    for number in 1..=5 {
        receipts.push(kinfolk.enqueue_task(&SendReceipt { number, provider: "mail".to_owned() }).await?.id()?);
    }
    kinfolk.wait(receipts[0]).await?;
    println!("{}", why(&kinfolk, receipts[4]).await?);
    for receipt in &receipts {
        println!("receipt {}", kinfolk.result::<SendReceipt>(*receipt).await?);
    }
    worker.stop().await?;
    Ok(())
}

async fn enqueue(kinfolk: &Kinfolk, tenant: &str, message: String) -> Result<TaskId, Box<dyn std::error::Error>> {
    Ok(kinfolk.enqueue_task(&ProcessMessage { tenant: tenant.to_owned(), message }).await?.id()?)
}

/// What `kinfolk explain ID` says, in one line.
async fn why(kinfolk: &Kinfolk, task: TaskId) -> Result<String, kinfolk::Error> {
    let explained = kinfolk.explain(task).await?;
    let reasons: Vec<_> = explained.reasons.iter().map(ToString::to_string).collect();
    Ok(format!("task {task} is {}: {}", explained.state, reasons.join("; ")))
}

static DESK: Semaphore = Semaphore::const_new(0);
static WITNESS: Mutex<BTreeMap<String, (usize, usize)>> = Mutex::new(BTreeMap::new());

/// A handler at work: counted while it lives.
struct Inside(String);

impl Inside {
    fn enter(group: &str, key: &str) -> Self {
        let name = format!("{group} {key}");
        let mut witness = WITNESS.lock().unwrap_or_else(PoisonError::into_inner);
        let (now, most) = witness.entry(name.clone()).or_default();
        *now += 1;
        *most = (*most).max(*now);
        Self(name)
    }
}

impl Drop for Inside {
    fn drop(&mut self) {
        let mut witness = WITNESS.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((now, _)) = witness.get_mut(&self.0) {
            *now -= 1;
        }
    }
}

fn most(group: &str, key: &str) -> usize {
    let witness = WITNESS.lock().unwrap_or_else(PoisonError::into_inner);
    witness.get(&format!("{group} {key}")).map_or(0, |(_, most)| *most)
}
