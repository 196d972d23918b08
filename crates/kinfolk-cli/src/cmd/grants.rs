//! `kinfolk grants`: the statements that give a role what it needs, and whether a database has them.

use kinfolk_runner::grants;
use serde_json::json;

use super::module::connections;
use crate::fault::Fault;
use crate::session::Session;

/// `kinfolk grants ROLE`
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// The role, as the database knows it
    role: String,

    /// What it is to be
    #[arg(long = "as", value_enum, default_value_t = Kind::Worker)]
    kind: Kind,

    /// A function that it calls, or owns, as schema.name; may be given several times
    #[arg(long, value_name = "FUNCTION")]
    function: Vec<String>,

    /// Print only missing grants, and end with 1 if there are any
    #[arg(long)]
    check: bool,
}

/// What a role can be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Kind {
    /// One that runs tasks.
    Worker,
    /// One that enqueues them.
    Producer,
    /// One that looks.
    Viewer,
    /// One that owns functions which handle tasks.
    Handler,
}

impl Kind {
    const fn word(self) -> &'static str {
        match self {
            Self::Worker => "worker",
            Self::Producer => "producer",
            Self::Viewer => "viewer",
            Self::Handler => "handler",
        }
    }
}

/// Runs it.
pub(crate) async fn run(args: Args, session: &Session) -> Result<(), Fault> {
    let all = grants(&connections(session)?, &args.role, args.kind.word(), &args.function).await?;
    let shown: Vec<_> = all.iter().filter(|grant| !args.check || !grant.is_so).collect();
    for grant in &shown {
        let document = json!({"statement": grant.statement, "is_so": grant.is_so});
        session.out.say(&document, format_args!("{};", grant.statement))?;
    }
    match (args.check, shown.len()) {
        (false, _) => Ok(()),
        (true, 0) => {
            session.out.hint(format_args!("{} has what a {} needs, and nothing more", args.role, args.kind.word()));
            Ok(())
        }
        (true, many) => Err(Fault::no("grants", format!("{many} of {} grants are missing", all.len()))),
    }
}
