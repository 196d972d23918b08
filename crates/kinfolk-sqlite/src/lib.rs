//! The embedded store: one SQLite file, no server.
//!
//! [`SqliteStore`] is one writer thread with group commit (`writer`) and a few read connections beside it
//! (`readers`). Every write goes through the writer, each request under a savepoint of its own, so that one that fails
//! does not disturb its neighbours; requests that come while a commit is on its way share the next one. Several
//! processes may share a file: each has its own writer, and SQLite lets one of them write at a time.
//!
//! The verbs are in `verb`, one file each. Code for several verbs is in a folder of its subject (`admission`, `family`, …), and
//! so is code that only reads; the SQL is in `sql`, in folders of the same names. `kinfolk_core::decide` decides the next state after
//! an attempt, never this crate. Only the writer thread ever writes, and a caller never sees
//! SQLite's "busy": it waits its turn, and after [`Options::busy_timeout`] is told `StoreError::Busy`.

mod admission;
mod catalogue;
mod change_number;
mod check;
mod clock;
mod connect;
mod durable;
mod error;
mod explain;
mod family;
mod find;
mod in_transaction;
mod inspect;
mod known_group;
mod limits;
mod locks;
mod migrate;
mod options;
mod over;
mod readers;
mod rows;
mod session;
mod slots;
mod store;
mod turns;
mod verb;
mod wake;
mod watch;
mod writer;

pub use clock::SystemClock;
pub use in_transaction::enqueue_in;
pub use migrate::{file_version, pending_migrations};
pub use options::{Options, Synchronous};
pub use over::{Statements, Value, enqueue_over, store_error};
pub use store::SqliteStore;
