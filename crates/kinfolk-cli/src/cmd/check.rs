//! `kinfolk check`: every invariant of the engine, run as a query. Exit code 1 when one is broken.

use crate::exit::Exit;
use crate::fault::Fault;
use crate::out::view::violation;
use crate::session::Session;

/// Runs it.
pub(crate) async fn run(session: &Session) -> Result<(), Fault> {
    let violations = session.open().await?.check().await?;
    let out = session.out;
    for found in &violations {
        out.say(found, violation(found))?;
    }
    if violations.is_empty() {
        return if out.json() { Ok(()) } else { out.line("every invariant holds") };
    }
    out.hint(format_args!("{} broken; please report it with this output", violations.len()));
    Err(Fault::silent(Exit::No))
}
