//! Handlers in the database, run by a worker.

mod effects;
mod families;
mod functions;
mod lab;
mod procedures;
