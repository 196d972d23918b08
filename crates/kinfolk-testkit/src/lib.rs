//! Throw-away servers for tests: a private PostgreSQL cluster, a pgbouncer in front of one, a browser, and servers for mail and HTTP that
//! fail as they are told.
//!
//! Used by `cargo xtask test`, which hands one cluster to the whole test run, and by the fault tests, which break
//! clusters of their own. Nothing here touches a server that it did not start: every server has its own folder in
//! the system's temporary directory and its own free port of the loopback interface, and is stopped and removed when
//! its value is dropped. What a killed process left behind is removed by [`sweep`] in the next run.
//!
//! This crate never depends on another crate of the workspace, and is never part of a shipped program.

mod axe;
mod bouncer;
mod browser;
mod clients;
mod cluster;
mod folder;
mod http_site;
mod mail_site;
mod small_disk;
mod tools;

pub use axe::{axe, fetch_axe};
pub use bouncer::Bouncer;
pub use browser::{Browser, Setup};
pub use clients::{fetch_node_modules, fetch_python, node_modules, python};
pub use cluster::{Cluster, Stop};
pub use folder::sweep;
pub use http_site::{Asked, HttpSite, Reply};
pub use mail_site::{Mail, MailSite, message_id};
pub use tools::{Tools, is_root, signal};
