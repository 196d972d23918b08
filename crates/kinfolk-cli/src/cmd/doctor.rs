//! `kinfolk doctor`: is there trouble around the database? Exit code 1 when something is bad.

use kinfolk_core::inspect::{Finding, Health};

use crate::exit::Exit;
use crate::fault::Fault;
use crate::out::parts::FindingPart;
use crate::out::table::{self, Table};
use crate::session::Session;

/// Runs it.
pub(crate) async fn run(session: &Session) -> Result<(), Fault> {
    let findings = session.open().await?.doctor().await?;
    let parts: Vec<FindingPart<'_>> = findings.iter().map(Into::into).collect();
    session.out.list(&parts, "nothing was looked at", || table_of(&findings))?;
    match findings.iter().any(|finding| finding.health == Health::Bad) {
        true => Err(Fault::silent(Exit::No)),
        false => Ok(()),
    }
}

fn table_of(findings: &[Finding]) -> Table {
    let mut table = Table::new(&["health", "subject", "found", "what to do"]);
    for finding in findings {
        table.row(vec![
            table::health(finding.health),
            table::text(&finding.subject),
            table::text(&finding.found),
            table::bold(&finding.remedy),
        ]);
    }
    table
}
