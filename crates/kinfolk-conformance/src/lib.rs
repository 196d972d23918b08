//! What every store promises, as code.
//!
//! - [`model`]: the engine in memory, simple and slow: the specification.
//! - [`harness`]: what a store must offer to be tested.

pub mod harness;
pub mod model;

pub use harness::{START, TestStore};
pub use model::Model;
