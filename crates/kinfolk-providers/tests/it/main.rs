//! Providers against real servers on this machine.

mod http;
mod mail;
mod server;
