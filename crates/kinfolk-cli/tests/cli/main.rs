//! The real binary against real stores: what a person types, what comes back, and what is in the store afterwards.

mod support;

mod bad_input;
mod browser;
mod clients;
mod databases;
mod demo;
mod deploy;
mod durable;
mod explain;
mod failures;
mod families;
mod filters;
mod functions;
mod groups;
mod guide;
mod home;
mod http;
mod json;
mod life;
mod output;
mod pages;
mod payments;
mod register;
mod schedules;
mod secrets;
mod signals;
mod statistics;
mod work;
