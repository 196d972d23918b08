//! What workers did in a span, in columns of whole minutes.

use kinfolk_core::minute::{Figures, Minute};
use kinfolk_core::{QueueName, Timestamp};

use super::part::{Spark, Stair, words};
use super::span::Span;
use crate::problem::Problem;
use crate::visit::Visit;

/// Columns at most.
const COLUMNS: u64 = 60;
/// Rows of the table behind a chart.
const ROWS: usize = 12;

/// The minutes of a span.
pub(crate) struct Course {
    minutes: Vec<Minute>,
    /// When the first column begins, how many there are, and how many minutes each has.
    from: Timestamp,
    columns: usize,
    step: u64,
}

/// A row of the table behind a chart.
pub(crate) struct Row {
    pub(crate) from: String,
    pub(crate) completed: String,
    pub(crate) failed: String,
    pub(crate) retried: String,
}

impl Course {
    /// The minutes of this span until now, the one that goes on too.
    pub(crate) async fn of(visit: &Visit, span: Span, now: Timestamp) -> Result<Self, Problem> {
        let minutes = visit.view().minutes(span.length).await?;
        Ok(Self::new(minutes, span, now))
    }

    fn new(minutes: Vec<Minute>, span: Span, now: Timestamp) -> Self {
        let whole = (span.length.as_secs() / 60).max(1);
        let step = whole.div_ceil(COLUMNS);
        let columns = whole.div_ceil(step);
        // The last column holds the minute that goes on.
        let last = Minute::of(now);
        let from = last.minus(std::time::Duration::from_secs((columns * step - 1) * 60));
        Self { minutes, from, columns: usize::try_from(columns).unwrap_or(1), step }
    }

    /// The columns, of one queue or of all.
    fn columns(&self, queue: Option<&QueueName>) -> Vec<Figures> {
        let mut columns = vec![Figures::default(); self.columns];
        for minute in self.minutes.iter().filter(|minute| queue.is_none_or(|queue| minute.queue == *queue)) {
            let index = minute.at.since(self.from).as_secs() / 60 / self.step;
            if let Some(column) = columns.get_mut(usize::try_from(index).unwrap_or(usize::MAX))
                && minute.at >= self.from
            {
                *column = column.plus(&minute.figures);
            }
        }
        columns
    }

    /// All that was done.
    pub(crate) fn whole(&self, queue: Option<&QueueName>) -> Figures {
        self.columns(queue).iter().fold(Figures::default(), |sum, column| sum.plus(column))
    }

    /// A line of one of the figures; `None` where it is zero throughout.
    pub(crate) fn spark(
        &self,
        class: &'static str,
        queue: Option<&QueueName>,
        of: fn(&Figures) -> u64,
    ) -> Option<Spark> {
        let counts: Vec<u64> = self.columns(queue).iter().map(of).collect();
        Spark::new(class, &counts)
    }

    /// How many minutes of the span were recorded: all from the first one in which a worker did something.
    fn recorded(&self) -> u64 {
        let whole = self.columns as u64 * self.step;
        let end = self.from.plus(std::time::Duration::from_secs(whole * 60));
        let first = self.minutes.iter().map(|minute| minute.at).filter(|at| *at >= self.from).min();
        first.map_or(whole, |first| end.since(first).as_secs() / 60).max(1)
    }

    /// How many were completed in a minute of those that were recorded; less than one in a minute is told as such.
    pub(crate) fn a_minute(&self, queue: Option<&QueueName>) -> String {
        let minutes = self.recorded();
        match self.whole(queue).completed {
            0 => "0".to_owned(),
            few if few < minutes => "<1".to_owned(),
            many => words::count(many / minutes),
        }
    }

    /// The stair of what ended; `None` where nothing did.
    pub(crate) fn stair(&self, span: Span) -> Option<Stair> {
        let columns: Vec<(u64, u64)> =
            self.columns(None).iter().map(|column| (column.completed / self.step, column.failed)).collect();
        let whole = self.whole(None);
        if whole.completed + whole.failed == 0 {
            return None;
        }
        let most = columns.iter().map(|(completed, _)| *completed).max().unwrap_or_default();
        let label = format!(
            "In the last {}: {} completed, {} a minute at most; {} failed",
            span.last(),
            words::count(whole.completed),
            words::count(most),
            words::count(whole.failed)
        );
        let mut ticks: Vec<String> = (0..4).map(|quarter| self.clock(self.columns * quarter / 4)).collect();
        ticks.push("now".to_owned());
        Some(Stair::new(&columns, label, &ticks))
    }

    /// The table behind the stair, the latest first.
    pub(crate) fn table(&self) -> Vec<Row> {
        let columns = self.columns(None);
        let each = columns.len().div_ceil(ROWS).max(1);
        let rows = columns.chunks(each).enumerate().map(|(index, chunk)| {
            let sum = chunk.iter().fold(Figures::default(), |sum, column| sum.plus(column));
            Row {
                from: self.clock(index * each),
                completed: words::count(sum.completed),
                failed: words::count(sum.failed),
                retried: words::count(sum.retried),
            }
        });
        rows.collect::<Vec<_>>().into_iter().rev().collect()
    }

    /// When a column begins.
    fn clock(&self, column: usize) -> String {
        let begins = self.from.plus(std::time::Duration::from_secs(column as u64 * self.step * 60));
        begins.to_jiff().strftime("%H:%M").to_string()
    }
}

#[cfg(test)]
mod tests {
    use kinfolk_core::CommandName;

    use super::*;
    use crate::pages::span;

    #[test]
    fn a_minute_is_in_the_column_of_its_time_and_of_its_queue() {
        let at = |minute: i64| Timestamp::from_micros(minute * 60_000_000);
        let minute = |begins: i64, queue: &str, completed: u64| Minute {
            at: at(begins),
            queue: QueueName::new(queue).unwrap(),
            command: CommandName::new("send").unwrap(),
            figures: Figures { completed, ..Figures::default() },
        };
        let minutes = vec![minute(39, "a", 100), minute(41, "a", 1), minute(100, "a", 2), minute(100, "b", 4)];
        let now = at(100).plus(std::time::Duration::from_secs(30));
        let course = Course::new(minutes, span::ONE_HOUR, now);
        let columns: Vec<u64> = course.columns(None).iter().map(|column| column.completed).collect();
        assert_eq!((columns.len(), columns[0], columns[59], columns.iter().sum::<u64>()), (60, 1, 6, 7));
        let b = QueueName::new("b").unwrap();
        assert_eq!(course.whole(Some(&b)).completed, 4);
        assert_eq!((course.a_minute(Some(&b)).as_str(), course.a_minute(None).as_str()), ("<1", "<1"));
        assert_eq!(course.table().len(), 12);
    }

    #[test]
    fn what_was_done_a_minute_counts_the_minutes_since_the_first_record() {
        let at = |minute: i64| Timestamp::from_micros(minute * 60_000_000);
        let minute = |begins: i64, completed: u64| Minute {
            at: at(begins),
            queue: QueueName::new("a").unwrap(),
            command: CommandName::new("send").unwrap(),
            figures: Figures { completed, ..Figures::default() },
        };
        let now = at(100).plus(std::time::Duration::from_secs(30));
        // The store began nine minutes ago: ten minutes have a record, or could have.
        let young = Course::new(vec![minute(91, 40), minute(100, 10)], span::ONE_HOUR, now);
        assert_eq!(young.a_minute(None), "5");
        let old = Course::new(vec![minute(20, 1), minute(41, 590), minute(100, 10)], span::ONE_HOUR, now);
        assert_eq!(old.a_minute(None), "10");
    }

    #[test]
    fn a_longer_span_has_columns_of_several_minutes() {
        let course = Course::new(Vec::new(), span::SIX_HOURS, Timestamp::from_micros(0));
        assert_eq!((course.columns, course.step), (60, 6));
        assert!(course.stair(span::SIX_HOURS).is_none());
    }
}
