//! The effect ledger: where handlers write down that they ran, outside of the engine, so that it can be compared with what
//! the engine says.
//!
//! Two ledgers. A file, to which a handler appends the number of its task: at least one line for each completed task. And
//! a table in the task's own database, to which a handler inserts in the transaction that settles the task: exactly one
//! row for each completed task. Neither refuses a double entry: a double must show.

use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;

use anyhow::Result;
use kinfolk_core::TaskId;
use tokio_postgres::Client;

/// How often each task is in the ledger.
pub type Entries = BTreeMap<TaskId, u64>;

/// Notes in the file that a task's handler has run. One write of a few bytes, so that entries of several processes
/// never mix.
pub fn note(file: &Path, task: TaskId) -> std::io::Result<()> {
    let line = format!("{}\n", task.0);
    OpenOptions::new().create(true).append(true).open(file)?.write_all(line.as_bytes())
}

/// Both ledgers, read.
#[derive(Clone, Debug, Default)]
pub struct Ledger {
    /// At least one entry for each completed task of a command that notes itself in the file.
    pub file: Entries,
    /// Exactly one entry for each completed task of the command that notes itself in the table, none for any other task.
    pub table: Entries,
}

impl Ledger {
    /// Reads the file.
    pub fn of_file(file: &Path) -> Result<Self> {
        Ok(Self { file: read(file)?, table: Entries::new() })
    }

    /// Reads the file and the table.
    pub async fn of_both(file: &Path, client: &Client) -> Result<Self> {
        Ok(Self { file: read(file)?, table: read_table(client).await? })
    }
}

fn read(file: &Path) -> Result<Entries> {
    let text = if file.exists() { std::fs::read_to_string(file)? } else { String::new() };
    let mut entries = Entries::new();
    for line in text.lines() {
        *entries.entry(TaskId(line.parse()?)).or_default() += 1;
    }
    Ok(entries)
}

/// The statement that makes the table.
pub const TABLE: &str = "create table if not exists public.effect_ledger (task bigint not null)";

/// The statement that notes a task in the table.
pub const INSERT: &str = "insert into public.effect_ledger (task) values ($1)";

async fn read_table(client: &Client) -> Result<Entries> {
    let rows = client.query("select task, count(*) from public.effect_ledger group by task", &[]).await?;
    rows.iter().map(|row| Ok((TaskId(row.get(0)), u64::try_from(row.get::<_, i64>(1))?))).collect()
}
