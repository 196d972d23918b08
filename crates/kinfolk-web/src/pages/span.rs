//! The span of time that a page looks at: a part of the address, chosen from a few.

use std::time::Duration;

use super::address::Address;

/// A span that can be chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Span {
    /// As it stands in the address.
    word: &'static str,
    /// As it stands on the page: `24 hours`.
    pub(crate) name: &'static str,
    /// How long it is.
    pub(crate) length: Duration,
}

/// One of the spans, as a link.
pub(crate) struct Choice {
    pub(crate) name: &'static str,
    pub(crate) href: String,
    pub(crate) current: bool,
}

const MINUTE: u64 = 60;
const HOUR: u64 = 60 * MINUTE;
const DAY: u64 = 24 * HOUR;

pub(crate) const QUARTER: Span = Span::new("15m", "15 min", 15 * MINUTE);
pub(crate) const ONE_HOUR: Span = Span::new("1h", "1 hour", HOUR);
pub(crate) const SIX_HOURS: Span = Span::new("6h", "6 hours", 6 * HOUR);
pub(crate) const ONE_DAY: Span = Span::new("24h", "24 hours", DAY);
pub(crate) const WEEK: Span = Span::new("7d", "7 days", 7 * DAY);
pub(crate) const MONTH: Span = Span::new("30d", "30 days", 30 * DAY);

impl Span {
    const fn new(word: &'static str, name: &'static str, seconds: u64) -> Self {
        Self { word, name, length: Duration::from_secs(seconds) }
    }

    /// The one that an address asks for; the first of them when it asks for none, or for one that there is not.
    pub(crate) fn of(address: &Address, usual: Self, all: &[Self]) -> Self {
        let asked = address.get("span");
        all.iter().copied().find(|span| asked == Some(span.word)).unwrap_or(usual)
    }

    /// All of them as links.
    pub(crate) fn choices(self, address: &Address, all: &[Self]) -> Vec<Choice> {
        let choice = |span: &Self| Choice {
            name: span.name,
            href: address.with("span", Some(span.word)),
            current: *span == self,
        };
        all.iter().map(choice).collect()
    }

    /// `hour`, `15 min`, `24 hours`: after the words `in the last`.
    pub(crate) fn last(self) -> &'static str {
        self.name.strip_prefix("1 ").unwrap_or(self.name)
    }
}
