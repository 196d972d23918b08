//! Handlers in the database, run by a worker.

mod catalogue;
mod codes;
mod cut_off;
mod effects;
mod envelope;
mod families;
mod fan_out;
mod functions;
mod hooks;
mod lab;
mod modules;
mod nulls;
mod office;
mod procedures;
mod site;
mod stories;
mod supervisors;
