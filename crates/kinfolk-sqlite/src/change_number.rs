//! Whether anything may have been committed since the last question: SQLite's own count of the commits of other connections,
//! read on a connection that is kept for that alone.

use std::sync::{Mutex, PoisonError};

use rusqlite::Connection;

use crate::connect;
use crate::error::Result;
use crate::store::Shared;

/// The connection, from the first question on, and how often it was opened.
#[derive(Default)]
pub(crate) struct ChangeNumber(Mutex<(u32, Option<Connection>)>);

impl ChangeNumber {
    /// A number that differs from the one before if anything was committed since.
    pub(crate) fn read(&self, shared: &Shared) -> Result<u64> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (opened, conn) = &mut *kept;
        let open = match conn {
            Some(open) => open,
            None => {
                *opened = opened.wrapping_add(1);
                conn.insert(connect::reader(&shared.path, &shared.options)?)
            }
        };
        let version: Result<u32> =
            (|| Ok(open.prepare_cached("pragma data_version")?.query_row((), |row| row.get(0))?))();
        // The count begins anew with every connection.
        let number = version.map(|version| u64::from(*opened) << 32 | u64::from(version));
        if number.is_err() {
            *conn = None;
        }
        number
    }
}
