//! One measured figure, and how it is shown: a line of JSON for programs, a table for people.

use std::io::{self, Write as _};

use comfy_table::{CellAlignment, Table, presets};
use serde::Serialize;

use super::stats::{Comparison, Verdict};

/// One figure. `ratio` is higher-is-better; `bar` is there only where one is set.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Figure {
    pub scenario: String,
    pub store: &'static str,
    pub n: usize,
    pub rate: f64,
    pub baseline: String,
    pub baseline_rate: f64,
    pub ratio: f64,
    pub bar: Option<f64>,
    pub spread: f64,
    pub p50_ms: Option<f64>,
    pub p99_ms: Option<f64>,
    /// How many rounds the median is of.
    pub rounds: usize,
    /// Whether engine and baseline differ by more than the spread.
    pub resolved: bool,
    #[serde(skip)]
    comparison: Comparison,
    #[serde(skip)]
    note: String,
}

impl Figure {
    /// A figure from its rounds.
    pub(super) fn new(scenario: &str, store: &'static str, n: usize, baseline: &str, comparison: Comparison) -> Self {
        Self {
            scenario: scenario.to_owned(),
            store,
            n,
            rate: rounded(comparison.rate, 1),
            baseline: baseline.to_owned(),
            baseline_rate: rounded(comparison.baseline_rate, 1),
            ratio: rounded(comparison.ratio, 3),
            bar: None,
            spread: rounded(comparison.spread, 3),
            p50_ms: None,
            p99_ms: None,
            rounds: comparison.rounds,
            resolved: comparison.resolved(),
            comparison,
            note: String::new(),
        }
    }

    /// With the ratio that is asked for.
    pub(super) fn bar(self, bar: Option<f64>) -> Self {
        Self { bar, ..self }
    }

    /// With the median and the 99th percentile of single times, in milliseconds.
    pub(super) fn times(self, times: Option<(f64, f64)>) -> Self {
        let (p50_ms, p99_ms) = times.map(|(p50, p99)| (rounded(p50, 3), rounded(p99, 3))).unzip();
        Self { p50_ms, p99_ms, ..self }
    }

    /// With words for people.
    pub(super) fn note(self, note: impl Into<String>) -> Self {
        Self { note: note.into(), ..self }
    }

    fn verdict(&self) -> &'static str {
        match self.bar.map(|bar| self.comparison.verdict(bar)) {
            Some(Verdict::Met) => "met",
            Some(Verdict::MetWithinSpread) => "met, not resolved",
            Some(Verdict::MissedWithinSpread) => "missed, not resolved",
            Some(Verdict::Missed) => "MISSED",
            None if self.resolved => "",
            None => "not resolved",
        }
    }
}

/// Where figures go as soon as they are measured.
pub(super) struct Output {
    json: bool,
    verbose: bool,
    figures: Vec<Figure>,
}

impl Output {
    pub(super) fn new(json: bool, verbose: bool) -> Self {
        Self { json, verbose, figures: Vec::new() }
    }

    /// Reports a figure: at once as a line of JSON, or in the table at the end.
    pub(super) fn figure(&mut self, figure: Figure) -> anyhow::Result<()> {
        if self.json {
            writeln!(io::stdout(), "{}", serde_json::to_string(&figure)?)?;
        }
        self.figures.push(figure);
        Ok(())
    }

    /// Says what is going on, on the error stream: figures alone go to the output.
    pub(super) fn progress(&self, words: &str) {
        eprintln!("{words}");
    }

    /// Says something that only `--verbose` asks for.
    pub(super) fn detail(&self, words: &str) {
        if self.verbose {
            self.progress(words);
        }
    }

    /// Prints the table, unless every figure has gone out as JSON already.
    pub(super) fn finish(self) -> io::Result<()> {
        if !self.json {
            writeln!(io::stdout(), "{}", table(&self.figures))?;
        }
        Ok(())
    }
}

fn table(figures: &[Figure]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::UTF8_HORIZONTAL_ONLY);
    table.set_header([
        "scenario",
        "store",
        "n",
        "kinfolk/s",
        "baseline/s",
        "ratio (lowest–highest)",
        "bar",
        "",
        "p50 ms",
        "p99 ms",
        "baseline",
    ]);
    for figure in figures {
        let time = |ms: Option<f64>| ms.map_or(String::new(), |ms| format!("{ms:.2}"));
        let words = if figure.note.is_empty() {
            figure.baseline.clone()
        } else {
            format!("{}; {}", figure.baseline, figure.note)
        };
        table.add_row([
            figure.scenario.clone(),
            figure.store.to_owned(),
            figure.n.to_string(),
            format!("{:.0}", figure.rate),
            format!("{:.0}", figure.baseline_rate),
            format!("{:.2} ({:.2}–{:.2})", figure.ratio, figure.comparison.lowest, figure.comparison.highest),
            figure.bar.map_or(String::new(), |bar| format!("{bar}")),
            figure.verdict().to_owned(),
            time(figure.p50_ms),
            time(figure.p99_ms),
            words,
        ]);
    }
    for column in [2, 3, 4, 5, 6, 8, 9] {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table
}

fn rounded(value: f64, digits: i32) -> f64 {
    let unit = 10f64.powi(digits);
    (value * unit).round() / unit
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(figure: &Figure) -> Vec<String> {
        let serde_json::Value::Object(map) = serde_json::to_value(figure).unwrap() else { panic!("an object") };
        map.keys().cloned().collect()
    }

    #[test]
    fn a_figure_is_one_object_with_the_agreed_fields() {
        let figure = Figure::new("drain", "postgres", 10, "bare", Comparison::of(&[(10.0, 8.0), (10.0, 9.0)]));
        let agreed =
            ["scenario", "store", "n", "rate", "baseline", "baseline_rate", "ratio", "spread", "p50_ms", "p99_ms"];
        for key in agreed {
            assert!(keys(&figure).contains(&key.to_owned()), "{key}");
        }
        assert!(keys(&figure).contains(&"bar".to_owned()), "null where there is none");
    }

    #[test]
    fn the_table_says_when_a_difference_is_not_resolved() {
        let noisy = Comparison::of(&[(10.0, 5.0), (10.0, 9.0), (10.0, 12.0)]);
        let shown = table(&[Figure::new("drain", "sqlite", 10, "bare", noisy)]).to_string();
        assert!(shown.contains("not resolved"), "{shown}");
    }
}
