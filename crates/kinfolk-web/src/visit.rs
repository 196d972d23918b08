//! One request: who asks, from where, and what they may see and do.

use std::convert::Infallible;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;

use crate::access::{Caller, Role};
use crate::act::Act;
use crate::app::Shared;
use crate::link::Links;
use crate::view::View;

/// One request, as handlers take it.
pub(crate) struct Visit {
    pub(crate) app: Shared,
    /// The caller.
    pub(crate) caller: Caller,
    /// Where the application is mounted.
    pub(crate) links: Links,
}

impl Visit {
    /// What the caller may see.
    pub(crate) fn view(&self) -> View<'_> {
        View::new(&self.app, &self.caller)
    }

    /// The caller in words, for the foot of a page.
    pub(crate) fn caller_words(&self) -> String {
        let role = self.caller.role.map_or("nobody", Role::as_str);
        let role = if self.app.config.read_only { "only looking" } else { role };
        format!("{}, {role}", self.caller.name)
    }

    /// Whether the caller may act on tasks and queues.
    pub(crate) fn may_act(&self) -> bool {
        !self.app.config.read_only && self.caller.is(Role::Operator)
    }

    /// Whether the caller may change groups and schedules.
    pub(crate) fn may_manage(&self) -> bool {
        !self.app.config.read_only && self.caller.is(Role::Admin)
    }

    /// What the caller may do.
    pub(crate) fn act(&self) -> Act<'_> {
        Act::new(&self.app, &self.caller)
    }
}

impl FromRequestParts<Shared> for Visit {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, app: &Shared) -> Result<Self, Infallible> {
        // The guard has put both here; without it a caller is nobody and may do nothing.
        let caller = parts.extensions.get::<Caller>().cloned().unwrap_or_else(Caller::nobody);
        let links = parts.extensions.get::<Links>().cloned().unwrap_or_default();
        Ok(Self { app: app.clone(), caller, links })
    }
}
