//! What the writer does, one verb a file. Every verb runs in the writer's transaction.

pub(crate) mod claim;
pub(crate) mod enqueue;
pub(crate) mod operate;
pub(crate) mod prune;
pub(crate) mod recover;
pub(crate) mod register;
pub(crate) mod schedule;
pub(crate) mod settle;
pub(crate) mod worker;
