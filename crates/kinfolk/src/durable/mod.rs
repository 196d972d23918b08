//! Durable handlers: operations whose answers are recorded, and waits that cost no worker.
//!
//! Every operation is a named checkpoint. A handler that waits is dropped, its task is suspended with all that it has made
//! and recorded, in one transaction, and when what it waits for has come, the handler runs from the top; each operation
//! finds its own record and answers as before. Nothing here holds state across attempts: that is all in the store.
//!
//! An operation fails by a [`crate::TaskError`]: what can't be done at all and code that has changed under its history
//! are never retried; a store that can't answer is asked again until the attempt ends.

pub(crate) mod book;
mod call;
mod fan_out;
pub(crate) mod key;
pub(crate) mod op;
#[cfg(feature = "postgres")]
mod open_step;
mod progress;
mod replay;
mod results;
mod signal;
mod step;
mod stream;
mod sub;
mod time;

pub use self::call::Call;
pub use self::fan_out::FanOut;
#[cfg(feature = "postgres")]
pub use self::open_step::{NewStep, OpenStep};
pub use self::replay::{Replay, ReplayEnd};
pub use self::results::{CallError, FanOutError, Results, SubFailure, SubResult};
pub use self::stream::FanOutStream;
pub use self::sub::Sub;
pub use self::time::Random;
