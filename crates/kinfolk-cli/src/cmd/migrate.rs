//! `kinfolk migrate`: create the schema, or bring it to the version this program needs.

use crate::database::{self, Target};
use crate::fault::Fault;
use crate::session::Session;

/// `kinfolk migrate`
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// Print the SQL that would run, and change nothing
    #[arg(long)]
    dry_run: bool,
}

/// Runs it.
pub(crate) async fn run(args: Args, session: &Session) -> Result<(), Fault> {
    match args.dry_run {
        true => dry_run(session).await,
        false => migrate(session).await,
    }
}

async fn migrate(session: &Session) -> Result<(), Fault> {
    let migrated = database::migrate(&session.target()?, &session.global).await?;
    let text = match (migrated.from, migrated.to) {
        (0, to) => format!("created the schema, version {to}"),
        (from, to) if from == to => format!("the schema is up to date: version {to}"),
        (from, to) => format!("migrated the schema from version {from} to {to}"),
    };
    session.out.say(&migrated, text)
}

async fn dry_run(session: &Session) -> Result<(), Fault> {
    let target = session.target()?;
    let migrations = database::pending_migrations(&target, &session.global).await?;
    if matches!(target, Target::Server(_)) && !migrations.is_empty() && !session.out.json() {
        // To be piped into psql as it is.
        return session.out.line(kinfolk_postgres::script(&migrations).trim_end());
    }
    for migration in &migrations {
        let header = format!("-- migration {}: {}", migration.version, migration.name);
        session.out.say(migration, format!("{header}\n{}", migration.sql.trim_end()))?;
    }
    if migrations.is_empty() && !session.out.json() {
        session.out.line("-- the schema is up to date: nothing would run")?;
    }
    Ok(())
}
