//! Typed tasks: what is derived, what handlers ask for by their arguments, and what their errors mean.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use kinfolk::extract::{FromAttempt, Given, State};
use kinfolk::{
    Command, Ctx, Done, Enqueued, FailureKind, GroupSpec, HandlerError, InputError, Keys, OnDuplicate, Rate, Retry,
    State as TaskState, Task, TaskError, Unique, UniqueScope,
};
use serde::{Deserialize, Serialize};

use crate::lab::{Lab, on_both_stores, within};

on_both_stores!(
    a_handler_asks_for_what_it_needs_in_any_order,
    an_error_type_says_whether_and_when_a_task_is_tried_again,
    a_derived_task_brings_its_command_and_its_keys,
);

#[derive(Clone)]
struct Ledger(Arc<AtomicU32>);

#[derive(Clone, Copy)]
struct Rebate(u32);

/// The tenant of a task, by its key.
struct Tenant(String);

impl FromAttempt for Tenant {
    fn check(given: &Given) -> Result<(), InputError> {
        State::<Rebate>::check(given)
    }

    async fn from_attempt(ctx: &Ctx) -> Result<Self, TaskError> {
        tokio::task::yield_now().await;
        ctx.key("tenant").map(|key| Self(key.to_owned())).ok_or_else(|| TaskError::validation("whose is it?"))
    }
}

#[derive(Serialize, Deserialize, Task)]
#[task(command = "bill", output = String, queue = "bills", priority = -5, attempts = 4, backoff = "2s..10m")]
#[task(timeout = "30s", groups(tenant = 20, provider(limit = 3, rate = "10/s", burst = 20, shared, hold)))]
#[task(unique(scope = "active", on_duplicate = "replace"))]
struct Bill {
    #[task(unique)]
    number: u32,
    #[task(key, unique)]
    tenant: String,
    #[task(key = "provider")]
    through: Option<String>,
}

fn bill_of(number: u32, tenant: &str) -> Bill {
    Bill { number, tenant: tenant.to_owned(), through: None }
}

async fn bill(State(ledger): State<Ledger>, ctx: Ctx, task: Bill, of: Tenant, rebate: State<Rebate>) -> Answer<String> {
    let sum = ledger.0.fetch_add(task.number - rebate.0.0, Ordering::SeqCst);
    Ok(format!("{} {} {sum} at attempt {}", of.0, task.tenant, ctx.attempt()))
}

type Answer<T> = Result<T, TaskError>;

async fn a_handler_asks_for_what_it_needs_in_any_order(lab: &Lab) {
    let ledger = Ledger(Arc::default());
    let worker = lab.worker().handle(bill).state(Rebate(1)).state(ledger.clone()).start().await.unwrap();
    let id = lab.kinfolk.enqueue_task(&bill_of(7, "acme")).await.unwrap().id().unwrap();
    assert_eq!(within(lab.kinfolk.result::<Bill>(id)).await.unwrap(), "acme acme 0 at attempt 1");
    assert_eq!(ledger.0.load(Ordering::SeqCst), 6);
    worker.stop().await.unwrap();
    lab.check().await;
}

#[tokio::test]
async fn a_state_that_nobody_gave_is_told_at_the_start() {
    let lab = Lab::new().await;
    let told = lab.worker().handle(bill).state(Rebate(1)).start().await.unwrap_err().to_string();
    assert!(told.contains("the handler of command bill") && told.contains("typed::Ledger"), "{told}");
    let told = lab.worker().handle(bill).state(Ledger(Arc::default())).start().await.unwrap_err().to_string();
    assert!(told.contains("typed::Rebate"), "what an argument of one's own needs is asked for too: {told}");
    let told = lab.worker().state(Rebate(1)).state(Rebate(2)).start().await.unwrap_err().to_string();
    assert!(told.contains("two states") && told.contains("Rebate"), "{told}");
}

#[derive(Debug, thiserror::Error)]
enum AppError {
    #[error("account closed")]
    Closed,
    #[error("429")]
    Busy,
    #[error("could not write")]
    Write(#[from] std::io::Error),
    #[error(transparent)]
    Task(#[from] TaskError),
}

impl HandlerError for AppError {
    fn retry(&self) -> Retry {
        match self {
            Self::Closed => Retry::Never,
            Self::Busy => Retry::After(Duration::from_secs(3600)),
            Self::Write(_) | Self::Task(_) => Retry::Policy,
        }
    }
}

#[derive(Serialize, Deserialize, Task)]
#[task(command = "send", attempts = 2, backoff = "1ms..1ms")]
struct Send(String);

async fn send(task: Send, ctx: Ctx) -> Result<Done<()>, AppError> {
    match task.0.as_str() {
        "closed" => Err(AppError::Closed),
        "busy" => Err(AppError::Busy),
        "refused" => Err(TaskError::validation("no such customer"))?,
        "step" => Ok(Done::value(ctx.step("nothing", async { Ok(()) }).await?)),
        _ => Err(std::io::Error::other("disk full"))?,
    }
}

async fn an_error_type_says_whether_and_when_a_task_is_tried_again(lab: &Lab) {
    let worker = lab.worker().handle(send).start().await.unwrap();
    let enqueue = |what: &str| {
        let task = Send(what.to_owned());
        async move { lab.kinfolk.enqueue_task(&task).await.unwrap().id().unwrap() }
    };
    let closed = lab.ended(enqueue("closed").await).await;
    assert_eq!((closed.state, closed.attempt), (TaskState::Failed, 1));
    let refused = lab.ended(enqueue("refused").await).await;
    assert_eq!((refused.attempt, refused.failure.unwrap().kind), (1, FailureKind::Validation));
    let written = lab.ended(enqueue("write").await).await;
    assert_eq!((written.state, written.attempt), (TaskState::Failed, 2), "by policy");
    assert_eq!(written.failure.unwrap().message, "could not write: disk full");
    let busy = enqueue("busy").await;
    let busy = lab.task_that(busy, |task| task.attempt == 1 && task.state == TaskState::Pending).await;
    assert!(busy.due.since(busy.created_at) > Duration::from_secs(3000), "{busy:?}");
    assert_eq!(lab.ended(enqueue("step").await).await.state, TaskState::Completed);
    worker.stop().await.unwrap();
    lab.check().await;
}

async fn a_derived_task_brings_its_command_and_its_keys(lab: &Lab) {
    lab.kinfolk.register_task::<Bill>().await.unwrap();
    let provider = GroupSpec::limit(3).and_rate(Rate::per_second(10).burst(20)).shared().hold();
    let by_hand = Command::named("bill").queue("bills").priority(-5).attempts(4).timeout(Duration::from_secs(30));
    let by_hand = by_hand.backoff(Duration::from_secs(2), Duration::from_secs(600)).group("tenant", 20);
    let by_hand = by_hand.group("provider", provider).build().unwrap();
    assert_eq!(Bill::command().build().unwrap(), by_hand);
    assert_eq!(lab.store.commands().await.unwrap(), [by_hand]);

    let unique = Unique::key("7/acme").scope(UniqueScope::Active).on_duplicate(OnDuplicate::Replace);
    assert_eq!(bill_of(7, "acme").unique(), Some(unique));
    let first = lab.kinfolk.enqueue_task(&bill_of(7, "acme")).await.unwrap().id().unwrap();
    let through = Some("post".to_owned());
    let again = lab.kinfolk.enqueue_task(&Bill { through, ..bill_of(7, "acme") }).await.unwrap();
    assert_eq!(again, Enqueued::Merged(first));
    assert_eq!(lab.task(first).await.keys, Keys::of([("tenant", "acme")]).unwrap());
    let through = Bill { through: Some("post".to_owned()), ..bill_of(8, "acme") };
    assert_eq!(through.keys().unwrap(), Keys::of([("tenant", "acme"), ("provider", "post")]).unwrap());
}
