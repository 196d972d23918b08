//! The reading calls. Every look sees one moment of the file and writes nothing.

pub(crate) mod activity;
pub(crate) mod durable;
pub(crate) mod failures;
pub(crate) mod family;
pub(crate) mod groups;
pub(crate) mod held;
pub(crate) mod stats;
pub(crate) mod tasks;
