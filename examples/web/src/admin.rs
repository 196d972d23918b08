//! The shop's own log-in, in front of the pages of Kinfolk: one user and a password. A real shop has sessions.

use axum::Router;
use axum::extract::Request;
use axum::http::StatusCode;
use axum::http::header::{AUTHORIZATION, WWW_AUTHENTICATE};
use axum::middleware::{Next, from_fn};
use axum::response::{IntoResponse, Response};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use kinfolk_web::{Caller, Role};
use sha2::{Digest as _, Sha256};

/// Lets only those in who know the password; the audit log calls them `admin`.
pub(crate) fn behind_a_password(pages: Router, password: &str) -> Router {
    let expected = digest(format!("Basic {}", BASE64_STANDARD.encode(format!("admin:{password}"))).as_bytes());
    pages.layer(from_fn(move |mut request: Request, next: Next| async move {
        // Digests are compared, so that the time it takes tells nothing of the password.
        let given = request.headers().get(AUTHORIZATION).map(|header| digest(header.as_bytes()));
        if given != Some(expected) {
            return refuse();
        }
        request.headers_mut().remove(AUTHORIZATION);
        request.extensions_mut().insert(Caller::new("admin", Role::Admin));
        next.run(request).await
    }))
}

fn refuse() -> Response {
    (StatusCode::UNAUTHORIZED, [(WWW_AUTHENTICATE, "Basic realm=\"shop\"")], "who are you?").into_response()
}

fn digest(bytes: &[u8]) -> [u8; 32] {
    Sha256::digest(bytes).into()
}
