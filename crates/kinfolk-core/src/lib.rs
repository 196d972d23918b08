//! The words for tasks, and every decision that needs no I/O.
//!
//! The stores (`kinfolk-postgres`, `kinfolk-sqlite`), the library (`kinfolk`) and the command line
//! all speak the words defined here. This crate never opens a file or a socket, never reads a clock
//! and never draws a random number: time and identity are handed in.
//!
//! Start at [`store`] for the seam between the engine and a database, at [`state`] for the life of a
//! task, and at [`decide`] for what follows from the end of an attempt.

pub mod admit;
pub mod audit;
pub mod cause;
pub mod claim;
pub mod command;
pub mod command_builder;
pub mod crash;
pub mod decide;
pub mod durable;
pub mod enqueue;
pub mod error;
pub mod error_log;
pub mod event;
pub mod explain;
pub mod family;
pub mod filter;
pub mod forward;
pub mod group;
pub mod held;
pub mod ids;
pub mod inspect;
pub mod json;
pub mod label;
pub mod limits;
pub mod minute;
pub mod name;
pub mod operate;
pub mod queue;
pub mod retry;
pub mod schedule;
pub mod settle;
pub mod state;
pub mod store;
pub mod task;
pub mod text;
pub mod time;
pub mod unique;
pub mod worker;

pub use claim::{Claim, Claimed, ClaimedTask};
pub use command::{Command, SqlHandler};
pub use command_builder::CommandBuilder;
pub use durable::{
    Await, Checkpoint, ChildResult, FanOut, History, Key, NewFanOut, ReadBy, Record, Recorded, Report, Rule, Signalled,
    StepKind, Suspend, TakenSignal, Verdict,
};
pub use enqueue::{Due, Enqueued, NewTask, Rejection};
pub use error::{Advice, InputError, StoreError};
pub use event::Event;
pub use explain::{Explanation, Reason};
pub use family::{ChildOrder, FollowUp, Made, Progress, Retried, Status, Tally, When};
pub use group::{GroupRef, GroupSpec, GroupView, Groups, KeyFilter, KeyView, Keys, Rate, Setting};
pub use ids::{FanOutId, TaskId, Token, WorkerId};
pub use json::Json;
pub use label::LabelPath;
pub use name::{CommandName, GroupName, QueueName, ScheduleName, SignalName, StatusName};
pub use queue::{Policy, Queue, Retention};
pub use retry::RetryPolicy;
pub use schedule::{Missed, Overlap, Schedule};
pub use settle::{Failure, FailureKind, Outcome, Retry, Settle, Settled};
pub use state::{Gate, State};
pub use store::{Inspect, Operate, Produce, Store, Wake, WakeSource, Work};
pub use task::{Attempt, Run, Task, WaitedFor};
pub use time::{Clock, Timestamp};
pub use unique::{OnDuplicate, Unique, UniqueScope};
pub use worker::{Heartbeat, Recovered, WorkerSpec};
