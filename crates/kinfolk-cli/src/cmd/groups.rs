//! `kinfolk groups`: what the groups allow, and which keys hold tasks up; `keys`, `set` and `remove` below it.

mod keys;
mod set;

use std::collections::BTreeMap;

use clap::Subcommand;
use kinfolk_core::limits::PAGE_MAX;
use kinfolk_core::{CommandName, GroupName, GroupView, KeyFilter, KeyView, Setting, StoreError, Timestamp};
use serde::Serialize;
use serde_json::json;

use crate::fault::Fault;
use crate::group::rate_words;
use crate::out::parts::{KeyPart, SettingPart, SpecPart};
use crate::out::table::{self, Table, harmless};
use crate::session::Session;

/// Keys that the overview shows: those with the most tasks behind them.
const SHOWN: usize = 20;

/// `kinfolk groups`
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    #[command(subcommand)]
    verb: Option<Verb>,
}

/// `kinfolk groups …`
#[derive(Subcommand, Debug)]
pub(crate) enum Verb {
    /// List the keys in use: the holders of their slots, and how many tasks wait behind them
    Keys(keys::Args),
    /// Change the limits of a group, or of one key, from now on
    Set(set::Args),
    /// Remove a group from all commands that declare it
    Remove(Which),
}

/// A group by its name.
#[derive(clap::Args, Debug)]
pub(crate) struct Which {
    /// The group
    name: GroupName,

    /// Of this command; without it the shared group of that name, or the only one there is
    #[arg(long, value_name = "NAME")]
    command: Option<CommandName>,
}

/// Runs it.
pub(crate) async fn run(args: Args, session: &Session) -> Result<(), Fault> {
    match args.verb {
        None => overview(session).await,
        Some(Verb::Keys(args)) => keys::run(args, session).await,
        Some(Verb::Set(args)) => set::run(args, session).await,
        Some(Verb::Remove(which)) => remove(&which, session).await,
    }
}

impl Which {
    /// The group that is meant. One that is not there is an error, and so is a name that could mean several.
    fn find<'a>(&self, groups: &'a [GroupView]) -> Result<&'a GroupView, Fault> {
        let Self { name, command } = self;
        let named: Vec<&GroupView> = groups.iter().filter(|view| view.group.name == *name).collect();
        if let Some(found) = named.iter().find(|view| view.group.command == *command) {
            return Ok(found);
        }
        let of = |view: &&GroupView| view.group.command.as_ref().map(ToString::to_string);
        match (command, &named[..]) {
            (None, [only]) => Ok(only),
            (None, [_, ..]) => {
                let commands: Vec<_> = named.iter().filter_map(of).collect();
                Err(Fault::input(format!(
                    "there are several groups {name}, of {}; say which with --command",
                    commands.join(", ")
                )))
            }
            (Some(command), _) if named.iter().any(|view| of(view).is_none()) => {
                let message = format!("{name} of {command}; group {name} is shared: leave out --command");
                Err(StoreError::not_found("group", message).into())
            }
            (Some(command), _) => {
                Err(StoreError::not_found("group", format!("{name} of {command}; see `kinfolk groups`")).into())
            }
            (None, []) => Err(StoreError::not_found("group", format!("{name}; see `kinfolk groups`")).into()),
        }
    }
}

async fn remove(which: &Which, session: &Session) -> Result<(), Fault> {
    let store = session.open().await?;
    let groups = store.groups().await?;
    let GroupView { group, .. } = which.find(&groups)?;
    store.remove_group(group).await?;
    session.out.say(
        &json!({"group": group.name, "command": group.command, "removed": true}),
        format!("group {group} removed; the next registration that declares it makes it anew"),
    )
}

/// The output of `--json` for each group.
#[derive(Serialize)]
struct Overview<'a> {
    name: &'a GroupName,
    /// Whose group it is; null for a shared one.
    command: Option<&'a CommandName>,
    commands: &'a [CommandName],
    declared: SpecPart,
    set: SettingPart,
    /// The settings for single keys.
    keys: BTreeMap<&'a str, SettingPart>,
    /// Those of its keys that hold tasks up.
    blocking: Vec<KeyPart<'a>>,
    /// Whether there may be more of them.
    more: bool,
}

async fn overview(session: &Session) -> Result<(), Fault> {
    let store = session.open().await?;
    let groups = store.groups().await?;
    let filter = KeyFilter { blocking: true, limit: PAGE_MAX, ..KeyFilter::default() };
    let keys = store.keys(&filter).await?;
    let last = keys.last().filter(|_| keys.len() == PAGE_MAX).map(|key| &key.group);
    let views: Vec<Overview<'_>> = groups
        .iter()
        .map(|view| Overview {
            name: &view.group.name,
            command: view.group.command.as_ref(),
            commands: &view.commands,
            declared: (&view.declared).into(),
            set: view.set.into(),
            keys: view.keys.iter().map(|(key, setting)| (key.as_str(), (*setting).into())).collect(),
            blocking: keys.iter().filter(|key| key.group == view.group).map(Into::into).collect(),
            more: last.is_some_and(|last| view.group >= *last),
        })
        .collect();
    let none = "no groups: a command declares them, see `kinfolk register --help`";
    session.out.list(&views, none, || groups_table(&groups))?;
    if session.out.json() || groups.is_empty() {
        return Ok(());
    }
    told_keys(keys, session, store.now().await?)
}

/// The keys that hold most tasks up, for people.
fn told_keys(mut keys: Vec<KeyView>, session: &Session, now: Timestamp) -> Result<(), Fault> {
    if keys.is_empty() {
        return session.out.line("\nno task waits behind a key");
    }
    let (all, many) = (keys.len(), if keys.len() == PAGE_MAX { "more than " } else { "" });
    keys.sort_by_key(|key| std::cmp::Reverse(key.waiters));
    keys.truncate(SHOWN);
    session.out.line(format_args!("\nkeys with tasks behind them:\n{}", keys::table_of(&keys, now)))?;
    if all > keys.len() {
        let rest = session.command_line("groups keys --blocking");
        session.out.hint(format_args!("{many}{} more: {rest}", all - keys.len()));
    }
    session.out.hint(format_args!("why a task waits: {}", session.command_line("explain ID")));
    Ok(())
}

fn groups_table(groups: &[GroupView]) -> Table {
    let mut table = Table::new(&["group", "of", "slots", "rate", "keys set apart", "note"]).numbers(&[2]);
    for GroupView { group, commands, declared, set, keys } in groups {
        let commands = commands.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        let mut notes = Vec::new();
        if group.command.is_none() {
            notes.push("shared".to_owned());
        }
        if declared.hold {
            notes.push("held until a task has ended".to_owned());
        }
        notes.extend(declared_words(Setting { limit: declared.limit, rate: declared.rate }, *set));
        table.row(vec![
            table::text(&group.name),
            table::text(commands),
            table::text(set.limit.or(declared.limit).map_or_else(|| "-".to_owned(), |limit| limit.to_string())),
            table::text(set.rate.or(declared.rate).map_or_else(|| "-".to_owned(), rate_words)),
            table::text(apart(keys)),
            table::dim(notes.join("; ")),
        ]);
    }
    table
}

/// The declaration, where a setting differs from it: `declared 20 slots`.
fn declared_words(declared: Setting, set: Setting) -> Option<String> {
    let overridden = Setting {
        limit: declared.limit.filter(|_| set.limit.is_some()),
        rate: declared.rate.filter(|_| set.rate.is_some()),
    };
    match (overridden.is_empty(), set.is_empty()) {
        (false, _) => Some(format!("declared with {}", setting_words(overridden))),
        (true, false) => Some("set by hand".to_owned()),
        (true, true) => None,
    }
}

/// The settings of single keys: `acme: 50 slots`.
fn apart(keys: &BTreeMap<String, Setting>) -> String {
    const SHOWN: usize = 3;
    let first = keys.iter().take(SHOWN).map(|(key, set)| format!("{}: {}", harmless(key), setting_words(*set)));
    let mut words: Vec<String> = first.collect();
    if keys.len() > SHOWN {
        words.push(format!("{} more", keys.len() - SHOWN));
    }
    if words.is_empty() { "-".to_owned() } else { words.join("; ") }
}

/// `20 slots, 100 in 1 s, 20 at once`.
fn setting_words(setting: Setting) -> String {
    let limit = setting.limit.map(|limit| if limit == 1 { "1 slot".to_owned() } else { format!("{limit} slots") });
    let words: Vec<String> = limit.into_iter().chain(setting.rate.map(rate_words)).collect();
    words.join(", ")
}
