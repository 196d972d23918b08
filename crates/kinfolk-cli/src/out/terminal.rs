//! The only way to the terminal: all that is printed, for people or for programs, and every line of the log goes through
//! here.
//!
//! Tasks hold text that others have written. A terminal would obey some of it: clear the screen, set a title, turn a line
//! around. So of all that is not seen only line breaks and colours pass; a program that reads JSON gets it escaped.

use std::fmt::{Display, Write as _};
use std::io::{self, Write};

use kinfolk_core::text::is_harmful;

/// Text for people: line breaks and colours stay, everything else that is not seen becomes `U+FFFD`.
pub(crate) fn shown(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let length = color(rest).unwrap_or(c.len_utf8());
        match c {
            '\n' => out.push(c),
            '\x1b' if length > 1 => out.push_str(&rest[..length]),
            c if is_harmful(c) => out.push('\u{fffd}'),
            c => out.push(c),
        }
        rest = &rest[length..];
    }
    out
}

/// JSON: the same text with what would do something to a terminal written as `\u009b`. It means the same.
pub(crate) fn escaped(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    for c in json.chars() {
        match c {
            '\n' => out.push(c),
            // Outside of strings JSON has no such characters, so each of them may be escaped.
            c if is_harmful(c) => {
                for unit in c.encode_utf16(&mut [0; 2]) {
                    let _ = write!(out, "\\u{unit:04x}");
                }
            }
            c => out.push(c),
        }
    }
    out
}

/// The length of the sequence that sets colours, if the text begins with one.
fn color(text: &str) -> Option<usize> {
    let parameters = text.strip_prefix("\x1b[")?;
    let end = parameters.find(|c: char| !c.is_ascii_digit() && c != ';')?;
    parameters[end..].starts_with('m').then_some("\x1b[".len() + end + 1)
}

/// A line on stdout, for people.
pub(crate) fn print(text: impl Display) -> io::Result<()> {
    writeln!(anstream::stdout(), "{}", shown(&text.to_string()))
}

/// A line on stdout, for programs.
pub(crate) fn print_json(json: &str) -> io::Result<()> {
    writeln!(anstream::stdout(), "{}", escaped(json))
}

/// A line on stderr, for people. Nobody is left to be told when it is closed.
pub(crate) fn complain(text: impl Display) {
    let _ = writeln!(anstream::stderr(), "{}", shown(&text.to_string()));
}

/// A line on stderr, for programs.
pub(crate) fn complain_json(json: &str) {
    let _ = writeln!(anstream::stderr(), "{}", escaped(json));
}

/// The line break behind progress bars, whose last one ends without.
pub(crate) fn end_bars() {
    eprintln!();
}

/// Where the log goes: stderr, an event at a time.
pub(crate) struct Log {
    pub(crate) json: bool,
}

impl Write for Log {
    fn write(&mut self, event: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(event);
        let text = if self.json { escaped(&text) } else { shown(&text) };
        io::stderr().write_all(text.as_bytes())?;
        Ok(event.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stderr().flush()
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn only_line_breaks_and_colours_reach_the_terminal() {
        assert_eq!(
            shown("a\nb \x1b[1mbold\x1b[0m \x1b[38;5;9mred\x1b[39m"),
            "a\nb \x1b[1mbold\x1b[0m \x1b[38;5;9mred\x1b[39m"
        );
        assert_eq!(shown("\x1b[2J\x1b]0;title\x07\x1b"), "\u{fffd}[2J\u{fffd}]0;title\u{fffd}\u{fffd}");
        assert_eq!(shown("\u{9b}2J \u{202e}drow \x1b[1;\r"), "\u{fffd}2J \u{fffd}drow \u{fffd}[1;\u{fffd}");
    }

    #[test]
    fn json_is_escaped_and_means_the_same() {
        let value = serde_json::json!({"a": "\u{9b}2J \u{202e}\u{7f}\n\u{200b}\u{e0041}"});
        let text = escaped(&value.to_string());
        assert_eq!(text, r#"{"a":"\u009b2J \u202e\u007f\n\u200b\udb40\udc41"}"#);
        assert_eq!(serde_json::from_str::<serde_json::Value>(&text).unwrap(), value);
    }

    #[test]
    fn nothing_else_writes_to_the_terminal() {
        fn look(folder: &Path) {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    look(&path);
                } else if !path.ends_with("out/terminal.rs") {
                    let source = std::fs::read_to_string(&path).unwrap();
                    for way in [
                        "print!(",
                        "println!(",
                        "anstream::stdout",
                        "anstream::stderr",
                        "stdout().lock",
                        "stdout().write",
                        "dbg!(",
                    ] {
                        assert!(
                            !source.contains(way),
                            "{} has {way}: it must go through out/terminal.rs",
                            path.display()
                        );
                    }
                }
            }
        }
        look(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"));
    }
}
