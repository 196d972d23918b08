//! Stylesheet, script and pictures, embedded in the program. Each has an address with the digest of its content, which a
//! browser keeps for good.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use axum::extract::{Path, RawQuery};
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::response::{IntoResponse as _, Response};
use sha2::{Digest as _, Sha256};

use crate::problem::Problem;

/// Name, type, content.
const ASSETS: &[(&str, &str, &[u8])] = &[
    ("icon.svg", "image/svg+xml", include_bytes!("../assets/icon.svg")),
    ("kinfolk.css", "text/css; charset=utf-8", include_bytes!("../assets/kinfolk.css")),
    ("kinfolk.js", "text/javascript; charset=utf-8", include_bytes!("../assets/kinfolk.js")),
];

struct Asset {
    mime: &'static str,
    bytes: &'static [u8],
    digest: String,
}

static BY_NAME: LazyLock<BTreeMap<&'static str, Asset>> = LazyLock::new(|| {
    let asset = |&(name, mime, bytes): &(&'static str, &'static str, &'static [u8])| {
        let digest = Sha256::digest(bytes).iter().take(8).map(|byte| format!("{byte:02x}")).collect();
        (name, Asset { mime, bytes, digest })
    };
    ASSETS.iter().map(asset).collect()
});

/// The digest of an asset's content; empty for one that is not there.
pub(crate) fn digest(name: &str) -> &'static str {
    BY_NAME.get(name).map_or("", |asset| asset.digest.as_str())
}

/// `GET /assets/NAME`
pub(crate) async fn serve(Path(name): Path<String>, RawQuery(query): RawQuery) -> Response {
    let Some(asset) = BY_NAME.get(name.as_str()) else {
        return Problem::not_found("asset", &name).into_response();
    };
    let current = query.is_some_and(|query| query.strip_prefix("v=") == Some(asset.digest.as_str()));
    let keep = if current { "public, max-age=31536000, immutable" } else { "no-cache" };
    ([(CONTENT_TYPE, asset.mime), (CACHE_CONTROL, keep)], asset.bytes).into_response()
}
