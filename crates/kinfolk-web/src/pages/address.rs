//! Where a request is: the address as the browser has it, and the parts of its query.

use std::convert::Infallible;

use axum::extract::{FromRequestParts, OriginalUri, Query};
use axum::http::request::Parts;

use super::part::words;

/// The address of a request.
#[derive(Clone, Default)]
pub(crate) struct Address {
    /// Path and query, prefix included.
    pub(crate) here: String,
    path: String,
    query: Vec<(String, String)>,
    done: Option<String>,
}

impl<S: Send + Sync> FromRequestParts<S> for Address {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        let uri =
            parts.extensions.get::<OriginalUri>().map_or_else(|| parts.uri.clone(), |original| original.0.clone());
        let query = Query::<Vec<(String, String)>>::try_from_uri(&uri).map(|Query(query)| query).unwrap_or_default();
        let path = uri.path().to_owned();
        let done = query.iter().find(|(name, _)| name == "done").map(|(_, value)| value.clone());
        let query: Vec<_> = query.into_iter().filter(|(name, value)| name != "done" && !value.is_empty()).collect();
        let here = addressed(&path, &query);
        Ok(Self { here, path, query, done })
    }
}

impl Address {
    /// An address that this module has made.
    pub(crate) fn at(address: &str) -> Self {
        let (path, query) = address.split_once('?').unwrap_or((address, ""));
        let uri = format!("/?{query}").parse().unwrap_or_default();
        let query = Query::<Vec<(String, String)>>::try_from_uri(&uri).map(|Query(query)| query).unwrap_or_default();
        Self { here: address.to_owned(), path: path.to_owned(), query, done: None }
    }

    /// A part of the query, if it is there and not empty.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.query.iter().find(|(given, _)| given == name).map(|(_, value)| value.as_str())
    }

    /// What the address says was just done.
    pub(crate) fn done(&self) -> Option<&str> {
        self.done.as_deref()
    }

    /// All parts of the query.
    pub(crate) fn parts(&self) -> &[(String, String)] {
        &self.query
    }

    /// The address of the same page with this part set, or without it.
    pub(crate) fn with(&self, name: &str, value: Option<&str>) -> String {
        let mut query: Vec<_> = self.query.iter().filter(|(given, _)| given != name).cloned().collect();
        query.extend(value.map(|value| (name.to_owned(), value.to_owned())));
        addressed(&self.path, &query)
    }

    /// The address of the same page without this part, whatever else has its name.
    pub(crate) fn without_part(&self, name: &str, value: &str) -> String {
        let is_it = |(given, said): &&(String, String)| given != name || said != value;
        addressed(&self.path, &self.query.iter().filter(is_it).cloned().collect::<Vec<_>>())
    }

    /// The address of the same page without any of these parts.
    pub(crate) fn without(&self, names: &[&str]) -> String {
        let query: Vec<_> = self.query.iter().filter(|(given, _)| !names.contains(&given.as_str())).cloned().collect();
        addressed(&self.path, &query)
    }
}

/// A path with a query.
pub(crate) fn addressed(path: &str, query: &[(String, String)]) -> String {
    let part = |(name, value): &(String, String)| format!("{}={}", words::encoded(name), words::encoded(value));
    let query: Vec<String> = query.iter().map(part).collect();
    if query.is_empty() { path.to_owned() } else { format!("{path}?{}", query.join("&")) }
}
