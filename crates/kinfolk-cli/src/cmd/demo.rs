//! `kinfolk demo`: the orders of a small web shop, live, the story of one email, or a business register. The workloads and their rules are in `demo/`.

use crate::demo;
use crate::fault::Fault;
use crate::session::Session;

/// The demo's own file: it has no tasks of a user.
const DATABASE: &str = "kinfolk-demo.db";

/// `kinfolk demo`
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// What to play: the orders of a shop; on PostgreSQL one email that fails once, or a business register
    #[arg(value_enum, default_value_t = Play::Shop)]
    play: Play,

    /// Run the orders of one day to their end, print their outcomes and stop
    #[arg(long)]
    once: bool,

    /// Orders in a day
    #[arg(long, value_name = "N", default_value_t = 16, value_parser = clap::value_parser!(u32).range(8..=500))]
    orders: u32,

    /// Units in the register
    #[arg(long, value_name = "N", default_value_t = 20_000, value_parser = clap::value_parser!(u32).range(1_000..=3_100_000))]
    units: u32,

    /// Write the units of the register into its tables at once, without an import
    #[arg(long)]
    filled: bool,

    /// Show the day in the terminal alone, without pages
    #[arg(long)]
    no_web: bool,
}

/// The stories that the demo can play.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Play {
    /// The orders of a small web shop, day after day.
    Shop,
    /// One email, by its supervisor, from its facts.
    Email,
    /// A business register, and the statistics that are derived from it.
    Register,
}

/// Runs it.
pub(crate) async fn run(args: Args, session: &Session) -> Result<(), Fault> {
    if args.play == Play::Email {
        return demo::email::run(session).await;
    }
    if args.play == Play::Register {
        let play = demo::register::Play { units: args.units, filled: args.filled, once: args.once };
        return demo::register::run(session, play).await;
    }
    let mut global = session.global.clone();
    global.database.get_or_insert_with(|| DATABASE.to_owned());
    demo::run(&Session::new(global), args.once, args.orders, !args.no_web).await
}
