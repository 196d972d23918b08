//! How many in each part of a span, as bars that stand on one line. All of them are one path, however many there are.

use std::fmt::Write as _;

use askama::Template;
use askama::filters::HtmlSafe;

/// The height of the highest bar, and the width of a part, of which a gap takes some.
const HIGH: u64 = 26;
const WIDE: usize = 5;
const GAP: usize = 2;

/// The bars.
#[derive(Clone, Template)]
#[template(
    ext = "html",
    source = r#"<svg class="trend failed" role="img" aria-label="{{ label }}" viewBox="0 0 {{ wide }} 26" preserveAspectRatio="none"><path class="track" d="{{ none }}"/><path class="fill" d="{{ bars }}"/></svg>"#
)]
pub(crate) struct Trend {
    label: String,
    wide: usize,
    none: String,
    bars: String,
}

impl HtmlSafe for Trend {}

impl Trend {
    /// These counts, the earliest first; the label tells them in words.
    pub(crate) fn new(counts: &[u64], label: String) -> Self {
        let most = counts.iter().copied().max().unwrap_or_default().max(1);
        let (mut none, mut bars) = (String::new(), String::new());
        for (index, &count) in counts.iter().enumerate() {
            let x = index * WIDE;
            // A single one among many is still seen.
            let high = (count * HIGH).div_ceil(most).max(if count == 0 { 1 } else { 3 });
            let path = if count == 0 { &mut none } else { &mut bars };
            // Writing to a text does not fail.
            let _ = write!(path, "M{x} {HIGH}v-{high}h{}v{high}z", WIDE - GAP);
        }
        Self { label, wide: counts.len() * WIDE - GAP.min(counts.len()), none, bars }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_highest_bar_fills_the_height_and_a_single_one_is_seen() {
        let text = Trend::new(&[0, 1, 100], "101 in 3 h".to_owned()).render().unwrap();
        assert!(text.contains(r#"class="track" d="M0 26v-1h3v1z""#), "{text}");
        assert!(text.contains("M5 26v-3h3v3z") && text.contains("M10 26v-26h3v26z"), "{text}");
        assert!(text.contains(r#"aria-label="101 in 3 h""#), "{text}");
    }
}
