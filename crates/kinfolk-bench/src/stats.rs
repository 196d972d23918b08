//! The arithmetic of a comparison: medians, spreads, and whether a difference is one. Pure functions.
//!
//! Every round measures the baseline and the engine one right after the other, so the ratio is taken per round and the
//! median over the rounds: what disturbs the machine for a while disturbs both sides of the same round.

use std::time::Duration;

/// Many rounds of baseline and engine, summed up.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Comparison {
    /// Median of the baseline, per second.
    pub baseline_rate: f64,
    /// Median of the engine, per second.
    pub rate: f64,
    /// Median over the rounds of engine divided by baseline; higher is better.
    pub ratio: f64,
    /// The highest ratio of a round less the lowest one.
    pub spread: f64,
    /// The lowest ratio of a round.
    pub lowest: f64,
    /// The highest ratio of a round.
    pub highest: f64,
    /// How many rounds there were.
    pub rounds: usize,
}

/// What a comparison says about a bar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// The median is at the bar or above, by more than the spread.
    Met,
    /// At the bar or above, but by less than the spread.
    MetWithinSpread,
    /// Below the bar, but by less than the spread.
    MissedWithinSpread,
    /// Below the bar by more than the spread.
    Missed,
}

impl Comparison {
    /// Sums up rounds of `(baseline, engine)`, both per second.
    ///
    /// # Panics
    /// Without any round.
    pub(super) fn of(rounds: &[(f64, f64)]) -> Self {
        let ratios: Vec<f64> = rounds.iter().map(|(baseline, engine)| engine / baseline).collect();
        let lowest = ratios.iter().copied().fold(f64::INFINITY, f64::min);
        let highest = ratios.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        Self {
            baseline_rate: median(rounds.iter().map(|round| round.0)),
            rate: median(rounds.iter().map(|round| round.1)),
            ratio: median(ratios),
            spread: highest - lowest,
            lowest,
            highest,
            rounds: rounds.len(),
        }
    }

    /// One long measurement of both, whose ratio was looked at part by part.
    ///
    /// # Panics
    /// Without any part.
    pub(super) fn whole(baseline_rate: f64, rate: f64, parts: &[f64]) -> Self {
        let parts: Vec<_> = parts.iter().map(|part| (1.0, *part)).collect();
        Self { baseline_rate, rate, ratio: rate / baseline_rate, ..Self::of(&parts) }
    }

    /// Whether engine and baseline differ by more than the spread. One round alone resolves nothing.
    pub(super) fn resolved(&self) -> bool {
        self.rounds > 1 && (self.ratio - 1.0).abs() >= self.spread
    }

    /// Where the ratio stands beside a bar.
    pub(super) fn verdict(&self, bar: f64) -> Verdict {
        let clear = self.rounds > 1 && (self.ratio - bar).abs() >= self.spread;
        match (self.ratio >= bar, clear) {
            (true, true) => Verdict::Met,
            (true, false) => Verdict::MetWithinSpread,
            (false, false) => Verdict::MissedWithinSpread,
            (false, true) => Verdict::Missed,
        }
    }
}

/// The middle value, or the mean of the two in the middle.
///
/// # Panics
/// Of nothing.
pub(super) fn median(values: impl IntoIterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.into_iter().collect();
    assert!(!values.is_empty(), "there is no median of nothing");
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    if values.len() % 2 == 1 { values[middle] } else { f64::midpoint(values[middle - 1], values[middle]) }
}

/// The smallest duration that at least this share of all durations does not exceed, in milliseconds.
///
/// # Panics
/// Of nothing.
pub(super) fn percentile_ms(durations: &[Duration], share: f64) -> f64 {
    assert!(!durations.is_empty(), "there is no percentile of nothing");
    let mut sorted = durations.to_vec();
    sorted.sort_unstable();
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a share of a length in memory")]
    let rank = (share * sorted.len() as f64).ceil() as usize;
    sorted[rank.clamp(1, sorted.len()) - 1].as_secs_f64() * 1000.0
}

/// How many per second.
pub(super) fn per_second(n: usize, took: Duration) -> f64 {
    n as f64 / took.as_secs_f64().max(f64::EPSILON)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_the_middle_value_whatever_the_order() {
        assert_eq!(median([3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median([4.0, 1.0, 3.0, 2.0]), 2.5);
        assert_eq!(median([7.0]), 7.0);
    }

    #[test]
    fn the_ratio_is_the_median_of_the_ratios_of_each_round() {
        // The machine slows down for both sides in the second round: the ratio does not notice.
        let comparison = Comparison::of(&[(100.0, 80.0), (10.0, 8.0), (100.0, 80.0)]);
        assert_eq!((comparison.baseline_rate, comparison.rate), (100.0, 80.0));
        assert_eq!(comparison.ratio, 0.8);
        assert!(comparison.spread < 1e-9);
        assert!(comparison.resolved());
    }

    #[test]
    fn a_difference_below_the_spread_is_not_resolved() {
        let noisy = Comparison::of(&[(100.0, 80.0), (100.0, 90.0), (100.0, 115.0)]);
        assert!((noisy.spread - 0.35).abs() < 1e-9, "{noisy:?}");
        assert!(!noisy.resolved());
        let clear = Comparison::of(&[(100.0, 50.0), (100.0, 55.0), (100.0, 60.0)]);
        assert!(clear.resolved());
    }

    #[test]
    fn a_long_measurement_has_the_ratio_of_the_whole_and_the_spread_of_its_parts() {
        let falling = Comparison::whole(100.0, 80.0, &[1.0, 0.8, 0.6]);
        assert_eq!((falling.ratio, falling.lowest, falling.highest), (0.8, 0.6, 1.0));
    }

    #[test]
    fn one_round_resolves_nothing() {
        let single = Comparison::of(&[(100.0, 10.0)]);
        assert_eq!(single.spread, 0.0);
        assert!(!single.resolved());
        assert_eq!(single.verdict(0.7), Verdict::MissedWithinSpread);
    }

    #[test]
    fn a_bar_is_met_or_missed_and_the_spread_says_how_surely() {
        let verdict = |engine: [f64; 3], bar| Comparison::of(&engine.map(|rate| (100.0, rate))).verdict(bar);
        assert_eq!(verdict([80.0, 81.0, 82.0], 0.7), Verdict::Met);
        assert_eq!(verdict([60.0, 75.0, 90.0], 0.7), Verdict::MetWithinSpread);
        assert_eq!(verdict([50.0, 65.0, 80.0], 0.7), Verdict::MissedWithinSpread);
        assert_eq!(verdict([50.0, 51.0, 52.0], 0.7), Verdict::Missed);
    }

    #[test]
    fn percentiles_are_values_that_were_measured() {
        let durations: Vec<_> = (1..=100).rev().map(Duration::from_millis).collect();
        assert_eq!(percentile_ms(&durations, 0.5), 50.0);
        assert_eq!(percentile_ms(&durations, 0.99), 99.0);
        assert_eq!(percentile_ms(&durations[..1], 0.5), 100.0);
    }
}
