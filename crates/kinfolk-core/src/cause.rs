//! Failures by cause: failures that say the same, but for numbers, names and quoted words, have one cause.
//!
//! Nothing is kept for this: the newest failures of a span are read when they are asked for, and sorted here.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::ids::TaskId;
use crate::name::CommandName;
use crate::settle::FailureKind;
use crate::time::Timestamp;

/// Into how many equal parts the trend divides the span.
pub const TREND_PARTS: usize = 24;
/// The longest text of a cause, in characters.
const TEXT_MAX: usize = 200;

/// The failures of a span, by cause.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Causes {
    /// Where the span begins.
    pub since: Timestamp,
    /// Where it ends: now.
    pub until: Timestamp,
    /// The causes, the one with the most failures first.
    pub causes: Vec<Cause>,
    /// Only the newest [`crate::limits::LOOK_MAX`] failures were looked at: there are older ones in the span.
    pub more: bool,
}

/// Failed tasks of one command that say the same.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cause {
    /// Its name, the same as long as its tasks say the same: [`id_of`].
    pub id: String,
    /// The command.
    pub command: CommandName,
    /// The sort of failure.
    pub kind: FailureKind,
    /// Their message, with `#` for numbers and ids, and `…` for quoted words.
    pub text: String,
    /// How many tasks failed so.
    pub tasks: u64,
    /// When the first of them did.
    pub first_at: Timestamp,
    /// When the last of them did.
    pub last_at: Timestamp,
    /// The last of them.
    pub sample: TaskId,
    /// The message, in full.
    pub message: String,
    /// How many failed in each part of the span, the earliest first.
    pub trend: Vec<u64>,
}

/// A failed task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailedTask {
    /// Its number.
    pub id: TaskId,
    /// Its command.
    pub command: CommandName,
    /// When it ended.
    pub finished_at: Timestamp,
    /// The sort of failure.
    pub kind: FailureKind,
    /// The message.
    pub message: String,
}

impl Causes {
    /// Sorts failures of a span, given the latest first. Parents that failed because of their children are not counted: the
    /// children are.
    pub fn of(failed: impl IntoIterator<Item = FailedTask>, since: Timestamp, until: Timestamp, more: bool) -> Self {
        let mut known: BTreeMap<(CommandName, &'static str, String), Cause> = BTreeMap::new();
        for task in failed {
            if task.kind == FailureKind::Children {
                continue;
            }
            let text = normalised(&task.message);
            let cause =
                known.entry((task.command.clone(), task.kind.as_str(), text)).or_insert_with_key(|(_, _, text)| {
                    Cause {
                        id: id(&task.command, task.kind, text),
                        command: task.command,
                        kind: task.kind,
                        text: text.clone(),
                        tasks: 0,
                        first_at: task.finished_at,
                        last_at: task.finished_at,
                        sample: task.id,
                        message: task.message,
                        trend: vec![0; TREND_PARTS],
                    }
                });
            cause.tasks += 1;
            cause.first_at = cause.first_at.min(task.finished_at);
            if (task.finished_at, task.id) > (cause.last_at, cause.sample) {
                (cause.last_at, cause.sample) = (task.finished_at, task.id);
            }
            cause.trend[part_of(task.finished_at, since, until)] += 1;
        }
        let mut causes: Vec<Cause> = known.into_values().collect();
        causes.sort_by_key(|cause| (std::cmp::Reverse(cause.tasks), std::cmp::Reverse(cause.last_at)));
        Self { since, until, causes, more }
    }
}

/// In which part of a span a moment lies.
fn part_of(moment: Timestamp, since: Timestamp, until: Timestamp) -> usize {
    let whole = until.since(since).as_micros().max(1);
    let part = moment.since(since).as_micros() * TREND_PARTS as u128 / whole;
    usize::try_from(part).unwrap_or(usize::MAX).min(TREND_PARTS - 1)
}

/// The name of the cause by which a task of this command failed, for people and addresses: twelve digits.
pub fn id_of(command: &CommandName, kind: FailureKind, message: &str) -> String {
    id(command, kind, &normalised(message))
}

/// A digest of the parts that make a cause. It is no secret, and a collision helps no attacker, so the simplest will do: FNV-1a.
fn id(command: &CommandName, kind: FailureKind, text: &str) -> String {
    let all = [command.as_str(), kind.as_str(), text].join("\0");
    let mixed = |digest: u64, byte: u8| (digest ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    format!("{:012x}", all.bytes().fold(0xcbf2_9ce4_8422_2325, mixed) >> 16)
}

/// A message without the parts that differ from task to task: words with digits become `#`, quoted words `…`.
pub fn normalised(message: &str) -> String {
    let mut text = String::with_capacity(message.len().min(4 * TEXT_MAX));
    let mut rest = message.trim_start();
    let mut before = ' ';
    while let Some(letter) = rest.chars().next() {
        if text.chars().count() >= TEXT_MAX {
            text.push('…');
            break;
        }
        let taken = match letter {
            '"' | '`' | '\'' if !before.is_alphanumeric() => quoted(rest, letter, &mut text),
            _ if letter.is_whitespace() => {
                let word = rest.find(|c: char| !c.is_whitespace()).unwrap_or(rest.len());
                if word < rest.len() {
                    text.push(' ');
                }
                word
            }
            _ if letter.is_alphanumeric() => word(rest, &mut text),
            _ => {
                text.push(letter);
                letter.len_utf8()
            }
        };
        before = rest[..taken].chars().next_back().unwrap_or(letter);
        rest = &rest[taken..];
    }
    text
}

/// Writes what is quoted at the head of a text, without what is in the quotes. How long it was.
fn quoted(text: &str, quote: char, out: &mut String) -> usize {
    out.push(quote);
    match text[1..].find(quote) {
        Some(end) => {
            out.push('…');
            out.push(quote);
            end + 2
        }
        None => 1,
    }
}

/// Writes the word at the head of a text, or `#` for all that hangs together with digits in it: numbers, dates, addresses, ids.
/// How long it was.
fn word(text: &str, out: &mut String) -> usize {
    let plain = text.find(|c: char| !c.is_alphanumeric()).unwrap_or(text.len());
    let inner = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | ':' | '/' | '@' | '+');
    let whole = text.find(|c: char| !inner(c)).unwrap_or(text.len());
    let whole = text[..whole].trim_end_matches(|c: char| !c.is_alphanumeric()).len();
    let (mut end, mut has_digit) = (plain, text[..plain].contains(|c: char| c.is_ascii_digit()));
    if has_digit || text[..whole].contains(|c: char| c.is_ascii_digit()) {
        (end, has_digit) = (whole, true);
    }
    out.push_str(if has_digit { "#" } else { &text[..end] });
    end
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_differs_from_task_to_task_is_taken_out() {
        for (message, text) in [
            ("no such host: \"mail.example\"", "no such host: \"…\""),
            ("timed out after 31.5 s", "timed out after # s"),
            ("order 17 of 2026-01-31T10:00:00Z is gone", "order # of # is gone"),
            ("can't reach 10.0.0.7:5432, tried 3 times", "can't reach #, tried # times"),
            ("task 7b9f2c1e-aa10-4b6f-9c55-0123456789ab failed", "task # failed"),
            ("  two\n lines ", "two lines"),
            ("key (id)=(5) already exists", "key (id)=(#) already exists"),
            ("an open 'quote", "an open 'quote"),
            ("", ""),
        ] {
            assert_eq!(normalised(message), text, "{message:?}");
        }
        assert!(normalised(&"é ".repeat(5_000)).chars().count() <= TEXT_MAX + 1);
    }

    #[test]
    fn a_cause_has_one_name_whatever_differs_from_task_to_task() {
        let mail = CommandName::new("mail").unwrap();
        let id = |kind, message| id_of(&mail, kind, message);
        let gone = id(FailureKind::Error, "order 17 is gone");
        assert_eq!((gone.as_str(), gone.len()), (id(FailureKind::Error, "order 9 is gone").as_str(), 12));
        assert_ne!(gone, id(FailureKind::Panic, "order 17 is gone"));
        assert_ne!(gone, id(FailureKind::Error, "order 17 is gone again"));
    }

    #[test]
    fn causes_have_a_first_a_last_and_a_trend() {
        let at = |secs: i64| Timestamp::from_micros(secs * 1_000_000);
        let failed = |id, secs, message: &str| FailedTask {
            id: TaskId(id),
            command: CommandName::new("mail").unwrap(),
            finished_at: at(secs),
            kind: FailureKind::Error,
            message: message.to_owned(),
        };
        let given = [failed(3, 239, "code 9"), failed(2, 120, "no route"), failed(1, 0, "code 7")];
        let found = Causes::of(given, at(0), at(240), false);
        assert_eq!(
            found.causes.iter().map(|cause| (cause.text.as_str(), cause.tasks)).collect::<Vec<_>>(),
            [("code #", 2), ("no route", 1)]
        );
        let code = &found.causes[0];
        assert_eq!(
            (code.first_at, code.last_at, code.sample, code.message.as_str()),
            (at(0), at(239), TaskId(3), "code 9")
        );
        assert_eq!((code.trend[0], code.trend[23], code.trend.iter().sum::<u64>()), (1, 1, 2));
    }
}
