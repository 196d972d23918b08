//! A button that begins an action: a form that is answered with a count and a question.

use askama::Template;
use askama::filters::HtmlSafe;

use crate::link::Links;

/// The button.
#[derive(Clone, Template)]
#[template(
    ext = "html",
    source = r#"<form method="post" action="{{ action }}">{% for field in fields %}<input type="hidden" name="{{ field.0 }}" value="{{ field.1 }}">{% endfor %}<button class="button {{ class }}"{% if let Some(key) = key %} data-do="{{ key }}"{% endif %}>{{ words }}</button></form>"#
)]
pub(crate) struct Ask {
    action: String,
    fields: Vec<(&'static str, String)>,
    words: String,
    class: &'static str,
    key: Option<&'static str>,
}

impl HtmlSafe for Ask {}

impl Ask {
    /// A button for this verb; `back` is where one returns to.
    pub(crate) fn new(links: &Links, verb: &str, words: impl Into<String>, back: &str) -> Self {
        Self {
            action: links.to(&format!("/actions/{verb}")),
            fields: vec![("back", back.to_owned())],
            words: words.into(),
            class: "",
            key: None,
        }
    }

    /// With one more field.
    #[must_use]
    pub(crate) fn field(mut self, name: &'static str, value: &(impl ToString + ?Sized)) -> Self {
        self.fields.push((name, value.to_string()));
        self
    }

    /// In the colour of what can't be undone.
    #[must_use]
    pub(crate) fn danger(mut self) -> Self {
        self.class = "danger failed";
        self
    }

    /// The key that presses it.
    #[must_use]
    pub(crate) fn key(mut self, key: &'static str) -> Self {
        self.key = Some(key);
        self
    }
}
