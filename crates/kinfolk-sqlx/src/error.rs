//! From sqlx's errors to errors that say what to do next.

use kinfolk_core::limits::PAYLOAD_BYTES_MAX;
use kinfolk_core::{InputError, StoreError};
use sqlx_postgres::PgDatabaseError;

pub(crate) fn store_error(fault: &sqlx_core::Error) -> StoreError {
    match fault {
        sqlx_core::Error::Database(fault) => match fault.try_downcast_ref::<PgDatabaseError>() {
            Some(fault) => from_server(fault),
            None => StoreError::Fault { code: "sqlx".to_owned(), detail: fault.to_string() },
        },
        sqlx_core::Error::Io(_) | sqlx_core::Error::Tls(_) | sqlx_core::Error::WorkerCrashed => {
            StoreError::Unavailable { detail: fault.to_string() }
        }
        other => StoreError::Fault { code: "sqlx".to_owned(), detail: other.to_string() },
    }
}

fn from_server(fault: &PgDatabaseError) -> StoreError {
    let detail = fault.message().to_owned();
    match fault.code() {
        "KF001" => {
            let advice = fault.hint().map(|hint| format!("; {hint}")).unwrap_or_default();
            StoreError::Input(InputError::Other(format!("{detail}{advice}")))
        }
        "KF006" => {
            let bytes = fault.detail().and_then(|bytes| bytes.parse().ok()).unwrap_or_default();
            StoreError::Input(InputError::TooLarge { what: "payload", bytes, max: PAYLOAD_BYTES_MAX })
        }
        "25006" => StoreError::ReadOnly { detail },
        "42501" => StoreError::Forbidden { detail },
        "53100" | "53200" | "53400" => StoreError::Full { detail },
        "3F000" | "42P01" | "42883" => StoreError::SchemaMissing { database: "the database".to_owned() },
        code if code.starts_with("08") || code.starts_with("57P") => StoreError::Unavailable { detail },
        code => StoreError::Fault { code: code.to_owned(), detail },
    }
}
