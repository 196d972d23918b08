//! Which tasks a filter finds, and where it looks for them.

pub(crate) mod candidates;
pub(crate) mod list;
