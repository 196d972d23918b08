//! `kinfolk commands`: what can be enqueued, with its defaults, and how many live workers handle it.

use kinfolk_core::{Command, CommandName};
use std::time::Duration;

use crate::fault::Fault;
use crate::out::table::{self, Table};
use crate::out::view::CommandView;
use crate::session::Session;
use crate::{group, span};

/// Runs it.
pub(crate) async fn run(session: &Session) -> Result<(), Fault> {
    let store = session.open().await?;
    let commands = store.commands().await?;
    let (workers, now) = (store.workers().await?, store.now().await?);
    let handlers = |name: &CommandName| {
        workers.iter().filter(|worker| worker.lease_until > now && worker.commands.contains(name)).count()
    };
    let views: Vec<CommandView<'_>> =
        commands.iter().map(|command| CommandView::new(command, handlers(&command.name))).collect();
    session.out.list(&views, "no commands yet: a worker registers its own, or `kinfolk register COMMAND`", || {
        let mut table = Table::new(&[
            "command", "queue", "priority", "attempts", "backoff", "timeout", "groups", "handler", "workers",
        ])
        .numbers(&[2, 3, 8]);
        for (command, view) in commands.iter().zip(&views) {
            table.row(row(command, view.workers));
        }
        table
    })
}

fn row(command: &Command, workers: usize) -> Vec<comfy_table::Cell> {
    let millis = |millis: u32| span::show(Duration::from_millis(u64::from(millis)));
    vec![
        table::text(&command.name),
        table::text(&command.queue),
        table::text(command.priority),
        table::text(command.retry.max_attempts.map_or_else(|| "-".to_owned(), |declared| declared.to_string())),
        table::text(format_args!("{} to {}", millis(command.retry.base_ms), millis(command.retry.cap_ms))),
        table::text(command.timeout.map_or_else(|| "-".to_owned(), span::show)),
        table::text(command.groups.as_ref().map_or_else(|| "-".to_owned(), group::groups_words)),
        table::text(command.handler.as_ref().map_or("-", |handler| handler.function.as_str())),
        table::number(workers as u64),
    ]
}
