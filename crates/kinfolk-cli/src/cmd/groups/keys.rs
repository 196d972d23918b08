//! `kinfolk groups keys`: the keys that are in use, page by page.

use kinfolk_core::limits::PAGE_MAX;
use kinfolk_core::{CommandName, GroupName, GroupRef, KeyFilter, KeyView, StoreError, Timestamp};

use super::Which;
use crate::fault::Fault;
use crate::group::{self, Cursor, task_words};
use crate::out::parts::KeyPart;
use crate::out::table::{self, Table};
use crate::out::time::relative;
use crate::session::Session;

/// Holders that are named in a row.
const HOLDERS: usize = 5;

/// `kinfolk groups keys`
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// Of this group
    #[arg(long, value_name = "NAME")]
    group: Option<GroupName>,

    /// Of the groups of this command
    #[arg(long, value_name = "NAME")]
    command: Option<CommandName>,

    /// Only those that hold tasks up: tasks wait behind them
    #[arg(long)]
    blocking: bool,

    /// At most this many
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u64).range(1..=PAGE_MAX as u64))]
    limit: u64,

    /// Go on after this key: the last one of the page before, like tenant@mail=acme
    #[arg(long, value_name = "GROUP[@COMMAND]=KEY", value_parser = group::parse_cursor)]
    after: Option<Cursor>,
}

/// Runs it.
pub(crate) async fn run(args: Args, session: &Session) -> Result<(), Fault> {
    let store = session.open().await?;
    let limit = usize::try_from(args.limit).unwrap_or(PAGE_MAX);
    let mut keys: Vec<KeyView> = Vec::new();
    for group in args.groups(store.as_ref()).await? {
        if keys.len() < limit {
            let filter = KeyFilter {
                group,
                blocking: args.blocking,
                after: args.after.clone().map(|Cursor(group, key)| (group, key)),
                limit: limit - keys.len(),
            };
            keys.extend(store.keys(&filter).await?);
        }
    }
    let now = store.now().await?;
    let none = if args.blocking { "no key holds a task up" } else { "no key is in use" };
    let parts: Vec<KeyPart<'_>> = keys.iter().map(Into::into).collect();
    session.out.list(&parts, none, || table_of(&keys, now))?;
    if let Some(last) = keys.last().filter(|_| keys.len() == limit) {
        session.out.hint(format_args!("more: {}", session.command_line(&args.next_page(last))));
    }
    Ok(())
}

impl Args {
    /// The groups to ask for, one after another; `None` asks for all of them at once.
    async fn groups(&self, store: &dyn kinfolk_core::Store) -> Result<Vec<Option<GroupRef>>, Fault> {
        let groups = store.groups().await?;
        match (&self.group, &self.command) {
            (None, None) => Ok(vec![None]),
            (Some(name), command) => {
                let which = Which { name: name.clone(), command: command.clone() };
                Ok(vec![Some(which.find(&groups)?.group.clone())])
            }
            (None, Some(command)) => {
                let declared = groups.into_iter().filter(|view| view.commands.contains(command));
                let declared: Vec<_> = declared.map(|view| Some(view.group)).collect();
                match declared.is_empty() {
                    true => Err(StoreError::not_found("group", format!("of {command}; see `kinfolk groups`")).into()),
                    false => Ok(declared),
                }
            }
        }
    }

    fn next_page(&self, last: &KeyView) -> String {
        let mut words = "groups keys".to_owned();
        if let Some(group) = &self.group {
            words.push_str(&format!(" --group {group}"));
        }
        if let Some(command) = &self.command {
            words.push_str(&format!(" --command {command}"));
        }
        if self.blocking {
            words.push_str(" --blocking");
        }
        words + &format!(" --limit {} --after {}", self.limit, group::cursor(&last.group, &last.key))
    }
}

/// Keys, for people.
pub(super) fn table_of(keys: &[KeyView], now: Timestamp) -> Table {
    let mut table = Table::new(&["group", "of", "key", "slots", "held by", "waiting", "starts"]).numbers(&[3, 5]);
    for key in keys {
        let slots = match key.limit {
            Some(limit) => format!("{}/{limit}", key.held),
            None => key.held.to_string(),
        };
        table.row(vec![
            table::text(&key.group.name),
            table::text(key.group.command.as_ref().map_or("(shared)", CommandName::as_str)),
            table::text(if key.key.is_empty() { "-" } else { &key.key }),
            table::text(slots),
            table::text(task_words(&key.holders, HOLDERS, key.held)),
            table::number(key.waiters),
            match key.until.filter(|until| *until > now) {
                Some(until) => table::text(format_args!("again {}", relative(now, until))),
                None => table::dim("-"),
            },
        ]);
    }
    table
}
