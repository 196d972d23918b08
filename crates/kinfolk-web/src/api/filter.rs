//! The filters of a listing, as they are in the query. Each has the name that it has everywhere else.

use axum::extract::{FromRequestParts, Query};
use axum::http::Uri;
use axum::http::request::Parts;
use kinfolk_core::inspect::{Filter, Order, PayloadIs};
use kinfolk_core::{CommandName, FailureKind, FanOutId, InputError, Keys, QueueName, TaskId, Timestamp};
use serde::Deserialize;
use utoipa::IntoParams;

use super::extract::{page_size, unreadable, words};
use super::form::StateForm;
use crate::pages::addressed;
use crate::problem::Problem;

/// Which tasks.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct FilterQuery {
    /// In one of these states: `failed,cancelled`.
    #[param(value_type = Option<Vec<StateForm>>, style = Form, explode = false)]
    pub(crate) state: Option<String>,
    /// On this queue.
    pub(crate) queue: Option<String>,
    /// Of this command.
    pub(crate) command: Option<String>,
    /// The children of this task.
    #[param(value_type = Option<i64>, minimum = 1)]
    parent: Option<String>,
    /// The family of this root.
    #[param(value_type = Option<i64>, minimum = 1)]
    root: Option<String>,
    /// That have children, or have none.
    has_children: Option<bool>,
    /// The children in this fan-out.
    #[param(value_type = Option<i64>, minimum = 1)]
    fan_out: Option<String>,
    /// The follow-ups that the family of this root has made.
    #[param(value_type = Option<i64>, minimum = 1)]
    follows: Option<String>,
    /// Only roots.
    #[serde(default)]
    roots: bool,
    /// Holding or having held this unique key.
    unique: Option<String>,
    /// With these keys in groups: `tenant=acme`. It may be given several times, once for each group.
    #[param(value_type = Option<Vec<String>>, style = Form, explode)]
    key: Option<String>,
    /// Enqueued at this moment or later.
    #[param(value_type = Option<String>, format = DateTime)]
    created_after: Option<Timestamp>,
    /// Enqueued before this moment.
    #[param(value_type = Option<String>, format = DateTime)]
    created_before: Option<Timestamp>,
    /// Ended at this moment or later.
    #[param(value_type = Option<String>, format = DateTime)]
    finished_after: Option<Timestamp>,
    /// Ended before this moment.
    #[param(value_type = Option<String>, format = DateTime)]
    finished_before: Option<Timestamp>,
    /// Whose last failure is of this kind: `timeout`.
    #[param(value_type = Option<String>)]
    failure_kind: Option<FailureKind>,
    /// Whose last failure has these letters in its message.
    failure_text: Option<String>,
    /// With this value at this place of the payload: `customer.id=17`.
    payload: Option<String>,
    /// `newest` or `oldest` first.
    #[param(value_type = Option<String>)]
    order: Option<Order>,
    /// Only tasks with a smaller number than this: `next` of the page before.
    #[param(value_type = Option<i64>, minimum = 1)]
    pub(crate) before: Option<String>,
    /// Only tasks with a larger number than this: `next` of the page before, oldest first.
    #[param(value_type = Option<i64>, minimum = 1)]
    after: Option<String>,
    /// At most this many; 50 unless said otherwise.
    #[param(minimum = 1, maximum = 1000)]
    pub(crate) limit: Option<usize>,
}

impl FilterQuery {
    /// The filter that is meant.
    pub(crate) fn filter(&self) -> Result<Filter, Problem> {
        let id = |text: &Option<String>| text.as_deref().map(str::parse::<TaskId>).transpose();
        let filter = Filter {
            state: self.state.as_deref().map(words).transpose()?.unwrap_or_default(),
            queue: self.queue.as_deref().map(QueueName::new).transpose()?,
            command: self.command.as_deref().map(CommandName::new).transpose()?,
            parent: id(&self.parent)?,
            root: id(&self.root)?,
            has_children: self.has_children,
            fan_out: id(&self.fan_out)?.map(|id| FanOutId(id.0)),
            follows: id(&self.follows)?,
            roots: self.roots,
            unique: self.unique.clone(),
            key: self.key.as_deref().map(keys).transpose()?.unwrap_or_default(),
            created_after: self.created_after,
            created_before: self.created_before,
            finished_after: self.finished_after,
            finished_before: self.finished_before,
            failure_kind: self.failure_kind,
            failure_text: self.failure_text.clone(),
            payload: self.payload.as_deref().map(str::parse::<PayloadIs>).transpose()?,
            order: self.order.unwrap_or_default(),
            before: id(&self.before)?,
            after: id(&self.after)?,
            limit: page_size(self.limit)?,
        };
        filter.check()?;
        Ok(filter)
    }
}

/// The filter in the query of a request.
pub(crate) struct Filtered(pub(crate) FilterQuery);

impl<S: Send + Sync> FromRequestParts<S> for Filtered {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        let given = Query::<Vec<(String, String)>>::try_from_uri(&parts.uri);
        let Query(given) = given.map_err(|refused| unreadable(&refused))?;
        Self::read(&given)
    }
}

impl Filtered {
    /// Reads the parts of a query. A form has one value for each name, so several keys become one text on the way.
    pub(crate) fn read(parts: &[(String, String)]) -> Result<Self, Problem> {
        let (keys, mut form): (Vec<_>, Vec<_>) = parts.iter().cloned().partition(|(name, _)| name == "key");
        if !keys.is_empty() {
            let keys: Vec<String> = keys.into_iter().map(|(_, key)| key).collect();
            form.push(("key".to_owned(), keys.join(BETWEEN_KEYS)));
        }
        let address: Uri = addressed("/", &form).parse().map_err(|_| Problem::input("the address is too long"))?;
        match Query::<FilterQuery>::try_from_uri(&address) {
            Ok(Query(query)) => Ok(Self(query)),
            Err(refused) => Err(unreadable(&refused)),
        }
    }
}

/// A character that no key has.
const BETWEEN_KEYS: &str = "\0";

/// Reads `tenant=acme`, and several of them.
fn keys(text: &str) -> Result<Keys, InputError> {
    let mut keys = Keys::new();
    for text in text.split(BETWEEN_KEYS) {
        let Some((group, key)) = text.split_once('=') else {
            return Err(InputError::Other(format!("{text:?} has no =; write group=key, such as tenant=acme")));
        };
        for (group, key) in Keys::of([(group, key)])? {
            if keys.0.insert(group.clone(), key).is_some() {
                return Err(InputError::Other(format!("key has group {group} twice; a task has one key in each")));
            }
        }
    }
    Ok(keys)
}
