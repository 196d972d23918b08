//! Answers to what an operator does.

use serde::{Deserialize, Serialize};

use crate::state::State;

/// What became of a request to cancel a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cancelled {
    /// It was pending and is cancelled now.
    Now,
    /// It runs; its worker has been asked to stop it.
    Requested,
    /// It had already ended, in this state.
    TooLate(State),
}

/// What a migration did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Migrated {
    /// The version before; 0 is no schema.
    pub from: i32,
    /// The version now.
    pub to: i32,
}

/// One step of the schema's history.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Migration {
    /// Its number.
    pub version: i32,
    /// What it does, in a few words.
    pub name: String,
    /// The SQL.
    pub sql: String,
}
