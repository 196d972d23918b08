//! Tests of the embedded store, in one binary.

mod conformance;
mod contention;
mod durable;
mod families;
mod groups;
mod inspect;
mod open;
mod payloads;
mod plans;
mod processes;
mod support;
mod wakes;
