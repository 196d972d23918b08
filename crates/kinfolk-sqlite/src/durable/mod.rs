//! Handlers that are suspended: when what they wait for is there, and having them go on from where something failed.

pub(crate) mod reopen;
pub(crate) mod verdict;
