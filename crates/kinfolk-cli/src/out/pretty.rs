//! JSON over several lines. Works on the text, so that every digit stays as it was stored.

use kinfolk_core::Json;

use super::terminal::escaped;

/// Values up to this length stay on one line.
const ONE_LINE: usize = 72;

/// The value for reading, its later lines indented by `margin`.
pub(crate) fn pretty(value: &Json, margin: usize) -> String {
    let text = escaped(value.canonical().as_str());
    if text.len() <= ONE_LINE {
        return text;
    }
    let mut out = String::new();
    let mut depth = 0_usize;
    let (mut in_string, mut escaped) = (false, false);
    let mut letters = text.chars().peekable();
    while let Some(c) = letters.next() {
        if in_string {
            out.push(c);
            in_string = escaped || c != '"';
            escaped = !escaped && c == '\\';
            continue;
        }
        match c {
            '{' | '[' if letters.peek().is_some_and(|next| matches!(next, '}' | ']')) => out.push(c),
            '{' | '[' => {
                depth += 1;
                out.push(c);
                break_line(&mut out, margin, depth);
            }
            '}' | ']' if out.ends_with(['{', '[']) => out.push(c),
            '}' | ']' => {
                depth -= 1;
                break_line(&mut out, margin, depth);
                out.push(c);
            }
            ',' => {
                out.push(c);
                break_line(&mut out, margin, depth);
            }
            ':' => out.push_str(": "),
            _ => {
                in_string = c == '"';
                out.push(c);
            }
        }
    }
    out
}

fn break_line(out: &mut String, margin: usize, depth: usize) {
    out.push('\n');
    out.extend(std::iter::repeat_n(' ', margin + 2 * depth));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_values_are_spread_and_mean_the_same() {
        let long = "x".repeat(80);
        let text =
            format!(r#"{{"a":[1,{{"b":"q\"}},{{:["}}],"c":{{}},"d":[],"e":12345678901234567890.123,"f":"{long}"}}"#);
        let value = Json::parse(&text).unwrap();
        let shown = pretty(&value, 4);
        assert_eq!(Json::parse(&shown).unwrap(), value);
        assert!(shown.contains("\n      \"a\": [\n        1,"), "{shown}");
        assert!(shown.contains("\"c\": {}"), "{shown}");
        assert!(shown.contains("12345678901234567890.123"), "{shown}");
    }

    #[test]
    fn what_would_drive_a_terminal_is_written_as_an_escape() {
        assert_eq!(pretty(&Json::parse("\"a\u{9b}2J\"").unwrap(), 4), r#""a\u009b2J""#);
    }

    #[test]
    fn short_values_stay_on_their_line() {
        assert_eq!(pretty(&Json::parse(r#"{"b": 1, "a": 2}"#).unwrap(), 4), r#"{"a":2,"b":1}"#);
    }
}
