//! Which tasks are meant: the filter of listings, counts and bulk actions.
//!
//! Each part of it has one name, in the library, on the command line, in SQL and over HTTP. How a store finds what matches
//! is its own affair; what matches is decided here, by [`Filter::matches`], and a contract holds the stores to it.

use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::error::InputError;
use crate::group::Keys;
use crate::ids::{FanOutId, TaskId};
use crate::json::Json;
use crate::limits::{ERROR_BYTES_MAX, JSON_DEPTH_MAX, PAGE_MAX, PAYLOAD_BYTES_MAX};
use crate::name::{CommandName, QueueName};
use crate::settle::FailureKind;
use crate::state::State;
use crate::task::Task;
use crate::time::Timestamp;

/// The first moment of the year 1: what lies before it is written in ways that not every store reads.
const FIRST: Timestamp = Timestamp::from_micros(-62_135_596_800_000_000);

/// Which tasks to list, and which page of them. An empty filter is all of them, newest first, on pages of one: give a limit.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Filter {
    /// In one of these states; empty is any.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub state: Vec<State>,
    /// On this queue.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue: Option<QueueName>,
    /// Of this command.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<CommandName>,
    /// The children of this task.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<TaskId>,
    /// The family of this root: itself and all below it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub root: Option<TaskId>,
    /// That have children, or have none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub has_children: Option<bool>,
    /// The children in this fan-out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fan_out: Option<FanOutId>,
    /// The follow-ups that the family of this root has made.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub follows: Option<TaskId>,
    /// Only roots: tasks without a parent.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub roots: bool,
    /// Holding or having held this unique key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unique: Option<String>,
    /// With all of these keys in groups.
    #[serde(skip_serializing_if = "Keys::is_empty")]
    pub key: Keys,
    /// Enqueued at this moment or later.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub created_after: Option<Timestamp>,
    /// Enqueued before this moment.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub created_before: Option<Timestamp>,
    /// Ended at this moment or later.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub finished_after: Option<Timestamp>,
    /// Ended before this moment.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub finished_before: Option<Timestamp>,
    /// Whose last failure is of this kind.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure_kind: Option<FailureKind>,
    /// Whose last failure has these letters in its message, just so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure_text: Option<String>,
    /// With this value at this place of the payload.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub payload: Option<PayloadIs>,
    /// In which order.
    #[serde(skip_serializing_if = "Order::is_newest")]
    pub order: Order,
    /// Only tasks with a smaller number than this. In the order [`Order::Newest`] a page goes on here.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<TaskId>,
    /// Only tasks with a larger number than this. In the order [`Order::Oldest`] a page goes on here.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<TaskId>,
    /// At most this many, and at most [`crate::limits::PAGE_MAX`]. 0, as in an empty filter, is 1.
    pub limit: usize,
}

/// In which order tasks are listed. Numbers are given out as tasks are made, so that is roughly the order of their ages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Order {
    /// The highest number first.
    #[default]
    Newest,
    /// The lowest number first.
    Oldest,
}

/// A value at a place of the payload.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PayloadIs {
    /// The way there: keys of objects, and in arrays the place from 0 on.
    pub path: Vec<String>,
    /// The value at that place, to the digit.
    pub value: Json,
}

/// One page of a listing, in the order that was asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Page {
    /// The tasks.
    pub tasks: Vec<Task>,
    /// Where the next page goes on, if there may be one: the value for [`Filter::before`], or for [`Filter::after`] in the
    /// order [`Order::Oldest`]. A page looks at [`crate::limits::LOOK_MAX`] tasks at most: it can be short, even empty, and
    /// still have a next one.
    pub next: Option<TaskId>,
}

/// How many tasks of each command match a filter.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ByCommand {
    /// The commands that have some, by name; together [`crate::limits::LOOK_MAX`] tasks at most.
    pub counts: Vec<(CommandName, u64)>,
    /// Not all tasks were looked at: there may be more.
    pub more: bool,
}

/// How many tasks match a filter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Matches {
    /// This many, and at most [`crate::limits::LOOK_MAX`].
    pub tasks: u64,
    /// Not all tasks were looked at: there may be more.
    pub more: bool,
}

impl Filter {
    /// Refuses what no task can match by mistake: letters that no store keeps, and what is too large to compare.
    pub fn check(&self) -> Result<(), InputError> {
        if let Some(text) = &self.failure_text
            && (text.is_empty() || text.len() > ERROR_BYTES_MAX || text.contains('\0'))
        {
            let why = format!("failure_text must have 1 to {ERROR_BYTES_MAX} bytes and no \\0");
            return Err(InputError::Other(why));
        }
        if let Some(key) = self.unique.as_ref().filter(|key| key.contains('\0')) {
            return Err(InputError::UniqueKey { key: key.clone(), bytes: key.len() });
        }
        let times = [self.created_after, self.created_before, self.finished_after, self.finished_before];
        if let Some(time) = times.into_iter().flatten().find(|time| *time < FIRST) {
            let why = "it lies before the year 1".to_owned();
            return Err(InputError::NotATime { text: time.to_string(), why });
        }
        self.key.check()?;
        self.payload.as_ref().map_or(Ok(()), PayloadIs::check)
    }

    /// How many tasks a page of it has at most.
    pub fn page(&self) -> usize {
        self.limit.clamp(1, PAGE_MAX)
    }

    /// Whether a task matches, wherever pages begin and end. `unique`: the key it holds or has held.
    pub fn matches(&self, task: &Task, unique: Option<&str>, has_children: bool) -> bool {
        let failure = task.failure.as_ref();
        (self.state.is_empty() || self.state.contains(&task.state))
            && self.queue.as_ref().is_none_or(|queue| task.queue == *queue)
            && self.command.as_ref().is_none_or(|command| task.command == *command)
            && self.parent.is_none_or(|parent| task.parent == Some(parent))
            && self.root.is_none_or(|root| task.root == root)
            && self.has_children.is_none_or(|has| has == has_children)
            && self.fan_out.is_none_or(|fan_out| task.fan_out == Some(fan_out))
            && self.follows.is_none_or(|root| task.follows == Some(root))
            && (!self.roots || task.parent.is_none())
            && self.unique.as_ref().is_none_or(|key| unique == Some(key))
            && self.key.0.iter().all(|(group, key)| task.keys.get(group) == Some(key))
            && self.created_after.is_none_or(|then| task.created_at >= then)
            && self.created_before.is_none_or(|then| task.created_at < then)
            && self.finished_after.is_none_or(|then| task.finished_at.is_some_and(|end| end >= then))
            && self.finished_before.is_none_or(|then| task.finished_at.is_some_and(|end| end < then))
            && self.failure_kind.is_none_or(|kind| failure.is_some_and(|failure| failure.kind == kind))
            && self.failure_text.as_ref().is_none_or(|text| failure.is_some_and(|f| f.message.contains(text)))
            && self.payload.as_ref().is_none_or(|wanted| wanted.holds(&task.payload))
    }

    /// The same filter, where the next page goes on.
    #[must_use]
    pub fn next_page(self, next: TaskId) -> Self {
        match self.order {
            Order::Newest => Self { before: Some(next), ..self },
            Order::Oldest => Self { after: Some(next), ..self },
        }
    }
}

impl Order {
    /// The word used everywhere.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Newest => "newest",
            Self::Oldest => "oldest",
        }
    }

    #[allow(clippy::trivially_copy_pass_by_ref, reason = "as serde wants it")]
    fn is_newest(&self) -> bool {
        *self == Self::Newest
    }
}

impl FromStr for Order {
    type Err = InputError;

    fn from_str(text: &str) -> Result<Self, InputError> {
        match text {
            "newest" => Ok(Self::Newest),
            "oldest" => Ok(Self::Oldest),
            _ => Err(InputError::Other(format!("unknown order {text:?}; there are newest and oldest"))),
        }
    }
}

impl PayloadIs {
    fn check(&self) -> Result<(), InputError> {
        let strange = |key: &String| key.is_empty() || key.contains('\0');
        if self.path.is_empty() || self.path.len() > JSON_DEPTH_MAX || self.path.iter().any(strange) {
            return Err(InputError::Other(format!("a path has 1 to {JSON_DEPTH_MAX} keys, none empty, none with \\0")));
        }
        if self.value.bytes() > PAYLOAD_BYTES_MAX {
            let bytes = self.value.bytes();
            return Err(InputError::TooLarge { what: "value to look for", bytes, max: PAYLOAD_BYTES_MAX });
        }
        Ok(())
    }

    /// Whether a payload has the value there.
    pub fn holds(&self, payload: &Json) -> bool {
        payload.at(&self.path).is_some_and(|value| value == self.value)
    }
}

/// Reads `customer.id=17`: keys with dots between them, and a value, which is text when it is not JSON.
impl FromStr for PayloadIs {
    type Err = InputError;

    fn from_str(text: &str) -> Result<Self, InputError> {
        let Some((path, value)) = text.split_once('=') else {
            return Err(InputError::Other(format!("{text:?} has no =; write path=value, such as customer.id=17")));
        };
        let value = Json::parse(value).or_else(|_| Json::of(value))?;
        let parsed = Self { path: path.split('.').map(str::to_owned).collect(), value };
        parsed.check()?;
        Ok(parsed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filter_is_the_same_json_for_everyone() {
        let text =
            r#"{"state":["failed"],"command":"mail","key":{"tenant":"acme"},"order":"oldest","after":7,"limit":50}"#;
        let filter: Filter = serde_json::from_str(text).unwrap();
        assert_eq!(Json::of(&filter).unwrap(), Json::parse(text).unwrap());
        assert!(serde_json::from_str::<Filter>(r#"{"sate":["failed"]}"#).is_err());
    }

    #[test]
    fn a_value_at_a_path_is_json_or_else_text() {
        let payload = Json::parse(r#"{"customer":{"id":17,"tags":["new","vip"]},"city":"Oslo"}"#).unwrap();
        for held in ["customer.id=17", "city=Oslo", "city=\"Oslo\"", "customer.tags.1=vip", "customer.tags.-1=vip"] {
            assert!(held.parse::<PayloadIs>().unwrap().holds(&payload), "{held}");
        }
        for not_held in ["customer.id=18", "customer=17", "customer.id=\"17\"", "customer.tags.2=vip", "a.b=null"] {
            assert!(!not_held.parse::<PayloadIs>().unwrap().holds(&payload), "{not_held}");
        }
        for strange in ["city", "=1", "a..b=1", "a\0b=1"] {
            assert!(strange.parse::<PayloadIs>().is_err(), "{strange:?}");
        }
    }
}
