//! What the fault tests break things with: worker processes that die at named points, a proxy that loses answers.
//!
//! The tests in `tests/faults/` start real processes (`kinfolk-victim`) and, where it matters, PostgreSQL clusters of
//! their own. After each fault [`sound::assert_sound`] must hold: every invariant of the store, and the tasks that were
//! enqueued are the tasks that were settled; and of families, [`families::assert_whole`],
//! of durable handlers, [`flows::assert_flows`], of tasks with keys, [`with_keys::assert_limits`]. Each test must prove that its fault happened; one that passes without it
//! is a failure.
//!
//! This crate is the only one that switches core's crash points on. It never becomes part of a shipped program.

pub mod bed;
pub mod families;
pub mod flows;
pub mod journal;
pub mod ledger;
pub mod process;
pub mod proxy;
pub mod sound;
pub mod victim;
pub mod with_keys;
