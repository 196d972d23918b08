//! Handlers in the database, run by a worker.

mod cut_off;
mod effects;
mod envelope;
mod families;
mod functions;
mod lab;
mod procedures;
