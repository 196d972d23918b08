//! Pages of an application's own, from a folder: `/app/` is its `index.html`. They are on the same origin as the API, so that a
//! script of theirs can ask it and follow its streams with the log-in of the caller.
//!
//! The folder is read once, when the server starts: what is asked for is looked up by name and is never a path.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::Arc;

use axum::extract;
use axum::extract::State;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::response::{IntoResponse as _, Response};

use crate::app::Shared;
use crate::problem::Problem;

/// The most files in a folder.
const FILES_MAX: usize = 200;
/// The largest file, in bytes.
const BYTES_MAX: u64 = 4 * 1024 * 1024;

/// What is served, by the endings of names.
const TYPES: [(&str, &str); 8] = [
    ("html", "text/html; charset=utf-8"),
    ("css", "text/css; charset=utf-8"),
    ("js", "text/javascript; charset=utf-8"),
    ("json", "application/json"),
    ("svg", "image/svg+xml"),
    ("png", "image/png"),
    ("ico", "image/x-icon"),
    ("txt", "text/plain; charset=utf-8"),
];

/// The files, by name.
#[derive(Clone, Debug, Default)]
pub(crate) struct OwnPages(Arc<BTreeMap<String, (&'static str, Vec<u8>)>>);

impl OwnPages {
    /// Reads a folder, without those below it. A file whose kind is not known, or whose name begins with a dot, is left out.
    pub(crate) fn read(folder: &Path) -> io::Result<Self> {
        let mut files = BTreeMap::new();
        for entry in std::fs::read_dir(folder)? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let ending = name.rsplit_once('.').filter(|(stem, _)| !stem.is_empty()).map(|(_, ending)| ending);
            let mime = TYPES.iter().find(|(known, _)| Some(*known) == ending).map(|(_, mime)| *mime);
            let (Some(mime), true) = (mime, entry.path().is_file()) else { continue };
            if entry.path().metadata()?.len() > BYTES_MAX {
                return Err(io::Error::other(format!("{name} is larger than 4 MB")));
            }
            files.insert(name, (mime, std::fs::read(entry.path())?));
            if files.len() > FILES_MAX {
                return Err(io::Error::other("there are more than 200 files"));
            }
        }
        if !files.contains_key("index.html") {
            return Err(io::Error::other("there is no index.html"));
        }
        Ok(Self(Arc::new(files)))
    }
}

/// `GET /app/`
pub(crate) async fn index(State(app): State<Shared>) -> Response {
    show(&app.config.own_pages, "index.html")
}

/// `GET /app/NAME`
pub(crate) async fn file(State(app): State<Shared>, extract::Path(name): extract::Path<String>) -> Response {
    show(&app.config.own_pages, &name)
}

fn show(pages: &OwnPages, name: &str) -> Response {
    match pages.0.get(name) {
        Some((mime, bytes)) => ([(CONTENT_TYPE, *mime), (CACHE_CONTROL, "no-cache")], bytes.clone()).into_response(),
        None => Problem::not_found("page", name).into_response(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_without_an_index_is_refused_and_secrets_are_left_out() {
        let folder = std::env::temp_dir().join(format!("kinfolk-own-{}", std::process::id()));
        std::fs::create_dir_all(folder.join("below.html")).unwrap();
        let refused = OwnPages::read(&folder).unwrap_err().to_string();
        assert!(refused.contains("index.html"), "{refused}");
        for name in ["index.html", "page.js", ".html", "kinfolk.toml", "notes"] {
            std::fs::write(folder.join(name), name).unwrap();
        }
        let pages = OwnPages::read(&folder).unwrap();
        std::fs::remove_dir_all(&folder).unwrap();
        assert_eq!(pages.0.keys().collect::<Vec<_>>(), ["index.html", "page.js"]);
    }
}
