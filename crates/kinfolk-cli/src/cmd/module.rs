//! `kinfolk module`: business processes in the database, ready-made and new.

use kinfolk_postgres::Connections;
use kinfolk_runner::{MODULES, Module, new_module};
use serde_json::json;

use crate::database::{self, Target};
use crate::fault::Fault;
use crate::out::table::{self, Table};
use crate::session::Session;

/// The actions on modules.
#[derive(clap::Subcommand, Debug)]
pub(crate) enum Verb {
    /// List the modules there are, and which are installed
    List,
    /// Install a module
    Install {
        /// Its name
        name: String,
    },
    /// Print a script for a new process of this name, to begin with
    New {
        /// Its name
        name: String,
    },
}

/// Runs it.
pub(crate) async fn run(verb: Verb, session: &Session) -> Result<(), Fault> {
    match verb {
        Verb::List => list(session).await,
        Verb::Install { name } => install(&name, session).await,
        Verb::New { name } => {
            let sql = new_module(&name).map_err(|fault| Fault::input(fault.to_string()))?;
            session.out.say(&json!({"name": name, "sql": sql}), sql.trim_end())
        }
    }
}

async fn list(session: &Session) -> Result<(), Fault> {
    let connections = connections(session)?;
    let mut views = Vec::new();
    for module in MODULES {
        let installed = module.installed(&connections).await?;
        views.push((module, installed));
    }
    let documents: Vec<_> = views
        .iter()
        .map(|(module, installed)| {
            json!({"name": module.name, "about": module.about, "version": module.version, "installed": installed})
        })
        .collect();
    session.out.list(&documents, "no modules", || {
        let mut table = Table::new(&["module", "version", "installed", "about"]).numbers(&[1]);
        for (module, installed) in &views {
            table.row(vec![
                table::text(module.name),
                table::text(module.version),
                table::text(installed.map_or_else(|| "no".to_owned(), |version| format!("version {version}"))),
                table::text(module.about),
            ]);
        }
        table
    })
}

async fn install(name: &str, session: &Session) -> Result<(), Fault> {
    let module = Module::named(name)?;
    let connections = connections(session)?;
    // Says what is missing where the schema is not there yet.
    session.open().await?;
    let is_new = module.install(&connections).await?;
    let words = if is_new { "installed" } else { "is there already:" };
    let text = match is_new {
        true => format!("{words} module {name}, version {}", module.version),
        false => format!("module {name} {words} version {}", module.version),
    };
    session.out.say(&json!({"name": name, "version": module.version, "installed": is_new}), text)
}

pub(super) fn connections(session: &Session) -> Result<Connections, Fault> {
    match session.target()? {
        Target::Server(url) => Ok(Connections::open(&url, &database::options(&session.global))?),
        Target::File(_) => Err(Fault::input(
            "this is about functions in the database, which SQLite does not have; name a PostgreSQL database",
        )),
    }
}
