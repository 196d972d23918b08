//! The contracts: one function for each promise of a store, grouped by verb.
//!
//! Each gets a [`World`](crate::world::World) of its own and panics when the promise is broken. Which contracts there are
//! is written down once, in [`every_contract!`](crate::every_contract); a test holds that list and these files together.

pub mod cancel;
pub mod cancel_durable;
pub mod cancel_family;
pub mod child_limit;
pub mod claim;
pub mod concurrency;
pub mod enqueue;
pub mod expire;
pub mod family_races;
pub mod fan_out;
pub mod follow_up;
pub mod history;
pub mod in_order;
pub mod input;
pub mod inspect;
pub mod join;
pub mod lease;
pub mod migrate;
pub mod progress;
pub mod prune;
pub mod prune_durable;
pub mod prune_family;
pub mod queue;
pub mod record;
pub mod recover_durable;
pub mod repeat;
pub mod report;
pub mod results;
pub mod resume;
pub mod retry;
pub mod retry_durable;
pub mod retry_family;
pub mod retry_policy;
pub mod schedule;
pub mod serial;
pub mod settle;
pub mod sibling;
pub mod signal;
pub mod spawn;
pub mod status;
pub mod suspend;
pub mod unique;
pub mod vectors;
pub mod verdict;
