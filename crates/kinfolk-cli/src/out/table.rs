//! Tables without borders, as wide as their words.

use std::fmt;

use comfy_table::{Attribute, Cell, CellAlignment, Color, ContentArrangement, presets};
use kinfolk_core::State;
use kinfolk_core::inspect::Health;
pub(crate) use kinfolk_core::text::harmless;

/// A table for people.
pub(crate) struct Table {
    inner: comfy_table::Table,
}

impl Table {
    /// A table with these headings.
    pub(crate) fn new(headings: &[&str]) -> Self {
        let mut inner = comfy_table::Table::new();
        inner.load_style(presets::NOTHING).enforce_styling().style_text_only();
        // A terminal wraps by our width; a pipe gets each row on one line.
        let fits = std::io::IsTerminal::is_terminal(&std::io::stdout());
        inner.set_content_arrangement(if fits { ContentArrangement::Dynamic } else { ContentArrangement::Disabled });
        inner.set_header(headings.iter().map(|heading| Cell::new(heading).add_attribute(Attribute::Dim)));
        Self { inner }
    }

    /// Sets these columns flush right: numbers.
    #[must_use]
    pub(crate) fn numbers(mut self, columns: &[usize]) -> Self {
        self.inner.discover_columns();
        for &column in columns {
            if let Some(column) = self.inner.column_mut(column) {
                column.set_cell_alignment(CellAlignment::Right);
            }
        }
        self
    }

    /// One more row.
    pub(crate) fn row(&mut self, cells: Vec<Cell>) {
        self.inner.add_row(cells);
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut lines = self.inner.lines().map(|line| line.trim_end().to_owned());
        if let Some(first) = lines.next() {
            f.write_str(&first)?;
        }
        lines.try_for_each(|line| write!(f, "\n{line}"))
    }
}

/// Plain text, made harmless for a terminal.
pub(crate) fn text(text: impl fmt::Display) -> Cell {
    Cell::new(harmless(&text.to_string()))
}

/// Dimmed text.
pub(crate) fn dim(text: impl fmt::Display) -> Cell {
    styled(&text.to_string(), Attribute::Dim)
}

/// Emphasised text.
pub(crate) fn bold(text: impl fmt::Display) -> Cell {
    styled(&text.to_string(), Attribute::Bold)
}

/// Nothing is not styled: the codes around it would keep blanks at the end of a line.
fn styled(text: &str, attribute: Attribute) -> Cell {
    let cell = Cell::new(harmless(text));
    if text.is_empty() { cell } else { cell.add_attribute(attribute) }
}

/// A number; zero is dimmed.
pub(crate) fn number(count: u64) -> Cell {
    let cell = Cell::new(count).set_alignment(CellAlignment::Right);
    if count == 0 { cell.add_attribute(Attribute::Dim) } else { cell }
}

/// A number in the colour of a state; zero is dimmed.
pub(crate) fn number_of(state: State, count: u64) -> Cell {
    if count == 0 { number(0) } else { number(count).fg(color(state)) }
}

/// A state in its colour.
pub(crate) fn state(state: State, note: &str) -> Cell {
    Cell::new(format!("{state}{note}")).fg(color(state))
}

/// How something is, in its colour.
pub(crate) fn health(health: Health) -> Cell {
    match health {
        Health::Good => Cell::new("good").fg(Color::Green),
        Health::Warning => Cell::new("warning").fg(Color::Yellow),
        Health::Bad => Cell::new("bad").fg(Color::Red),
    }
}

/// The colour of a state.
fn color(state: State) -> Color {
    match state {
        State::Pending => Color::Blue,
        State::Running => Color::Cyan,
        State::Waiting => Color::Magenta,
        State::Completed => Color::Green,
        State::Failed => Color::Red,
        State::Cancelled => Color::Yellow,
    }
}

/// The beginning of a text, with a mark when it was cut.
pub(crate) fn short(text: &str, chars: usize) -> String {
    let text = harmless(text);
    match text.char_indices().nth(chars) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_keeps_its_columns_apart_and_ends_without_blanks() {
        let mut table = Table::new(&["name", "tasks"]).numbers(&[1]);
        table.row(vec![text("a"), number(12)]);
        let shown = anstream::adapter::strip_str(&table.to_string()).to_string();
        assert_eq!(shown, " name  tasks\n a        12");
    }

    #[test]
    fn a_text_is_cut_between_letters() {
        assert_eq!(short("äöü", 2), "äö…");
        assert_eq!(short("äöü", 3), "äöü");
    }
}
