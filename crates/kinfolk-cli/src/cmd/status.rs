//! `kinfolk status …`: whether anything is going on among some commands, for a front end that shows it.

use clap::Subcommand;
use futures_util::StreamExt as _;
use kinfolk::{Kinfolk, StopRequests};
use kinfolk_core::{CommandName, Status, StatusName};
use serde_json::json;

use crate::fault::Fault;
use crate::out::table::{self, Table};
use crate::out::time::relative;
use crate::session::Session;

/// `kinfolk status …`
#[derive(Subcommand, Debug)]
pub(crate) enum Verb {
    /// List the statuses, as they were last looked at
    List,
    /// Make a status, or change its commands
    Set(Set),
    /// Remove a status
    Remove(Name),
    /// Print a line now and for each turn, until interrupted
    Watch(Name),
}

/// `kinfolk status set NAME COMMAND…`
#[derive(clap::Args, Debug)]
pub(crate) struct Set {
    /// Its name
    name: StatusName,

    /// The commands it watches
    #[arg(required = true, value_name = "COMMAND")]
    commands: Vec<CommandName>,
}

/// `kinfolk status remove NAME`, `kinfolk status watch NAME`
#[derive(clap::Args, Debug)]
pub(crate) struct Name {
    /// Its name
    name: StatusName,
}

/// Runs it.
pub(crate) async fn run(verb: Verb, session: &Session) -> Result<(), Fault> {
    match verb {
        Verb::List => list(session).await,
        Verb::Set(Set { name, commands }) => {
            let store = session.open_or_create().await?;
            store.put_status(&name, &commands).await?;
            let known = store.commands().await?;
            for strange in commands.iter().filter(|name| !known.iter().any(|command| command.name == **name)) {
                session.out.hint(format_args!("no command {strange} is registered yet"));
            }
            let status = store.statuses().await?.into_iter().find(|status| status.name == name);
            let active = status.as_ref().is_some_and(|status| status.active);
            session.out.say(&status, format!("status {name} is {}", word(active)))
        }
        Verb::Remove(Name { name }) => {
            session.open().await?.remove_status(&name).await?;
            session.out.say(&json!({"status": name, "removed": true}), format!("status {name} is removed"))
        }
        Verb::Watch(Name { name }) => watch(&name, session).await,
    }
}

async fn list(session: &Session) -> Result<(), Fault> {
    let store = session.open().await?;
    let statuses = store.statuses().await?;
    let now = store.now().await?;
    session.out.list(&statuses, "no statuses: see `kinfolk status set --help`", || {
        let mut table = Table::new(&["status", "is", "since", "commands"]);
        for Status { name, commands, active, changed_at } in &statuses {
            let commands: Vec<&str> = commands.iter().map(AsRef::as_ref).collect();
            table.row(vec![
                table::text(name),
                if *active { table::bold(word(true)) } else { table::dim(word(false)) },
                table::text(relative(now, *changed_at)),
                table::text(commands.join(", ")),
            ]);
        }
        table
    })
}

async fn watch(name: &StatusName, session: &Session) -> Result<(), Fault> {
    let kinfolk = Kinfolk::new(session.open().await?);
    let mut stops = StopRequests::listen();
    let mut turns = std::pin::pin!(kinfolk.watch_status(name));
    loop {
        tokio::select! {
            turn = turns.next() => match turn {
                Some(active) => {
                    let active = active?;
                    session.out.say(&json!({"name": name, "active": active}), format!("{name} is {}", word(active)))?;
                }
                None => return Ok(()),
            },
            () = stops.next() => return Ok(()),
        }
    }
}

fn word(active: bool) -> &'static str {
    if active { "active" } else { "idle" }
}
