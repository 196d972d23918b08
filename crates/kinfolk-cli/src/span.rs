//! Spans of time as people write and read them: `250ms`, `90s`, `5m`, `2h`, `7d`, `1h30m`.

use std::time::Duration;

use kinfolk_core::{InputError, Timestamp, UniqueScope};

const UNITS: [(&str, u64); 6] =
    [("ms", 1), ("s", 1_000), ("m", 60_000), ("h", 3_600_000), ("d", 86_400_000), ("w", 604_800_000)];

/// Reads a span.
pub(crate) fn parse(text: &str) -> Result<Duration, InputError> {
    let bad =
        || InputError::Other(format!("not a span of time: {text:?}; write it like 250ms, 90s, 5m, 2h, 7d or 1h30m"));
    if text.trim_start().starts_with('-') {
        return Err(InputError::Other(format!("a negative span: {text}; spans are zero or more, like 90s or 5m")));
    }
    let mut rest = text.trim();
    if rest.is_empty() {
        return Err(bad());
    }
    let mut millis = 0_u64;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit()).ok_or_else(bad)?;
        let number: u64 = rest[..digits].parse().map_err(|_| bad())?;
        let letters = &rest[digits..];
        let end = letters.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(letters.len());
        let unit = UNITS.iter().find(|(name, _)| *name == &letters[..end]).ok_or_else(bad)?.1;
        millis = number.checked_mul(unit).and_then(|part| millis.checked_add(part)).ok_or_else(bad)?;
        rest = letters[end..].trim_start();
    }
    Ok(Duration::from_millis(millis))
}

/// Reads the span of `--delay`, where a negative one has a remedy of its own.
pub(crate) fn parse_delay(text: &str) -> Result<Duration, InputError> {
    match text.trim_start().starts_with('-') {
        true => Err(InputError::NegativeDelay(text.to_owned())),
        false => parse(text),
    }
}

/// Reads a moment: `2026-01-31T12:00:00Z`, or a day, which begins at midnight in UTC.
pub(crate) fn parse_moment(text: &str) -> Result<Timestamp, InputError> {
    let Err(fault) = text.parse::<Timestamp>() else { return text.parse() };
    let day = (text.len() == "2026-01-31".len()).then(|| format!("{text}T00:00:00Z").parse().ok()).flatten();
    let local = || format!("{text}Z").parse::<Timestamp>();
    match (day, local()) {
        (Some(day), _) => Ok(day),
        (None, Ok(utc)) => {
            Err(InputError::NotATime { text: text.to_owned(), why: format!("it has no time zone: in UTC it is {utc}") })
        }
        _ => Err(fault),
    }
}

/// Reads how long something is kept: a span, or `forever`.
pub(crate) fn parse_keep(text: &str) -> Result<Keep, InputError> {
    match text {
        "forever" => Ok(Keep(None)),
        _ => parse(text).map(|span| Keep(Some(span))),
    }
}

/// How long something is kept; `None` is for good.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Keep(pub(crate) Option<Duration>);

/// Reads a unique key's scope: `pending`, `active` or `window=5m`.
pub(crate) fn parse_scope(text: &str) -> Result<UniqueScope, InputError> {
    match text.split_once('=') {
        None if text == "pending" => Ok(UniqueScope::Pending),
        None if text == "active" => Ok(UniqueScope::Active),
        Some(("window", span)) => parse(span).map(UniqueScope::Window),
        _ => Err(InputError::Other(format!("unknown scope {text:?}; there are pending, active and window=5m"))),
    }
}

/// Writes a span with its two leading units: `1 h 30 m`.
pub(crate) fn show(span: Duration) -> String {
    let millis = u64::try_from(span.as_millis()).unwrap_or(u64::MAX);
    match millis {
        0 if !span.is_zero() => format!("{} µs", span.as_micros()),
        0..1_000 => format!("{millis} ms"),
        1_000..10_000 if millis % 1_000 != 0 => format!("{:.1} s", millis as f64 / 1_000.0),
        1_000..60_000 => format!("{} s", millis / 1_000),
        60_000..3_600_000 => two(millis / 60_000, "m", millis % 60_000 / 1_000, "s"),
        3_600_000..86_400_000 => two(millis / 3_600_000, "h", millis % 3_600_000 / 60_000, "m"),
        _ => two(millis / 86_400_000, "d", millis % 86_400_000 / 3_600_000, "h"),
    }
}

fn two(large: u64, large_unit: &str, small: u64, small_unit: &str) -> String {
    match small {
        0 => format!("{large} {large_unit}"),
        _ => format!("{large} {large_unit} {small} {small_unit}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_read_as_people_write_them() {
        for (text, millis) in [
            ("250ms", 250),
            ("90s", 90_000),
            ("5m", 300_000),
            ("2h", 7_200_000),
            ("7d", 604_800_000),
            ("1h30m", 5_400_000),
        ] {
            assert_eq!(parse(text).unwrap(), Duration::from_millis(millis), "{text}");
        }
        assert_eq!(parse("0s").unwrap(), Duration::ZERO);
    }

    #[test]
    fn what_is_no_span_is_refused_with_an_example() {
        for text in ["", "5", "m", "5 parsecs", "1.5h", "99999999999999999999s", "99999999999999999d"] {
            assert!(parse(text).unwrap_err().to_string().contains("5m"), "{text}");
        }
        assert_eq!(parse_delay("-5m"), Err(InputError::NegativeDelay("-5m".into())));
        assert!(parse("-5m").unwrap_err().to_string().contains("negative"));
    }

    #[test]
    fn a_moment_is_a_time_with_its_zone_or_a_day_in_utc() {
        let midnight: Timestamp = "2030-01-01T00:00:00Z".parse().unwrap();
        assert_eq!(parse_moment("2030-01-01"), Ok(midnight));
        assert_eq!(parse_moment("2030-01-01T00:00:00Z"), Ok(midnight));
        assert_eq!(parse_moment("2030-01-01T01:00:00+01:00"), Ok(midnight));
        let said = parse_moment("2030-01-01T12:00").unwrap_err().to_string();
        assert!(said.contains("time zone") && said.contains("2030-01-01T12:00:00Z"), "{said}");
        for text in ["tomorrow", "2030-13-01", "", "12:00"] {
            assert!(parse_moment(text).unwrap_err().to_string().contains("2026-01-31T12:00:00Z"), "{text}");
        }
    }

    #[test]
    fn spans_are_written_with_two_units() {
        for (text, shown) in [
            ("999ms", "999 ms"),
            ("1500ms", "1.5 s"),
            ("59s", "59 s"),
            ("61s", "1 m 1 s"),
            ("26h", "1 d 2 h"),
            ("7d", "7 d"),
        ] {
            assert_eq!(show(parse(text).unwrap()), shown);
        }
    }

    #[test]
    fn scopes_are_words_or_a_window() {
        assert_eq!(parse_scope("window=5m").unwrap(), UniqueScope::Window(Duration::from_secs(300)));
        assert!(parse_scope("forever").unwrap_err().to_string().contains("window=5m"));
    }
}
