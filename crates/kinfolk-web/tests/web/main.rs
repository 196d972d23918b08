//! The HTTP API and its access rules, on both stores.

mod access;
mod bad_input;
mod burden;
mod documented;
mod lab;
mod live;
mod routes;
