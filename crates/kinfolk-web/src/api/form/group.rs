//! Groups and their keys.

use std::collections::BTreeMap;
use std::time::Duration;

use kinfolk_core::{GroupView, KeyView, Rate, Setting, Timestamp};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::millis;

/// So many starts in a span of time.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, ToSchema)]
#[schema(as = Rate)]
#[serde(deny_unknown_fields)]
pub(crate) struct RateForm {
    #[schema(minimum = 1, maximum = 1_000_000)]
    count: u32,
    #[schema(minimum = 1)]
    per_ms: u64,
    /// How many at once after a pause.
    #[serde(default = "one")]
    #[schema(minimum = 1, maximum = 1_000_000)]
    burst: u32,
}

fn one() -> u32 {
    1
}

impl From<Rate> for RateForm {
    fn from(rate: Rate) -> Self {
        Self { count: rate.count, per_ms: millis(rate.per), burst: rate.burst }
    }
}

/// The setting of a group or one of its keys; null is as it is declared.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, ToSchema)]
#[schema(as = Setting)]
#[serde(deny_unknown_fields)]
pub(crate) struct SettingForm {
    /// Slots of each key.
    #[serde(default)]
    #[schema(maximum = 1_000_000)]
    limit: Option<u32>,
    #[serde(default)]
    rate: Option<RateForm>,
}

impl From<Setting> for SettingForm {
    fn from(setting: Setting) -> Self {
        Self { limit: setting.limit, rate: setting.rate.map(RateForm::from) }
    }
}

impl From<SettingForm> for Setting {
    fn from(form: SettingForm) -> Self {
        let rate =
            |rate: RateForm| Rate { count: rate.count, per: Duration::from_millis(rate.per_ms), burst: rate.burst };
        Self { limit: form.limit, rate: form.rate.map(rate) }
    }
}

/// A group.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = Group)]
pub(crate) struct GroupForm {
    /// The command it belongs to; null for a shared one.
    command: Option<String>,
    name: String,
    /// The commands that declare it.
    commands: Vec<String>,
    declared: DeclaredForm,
    /// The setting for all its keys.
    set: SettingForm,
    /// The settings for single keys.
    keys: BTreeMap<String, SettingForm>,
}

/// The declaration of a group.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = GroupSpec)]
pub(crate) struct DeclaredForm {
    limit: Option<u32>,
    rate: Option<RateForm>,
    /// A task keeps its slot until it has ended.
    hold: bool,
    shared: bool,
}

impl From<GroupView> for GroupForm {
    fn from(view: GroupView) -> Self {
        let declared = view.declared;
        Self {
            command: view.group.command.map(|command| command.to_string()),
            name: view.group.name.to_string(),
            commands: view.commands.iter().map(ToString::to_string).collect(),
            declared: DeclaredForm {
                limit: declared.limit,
                rate: declared.rate.map(RateForm::from),
                hold: declared.hold,
                shared: declared.shared,
            },
            set: view.set.into(),
            keys: view.keys.into_iter().map(|(key, setting)| (key, setting.into())).collect(),
        }
    }
}

/// A key that is in use.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = Key)]
pub(crate) struct KeyForm {
    /// The command its group belongs to; null for a shared group.
    pub(crate) command: Option<String>,
    pub(crate) group: String,
    /// Null for a total.
    pub(crate) key: Option<String>,
    /// Its slots.
    limit: Option<u32>,
    /// How many of them are taken.
    held: u64,
    /// The first tasks that hold them.
    holders: Vec<i64>,
    /// The tasks that wait behind it.
    waiters: u64,
    /// No start before this.
    #[schema(value_type = Option<String>, format = DateTime)]
    until_at: Option<Timestamp>,
}

impl From<KeyView> for KeyForm {
    fn from(view: KeyView) -> Self {
        Self {
            command: view.group.command.map(|command| command.to_string()),
            group: view.group.name.to_string(),
            key: Some(view.key).filter(|key| !key.is_empty()),
            limit: view.limit,
            held: view.held,
            holders: view.holders.iter().map(|task| task.0).collect(),
            waiters: view.waiters,
            until_at: view.until,
        }
    }
}
