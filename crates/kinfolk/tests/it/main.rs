//! The library on real stores: each test is a sentence about what a user may rely on.

mod cancelling;
mod capacity;
mod committing;
mod crashes;
mod durable;
mod endings;
mod events;
mod examples;
mod families;
mod fan_outs;
mod flaky;
mod handlers;
mod lab;
mod leases;
mod making;
mod orders;
mod postgres;
mod replaying;
mod schedules;
mod serial;
mod statuses;
mod stopping;
mod streams;
mod troubles;
