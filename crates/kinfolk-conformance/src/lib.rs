//! What every store promises, as code.
//!
//! - [`model`]: the engine in memory, simple and slow: the specification.
//! - [`harness`]: what a store must offer to be tested.
//! - [`history`]: random histories, played on a store and on the model at once.

pub mod harness;
pub mod history;
pub mod model;

pub use harness::{START, TestStore};
pub use model::Model;
