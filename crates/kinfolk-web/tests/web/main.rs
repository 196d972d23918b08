//! The HTTP API and its access rules, on both stores.

mod access;
mod bad_input;
mod bulk;
mod documented;
mod graphs;
mod hostile;
mod lab;
mod live;
mod pages;
mod routes;
mod told;
