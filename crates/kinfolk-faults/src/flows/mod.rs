//! Durable handlers under fire: random workflows, what their handlers write down, and what must hold of both.
//!
//! A [`Flow`] is a whole workflow, written down in the payload of its root; the handler of [`FLOW`] plays it. Every step
//! body that is entered and every answer that an operation gives is noted in a file that all processes append to, so that
//! [`judge`] can compare what handlers saw, in each of their runs, with what the store says. Nothing here trusts the
//! counts that a store keeps.

pub mod judge;
pub mod notes;
mod plan;
mod play;

pub use judge::{assert_flows, wait_over};
pub use plan::{FLOW, Flow, GO, Op, PAD, signal_value};
pub(crate) use play::{act, pad};
