//! `kinfolk demo email`: the story of one email on PostgreSQL. The first attempt fails, the second goes out, and the supervisor that
//! decides about both reads nothing but facts. They are printed as they appear, and checked at the end.
//!
//! The failure is a real one: the outbox, a folder, is not there until the first attempt has failed.

use std::path::Path;
use std::time::Duration;

use kinfolk::Kinfolk;
use kinfolk_postgres::{Connections, PgOptions};
use kinfolk_providers::{Outbox, Providers};
use kinfolk_runner::{Module, SqlCommands};
use owo_colors::OwoColorize as _;
use serde_json::json;
use tokio_postgres::types::{ToSql, Type};

use crate::database::{self, Target};
use crate::fault::Fault;
use crate::folder::Folder;
use crate::session::Session;

/// How often the facts are looked at.
const LOOK: Duration = Duration::from_millis(50);
/// The story takes seconds. One that takes this long is stuck.
const PATIENCE: Duration = Duration::from_secs(60);

const KICKOFF: &str = "select comms.kickoff_send_email_task(comms.create_email_message('ann@example.org', 'Your order', \
    'It is on its way.'), retry_delay => '1 second')";

/// Plays it.
pub(crate) async fn run(session: &Session) -> Result<(), Fault> {
    let Target::Server(url) = session.target()? else {
        let why = "supervisors are functions in the database, which SQLite does not have";
        return Err(Fault::input(format!("{why}; name a PostgreSQL database with --database")));
    };
    let options = PgOptions { pool_size: 4, ..database::options(&session.global) };
    let store = session.open_or_create().await?;
    store.migrate().await?;
    let connections = Connections::open(&url, &options)?;
    Module::named("comms")?.install(&connections).await?;

    let outbox = Folder::new("kinfolk-outbox");
    let provider = Outbox::emails(outbox.path(), Some("shop@example.org".to_owned()));
    let providers = Providers { email: Some(std::sync::Arc::new(provider)), ..Providers::default() };
    let commands = SqlCommands::open_with(&url, &options, providers)?;
    let worker = Kinfolk::new(store).worker().queue("default", 4).commands_from(commands).start().await?;
    let told = tokio::time::timeout(PATIENCE, tell(session, &connections, outbox.path())).await;
    worker.stop().await?;
    told.unwrap_or_else(|_| Err(Fault::no("stuck", format!("the story did not end within {PATIENCE:?}"))))
}

/// Follows the facts to the end of the process, and checks them.
async fn tell(session: &Session, connections: &Connections, outbox: &Path) -> Result<(), Fault> {
    let id: i64 = one(connections, KICKOFF, &[]).await?;
    session.out.hint(format_args!("an email for ann@example.org: send_email_task {id}"));
    let mut seen = 0;
    loop {
        let facts = facts(connections, id).await?;
        for fact in facts[seen..].iter().filter(|_| !session.out.json()) {
            session.out.line(format_args!("{} {fact}", "fact".dimmed()))?;
        }
        seen = facts.len();
        let failed = facts.iter().any(|fact| fact.starts_with("failed"));
        if failed && !outbox.exists() {
            std::fs::create_dir(outbox).map_err(|fault| Fault::input(format!("{}: {fault}", outbox.display())))?;
        }
        if open(connections, id).await? == 0 {
            return check(session, connections, id, &facts, outbox).await;
        }
        tokio::time::sleep(LOOK).await;
    }
}

async fn check(
    session: &Session,
    connections: &Connections,
    id: i64,
    facts: &[String],
    outbox: &Path,
) -> Result<(), Fault> {
    let runs = "select count(*) from kinfolk.tasks \
        where command = 'db_function' and payload ->> 'send_email_task_id' = $1::text";
    let runs = one(connections, runs, &[(&id, Type::INT8)]).await?;
    let words: Vec<&str> = facts.iter().filter_map(|fact| fact.split(':').next()).collect();
    let files = std::fs::read_dir(outbox).map_or(0, Iterator::count);
    if words != ["scheduled attempt 1", "failed attempt 1", "scheduled attempt 2", "succeeded"]
        || runs != 3
        || files != 1
    {
        let found = format!("the facts are {facts:?}, after {runs} runs of the supervisor; {files} messages went out");
        return Err(Fault::no("wrong", found));
    }
    let text = format!(
        "{} it failed once and went out once; the supervisor ran {runs} times, and is over",
        "as it must:".green()
    );
    session.out.say(&json!({"process": id, "facts": facts, "runs": runs, "messages": files}), text)
}

/// The events so far, in order.
async fn facts(connections: &Connections, id: i64) -> Result<Vec<String>, Fault> {
    let sql = "select f.fact from (
            select at, 1 as nth, format('scheduled attempt %s', attempt) as fact from comms.send_email_task_scheduled where send_email_task_id = $1
            union all
            select at, 2, format('failed attempt %s: %s', attempt, error) from comms.send_email_task_failed where send_email_task_id = $1
            union all
            select at, 3, 'succeeded' from comms.send_email_task_succeeded where send_email_task_id = $1
            union all
            select at, 4, 'stuck' from comms.send_email_task_stuck where send_email_task_id = $1
        ) f order by f.at, f.nth";
    Ok(connections.ask(sql, &[(&id, Type::INT8)]).await?.iter().map(|row| row.get(0)).collect())
}

/// How many tasks of the process have not ended.
async fn open(connections: &Connections, id: i64) -> Result<i64, Fault> {
    let sql = "select count(*) from kinfolk.tasks \
        where state in ('pending', 'running') and payload ->> 'send_email_task_id' = $1::text";
    one(connections, sql, &[(&id, Type::INT8)]).await
}

async fn one(connections: &Connections, sql: &str, params: &[(&(dyn ToSql + Sync), Type)]) -> Result<i64, Fault> {
    let rows = connections.ask(sql, params).await?;
    rows.first().map(|row| row.get(0)).ok_or_else(|| Fault::no("wrong", "no answer"))
}
