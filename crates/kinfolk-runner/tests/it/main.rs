//! Handlers in the database, run by a worker.

mod effects;
mod functions;
mod lab;
mod procedures;
