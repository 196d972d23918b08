//! What the writer does, one verb a file. Every verb runs in the writer's transaction.

pub(crate) mod admit;
pub(crate) mod cancel;
pub(crate) mod claim;
pub(crate) mod ended;
pub(crate) mod enqueue;
pub(crate) mod family;
pub(crate) mod follow_up;
pub(crate) mod line;
pub(crate) mod make;
pub(crate) mod prune;
pub(crate) mod queue;
pub(crate) mod record;
pub(crate) mod recover;
pub(crate) mod register;
pub(crate) mod retry;
pub(crate) mod retry_family;
pub(crate) mod schedule;
pub(crate) mod settle;
pub(crate) mod status;
pub(crate) mod suspend;
pub(crate) mod sweep;
pub(crate) mod verdict;
pub(crate) mod whereabouts;
pub(crate) mod worker;
