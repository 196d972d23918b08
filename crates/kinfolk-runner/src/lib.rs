//! Runs commands whose handlers are functions and procedures in PostgreSQL: a worker needs no code of its own for them.
//!
//! ```no_run
//! # async fn example(url: &str) -> Result<(), kinfolk::Error> {
//! use kinfolk::Kinfolk;
//! use kinfolk_runner::SqlCommands;
//!
//! let commands = SqlCommands::open(url, 16)?;
//! let worker = Kinfolk::open(url).await?.worker().queue("analytics", 4).commands_from(commands).start().await?;
//! worker.run_until_signal().await
//! # }
//! ```
//!
//! A function runs in one transaction with the settle of its task: what it did and that it is done are one. A procedure
//! may commit as it goes, and is run at least once. The code runs with the rights of the role that the worker logs in
//! as. Handlers have a pool of connections of their own, so that a long one never keeps the worker from its lease.
//!
//! The built-in commands `email`, `sms` and `http` hand a message to a provider, between two transactions that call the functions
//! which their payload names.
//!
//! It never looks into a payload, never builds SQL from one, and decides nothing about a task: the functions of schema
//! `kinfolk` do.

mod commands;
mod fault;
mod grants;
mod module;
mod run;
mod send;

pub use commands::{SqlCommands, can_run};
pub use grants::{Grant, grants};
pub use kinfolk_providers::{Config as ProviderConfig, Providers};
pub use module::{MODULES, Module, new_module};
