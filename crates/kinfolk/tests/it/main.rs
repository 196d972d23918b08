//! The library on real stores: each test is a sentence about what a user may rely on.

mod cancelling;
mod capacity;
mod committing;
mod endings;
mod events;
mod examples;
mod flaky;
mod handlers;
mod lab;
mod leases;
mod postgres;
mod schedules;
mod stopping;
mod troubles;
