//! Bringing the schema to the version this program needs: all of it in one transaction, by one migrator at a time.
//!
//! A new database is built from `sql/schema`; an older one is brought along by the numbered migrations it has not seen.
//! Functions, views and rights are replaced as a whole with every step. Nothing is half-written: it is one transaction.

use kinfolk_core::StoreError;
use kinfolk_core::operate::{Migrated, Migration};
use kinfolk_core::store::Answer;

use crate::error::store_error;
use crate::schema::{CODE, DROP_CODE, GRANTS, MIGRATIONS, ROLES, SCHEMA, VERSION};
use crate::store::PgStore;

/// Try-lock of the migrators, in the engine's class of advisory locks.
const LOCK: &str = "select pg_try_advisory_xact_lock(1263160902, 0)";
/// How long a migration waits for a lock that a running worker holds.
const PATIENCE: &str = "set local lock_timeout = '5s'";

impl PgStore {
    pub(crate) async fn run_migrations(&self) -> Answer<Migrated> {
        let mut client = self.raw_client().await?;
        let transaction = client.transaction().await.map_err(|fault| store_error(&fault))?;
        let busy = StoreError::Busy { what: "a migration" };
        let locked: bool = transaction.query_typed_one(LOCK, &[]).await.map_err(|fault| store_error(&fault))?.get(0);
        if !locked {
            return Err(busy);
        }
        let from = {
            let row = transaction
                .query_typed_one("select to_regprocedure('kinfolk.schema_version()') is not null", &[])
                .await
                .map_err(|fault| store_error(&fault))?;
            if row.get(0) {
                let row = transaction.query_typed_one("select kinfolk.schema_version()", &[]).await;
                row.map_err(|fault| store_error(&fault))?.get(0)
            } else {
                0
            }
        };
        if from > VERSION {
            return Err(StoreError::SchemaTooNew { found: from, known: VERSION });
        }
        let steps = steps(from);
        if !steps.is_empty() {
            let sql: Vec<&str> = std::iter::once(PATIENCE).chain(steps.iter().map(|step| step.sql.as_str())).collect();
            transaction.batch_execute(&sql.join(";\n")).await.map_err(|fault| {
                match fault.code().map(|c| c.code()) {
                    Some("55P03" | "40P01") => busy,
                    _ => store_error(&fault),
                }
            })?;
        }
        transaction.commit().await.map_err(|fault| store_error(&fault))?;
        Ok(Migrated { from, to: VERSION })
    }

    pub(crate) async fn steps_to_run(&self) -> Answer<Vec<Migration>> {
        let client = self.raw_client().await?;
        match self.version(client).await?.1 {
            found if found > VERSION => Err(StoreError::SchemaTooNew { found, known: VERSION }),
            found => Ok(steps(found)),
        }
    }
}

/// What brings a database of this version (0: none at all) to the current one.
fn steps(from: i32) -> Vec<Migration> {
    if from == VERSION {
        return Vec::new();
    }
    let mut steps = Vec::new();
    if from == 0 {
        let tables: Vec<&str> = SCHEMA.iter().map(|(_, sql)| *sql).collect();
        let note = note(1..=VERSION);
        steps.push(step(VERSION, "a new schema", &[ROLES, &tables.join("\n"), &note]));
    } else {
        steps.push(step(from, "roles, and the old functions", &[ROLES, DROP_CODE]));
        for &(version, name, sql) in MIGRATIONS.iter().filter(|(version, ..)| *version > from) {
            steps.push(step(version, name, &[sql, &note(version..=version)]));
        }
    }
    let code: Vec<&str> = CODE.iter().map(|(_, sql)| *sql).collect();
    steps.push(step(
        VERSION,
        "functions, views and rights",
        &["set local check_function_bodies = off;\n", &code.join("\n"), GRANTS, "reset role;\n"],
    ));
    steps
}

fn step(version: i32, name: &str, parts: &[&str]) -> Migration {
    Migration { version, name: name.to_owned(), sql: parts.join("\n") }
}

/// Notes migrations as done.
fn note(versions: std::ops::RangeInclusive<i32>) -> String {
    MIGRATIONS
        .iter()
        .filter(|(version, ..)| versions.contains(version))
        .map(|(version, name, _)| {
            format!("insert into kinfolk.migration (version, name) values ({version}, '{name}');\n")
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_numbered_from_one_without_a_gap() {
        let versions: Vec<i32> = MIGRATIONS.iter().map(|(version, ..)| *version).collect();
        assert_eq!(versions, (1..=VERSION).collect::<Vec<_>>());
        assert!(steps(VERSION).is_empty());
    }

    #[test]
    fn every_sql_file_is_applied() {
        let applied: Vec<&str> = SCHEMA.iter().chain(CODE).map(|(path, _)| *path).collect();
        for folder in ["schema", "functions", "views"] {
            for entry in std::fs::read_dir(format!("{}/sql/{folder}", env!("CARGO_MANIFEST_DIR"))).unwrap() {
                let path = format!("{folder}/{}", entry.unwrap().file_name().to_string_lossy());
                assert!(applied.contains(&path.as_str()), "{path} is not in schema.rs");
            }
        }
    }
}
