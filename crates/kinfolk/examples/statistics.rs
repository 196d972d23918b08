//! A statistics office: `cargo run -p kinfolk --example statistics -- [FOLDER]`.
//!
//! Enterprises report their turnover. What has changed is collected, and statistical units are derived from it in batches,
//! side by side; when all batches have settled, what they staged is flushed, and the report is made. All of it waits on one
//! queue that works on one family at a time, so a newer round never gets between the batches and the flush of an older one.
//! Kill it at any moment and start it again: it goes on where it was.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::time::Duration;

use kinfolk::{Ctx, Kinfolk, Policy, Task, TaskError};
use rusqlite::Connection;
use serde::{Deserialize, Serialize};

const ENTERPRISES: i64 = 1000;
const BATCH: i64 = 50;

/// The office's own data: beside the tasks, and not in their file.
const TABLES: &str = "
    create table if not exists enterprise (id integer primary key, turnover integer not null);
    create table if not exists change (enterprise integer primary key);
    create table if not exists staged (unit integer primary key, size text not null, turnover integer not null);
    create table if not exists unit (id integer primary key, size text not null, turnover integer not null);
    create table if not exists report (size text primary key, units integer not null, turnover integer not null);
";

static FOLDER: LazyLock<PathBuf> = LazyLock::new(|| std::env::args().nth(1).unwrap_or(".".into()).into());

fn office() -> Result<Connection, rusqlite::Error> {
    let office = Connection::open(FOLDER.join("office.db"))?;
    office.busy_timeout(Duration::from_secs(10))?;
    Ok(office)
}

/// Looks what has changed. However often it is asked for, one pending task is enough.
#[derive(Serialize, Deserialize, Task)]
#[task(command = "collect", output = i64, queue = "analytics", unique)]
struct Collect;

async fn collect(_task: Collect, ctx: Ctx) -> Result<i64, TaskError> {
    let changes = office()?.query_row("select count(*) from change", [], |row| row.get(0))?;
    if changes > 0 {
        ctx.follow_up_task(&Derive).await?;
    }
    Ok(changes)
}

/// Derives units from what has changed: by its children.
#[derive(Serialize, Deserialize, Task)]
#[task(command = "derive", output = i64, queue = "analytics")]
struct Derive;

async fn derive(_task: Derive, ctx: Ctx) -> Result<i64, TaskError> {
    let last: i64 = office()?.query_row("select max(enterprise) from change", [], |row| row.get(0))?;
    let batches = (last + BATCH - 1) / BATCH;
    for number in 1..=batches {
        ctx.spawn_task(&Batch { number, batches }).await?;
    }
    // After all batches, and before whatever was enqueued later.
    ctx.follow_up_task(&Flush).when_completed().await?;
    ctx.follow_up_task(&Report).when_completed().await?;
    Ok(batches)
}

/// Derives some units. It may run twice, so it writes what can be written twice.
#[derive(Serialize, Deserialize, Task)]
#[task(command = "derive_batch", output = usize, queue = "analytics")]
struct Batch {
    number: i64,
    batches: i64,
}

async fn derive_batch(task: Batch) -> Result<usize, TaskError> {
    const STAGE: &str = "
        insert or replace into staged
        select id, case when turnover < 500 then 'small' when turnover < 900 then 'medium' else 'large' end, turnover
        from enterprise join change on enterprise.id = change.enterprise
        where id > ?1 and id <= ?2";
    let staged = office()?.execute(STAGE, [(task.number - 1) * BATCH, task.number * BATCH])?;
    tokio::time::sleep(Duration::from_millis(20)).await;
    println!("batch {} of {}: {staged} units", task.number, task.batches);
    Ok(staged)
}

/// Moves what was staged to where it is read, and forgets the changes it came from.
#[derive(Serialize, Deserialize, Task)]
#[task(command = "flush", queue = "analytics", unique)]
struct Flush;

async fn flush(_task: Flush) -> Result<(), TaskError> {
    let flush = "
        begin immediate;
        insert or replace into unit select unit, size, turnover from staged;
        delete from change where enterprise in (select unit from staged);
        delete from staged;
        commit;";
    office()?.execute_batch(flush)?;
    println!("flushed");
    Ok(())
}

/// Sums up all units.
#[derive(Serialize, Deserialize, Task)]
#[task(command = "report", queue = "analytics", unique)]
struct Report;

async fn report(_task: Report) -> Result<(), TaskError> {
    let sums = "
        begin immediate;
        delete from report;
        insert into report select size, count(*), sum(turnover) from unit group by size;
        commit;";
    office()?.execute_batch(sums)?;
    println!("reported");
    Ok(())
}

/// Enterprises report, once.
fn found_office() -> Result<(), rusqlite::Error> {
    let office = office()?;
    office.execute_batch(&format!("pragma journal_mode = wal; begin immediate; {TABLES}"))?;
    let known: i64 = office.query_row("select count(*) from enterprise", [], |row| row.get(0))?;
    for id in known + 1..=ENTERPRISES {
        office.execute("insert into enterprise values (?1, ?2)", [id, id * 37 % 1000])?;
        office.execute("insert into change values (?1)", [id])?;
    }
    office.execute_batch("commit")
}

fn print_report() -> Result<(), rusqlite::Error> {
    let office = office()?;
    let mut report = office.prepare("select size, units, turnover from report order by turnover")?;
    let mut rows = report.query([])?;
    while let Some(row) = rows.next()? {
        let (size, units, turnover): (String, i64, i64) = (row.get(0)?, row.get(1)?, row.get(2)?);
        println!("{units} {size} units with a turnover of {turnover}");
    }
    Ok(())
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    found_office()?;
    let tasks: &Path = &FOLDER.join("tasks.db");
    let kinfolk = Kinfolk::open(&format!("sqlite:{}", tasks.display())).await?;
    let serial = Policy { family_limit: Some(1), child_limit: Some(3), depth_limit: 1, ..Policy::default() };
    kinfolk.set_queue(&"analytics".parse()?, &serial).await?;

    let worker = kinfolk.worker().handle(collect).handle(derive).handle(derive_batch).handle(flush).handle(report);
    let worker = worker.start().await?;
    kinfolk.enqueue_task(&Collect).await?.id()?;
    worker.wait_idle().await;
    worker.stop().await?;
    print_report()?;
    Ok(())
}
