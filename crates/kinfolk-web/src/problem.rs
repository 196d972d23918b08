//! What went wrong with a request: a problem document (RFC 9457) with a stable code and what to do about it.

use axum::extract::Request;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use kinfolk_core::{InputError, StoreError};
use serde::Serialize;
use utoipa::ToSchema;

/// The longest detail, in characters.
const DETAIL_MAX: usize = 1_000;

/// A problem document.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub(crate) struct Problem {
    /// Always `about:blank`: the code says what it is.
    #[serde(rename = "type")]
    of_type: &'static str,
    /// The meaning of the status.
    pub(crate) title: &'static str,
    /// The HTTP status.
    pub(crate) status: u16,
    /// A stable word for programs, like `not_found`.
    pub(crate) code: &'static str,
    /// What happened, and what to do about it.
    pub(crate) detail: String,
}

impl Problem {
    pub(crate) fn new(status: StatusCode, code: &'static str, detail: impl Into<String>) -> Self {
        let title = status.canonical_reason().unwrap_or("Problem");
        let mut detail = detail.into();
        // It may quote what was sent, and that may be long.
        if let Some((end, _)) = detail.char_indices().nth(DETAIL_MAX) {
            detail.truncate(end);
            detail.push('…');
        }
        Self { of_type: "about:blank", title, status: status.as_u16(), code, detail }
    }

    /// What was sent can't be used.
    pub(crate) fn input(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "input", detail)
    }

    /// There is no such thing.
    pub(crate) fn not_found(what: &'static str, name: impl std::fmt::Display) -> Self {
        StoreError::not_found(what, name).into()
    }

    /// The caller may not do this.
    pub(crate) fn forbidden(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::FORBIDDEN, "forbidden", detail)
    }

    /// The store can't be asked now.
    pub(crate) fn unavailable(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "unavailable", detail)
    }
}

impl From<StoreError> for Problem {
    fn from(fault: StoreError) -> Self {
        let status = match &fault {
            StoreError::Input(InputError::TooLarge { .. } | InputError::Batch { .. }) => StatusCode::PAYLOAD_TOO_LARGE,
            StoreError::Input(_) => StatusCode::BAD_REQUEST,
            StoreError::NotFound { .. } => StatusCode::NOT_FOUND,
            StoreError::WrongState { .. } => StatusCode::CONFLICT,
            StoreError::Forbidden { .. } => StatusCode::FORBIDDEN,
            StoreError::Unsupported { .. } => StatusCode::UNPROCESSABLE_ENTITY,
            StoreError::Fault { .. } => StatusCode::INTERNAL_SERVER_ERROR,
            _ => StatusCode::SERVICE_UNAVAILABLE,
        };
        Self::new(status, fault.code(), fault.to_string())
    }
}

impl From<InputError> for Problem {
    fn from(fault: InputError) -> Self {
        StoreError::Input(fault).into()
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let mut response = (status, axum::Json(&self)).into_response();
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        if status == StatusCode::SERVICE_UNAVAILABLE {
            headers.insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
        }
        response
    }
}

/// What is at an address that does not know the method.
pub(crate) async fn no_such_method(request: Request) -> Problem {
    let detail = format!("{} can't be done here; see /api/v1/openapi.json for what can", request.method());
    Problem::new(StatusCode::METHOD_NOT_ALLOWED, "method", detail)
}

/// What is at no address of the application.
pub(crate) async fn no_such_page(request: Request) -> Problem {
    Problem::not_found("page", request.uri().path())
}
