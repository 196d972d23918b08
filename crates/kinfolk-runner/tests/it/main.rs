//! Handlers in the database, run by a worker.

mod cut_off;
mod effects;
mod families;
mod functions;
mod lab;
mod procedures;
