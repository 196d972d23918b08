//! The PostgreSQL store. The engine is SQL: functions in schema `kinfolk`, kept in files beside this crate; this crate
//! calls them, and turns rows into tasks and SQLSTATEs into errors that say what to do next.
//!
//! A verb is one statement in a transaction of its own (several, for settles that made tasks beside others): a dropped
//! future never leaves a connection of the pool inside a transaction. Nothing is decided here that another client of the same functions would have to decide again.

mod address;
mod call;
mod cancel;
mod connect;
mod connections;
mod dial;
mod durable;
mod error;
mod group_views;
mod in_transaction;
mod inspect;
mod limits;
mod low_water;
mod migrate;
mod numbers;
mod operate;
mod produce;
mod rows;
mod schema;
mod settle;
mod store;
#[cfg(feature = "testing")]
pub mod testing;
mod tls;
mod values;
mod wake;
mod work;

pub use address::without_password;
pub use connect::PgOptions;
pub use connections::{Connections, PooledConnection};
pub use error::store_error;
pub use in_transaction::{enqueue_in, record_in, settle_in, task_in, try_enqueue_in};
pub use limits::limits_sql;
pub use migrate::script;
pub use store::PgStore;
