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

    /// The role's purpose; may be given several times
    #[arg(long = "as", value_enum, value_name = "KIND", default_value = "worker")]
    kinds: Vec<Kind>,

    /// A function that it calls, or owns, as schema.name; may be given several times
    #[arg(long, value_name = "FUNCTION")]
    function: Vec<String>,

    /// Print only the statements that would change something, and end with 1 if there are any
    #[arg(long)]
    check: bool,
}

/// The purposes of a role.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Kind {
    /// One that runs tasks.
    Worker,
    /// One that enqueues them.
    Producer,
    /// One that looks.
    Viewer,
    /// One that changes what is there; also a worker whose file or code changes queues, commands or schedules.
    Operator,
    /// One that owns functions which handle tasks.
    Handler,
}

impl Kind {
    const fn word(self) -> &'static str {
        match self {
            Self::Worker => "worker",
            Self::Producer => "producer",
            Self::Viewer => "viewer",
            Self::Operator => "operator",
            Self::Handler => "handler",
        }
    }

    /// The word with its article.
    const fn one(self) -> &'static str {
        match self {
            Self::Worker => "a worker",
            Self::Producer => "a producer",
            Self::Viewer => "a viewer",
            Self::Operator => "an operator",
            Self::Handler => "an owner of handlers",
        }
    }
}

/// Runs it.
pub(crate) async fn run(args: Args, session: &Session) -> Result<(), Fault> {
    let kinds: Vec<_> = args.kinds.iter().copied().map(Kind::word).collect();
    let all = grants(&connections(session)?, &args.role, &kinds, &args.function).await?;
    let shown: Vec<_> = all.iter().filter(|grant| !args.check || !grant.is_so).collect();
    for grant in &shown {
        let document = json!({"statement": grant.statement, "is_so": grant.is_so});
        session.out.say(&document, format_args!("{};", grant.statement))?;
    }
    let purposes: Vec<_> = args.kinds.iter().copied().map(Kind::one).collect();
    match (args.check, shown.len()) {
        (false, _) => Ok(()),
        (true, 0) => {
            session.out.hint(format_args!(
                "{} has what {} needs, and no other right of Kinfolk",
                args.role,
                purposes.join(" and ")
            ));
            Ok(())
        }
        (true, many) => Err(Fault::no("grants", format!("{many} of {} statements are still to be run", all.len()))),
    }
}
