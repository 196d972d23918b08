//! `kinfolk groups set`: change what a group, or one key of it, allows. What is left out stays as it was.

use kinfolk_core::group::TOTAL;
use kinfolk_core::{GroupRef, GroupView, InputError, Rate, Setting};
use serde_json::json;

use super::{Which, setting_words};
use crate::fault::Fault;
use crate::group;
use crate::out::parts::SettingPart;
use crate::session::Session;

/// `kinfolk groups set NAME`
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    #[command(flatten)]
    which: Which,

    /// Only for this key
    #[arg(long, value_name = "KEY")]
    key: Option<String>,

    /// The slots of each key; 0 starts nothing; `declared` returns to the declaration
    #[arg(long, value_name = "LIMIT", value_parser = parse_limit)]
    limit: Option<Change<u32>>,

    /// The starts in a span of time, like 100/1s or 100/1s:20; `declared` returns to the declaration
    #[arg(long, value_name = "COUNT/SPAN[:BURST]", value_parser = parse_rate)]
    rate: Option<Change<Rate>>,

    /// With --rate: so many at once after a pause
    #[arg(long, value_name = "N", requires = "rate")]
    burst: Option<u32>,

    /// Return to the declaration of the command
    #[arg(long, conflicts_with_all = ["limit", "rate", "burst"])]
    clear: bool,
}

/// A value, or back to what is declared.
#[derive(Clone, Copy, Debug)]
enum Change<T> {
    To(T),
    Declared,
}

impl<T> Change<T> {
    fn value(self) -> Option<T> {
        match self {
            Self::To(value) => Some(value),
            Self::Declared => None,
        }
    }
}

fn parse_limit(text: &str) -> Result<Change<u32>, InputError> {
    if text == "declared" { Ok(Change::Declared) } else { group::parse_slots(text).map(Change::To) }
}

fn parse_rate(text: &str) -> Result<Change<Rate>, InputError> {
    if text == "declared" { Ok(Change::Declared) } else { group::parse_rate(text).map(Change::To) }
}

/// Runs it.
pub(crate) async fn run(args: Args, session: &Session) -> Result<(), Fault> {
    if args.limit.is_none() && args.rate.is_none() && !args.clear {
        return Err(Fault::input("nothing to set; give --limit or --rate, or --clear to go back to what is declared"));
    }
    // Refused before a database is looked for.
    GroupRef::shared(args.which.name.clone()).check_setting(args.key.as_deref(), &args.changed(Setting::default()))?;
    let store = session.open().await?;
    let groups = store.groups().await?;
    let view = args.which.find(&groups)?;
    let known = match &args.key {
        Some(key) => view.keys.get(key).copied().unwrap_or_default(),
        None => view.set,
    };
    let setting = args.changed(known);
    store.set_group(&view.group, args.key.as_deref(), &setting).await?;
    session.out.say(
        &json!({
            "group": view.group.name,
            "command": view.group.command,
            "key": args.key,
            "limit": setting.limit,
            "rate": SettingPart::from(setting).rate,
        }),
        sentence(view, args.key.as_deref(), setting),
    )
}

impl Args {
    fn changed(&self, mut setting: Setting) -> Setting {
        if self.clear {
            return Setting::default();
        }
        if let Some(limit) = self.limit {
            setting.limit = limit.value();
        }
        if let Some(rate) = self.rate {
            setting.rate = rate.value().map(|rate| Rate { burst: self.burst.unwrap_or(rate.burst), ..rate });
        }
        setting
    }
}

fn sentence(view: &GroupView, key: Option<&str>, setting: Setting) -> String {
    let what = match key {
        Some(key) => format!("key {key:?} of group {}", view.group),
        None => format!("each key of group {}", view.group),
    };
    let what = if view.group.name.as_str() == TOTAL { format!("group {}", view.group) } else { what };
    match setting.is_empty() {
        true => format!("{what} is back at its declaration"),
        false => format!("{what} has {}; running tasks go on", setting_words(setting)),
    }
}
