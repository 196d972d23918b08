//! Bringing the schema to the version this program needs: all of it in one transaction, by one migrator at a time.
//!
//! A new database is built from `sql/schema`; an older one is brought along by the numbered migrations it has not seen.
//! Functions, views and rights are replaced as a whole with every step. Nothing is half-written: it is one transaction.

use std::collections::BTreeMap;

use kinfolk_core::StoreError;
use kinfolk_core::operate::{Migrated, Migration};
use kinfolk_core::store::Answer;
use tokio_postgres::types::Type;
use tokio_postgres::{Client, GenericClient, Transaction};

use crate::error::store_error;
use crate::schema::{DROP_CODE, GRANTS, LACKING, MIGRATIONS, ROLES, SCHEMA, code};
use crate::store::{PgStore, begin};

/// Try-lock of the migrators, in the engine's class of advisory locks.
const LOCK: &str = "select pg_try_advisory_xact_lock(1263160902, 0)";
/// The same for a script, which can't go on with anything else.
const WAIT_LOCK: &str = "do $$ begin perform pg_catalog.pg_advisory_xact_lock(1263160902, 0); end $$";
/// How long a migration waits for a lock that a running worker holds.
const PATIENCE: &str = "set local lock_timeout = '5s'";
/// The owner of a schema of our name, if it is not ours. Every role may read the catalogue.
const FOREIGN: &str = "select current_database()::text, n.nspowner::regrole::text from pg_catalog.pg_namespace n \
     where n.nspname = 'kinfolk' and n.nspowner::regrole::text <> 'kinfolk_owner'";
/// The error of a migration that waited for longer.
const LOCKED: &str =
    "work on the tables of schema kinfolk, in a transaction that has locked them (see pg_stat_activity),";

/// How a new schema is built, and how an older one is brought along. Tests add a step of their own to the shipped one.
pub(crate) struct History {
    /// The SQL of the tables, as they are now.
    pub(crate) tables: Vec<&'static str>,
    /// Names and SQL of the steps; the first is version 1.
    pub(crate) steps: Vec<(&'static str, &'static str)>,
}

/// How a schema was found.
struct Found {
    version: i32,
    /// Its tables are whole, but functions or views are missing.
    lacks_code: bool,
}

impl PgStore {
    pub(crate) async fn run_migrations(&self) -> Answer<Migrated> {
        let mut client = self.raw_client().await?;
        let start = async {
            let transaction = begin(&mut client).await?;
            let found = if lock(&transaction).await? { Some(self.history.find(&transaction).await?) } else { None };
            Ok((transaction, found))
        };
        // The steps themselves take as long as they take.
        let silent =
            || StoreError::Unavailable { detail: format!("no answer within {:?}", self.options.answer_timeout) };
        let started = tokio::time::timeout(self.options.answer_timeout, start).await;
        let (transaction, found) = started.unwrap_or_else(|_| Err(silent()))?;
        let Some(found) = found else { return Err(StoreError::Busy { what: "a migration" }) };
        let steps = self.history.steps_from(&found);
        if !steps.is_empty() {
            let sql: Vec<&str> = std::iter::once(PATIENCE).chain(steps.iter().map(|step| step.sql.as_str())).collect();
            transaction.batch_execute(&sql.join(";\n")).await.map_err(|fault| {
                match fault.code().map(|c| c.code()) {
                    Some("55P03" | "40P01") => StoreError::Busy { what: LOCKED },
                    _ => store_error(&fault),
                }
            })?;
        }
        transaction.commit().await.map_err(|fault| store_error(&fault))?;
        Ok(Migrated { from: found.version, to: self.history.version() })
    }

    pub(crate) async fn steps_to_run(&self) -> Answer<Vec<Migration>> {
        let client = self.raw_client().await?;
        match tokio::time::timeout(self.options.answer_timeout, self.history.find::<Client>(&client)).await {
            Ok(found) => Ok(self.history.steps_from(&found?)),
            Err(_) => Err(self.given_up(client)),
        }
    }
}

impl History {
    /// The one that users get.
    pub(crate) fn shipped() -> Self {
        Self { tables: SCHEMA.iter().map(|(_, sql)| *sql).collect(), steps: MIGRATIONS.to_vec() }
    }

    /// The version of the schema that this program works with.
    pub(crate) fn version(&self) -> i32 {
        i32::try_from(self.steps.len()).unwrap_or(i32::MAX)
    }

    /// Looks at the schema. One that this program can do nothing with is an error.
    async fn find<C: GenericClient>(&self, client: &C) -> Answer<Found> {
        let is_there = "select to_regprocedure('kinfolk.schema_version()') is not null";
        if !one::<C, bool>(client, is_there).await? {
            let is_begun = "select to_regclass('kinfolk.migration') is not null";
            if one::<C, bool>(client, is_begun).await? {
                return Err(half_made("function kinfolk.schema_version is missing"));
            }
            refuse_foreign(client).await?;
            return Ok(Found { version: 0, lacks_code: false });
        }
        let (version, known) = (one::<C, i32>(client, "select kinfolk.schema_version()").await?, self.version());
        if version > known {
            return Err(StoreError::SchemaTooNew { found: version, known });
        }
        if version < 1 {
            return Err(half_made("table kinfolk.migration names no version"));
        }
        // This program does not know the parts of an older one.
        let lacks_code = version == known && lacks_code(client).await?;
        Ok(Found { version, lacks_code })
    }

    /// The steps that bring a schema from its present state to this version.
    fn steps_from(&self, found: &Found) -> Vec<Migration> {
        let (from, to) = (found.version, self.version());
        if from == to && !found.lacks_code {
            return Vec::new();
        }
        let mut steps = Vec::new();
        if from == 0 {
            let notes: String = self.after(0).map(|(version, name, _)| note(version, name)).collect();
            steps.push(step(to, "a new schema", &[ROLES, &self.tables.join("\n"), &notes]));
        } else {
            steps.push(step(from, "roles, and the old functions", &[ROLES, DROP_CODE]));
            steps
                .extend(self.after(from).map(|(version, name, sql)| step(version, name, &[sql, &note(version, name)])));
        }
        let code: Vec<&str> = code().map(|(_, sql)| sql).collect();
        steps.push(step(
            to,
            "functions, views and rights",
            &["set local check_function_bodies = off;\n", &code.join("\n"), GRANTS, "reset role;\n"],
        ));
        steps
    }

    /// Versions, names and SQL of the steps that a schema of this version has not seen.
    fn after(&self, from: i32) -> impl Iterator<Item = (i32, &'static str, &'static str)> {
        let numbered = (1..).zip(&self.steps).map(|(version, &(name, sql))| (version, name, sql));
        numbered.filter(move |(version, ..)| *version > from)
    }
}

/// Notes a step as done.
fn note(version: i32, name: &str) -> String {
    format!("insert into kinfolk.migration (version, name) values ({version}, '{name}');\n")
}

/// The steps as one script for psql: all of it is done, or nothing.
pub fn script(steps: &[Migration]) -> String {
    let header = |step: &Migration| format!("-- migration {}: {}\n{}", step.version, step.name, step.sql.trim_end());
    let steps: Vec<String> = steps.iter().map(header).collect();
    format!("begin isolation level read committed;\n{PATIENCE};\n{WAIT_LOCK};\n\n{}\n\ncommit;\n", steps.join("\n\n"))
}

async fn lock(transaction: &Transaction<'_>) -> Answer<bool> {
    let locked = transaction.query_typed_one(LOCK, &[]).await;
    Ok(locked.map_err(|fault| store_error(&fault))?.get(0))
}

/// Refuses a schema of our name that another role has made. The owner of a schema may put functions into it, which
/// would run with our rights.
pub(crate) async fn refuse_foreign<C: GenericClient>(client: &C) -> Answer<()> {
    let rows = client.query_typed(FOREIGN, &[]).await.map_err(|fault| store_error(&fault))?;
    let Some(row) = rows.first() else { return Ok(()) };
    let (database, owner): (&str, &str) = (row.get(0), row.get(1));
    Err(StoreError::Foreign {
        database: format!("the schema kinfolk of database {database}"),
        detail: format!("it belongs to {owner}, not to kinfolk_owner; ask who made it, and for what"),
    })
}

async fn one<C: GenericClient, T: for<'a> tokio_postgres::types::FromSql<'a>>(client: &C, sql: &str) -> Answer<T> {
    let rows = client.query_typed(sql, &[]).await.map_err(|fault| store_error(&fault))?;
    rows.first().map(|row| row.get(0)).ok_or_else(|| half_made("no answer"))
}

/// Whether routines or views of this version are missing, which can be made anew. Tables can't.
async fn lacks_code<C: GenericClient>(client: &C) -> Answer<bool> {
    let needed = needed();
    let (kinds, names): (Vec<&str>, Vec<&str>) = needed.keys().copied().unzip();
    let many: Vec<i32> = needed.values().copied().collect();
    let rows = client
        .query_typed(LACKING, &[(&kinds, Type::TEXT_ARRAY), (&names, Type::TEXT_ARRAY), (&many, Type::INT4_ARRAY)])
        .await
        .map_err(|fault| store_error(&fault))?;
    let lacking: Vec<(&str, &str)> = rows.iter().map(|row| (row.get(0), row.get(1))).collect();
    let code = made_by(code());
    match lacking.iter().find(|what| !code.contains_key(*what)) {
        Some((kind, name)) => {
            Err(half_made(&format!("{kind} kinfolk.{name} is missing, or does not belong to kinfolk_owner")))
        }
        None => Ok(!lacking.is_empty()),
    }
}

fn half_made(detail: &str) -> StoreError {
    StoreError::SchemaBroken { detail: detail.to_owned() }
}

/// Kinds and names of what a schema of this version consists of, and how often each is there.
fn needed() -> BTreeMap<(&'static str, &'static str), i32> {
    let mut needed = made_by(SCHEMA.iter().copied());
    needed.extend(made_by(code()));
    needed
}

fn made_by(files: impl Iterator<Item = (&'static str, &'static str)>) -> BTreeMap<(&'static str, &'static str), i32> {
    let mut made = BTreeMap::new();
    for line in files.flat_map(|(_, sql)| sql.lines()) {
        let Some(rest) = line.strip_prefix("create ") else { continue };
        let rest = rest.strip_prefix("or replace ").unwrap_or(rest);
        let Some((kind, name)) = rest.split_once(" kinfolk.") else { continue };
        let kind = match kind {
            "function" | "procedure" => "routine",
            "table" | "view" | "sequence" => "relation",
            "type" => "type",
            _ => continue,
        };
        let end = name.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(name.len());
        *made.entry((kind, &name[..end])).or_insert(0) += 1;
    }
    made
}

fn step(version: i32, name: &str, parts: &[&str]) -> Migration {
    Migration { version, name: name.to_owned(), sql: parts.join("\n") }
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use super::*;

    #[test]
    fn the_first_version_is_the_schema_and_needs_no_step() {
        let shipped = History::shipped();
        assert_eq!(shipped.version(), 1);
        assert!(shipped.steps_from(&Found { version: 1, lacks_code: false }).is_empty());
        let new = shipped.steps_from(&Found { version: 0, lacks_code: false });
        assert_eq!(new.iter().map(|step| step.version).collect::<Vec<_>>(), [1, 1]);
    }

    #[test]
    fn what_must_be_there_is_read_from_the_files() {
        let needed = needed();
        for (kind, name) in [("relation", "task"), ("relation", "tasks"), ("type", "state"), ("routine", "claim")] {
            assert!(needed.contains_key(&(kind, name)), "{kind} {name}");
        }
        assert!(needed.len() > 200, "{}", needed.len());
    }

    #[test]
    fn every_sql_file_is_applied() {
        let applied: Vec<&str> = SCHEMA.iter().copied().chain(code()).map(|(path, _)| path).collect();
        let sql = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/sql"));
        for folder in ["schema", "functions", "views"] {
            for path in files_below(&sql.join(folder)) {
                let path = path.strip_prefix(sql).unwrap().to_str().unwrap();
                assert!(applied.contains(&path), "{path} is not in schema.rs");
            }
        }
    }

    fn files_below(folder: &Path) -> Vec<PathBuf> {
        let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        entries.flat_map(|path| if path.is_dir() { files_below(&path) } else { vec![path] }).collect()
    }
}
