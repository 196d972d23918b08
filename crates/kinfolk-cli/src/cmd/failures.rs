//! `kinfolk failures`: what failed, by cause.

use std::time::Duration;

use kinfolk_core::Timestamp;
use kinfolk_core::cause::Cause;

use crate::fault::Fault;
use crate::out::table::{self, Table};
use crate::out::time::relative;
use crate::session::Session;
use crate::span;

/// The steps of a trend, the lowest first.
const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// `kinfolk failures`
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// In the last so long
    #[arg(long, value_name = "SPAN", default_value = "24h", value_parser = span::parse)]
    span: Duration,
}

/// Runs it.
pub(crate) async fn run(args: Args, session: &Session) -> Result<(), Fault> {
    let found = session.open().await?.failures(args.span).await?;
    session.out.list(&found.causes, "nothing failed", || table_of(&found.causes, found.until))?;
    if found.more {
        session.out.hint(format_args!("older failures of this span were not looked at: ask for a shorter one"));
    }
    if let Some(cause) = found.causes.first() {
        let retry = format!("retry --cause {} --finished-after {}", cause.id, found.since);
        session.out.hint(format_args!("look: {}", session.command_line(&format!("show {}", cause.sample))));
        session.out.hint(format_args!("run them again: {}", session.command_line(&retry)));
    }
    Ok(())
}

fn table_of(causes: &[Cause], now: Timestamp) -> Table {
    let mut table =
        Table::new(&["tasks", "command", "kind", "says", "first", "last", "sample", "cause", "trend"]).numbers(&[0, 6]);
    for cause in causes {
        table.row(vec![
            table::number(cause.tasks),
            table::text(&cause.command),
            table::text(cause.kind),
            table::text(table::short(&cause.text, 60)),
            table::text(relative(now, cause.first_at)),
            table::text(relative(now, cause.last_at)),
            table::text(cause.sample),
            table::dim(&cause.id),
            table::dim(bars(&cause.trend)),
        ]);
    }
    table
}

/// `▁▁▃█`
fn bars(trend: &[u64]) -> String {
    let most = trend.iter().copied().max().unwrap_or_default().max(1);
    let bar = |count: &u64| match count {
        0 => ' ',
        count => BARS[usize::try_from((count * 8).div_ceil(most)).map_or(7, |height| height.clamp(1, 8) - 1)],
    };
    trend.iter().map(bar).collect()
}
