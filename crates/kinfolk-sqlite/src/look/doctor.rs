//! Looking for trouble around the store.

use kinfolk_core::inspect::{Finding, Health};

use crate::error::Result;
use crate::migrate;
use crate::readers::Snapshot;

/// How far the clock may lag behind what is stored before it is a warning, in seconds.
const LAG_MAX: u64 = 5;

/// What was looked at, and how it is.
pub(crate) fn doctor(snapshot: &Snapshot<'_>) -> Result<Vec<Finding>> {
    Ok(vec![schema(snapshot)?, clock(snapshot)])
}

fn good(subject: &str, found: String) -> Finding {
    Finding { subject: subject.to_owned(), health: Health::Good, found, remedy: String::new() }
}

fn schema(snapshot: &Snapshot<'_>) -> Result<Finding> {
    Ok(good("schema", format!("version {}", migrate::version(snapshot.conn)?)))
}

fn clock(snapshot: &Snapshot<'_>) -> Finding {
    let lag = snapshot.now.since(snapshot.shared.clock.source_now());
    if lag.as_secs() <= LAG_MAX {
        return good("clock", format!("{}", snapshot.now));
    }
    Finding {
        subject: "clock".to_owned(),
        health: Health::Warning,
        found: format!(
            "the machine's clock is {lag:?} behind the latest time in the file; time stands still until then"
        ),
        remedy: "set the clock of the machine".to_owned(),
    }
}
