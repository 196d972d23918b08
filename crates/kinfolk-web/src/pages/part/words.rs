//! Numbers, spans and moments in words, the same on every page and in the script.

use std::time::Duration;

use kinfolk_core::Timestamp;
use kinfolk_core::text::is_harmful;

/// `486 ms`, `7.6 s`, `58 s`, `2 m 37 s`, `3 h 27 m`, `6 d 18 h`.
pub(crate) fn span(span: Duration) -> String {
    let seconds = span.as_secs();
    match seconds {
        0 => format!("{} ms", span.as_millis()),
        1..10 => format!("{}.{} s", seconds, span.subsec_millis() / 100),
        10..60 => format!("{seconds} s"),
        60..3_600 => pair(seconds / 60, "m", seconds % 60, "s"),
        3_600..86_400 => pair(seconds / 3_600, "h", seconds % 3_600 / 60, "m"),
        _ => pair(seconds / 86_400, "d", seconds % 86_400 / 3_600, "h"),
    }
}

fn pair(big: u64, unit: &str, small: u64, part: &str) -> String {
    if small == 0 { format!("{big} {unit}") } else { format!("{big} {unit} {small} {part}") }
}

/// `7`, `1,204`, `1,000,000`.
pub(crate) fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut words = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            words.push(',');
        }
        words.push(digit);
    }
    words
}

/// `1 task`, `1,204 tasks`.
pub(crate) fn many(number: u64, one: &str, more: &str) -> String {
    format!("{} {}", count(number), if number == 1 { one } else { more })
}

/// The words for one, or for more.
pub(crate) fn verb(number: u64, one: &str, more: &str) -> String {
    if number == 1 { one } else { more }.to_owned()
}

/// `a`, `a and b`, `a, b and c`.
pub(crate) fn listed<S: AsRef<str>>(words: &[S]) -> String {
    match words {
        [] => String::new(),
        [one] => one.as_ref().to_owned(),
        [first @ .., last] => {
            let first: Vec<&str> = first.iter().map(AsRef::as_ref).collect();
            format!("{} and {}", first.join(", "), last.as_ref())
        }
    }
}

/// `17 Nov 2026, 14:31:44.108 UTC`
pub(crate) fn exact(moment: Timestamp) -> String {
    moment.to_jiff().strftime("%-d %b %Y, %H:%M:%S%.3f UTC").to_string()
}

/// `14:31:44`
pub(crate) fn clock(moment: Timestamp) -> String {
    moment.to_jiff().strftime("%H:%M:%S").to_string()
}

/// `14:31` today, `17 Nov 14:31` on other days.
pub(crate) fn near(moment: Timestamp, now: Timestamp) -> String {
    let (moment, now) = (moment.to_jiff(), now.to_jiff());
    let day = |at: jiff::Timestamp| at.strftime("%Y-%m-%d").to_string();
    let form = if day(moment) == day(now) { "%H:%M:%S" } else { "%-d %b %H:%M" };
    moment.strftime(form).to_string()
}

/// `2026-11-17T14:31:44.108Z`, for programs.
pub(crate) fn iso(moment: Timestamp) -> String {
    moment.to_jiff().strftime("%Y-%m-%dT%H:%M:%S%.3fZ").to_string()
}

/// A text of others with its lines, and `U+FFFD` for what would turn a line around or can't be seen.
pub(crate) fn shown(text: &str) -> String {
    let shown = |c| if is_harmful(c) && c != '\n' && c != '\t' { '\u{fffd}' } else { c };
    text.chars().map(shown).collect()
}

/// The start of a text: its first line, and no more than so many characters of it.
pub(crate) fn short(text: &str, most: usize) -> String {
    let text = &shown(text);
    let line = text.lines().next().unwrap_or_default();
    if line.chars().count() <= most && line.len() == text.trim_end().len() {
        return line.to_owned();
    }
    let mut cut: String = line.chars().take(most).collect();
    cut.push('…');
    cut
}

/// The start of a text with all its lines, and no more than so many characters of it.
pub(crate) fn start(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", shown(&text[..end])),
        None => shown(text),
    }
}

/// A text as it stands in an address.
pub(crate) fn encoded(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => out.push(char::from(byte)),
            _ => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_read_as_the_design_has_them() {
        for (millis, words) in [
            (0, "0 ms"),
            (486, "486 ms"),
            (7_690, "7.6 s"),
            (58_400, "58 s"),
            (157_000, "2 m 37 s"),
            (120_000, "2 m"),
            (12_420_000, "3 h 27 m"),
            (583_200_000, "6 d 18 h"),
        ] {
            assert_eq!(span(Duration::from_millis(millis)), words);
        }
    }

    #[test]
    fn a_text_of_others_can_not_turn_a_line_around() {
        assert_eq!(shown("a\u{202e}gnp.exe\nb\tc"), "a\u{fffd}gnp.exe\nb\tc");
        assert_eq!(short("a\u{202e}b", 10), "a\u{fffd}b");
        assert_eq!(start("a\u{202e}bc", 3), "a\u{fffd}b…");
    }

    #[test]
    fn thousands_are_set_apart() {
        for (number, words) in [(0, "0"), (999, "999"), (1_204, "1,204"), (1_000_000, "1,000,000")] {
            assert_eq!(count(number), words);
        }
    }

    #[test]
    fn a_text_is_cut_at_its_first_line_and_at_a_letter() {
        assert_eq!(short("one\ntwo", 10), "one…");
        assert_eq!(short("ééééé", 3), "ééé…");
        assert_eq!(short("short\n", 10), "short");
    }

    #[test]
    fn what_has_a_meaning_in_an_address_is_encoded() {
        assert_eq!(encoded("a/b c=é&"), "a%2Fb%20c%3D%C3%A9%26");
    }
}
