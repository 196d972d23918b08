//! The settings of an operator, for a group or for one key of it.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::TOTAL;
use super::keys::check_key;
use super::rate::Rate;
use crate::error::InputError;
use crate::limits::GROUP_LIMIT_MAX;
use crate::name::{CommandName, GroupName};

/// An operator's setting for a group or for one key of it. It applies until the operator sets it again, also when the command is
/// registered anew. A field that is `None` is as the command declares it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Setting {
    /// Slots.
    pub limit: Option<u32>,
    /// Starts in a span of time.
    pub rate: Option<Rate>,
}

/// A group, wherever it is spoken of.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct GroupRef {
    /// The command it belongs to; `None` for a shared one.
    pub command: Option<CommandName>,
    /// Its name.
    pub name: GroupName,
}

impl Setting {
    /// Refuses what no store would keep.
    pub fn check(&self) -> Result<(), InputError> {
        if let Some(limit) = self.limit
            && limit > GROUP_LIMIT_MAX
        {
            return Err(InputError::Other(format!(
                "a limit of {limit} is out of range; it may be {GROUP_LIMIT_MAX} at most"
            )));
        }
        self.rate.map_or(Ok(()), |rate| rate.check())
    }

    /// Whether nothing is set.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

impl GroupRef {
    /// The group of this name that belongs to this command.
    pub fn of(command: CommandName, name: GroupName) -> Self {
        Self { command: Some(command), name }
    }

    /// The shared group of this name.
    pub fn shared(name: GroupName) -> Self {
        Self { command: None, name }
    }

    /// Refuses a setting for this group, or for one key of it, that no store would keep.
    pub fn check_setting(&self, key: Option<&str>, setting: &Setting) -> Result<(), InputError> {
        if let Some(key) = key {
            if self.name.as_str() == TOTAL {
                return Err(InputError::Other("a command's total has no keys; set it for the whole group".to_owned()));
            }
            check_key(key)?;
        }
        setting.check()
    }
}

impl fmt::Display for GroupRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.command {
            Some(command) => write!(f, "{} of {command}", self.name),
            None => write!(f, "{}", self.name),
        }
    }
}
