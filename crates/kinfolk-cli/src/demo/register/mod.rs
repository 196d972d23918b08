//! `kinfolk demo register`: the business register of `examples/register` on PostgreSQL. Units are imported and everything is derived from
//! them; then one in a hundred changes, then a single one. After each round the derived tables are compared with what they
//! would be if they were derived from nothing, and the stages are printed with their times.
//!
//! All of it is SQL of the example. This module installs it, waits, and prints.

mod files;
mod report;

use std::time::{Duration, Instant};

use kinfolk::{Kinfolk, StopRequests};
use kinfolk_postgres::{Connections, PgOptions, store_error};
use kinfolk_providers::Providers;
use kinfolk_runner::SqlCommands;
use serde_json::json;
use tokio_postgres::Row;
use tokio_postgres::types::Type;

use self::report::Round;
use crate::database::{self, Target};
use crate::fault::Fault;
use crate::session::Session;

/// How often the queues are looked at.
const LOOK: Duration = Duration::from_millis(20);
/// More units than this are not compared with a derivation from nothing, which costs as much as the derivation itself.
const COMPARED: u32 = 310_000;

/// The round to play.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Play {
    /// Units of the register.
    pub(crate) units: u32,
    /// The units are written into the tables at once, without an import.
    pub(crate) filled: bool,
    /// End after the last round; else go on deriving what changes until Ctrl-C.
    pub(crate) once: bool,
}

/// Plays it.
pub(crate) async fn run(session: &Session, play: Play) -> Result<(), Fault> {
    let Target::Server(url) = session.target()? else {
        let why = "the register is made of functions in the database, which SQLite does not have";
        return Err(Fault::input(format!("{why}; name a PostgreSQL database with --database")));
    };
    let mut stops = StopRequests::listen();
    let options = PgOptions { pool_size: 4, ..database::options(&session.global) };
    let store = session.open_or_create().await?;
    store.migrate().await?;
    let connections = Connections::open(&url, &options)?;
    install(&connections).await?;
    let commands = SqlCommands::open_with(&url, &options, Providers::default())?;
    let worker = Kinfolk::new(store)
        .worker()
        .queue("import", 1)
        .queue("analytics", 4)
        .queue("maintenance", 1)
        .commands_from(commands)
        .start()
        .await?;
    let played = tokio::select! {
        played = rounds(session, &connections, play) => played,
        () = stops.next() => Err(Fault::no("interrupted", "interrupted; drop the schema register before the next try")),
    };
    if played.is_ok() && !play.once {
        session.out.hint("the register goes on: change its tables, and look at `kinfolk watch`; Ctrl-C stops it");
        stops.next().await;
    }
    worker.stop().await?;
    played
}

/// Creates the schema of the register, in one transaction.
async fn install(connections: &Connections) -> Result<(), Fault> {
    if ask(connections, "select (to_regnamespace('register') is not null)::integer::bigint").await? == 1 {
        let why = "this database has a register already; name another one, or drop its schema `register`";
        return Err(Fault::input(why.to_owned()));
    }
    execute(connections, &format!("begin;\n{}\ncommit;", files::ALL.join("\n"))).await
}

/// All rounds, in order.
async fn rounds(session: &Session, connections: &Connections, play: Play) -> Result<(), Fault> {
    let units = play.units;
    let fill = match play.filled {
        true => format!("call register.generate({units})"),
        false => format!("select register.upload_made({units})"),
    };
    let one = "select register.report_one()";
    let share = "select register.report_figures(0.01, 2)";
    let first = last_task(connections).await?;
    let mut told = Vec::new();
    for (title, sql) in [("all units", fill.as_str()), ("1 % changed", share), ("one unit changed", one)] {
        let after = last_task(connections).await?;
        let started = Instant::now();
        execute(connections, sql).await?;
        idle(connections, first).await?;
        let round = Round::of(connections, title, after, started.elapsed()).await?;
        session.out.hint(&round);
        compare(connections, units).await?;
        told.push(round);
    }
    let history = report::history(connections).await?;
    let document = json!({"units": units, "rounds": told, "history": history});
    let text = format!(
        "{}\nas it must: every table is what it would be if it were derived from nothing",
        report::table(&history)
    );
    session.out.say(&document, text)
}

/// The number of the newest task.
async fn last_task(connections: &Connections) -> Result<i64, Fault> {
    ask(connections, "select coalesce(max(id), 0)::bigint from kinfolk.tasks").await
}

/// Waits until nothing is being imported or derived, and complains if a task of the register after this one has failed. The database
/// may have tasks of other programs, and of an earlier play.
async fn idle(connections: &Connections, first: i64) -> Result<(), Fault> {
    let active = "select (register.is_importing() or register.is_deriving_statistical_units() or register.is_deriving_reports())\
        ::integer::bigint";
    while ask(connections, active).await? == 1 {
        tokio::time::sleep(LOOK).await;
    }
    let failed = "select count(*) from kinfolk.tasks t where t.id > $1 and t.state in ('failed', 'cancelled') \
        and t.command in (select c.name from kinfolk.commands() c where c.handler like 'register.%')";
    match number(&connections.ask(failed, &[(&first, Type::INT8)]).await?)? {
        0 => Ok(()),
        many => Err(Fault::no("wrong", format!("{many} tasks did not complete; `kinfolk failures` says why"))),
    }
}

/// Compares the derived tables with what they would be if they were derived from nothing.
async fn compare(connections: &Connections, units: u32) -> Result<(), Fault> {
    let check = if units > COMPARED { "check_left_over() c where c.differences > 0" } else { "check_derived() c" };
    let rows = connections.ask(&format!("select c.subject, c.differences from register.{check}"), &[]).await?;
    let Some(row) = rows.first() else {
        return Ok(());
    };
    let (subject, differences): (String, i64) = (row.get(0), row.get(1));
    Err(Fault::no(
        "wrong",
        format!("{subject} has {differences} rows that it would not have if it were derived from nothing"),
    ))
}

async fn execute(connections: &Connections, sql: &str) -> Result<(), Fault> {
    let line = connections.line().await?;
    match line.client().batch_execute(sql).await {
        Ok(()) => {
            line.give_back();
            Ok(())
        }
        Err(fault) => {
            // With its transaction.
            line.close();
            Err(store_error(&fault).into())
        }
    }
}

async fn ask(connections: &Connections, sql: &str) -> Result<i64, Fault> {
    number(&connections.ask(sql, &[]).await?)
}

/// The number in the first of these rows.
fn number(rows: &[Row]) -> Result<i64, Fault> {
    rows.first().map(|row| row.get(0)).ok_or_else(|| Fault::no("wrong", "no answer"))
}
