//! The parts of a request: numbers and names in the path, filters in the query, JSON in the body. An unusable part is
//! answered with a problem document.

use std::str::FromStr;

use axum::extract::rejection::QueryRejection;
use axum::extract::{FromRequest, FromRequestParts, Path, Request};
use axum::http::request::Parts;
use axum::http::{StatusCode, header};
use kinfolk_core::InputError;
use kinfolk_core::limits::PAGE_MAX;
use serde::de::DeserializeOwned;

use crate::access::BODY_MAX;
use crate::problem::Problem;

/// The query, read as a form that refuses names it does not know.
pub(crate) struct Query<T>(pub(crate) T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequestParts<S> for Query<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        match axum::extract::Query::<T>::from_request_parts(parts, state).await {
            Ok(axum::extract::Query(form)) => Ok(Self(form)),
            Err(refused) => Err(unreadable(&refused)),
        }
    }
}

/// What is wrong with a query, without the words of the library.
pub(crate) fn unreadable(refused: &QueryRejection) -> Problem {
    let text = refused.body_text();
    let fault = text.strip_prefix("Failed to deserialize query string: ").unwrap_or(&text);
    Problem::input(format!("the query can't be read: {fault}"))
}

/// The last part of the path, or its only variable one.
pub(crate) struct Named<T>(pub(crate) T);

impl<S: Send + Sync, T: FromStr<Err = InputError>> FromRequestParts<S> for Named<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        match Path::<String>::from_request_parts(parts, state).await {
            Ok(Path(text)) => Ok(Self(text.parse::<T>()?)),
            Err(refused) => Err(Problem::input(refused.body_text())),
        }
    }
}

/// A JSON body.
pub(crate) struct Body<T>(pub(crate) T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for Body<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<Self, Problem> {
        let kind = request.headers().get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        let essence = kind.split(';').next().unwrap_or_default().trim();
        if !essence.eq_ignore_ascii_case("application/json") {
            let is = if essence.is_empty() { "of no type".to_owned() } else { format!("{essence:?}") };
            let detail = format!("the body is {is}; send JSON, with content-type: application/json");
            return Err(Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "media_type", detail));
        }
        let bytes = axum::body::Bytes::from_request(request, state).await.map_err(|refused| {
            let most = BODY_MAX / (1024 * 1024);
            match refused.status() {
                status @ StatusCode::PAYLOAD_TOO_LARGE => {
                    Problem::new(status, "too_large", format!("the body is larger than {most} MB; send it in parts"))
                }
                status => Problem::new(status, "input", format!("the body can't be read: {}", refused.body_text())),
            }
        })?;
        // A list would be taken for the fields of the object, in their order.
        if bytes.trim_ascii_start().first() != Some(&b'{') {
            return Err(Problem::input(
                "the body is no JSON object; send one, with the fields that the API document names",
            ));
        }
        serde_json::from_slice(&bytes)
            .map(Self)
            .map_err(|fault| Problem::input(format!("the body can't be read: {fault}")))
    }
}

/// How many to show: what was asked for, within bounds, or 50.
pub(crate) fn page_size(asked: Option<usize>) -> Result<usize, Problem> {
    match asked.unwrap_or(50) {
        size @ 1..=PAGE_MAX => Ok(size),
        size => Err(Problem::input(format!("limit is {size}; it must be 1 to {PAGE_MAX}"))),
    }
}

/// The words of a list like `a,b,c`.
pub(crate) fn words<T: FromStr<Err = InputError>>(list: &str) -> Result<Vec<T>, Problem> {
    let words = list.split(',').map(str::trim).filter(|word| !word.is_empty());
    Ok(words.map(str::parse).collect::<Result<_, _>>()?)
}
