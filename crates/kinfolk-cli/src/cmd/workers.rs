//! `kinfolk workers`: the workers, their queues and commands, and the ends of their leases.

use kinfolk_core::Timestamp;
use kinfolk_core::worker::WorkerView;

use crate::fault::Fault;
use crate::out::parts::WorkerPart;
use crate::out::table::{self, Table};
use crate::out::time::relative;
use crate::session::Session;

/// Runs it.
pub(crate) async fn run(session: &Session) -> Result<(), Fault> {
    let store = session.open().await?;
    let workers = store.workers().await?;
    let now = store.now().await?;
    let parts: Vec<WorkerPart<'_>> = workers.iter().map(Into::into).collect();
    session.out.list(&parts, "no workers: start one, for example with `kinfolk work`", || table_of(&workers, now))
}

fn table_of(workers: &[WorkerView], now: Timestamp) -> Table {
    let mut table = Table::new(&["worker", "name", "version", "queues", "commands", "running", "started", "lease"])
        .numbers(&[4, 5]);
    for worker in workers {
        let queues: Vec<&str> = worker.queues.iter().map(AsRef::as_ref).collect();
        let lease = match worker.lease_until > now {
            true => table::text(format_args!("ends {}", relative(now, worker.lease_until))),
            false => {
                table::text(format_args!("ended {}", relative(now, worker.lease_until))).fg(comfy_table::Color::Red)
            }
        };
        table.row(vec![
            table::dim(worker.id),
            table::text(&worker.name),
            table::text(if worker.version.is_empty() { "-" } else { &worker.version }),
            table::text(table::short(&queues.join(" "), 40)),
            table::number(worker.commands.len() as u64),
            table::number(worker.running),
            table::text(relative(now, worker.started_at)),
            lease,
        ]);
    }
    table
}
