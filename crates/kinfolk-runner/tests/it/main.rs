//! Handlers in the database, run by a worker.

mod cut_off;
mod effects;
mod envelope;
mod families;
mod functions;
mod hooks;
mod lab;
mod procedures;
mod site;
mod supervisors;
