//! The part of its time that a timeline shows, and the links that come closer, go wider, earlier and later.

use kinfolk_core::Timestamp;

use crate::pages::address::Address;

/// Nothing shorter is looked at, in microseconds.
const LEAST: i64 = 100_000;

/// The links; none where there is nowhere to go.
pub(crate) struct Window {
    pub(crate) closer: Option<String>,
    pub(crate) wider: Option<String>,
    pub(crate) earlier: Option<String>,
    pub(crate) later: Option<String>,
    /// What is shown, if it is not all.
    pub(crate) shown: Option<(Timestamp, Timestamp)>,
}

impl Window {
    /// What an address asks for, of all that lies between two moments.
    pub(crate) fn of(address: &Address, first: Timestamp, last: Timestamp) -> Self {
        let (first, last) = (first.as_micros(), last.as_micros().max(first.as_micros() + LEAST));
        let read = |name: &str| address.get(name).and_then(|text| text.parse::<i64>().ok()?.checked_mul(1_000));
        let asked = read("from").zip(read("to")).map(|(from, to)| (from.max(first), to.min(last)));
        let asked = asked.filter(|(from, to)| to - from >= LEAST);
        let (from, to) = asked.unwrap_or((first, last));
        let span = to - from;
        let link = |from: i64, to: i64| {
            let (from, to) = (from.max(first), to.min(last));
            let all = from <= first && to >= last;
            let text = |moment: i64| (!all).then(|| (moment / 1_000).to_string());
            Address::at(&address.with("from", text(from).as_deref())).with("to", text(to).as_deref())
        };
        Self {
            closer: (span >= 2 * LEAST).then(|| link(from + span / 4, to - span / 4)),
            wider: asked.map(|_| link(from - span / 2, to + span / 2)),
            earlier: asked
                .filter(|_| from > first)
                .map(|_| link((from - span / 2).max(first), to - (span / 2).min(from - first))),
            later: asked.filter(|_| to < last).map(|_| link(from + (span / 2).min(last - to), to + span / 2)),
            shown: asked.map(|(from, to)| (Timestamp::from_micros(from), Timestamp::from_micros(to))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_micros(seconds * 1_000_000)
    }

    #[test]
    fn closer_and_wider_again_shows_all() {
        let all = Window::of(&Address::at("/families/1"), at(0), at(100));
        assert!(all.shown.is_none() && all.wider.is_none() && all.earlier.is_none() && all.later.is_none());
        let closer = all.closer.unwrap();
        assert_eq!(closer, "/families/1?from=25000&to=75000");
        let near = Window::of(&Address::at(&closer), at(0), at(100));
        assert_eq!(near.shown, Some((at(25), at(75))));
        assert_eq!(near.wider.as_deref(), Some("/families/1"));
        assert_eq!(near.earlier.as_deref(), Some("/families/1?from=0&to=50000"));
        assert_eq!(near.later.as_deref(), Some("/families/1?from=50000&to=100000"));
    }

    #[test]
    fn what_makes_no_sense_shows_all() {
        for text in ["from=5", "from=90000&to=10000", "from=x&to=y", "from=9223372036854775807&to=9223372036854775807"]
        {
            let window = Window::of(&Address::at(&format!("/families/1?{text}")), at(0), at(100));
            assert!(window.shown.is_none(), "{text}");
        }
    }
}
