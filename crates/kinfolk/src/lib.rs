//! Durable tasks on PostgreSQL or an embedded SQLite file.
//!
//! Add this crate, write a [`Task`], open a store by its URL, start a [`Worker`]: the same program runs on a SQLite file
//! today and on PostgreSQL tomorrow.
//!
//! ```no_run
//! use kinfolk::{Kinfolk, Task, TaskError};
//! use serde::{Deserialize, Serialize};
//!
//! #[derive(Serialize, Deserialize, Task)]
//! #[task(command = "greet", output = String)]
//! struct Greet {
//!     name: String,
//! }
//!
//! async fn greet(task: Greet) -> Result<String, TaskError> {
//!     Ok(format!("Hello, {}!", task.name))
//! }
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let kinfolk = Kinfolk::open("sqlite:tasks.db").await?;
//! let worker = kinfolk.worker().handle(greet).start().await?;
//! let id = kinfolk.enqueue_task(&Greet { name: "cousin".into() }).await?.id()?;
//! println!("{}", kinfolk.result::<Greet>(id).await?);
//! worker.stop().await?;
//! # Ok(())
//! # }
//! ```
//!
//! - [`Kinfolk`] enqueues, waits, cancels, retries, and knows how families are doing.
//! - [`Worker`] claims, runs handlers and settles; [`Ctx`] is what a handler knows of its attempt, and how
//!   it spawns children, siblings and follow-ups.
//! - A handler may record steps ([`Ctx::step`]), wait for sub-tasks ([`Ctx::call`], [`Ctx::fan_out`]), for time and for signals;
//!   it is suspended meanwhile, and resumed from what it has recorded. `testing` is a kit to test all that with.
//! - [`Groups`] and [`Keys`] say how many tasks of one tenant, or of whatever else, may run at once and start in a span of
//!   time; [`Kinfolk::explain`] says why a task is not running.
//! - [`TaskError`] and [`Done`] say how an attempt ended.
//! - [`Enqueue::in_tx`] enqueues in a transaction of your own; `Ctx::commit` settles in one, on PostgreSQL.
//! - [`Event`] is the closed list of what the library reports; logs and metrics are made from it.
//!
//! A task is run at least once. Every write of a worker is fenced by the token of its claim, so an attempt that was given
//! to another worker can't be recorded twice; effects of a handler elsewhere should be safe to repeat. On PostgreSQL a
//! handler can settle inside its own transaction, and then its effects happen exactly once.

mod backoff;
mod ctx;
#[doc(hidden)]
pub mod derived;
mod done;
mod draft;
mod durable;
mod enqueue;
pub mod extract;
mod family;
mod handler;
mod in_tx;
mod kinfolk;
mod layer;
mod look;
mod made;
mod observe;
mod open;
#[cfg(feature = "postgres")]
mod postgres;
mod schedule;
mod slow_down;
mod source;
mod status;
mod stop_requests;
mod task;
mod task_error;
#[cfg(feature = "testing")]
pub mod testing;
mod trace;
mod wait;
mod worker;

pub use kinfolk_core as core;
pub use kinfolk_core::filter::Filter;
pub use kinfolk_core::{
    ChildOrder, Command, CommandBuilder, CommandName, Due, Enqueued, Event, Explanation, Failure, FailureKind,
    GroupName, GroupRef, GroupSpec, GroupView, Groups, InputError, Json, KeyFilter, KeyView, Keys, Missed, NewTask,
    OnDuplicate, Overlap, Policy, Progress, Queue, QueueName, Rate, Reason, Rejection, Retention, Retried, Retry,
    RetryPolicy, Run, Schedule as ScheduleView, ScheduleName, Setting, State, Status, StatusName, Store,
    StoreError as Error, Tally, Task as TaskView, TaskId, Timestamp, Unique, UniqueScope, WorkerId,
};

pub use crate::ctx::Ctx;
pub use crate::done::{Done, Ending, IntoDone};
pub use crate::durable::{
    Call, CallError, FanOut, FanOutError, FanOutStream, Random, Replay, ReplayEnd, Results, Sub, SubFailure, SubResult,
};
pub use crate::enqueue::{Enqueue, EnqueueMany};
pub use crate::family::{FollowUp, Make, MakeError};
pub use crate::handler::{Handler, IntoCommand};
pub use crate::in_tx::EnqueueIn;
pub use crate::kinfolk::Kinfolk;
pub use crate::layer::Next;
pub use crate::open::{Address, open};
pub use crate::schedule::Schedule;
pub use crate::source::CommandSource;
pub use crate::stop_requests::StopRequests;
pub use crate::task::Task;
pub use crate::task_error::{HandlerError, IntoTaskError, TaskError};
pub use crate::trace::TraceAs;
pub use crate::wait::ResultError;
pub use crate::worker::{Worker, WorkerBuilder, WorkerHandle};

/// `#[derive(Task)]`.
#[cfg(feature = "derive")]
pub use kinfolk_macros::Task;

#[cfg(feature = "postgres")]
pub use crate::durable::{NewStep, OpenStep};
#[cfg(feature = "postgres")]
pub use crate::postgres::PgTransaction;
/// The PostgreSQL store, for transactions of your own: enqueue in them, settle in them.
#[cfg(feature = "postgres")]
pub use kinfolk_postgres as pg;
/// The embedded store.
#[cfg(feature = "sqlite")]
pub use kinfolk_sqlite as sqlite;
