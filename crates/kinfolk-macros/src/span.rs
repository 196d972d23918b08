//! Spans of time and rates, as they are written in an attribute.

use syn::{LitStr, Result};

pub(crate) const SPAN: &str = "write a span of time as \"250ms\", \"30s\", \"5m\", \"2h\" or \"7d\"";
pub(crate) const BACKOFF: &str = "write a backoff as \"2s..10m\" or \"2s\", with ms, s, m, h or d";
pub(crate) const RATE: &str = "write a rate as \"10/s\", \"100/m\" or \"5/30s\"";

/// A span in milliseconds.
pub(crate) fn millis(text: &LitStr) -> Result<u64> {
    millis_of(&text.value()).ok_or_else(|| syn::Error::new(text.span(), SPAN))
}

/// `"2s..10m"`, or `"2s"` alone.
pub(crate) fn backoff(text: &LitStr) -> Result<(u64, Option<u64>)> {
    let value = text.value();
    let (first, longest) = match value.split_once("..") {
        Some((first, longest)) => (first, Some(longest)),
        None => (value.as_str(), None),
    };
    let fault = || syn::Error::new(text.span(), BACKOFF);
    let first = millis_of(first).ok_or_else(fault)?;
    let longest = longest.map(|longest| millis_of(longest).ok_or_else(fault)).transpose()?;
    match longest {
        Some(longest) if longest < first => {
            Err(syn::Error::new(text.span(), "the longest delay is shorter than the first"))
        }
        _ => Ok((first, longest)),
    }
}

/// `"10/s"`, `"100/m"`, `"5/30s"`: how many, in how many milliseconds.
pub(crate) fn rate(text: &LitStr) -> Result<(u32, u64)> {
    let value = text.value();
    let parsed = value.split_once('/').and_then(|(count, per)| {
        let per = if per.starts_with(|c: char| c.is_ascii_digit()) { per.to_owned() } else { format!("1{per}") };
        Some((count.trim().parse().ok()?, millis_of(&per)?))
    });
    parsed.ok_or_else(|| syn::Error::new(text.span(), RATE))
}

fn millis_of(text: &str) -> Option<u64> {
    let text = text.trim();
    let unit = text.find(|c: char| !c.is_ascii_digit())?;
    let each = match &text[unit..] {
        "ms" => 1,
        "s" => 1_000,
        "m" => 60_000,
        "h" => 3_600_000,
        "d" => 86_400_000,
        _ => return None,
    };
    text[..unit].parse::<u64>().ok()?.checked_mul(each)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> LitStr {
        LitStr::new(text, proc_macro2::Span::call_site())
    }

    #[test]
    fn spans_and_rates_are_read() {
        assert_eq!(millis(&text("250ms")).unwrap(), 250);
        assert_eq!(millis(&text("7d")).unwrap(), 604_800_000);
        assert_eq!(backoff(&text("2s..10m")).unwrap(), (2_000, Some(600_000)));
        assert_eq!(backoff(&text("2s")).unwrap(), (2_000, None));
        assert_eq!((rate(&text("10/s")).unwrap(), rate(&text("5/30s")).unwrap()), ((10, 1_000), (5, 30_000)));
    }

    #[test]
    fn what_is_no_span_is_refused() {
        for wrong in ["", "30", "s", "30 sec", "-1s", "1.5s", "99999999999999999999d"] {
            assert!(millis(&text(wrong)).is_err(), "{wrong}");
        }
        assert!(backoff(&text("10m..2s")).is_err() && rate(&text("10")).is_err());
    }
}
