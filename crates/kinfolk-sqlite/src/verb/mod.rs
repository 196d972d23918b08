//! The verbs of the writer, one a file; the folders beside this one have the code that they share. Every verb runs in the writer's transaction.

pub(crate) mod acquit;
pub(crate) mod audit;
pub(crate) mod bulk;
pub(crate) mod cancel;
pub(crate) mod claim;
pub(crate) mod enqueue;
pub(crate) mod errors;
pub(crate) mod expire;
pub(crate) mod group;
pub(crate) mod minute;
pub(crate) mod prune;
pub(crate) mod queue;
pub(crate) mod record;
pub(crate) mod recover;
pub(crate) mod register;
pub(crate) mod report;
pub(crate) mod retry;
pub(crate) mod retry_family;
pub(crate) mod schedule;
pub(crate) mod settle;
pub(crate) mod signal;
pub(crate) mod status;
pub(crate) mod suspend;
pub(crate) mod sweep;
pub(crate) mod worker;
