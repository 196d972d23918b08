//! `kinfolk audit`: the calls through a server that changed something, newest first.

use kinfolk_core::audit::Audited;
use serde::Serialize;

use super::log_page::LogPage;
use crate::fault::Fault;
use crate::out::table::{self, Table};
use crate::out::time::relative;
use crate::session::Session;

/// `kinfolk audit`
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    #[command(flatten)]
    page: LogPage,
}

#[derive(Serialize)]
struct Entry<'a> {
    id: i64,
    written_at: kinfolk_core::Timestamp,
    who: &'a str,
    what: &'a str,
    subject: &'a str,
    tasks: u64,
}

impl<'a> From<&'a Audited> for Entry<'a> {
    fn from(audited: &'a Audited) -> Self {
        let audit = &audited.audit;
        Self {
            id: audited.id,
            written_at: audited.at,
            who: &audit.who,
            what: &audit.what,
            subject: &audit.subject,
            tasks: audit.tasks,
        }
    }
}

/// Runs it.
pub(crate) async fn run(args: Args, session: &Session) -> Result<(), Fault> {
    let store = session.open().await?;
    let entries = store.audit_log(args.page.before, usize::from(args.page.limit)).await?;
    let now = store.now().await?;
    let views: Vec<Entry<'_>> = entries.iter().map(Entry::from).collect();
    session.out.list(&views, "nothing was done through a server", || {
        let mut table = Table::new(&["entry", "when", "who", "what", "subject", "tasks"]).numbers(&[0, 5]);
        for entry in &views {
            table.row(vec![
                table::text(entry.id),
                table::text(relative(now, entry.written_at)),
                table::text(entry.who),
                table::text(entry.what),
                table::text(entry.subject),
                table::text(entry.tasks),
            ]);
        }
        table
    })
}
