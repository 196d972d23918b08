//! Links that hold wherever the application is mounted.

use axum::extract::{OriginalUri, Request};
use axum::middleware::Next;
use axum::response::Response;

use crate::assets;

/// Where the application is mounted: the prefix of all its addresses, without a slash at its end.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Links {
    prefix: String,
}

impl Links {
    /// The address of a path of the application: `/tasks/42` is `/prefix/tasks/42`.
    pub(crate) fn to(&self, path: &str) -> String {
        format!("{}{path}", self.prefix)
    }

    /// The address of an asset, with the digest of its content, so that a browser may keep it for good.
    pub(crate) fn asset(&self, name: &str) -> String {
        format!("{}/assets/{name}?v={}", self.prefix, assets::digest(name))
    }

    fn of(original: &str, stripped: &str) -> Self {
        // Under `.nest("/kinfolk", …)` the address `/kinfolk` itself comes in as `/`.
        let prefix = original.strip_suffix(stripped).unwrap_or(original).trim_end_matches('/');
        Self { prefix: prefix.to_owned() }
    }
}

/// Finds out where the application is mounted, and leaves it with the request.
pub(crate) async fn find_prefix(original: OriginalUri, mut request: Request, next: Next) -> Response {
    let links = Links::of(original.path(), request.uri().path());
    request.extensions_mut().insert(links);
    next.run(request).await
}

#[cfg(test)]
mod tests {
    use super::Links;

    #[test]
    fn the_prefix_is_what_the_router_above_has_taken_away() {
        for (original, stripped, link) in [
            ("/tasks/1", "/tasks/1", "/queues"),
            ("/kinfolk/tasks/1", "/tasks/1", "/kinfolk/queues"),
            ("/kinfolk", "/", "/kinfolk/queues"),
            ("/a/b/", "/", "/a/b/queues"),
            ("/", "/", "/queues"),
        ] {
            assert_eq!(Links::of(original, stripped).to("/queues"), link, "{original}");
        }
    }
}
