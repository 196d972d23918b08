//! Everything that goes to stdout: tables and sentences for people, JSON for programs. All of it goes through
//! [`terminal`].
//!
//! With `--json`, a command that shows one thing prints one JSON document, and a command that lists things prints one
//! JSON document a line. Colours are written always and stripped by the stream when they are not wanted, so no other
//! code asks whether it talks to a terminal.

pub(crate) mod durable;
pub(crate) mod parts;
pub(crate) mod pretty;
pub(crate) mod table;
pub(crate) mod terminal;
pub(crate) mod time;
pub(crate) mod view;
pub(crate) mod words;

use std::fmt::Display;
use std::io::IsTerminal as _;

use owo_colors::OwoColorize as _;
use serde::Serialize;

use crate::fault::Fault;

/// Where a command's answer goes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Out {
    json: bool,
}

impl Out {
    /// For people, or for programs.
    pub(crate) fn new(json: bool) -> Self {
        Self { json }
    }

    /// Whether a program reads this.
    pub(crate) fn json(self) -> bool {
        self.json
    }

    /// Whether live progress can be drawn.
    pub(crate) fn live(self) -> bool {
        !self.json && std::io::stdout().is_terminal() && std::io::stderr().is_terminal()
    }

    /// Whether live progress is drawn in colours.
    pub(crate) fn colors(self) -> bool {
        anstream::AutoStream::choice(&std::io::stderr()) != anstream::ColorChoice::Never
    }

    /// A text for live progress, which no stream strips of colours that are not wanted.
    pub(crate) fn painted(self, text: &str) -> String {
        let text = terminal::shown(text);
        if self.colors() { text } else { anstream::adapter::strip_str(&text).to_string() }
    }

    /// A line for people.
    pub(crate) fn line(self, text: impl Display) -> Result<(), Fault> {
        Ok(terminal::print(text)?)
    }

    /// A document for programs, on a line of its own.
    pub(crate) fn item<T: Serialize + ?Sized>(self, item: &T) -> Result<(), Fault> {
        let text = serde_json::to_string(item)
            .map_err(|fault| Fault::new(crate::exit::Exit::Internal, "json", fault.to_string()))?;
        Ok(terminal::print_json(&text)?)
    }

    /// One or the other.
    pub(crate) fn say<T: Serialize + ?Sized>(self, item: &T, text: impl Display) -> Result<(), Fault> {
        if self.json { self.item(item) } else { self.line(text) }
    }

    /// A list: a line each for programs, a table for people, or a sentence when there is nothing in it.
    pub(crate) fn list<T: Serialize>(
        self,
        items: &[T],
        none: &str,
        table: impl FnOnce() -> table::Table,
    ) -> Result<(), Fault> {
        if self.json {
            return items.iter().try_for_each(|item| self.item(item));
        }
        if items.is_empty() { self.line(none) } else { self.line(table()) }
    }

    /// Something a person may want to type next. Goes to stderr: it is no part of the answer.
    pub(crate) fn hint(self, text: impl Display) {
        if !self.json {
            terminal::complain(text.dimmed());
        }
    }
}
