//! `/find`: a number goes to its task, the name of a page to that page, `name:value` and other words to a list.

use axum::response::{IntoResponse as _, Redirect, Response};

use super::address::{Address, addressed};
use super::query;
use crate::visit::Visit;

const PAGES: [&str; 7] = ["tasks", "families", "failures", "groups", "queues", "workers", "schedules"];

/// `GET /find?q=…`, with the filter so far beside it.
pub(crate) async fn go(visit: Visit, address: Address) -> Response {
    let asked = address.get("q").unwrap_or_default().trim();
    let bare = asked.strip_prefix('#').unwrap_or(asked);
    let to = if !bare.is_empty() && bare.len() < 19 && bare.bytes().all(|byte| byte.is_ascii_digit()) {
        visit.links.to(&format!("/tasks/{bare}"))
    } else if PAGES.contains(&asked.to_lowercase().as_str()) {
        visit.links.to(&format!("/{}", asked.to_lowercase()))
    } else {
        let mut parts: Vec<_> = query::as_text(&address).into_iter().filter(|(name, _)| name != "q").collect();
        for (name, value) in words(asked) {
            parts.retain(|(given, said)| *given != name || (name == "key" && group(said) != group(&value)));
            parts.push((name, value));
        }
        addressed(&visit.links.to("/tasks"), &parts)
    };
    Redirect::to(&to).into_response()
}

/// The group of a key.
fn group(key: &str) -> Option<&str> {
    key.split_once('=').map(|(group, _)| group)
}

/// `queue:mail state:failed`, `payload.order:10482`; all that has no name is looked for in errors.
fn words(asked: &str) -> Vec<(String, String)> {
    let (mut parts, mut rest) = (Vec::new(), Vec::new());
    for word in asked.split_whitespace() {
        match word.split_once(':') {
            Some((name, value)) if !value.is_empty() && query::NAMES.contains(&name) => {
                parts.push((name.to_owned(), value.to_owned()));
            }
            Some((name, value)) if !value.is_empty() && name.starts_with("payload.") => {
                parts.push(("payload".to_owned(), format!("{}={value}", &name["payload.".len()..])));
            }
            Some(("error", value)) if !value.is_empty() => rest.push(value),
            _ => rest.push(word),
        }
    }
    if !rest.is_empty() {
        parts.push(("failure_text".to_owned(), rest.join(" ")));
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_become_filters() {
        let found = words("queue:mail payload.order:10482 mailbox unavailable");
        let text: Vec<String> = found.iter().map(|(name, value)| format!("{name}={value}")).collect();
        assert_eq!(text, ["queue=mail", "payload=order=10482", "failure_text=mailbox unavailable"]);
    }
}
