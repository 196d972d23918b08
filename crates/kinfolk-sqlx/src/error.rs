//! From sqlx's errors to the core's. The SQLSTATEs beginning with KF are those that `kinfolk.refuse` raises.

use kinfolk_core::{InputError, StoreError};
use sqlx_core::error::{DatabaseError, Error};
use sqlx_postgres::PgDatabaseError;

pub(crate) fn store_error(fault: Error) -> StoreError {
    let Error::Database(db) = &fault else {
        return match fault {
            Error::Io(_) | Error::Tls(_) | Error::PoolTimedOut | Error::PoolClosed | Error::WorkerCrashed => {
                StoreError::Unavailable { detail: fault.to_string() }
            }
            other => StoreError::Fault { code: "client".to_owned(), detail: other.to_string() },
        };
    };
    let code = db.code().unwrap_or_default().into_owned();
    let detail = db.message().to_owned();
    match code.as_str() {
        "KF001" | "KF006" => StoreError::Input(InputError::Other(detail)),
        "KF009" => rejected(db.as_ref()).unwrap_or(StoreError::Input(InputError::Other(detail))),
        "KF012" => StoreError::NotRecorded { detail },
        "25006" => StoreError::ReadOnly { detail },
        "53100" => StoreError::Full { detail },
        "42501" => {
            let hint = db.try_downcast_ref::<PgDatabaseError>().and_then(PgDatabaseError::hint);
            StoreError::forbidden(&detail, hint)
        }
        "3F000" | "42883" if detail.contains("kinfolk") => {
            StoreError::SchemaMissing { database: "the database".to_owned() }
        }
        "57P01" | "57P02" | "57P03" | "40001" | "40P01" => StoreError::Unavailable { detail },
        _ => StoreError::Fault { code, detail },
    }
}

/// The words of the detail of KF009: the reason, and the missing name.
fn rejected(db: &dyn DatabaseError) -> Option<StoreError> {
    let (why, name) = db.try_downcast_ref::<PgDatabaseError>()?.detail()?.split_once(' ')?;
    crate::rejection(why, name).ok().map(StoreError::Rejected)
}
