//! The grants that a role needs, compared with a database. It reads only the catalogue, and changes nothing.

use kinfolk_core::{InputError, StoreError};
use kinfolk_postgres::{Connections, store_error};
use tokio_postgres::error::SqlState;
use tokio_postgres::types::Type;

const GRANTS: &str = include_str!("../sql/grants.sql");
const KNOWN: &str = "select exists (select from pg_catalog.pg_roles r where r.rolname = $1),
    array(select f.name from unnest($2::text[]) as f(name) where to_regprocedure(f.name || '(jsonb)') is null)";

const AS_NAMED: &str = "name one with one argument, of type jsonb, as schema.name";

/// One statement, and whether what it asks for is so already.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grant {
    /// The statement, without its end.
    pub statement: String,
    /// Whether it would change nothing.
    pub is_so: bool,
}

/// The statements that make a role all of these, and nothing more, for these functions, named as `schema.name`: `worker`, `producer`,
/// `viewer`, `operator`, or `handler`, which is an owner of functions.
pub async fn grants(
    connections: &Connections,
    role: &str,
    kinds: &[&str],
    functions: &[String],
) -> Result<Vec<Grant>, StoreError> {
    let line = connections.line().await?;
    let known = line.client().query_typed_one(KNOWN, &[(&role, Type::TEXT), (&functions, Type::TEXT_ARRAY)]).await;
    let known = known.map_err(|fault| misnamed(&fault).unwrap_or_else(|| store_error(&fault)))?;
    let (is_known, missing): (bool, Vec<String>) = (known.get(0), known.get(1));
    if !is_known {
        return Err(StoreError::not_found("role", format!("{role}; make it with `create role`")));
    }
    if let Some(name) = missing.first() {
        return Err(StoreError::not_found("function", format!("{name}(jsonb); {AS_NAMED}")));
    }
    let asked = [
        (&role as &(dyn tokio_postgres::types::ToSql + Sync), Type::TEXT),
        (&kinds, Type::TEXT_ARRAY),
        (&functions, Type::TEXT_ARRAY),
    ];
    let rows = line.client().query_typed(GRANTS, &asked).await.map_err(|fault| store_error(&fault))?;
    line.give_back();
    Ok(rows.iter().map(|row| Grant { statement: row.get(0), is_so: row.get(1) }).collect())
}

/// The fault of a name that PostgreSQL can't read as that of a function, such as one with its arguments.
fn misnamed(fault: &tokio_postgres::Error) -> Option<StoreError> {
    let unreadable = [SqlState::SYNTAX_ERROR, SqlState::INVALID_NAME, SqlState::INVALID_TEXT_REPRESENTATION];
    let why = format!("a function is named in another way: {AS_NAMED}");
    fault.code().is_some_and(|code| unreadable.contains(code)).then_some(StoreError::Input(InputError::Other(why)))
}
