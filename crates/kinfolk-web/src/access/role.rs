//! Callers and their roles.

use std::collections::BTreeSet;

use kinfolk_core::QueueName;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// What a caller may do. Each role may do what those before it may.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Look.
    Viewer,
    /// Enqueue, cancel, retry, run now, signal, pause and resume.
    Operator,
    /// Change queues, groups, schedules and statuses; delete; read the audit log.
    Admin,
}

impl Role {
    /// All roles, the least first.
    pub const ALL: [Self; 3] = [Self::Viewer, Self::Operator, Self::Admin];

    /// The word used everywhere.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Viewer => "viewer",
            Self::Operator => "operator",
            Self::Admin => "admin",
        }
    }
}

/// The caller. An application that mounts this router may add one to a request, as an extension; then no token is needed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caller {
    /// The name of their token, for the audit log.
    pub(crate) name: String,
    /// What they may do; `None` is nothing.
    pub(crate) role: Option<Role>,
    /// The only queues whose tasks they may see and change; `None` is all.
    pub(crate) queues: Option<Vec<QueueName>>,
}

impl Caller {
    /// A caller with this name and role, on all queues.
    pub fn new(name: impl Into<String>, role: Role) -> Self {
        Self { name: name.into(), role: Some(role), queues: None }
    }

    /// The same, with only these queues.
    #[must_use]
    pub fn only(self, queues: impl IntoIterator<Item = QueueName>) -> Self {
        // Each once: what is counted queue by queue would be counted twice.
        let queues: BTreeSet<QueueName> = queues.into_iter().collect();
        Self { queues: Some(queues.into_iter().collect()), ..self }
    }

    /// Someone who may do nothing.
    pub(crate) fn nobody() -> Self {
        Self { name: "nobody".to_owned(), role: None, queues: Some(Vec::new()) }
    }

    /// Someone who needs no token.
    pub(crate) fn local(role: Role) -> Self {
        Self::new("local", role)
    }

    /// Whether they have this role, or one that may do more.
    pub(crate) fn is(&self, role: Role) -> bool {
        self.role.is_some_and(|own| own >= role)
    }

    /// Whether they may see and change the tasks of this queue.
    pub(crate) fn may_see(&self, queue: &QueueName) -> bool {
        self.queues.as_ref().is_none_or(|queues| queues.contains(queue))
    }
}
