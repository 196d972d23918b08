//! The moving picture of the README: a recording of the demo, killed with -9 in the middle and started again, as an SVG that needs
//! no script. What is seen is what the program printed, line by line, at the pace at which it did.

use std::fmt::Write as _;
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

const ARGUMENTS: [&str; 5] = ["demo", "--once", "--no-web", "--orders", "8"];
const FILE: &str = "docs/images/demo.svg";
const ROWS: usize = 22;
const COLUMNS: usize = 88;
const LINE: usize = 18;
/// How long the last lines stay before it begins again.
const REST: Duration = Duration::from_secs(6);
/// How long a person takes to type the command.
const TYPING: Duration = Duration::from_millis(1_200);
const PATIENCE: Duration = Duration::from_secs(120);
/// The demo is killed when it has printed a line with this in it, and watched until one with that.
const KILL_AT: &str = "★";
const END_AT: &str = "none twice";

const COLOURS: [(&str, &str); 9] = [
    ("1", "b"),
    ("2", "d"),
    ("31", "r"),
    ("32", "g"),
    ("33", "y"),
    ("35", "m"),
    ("36", "c"),
    ("38;5;9", "r"),
    ("38;5;10", "g"),
];

const STYLE: &str = "text{font:13px ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;fill:#d8dee9;white-space:pre}\
    .b{font-weight:bold;fill:#fff}.d{fill:#8a93a5}.r{fill:#ff7b72}.g{fill:#7ee787}.y{fill:#e3b341}.m{fill:#d2a8ff}.c{fill:#79c0ff}\
    .l{opacity:0;animation-iteration-count:infinite;animation-timing-function:step-end}\
    #s{animation-iteration-count:infinite;animation-timing-function:step-end}";

/// A line, and when it was there.
struct TimedLine {
    at: Duration,
    text: String,
}

/// Records the demo and writes the picture.
pub(crate) fn take(root: &Path) -> Result<bool> {
    let build = Command::new("cargo").current_dir(root).args(["build", "-p", "kinfolk-cli"]).status()?;
    if !build.success() {
        bail!("the program could not be built");
    }
    let folder = root.join("target/picture");
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder)?;
    let typed = format!("kinfolk {}", ARGUMENTS.join(" "));
    let prompt = |at, text: &str| TimedLine { at, text: format!("\u{1b}[32m$\u{1b}[0m {text}") };
    let mut lines = vec![prompt(Duration::ZERO, &typed)];
    lines.extend(record(root, &folder, TYPING, KILL_AT, true)?);
    let killed = lines.last().map_or(TYPING, |line| line.at) + TYPING;
    lines.push(TimedLine { at: killed, text: "\u{1b}[31mKilled\u{1b}[0m (kill -9)".to_owned() });
    lines.push(prompt(killed + TYPING, &typed));
    lines.extend(record(root, &folder, killed + TYPING * 2, END_AT, false)?);
    fs::write(root.join(FILE), draw(&lines))?;
    println!("{FILE}: {} lines", lines.len());
    Ok(true)
}

/// What the demo prints until a line with this in it, from a moment on. It is killed then, or ends by itself.
fn record(root: &Path, folder: &Path, from: Duration, until: &str, kill: bool) -> Result<Vec<TimedLine>> {
    let mut process = Command::new(root.join("target/debug/kinfolk"))
        .current_dir(folder)
        .args(["--color", "always"])
        .args(ARGUMENTS)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()?;
    let begun = Instant::now();
    let mut lines = Vec::new();
    for text in BufReader::new(process.stdout.take().context("no output")?).lines() {
        let text = text?;
        let is_last = text.contains(until);
        lines.push(TimedLine { at: from + begun.elapsed(), text });
        if is_last || begun.elapsed() > PATIENCE {
            break;
        }
    }
    if kill {
        process.kill()?;
    }
    process.wait()?;
    match lines.last() {
        Some(last) if last.text.contains(until) => Ok(lines),
        _ => bail!("the demo never said {until:?}"),
    }
}

/// The lines as a picture: each comes at its moment, and what does not fit moves up.
fn draw(lines: &[TimedLine]) -> String {
    let end = lines.last().map_or(REST, |line| line.at + REST).as_secs_f64();
    let percent = |at: Duration| at.as_secs_f64() / end * 100.0;
    let (width, height) = (COLUMNS * 8 + 24, ROWS * LINE + 28);
    let mut picture = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" role=\"img\" \
         aria-label=\"The demo is killed with -9 in the middle, started again, and finishes the same orders\">\n<style>{STYLE}\n\
         .l,#s{{animation-duration:{end:.2}s}}\n"
    );
    let mut scroll = "@keyframes s{0%{transform:none}".to_owned();
    for (nth, line) in lines.iter().enumerate() {
        let at = percent(line.at);
        let _ = writeln!(picture, "@keyframes l{nth}{{0%{{opacity:0}}{at:.3}%,100%{{opacity:1}}}}");
        if nth >= ROWS {
            let _ = write!(scroll, "{at:.3}%{{transform:translateY(-{}px)}}", (nth + 1 - ROWS) * LINE);
        }
    }
    let last = lines.len().saturating_sub(ROWS) * LINE;
    let _ = writeln!(picture, "{scroll}100%{{transform:translateY(-{last}px)}}}}#s{{animation-name:s}}");
    // Those who want no motion see how it ends.
    let _ = writeln!(
        picture,
        "@media(prefers-reduced-motion){{.l{{animation:none!important;opacity:1}}#s{{animation:none;transform:translateY(-{last}px)}}}}</style>"
    );
    let _ = writeln!(picture, "<rect width=\"100%\" height=\"100%\" rx=\"8\" fill=\"#1b1f27\"/>");
    let _ = writeln!(
        picture,
        "<svg x=\"12\" y=\"10\" width=\"{}\" height=\"{}\"><g id=\"s\">",
        width - 24,
        ROWS * LINE + 6
    );
    for (nth, line) in lines.iter().enumerate() {
        let y = (nth + 1) * LINE - 4;
        let _ = writeln!(
            picture,
            "<text class=\"l\" style=\"animation-name:l{nth}\" y=\"{y}\">{}</text>",
            spans(&line.text)
        );
    }
    picture.push_str("</g></svg>\n</svg>\n");
    picture
}

/// A line of a terminal as parts with classes for its colours, cut to the width of the picture.
fn spans(text: &str) -> String {
    let (mut drawn, mut left, mut open) = (String::new(), COLUMNS, false);
    for (nth, part) in text.split("\u{1b}[").enumerate() {
        let (code, words) = if nth == 0 { ("", part) } else { part.split_once('m').unwrap_or(("", part)) };
        if nth > 0 {
            if std::mem::take(&mut open) {
                drawn.push_str("</tspan>");
            }
            if let Some((_, class)) = COLOURS.iter().find(|(known, _)| *known == code) {
                let _ = write!(drawn, "<tspan class=\"{class}\">");
                open = true;
            }
        }
        let words: String = words.chars().take(left).collect();
        left -= words.chars().count();
        drawn.push_str(&words.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;"));
    }
    if open {
        drawn.push_str("</tspan>");
    }
    drawn
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_become_classes_and_what_means_something_in_a_picture_is_escaped() {
        assert_eq!(spans("a \u{1b}[31m<b>\u{1b}[39m & c"), "a <tspan class=\"r\">&lt;b&gt;</tspan> &amp; c");
        assert_eq!(spans(&"x".repeat(COLUMNS + 5)).len(), COLUMNS);
    }
}
