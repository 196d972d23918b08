//! Durable handlers: the records of a handler, its waits, and the decision over a fan-out that it awaits.
//!
//! A handler that waits is suspended: its task goes to `waiting`, its worker is free, and when what it waits for has come,
//! the task is claimed again and its handler runs from the top. Every durable operation finds its own record by [`Key`] and
//! answers as it did before; nothing is done twice. Nothing here does I/O.
//!
//! A handler ends a stretch of work with a [`Suspend`], finds its [`Checkpoint`]s in a [`History`], and hears of a fan-out
//! what its [`Rule`] decides.

mod checkpoint;
mod history;
mod report;
mod rule;
mod signal;
mod suspend;
pub mod vectors;

pub use self::checkpoint::{Checkpoint, Key, Record, Recorded, StepKind};
pub use self::history::{ChildResult, FanOut, History, ReadBy, Siblings};
pub use self::report::Report;
pub use self::rule::{Rule, Verdict};
pub use self::signal::{Signalled, TakenSignal};
pub use self::suspend::{Await, NewFanOut, Suspend};
