//! The report of a round: its stages, as the table of a pipeline has them, and the years of the history.

use std::fmt;
use std::time::Duration;

use kinfolk_postgres::Connections;
use serde::Serialize;
use tokio_postgres::types::Type;

use crate::fault::Fault;
use crate::out::table::{Table, text};

/// One change of the register, and what became of it.
#[derive(Debug, Serialize)]
pub(super) struct Round {
    title: &'static str,
    /// From the change to the end of the last stage, by the clock.
    seconds: f64,
    stages: Vec<Stage>,
}

#[derive(Debug, Serialize)]
struct Stage {
    step: String,
    stage: String,
    seconds: f64,
    children: i64,
    child_seconds: Option<f64>,
    parallel: Option<f64>,
}

impl Round {
    /// The stages whose tasks came after this one.
    pub(super) async fn of(
        connections: &Connections,
        title: &'static str,
        after: i64,
        took: Duration,
    ) -> Result<Self, Fault> {
        let sql = "select s.step, s.stage, s.seconds::float8, s.children, s.child_seconds::float8, s.parallel::float8 \
            from register.stages($1) s";
        let stages = connections.ask(sql, &[(&after, Type::INT8)]).await?.iter().map(Stage::of).collect();
        Ok(Self { title, seconds: took.as_secs_f64(), stages })
    }
}

impl Stage {
    fn of(row: &tokio_postgres::Row) -> Self {
        Self {
            step: row.get(0),
            stage: row.get(1),
            seconds: row.get(2),
            children: row.get(3),
            child_seconds: row.get(4),
            parallel: row.get(5),
        }
    }
}

impl fmt::Display for Round {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut table = Table::new(&["step", "stage", "seconds", "children", "seconds of children", "side by side"]);
        for stage in &self.stages {
            let of =
                |value: Option<f64>, digits: usize| value.map_or_else(String::new, |value| format!("{value:.digits$}"));
            table.row(vec![
                text(&stage.step),
                text(&stage.stage),
                text(format!("{:.3}", stage.seconds)),
                text(stage.children),
                text(of(stage.child_seconds, 3)),
                text(of(stage.parallel, 1)),
            ]);
        }
        let table = table.numbers(&[2, 3, 4, 5]);
        write!(f, "{}: {:.1} s from the change to the last stage\n{table}\n", self.title, self.seconds)
    }
}

/// A year of the history.
#[derive(Debug, Serialize)]
pub(super) struct Year {
    year: i32,
    unit_type: String,
    figures: [i64; 6],
}

/// The history by years.
pub(super) async fn history(connections: &Connections) -> Result<Vec<Year>, Fault> {
    let sql = "select extract(year from h.period)::integer, h.unit_type::text, h.units, h.births, h.deaths, h.changes, h.employees, h.turnover
        from register.statistical_history h where h.resolution = 'year' order by h.period, h.unit_type";
    let year = |row: &tokio_postgres::Row| Year {
        year: row.get(0),
        unit_type: row.get(1),
        figures: std::array::from_fn(|nth| row.get(nth + 2)),
    };
    Ok(connections.ask(sql, &[]).await?.iter().map(year).collect())
}

/// The same for people.
pub(super) fn table(history: &[Year]) -> Table {
    let mut table = Table::new(&["year", "unit", "units", "births", "deaths", "changes", "employees", "turnover"]);
    for year in history {
        let figures = year.figures.iter().map(text);
        table.row([text(year.year), text(&year.unit_type)].into_iter().chain(figures).collect());
    }
    table.numbers(&[2, 3, 4, 5, 6, 7])
}
