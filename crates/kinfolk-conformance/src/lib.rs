//! What every store promises, as code.
//!
//! - [`contract`]: one named function for each promise; [`contracts!`] makes a test of each.
//! - [`model`]: the engine in memory, simple and slow: the specification.
//! - [`history`]: random histories, played on a store and on the model at once.
//! - [`invariants`]: what must hold after any fault.
//!
//! A store joins by implementing [`TestStore`] and calling [`contracts!`] in a test of its own.

pub mod contract;
mod crowd;
pub mod family;
pub mod flow;
pub mod grouped;
pub mod harness;
pub mod history;
pub mod invariants;
mod list;
pub mod model;
pub mod world;

pub use harness::{START, TestStore};
pub use list::CONTRACTS;
pub use model::Model;
