//! Interleaving: baseline, engine, engine, baseline, … so that neither side has the quieter half of the run.

use std::time::Duration;

use super::figure::Output;
use super::stats::{Comparison, percentile_ms};

/// What one side did in one round.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Sample {
    /// How many per second.
    pub rate: f64,
    /// How long single calls took, where that is of interest.
    pub times: Vec<Duration>,
}

/// What both sides did, round by round.
pub(super) struct Rounds(Vec<(Sample, Sample)>);

/// Runs both sides in turn. What each round measured is told as it comes.
pub(super) async fn interleave(
    rounds: usize,
    what: &str,
    output: &Output,
    mut baseline: impl AsyncFnMut() -> anyhow::Result<Sample>,
    mut engine: impl AsyncFnMut() -> anyhow::Result<Sample>,
) -> anyhow::Result<Rounds> {
    let mut measured = Vec::with_capacity(rounds);
    for round in 0..rounds {
        let (bare, ours) = if round % 2 == 0 {
            let bare = baseline().await?;
            (bare, engine().await?)
        } else {
            let ours = engine().await?;
            (baseline().await?, ours)
        };
        output.detail(&format!(
            "{what}, round {} of {rounds}: baseline {:.0}/s, kinfolk {:.0}/s, ratio {:.2}",
            round + 1,
            bare.rate,
            ours.rate,
            ours.rate / bare.rate
        ));
        measured.push((bare, ours));
    }
    Ok(Rounds(measured))
}

impl Rounds {
    /// The rounds summed up.
    pub(super) fn comparison(&self) -> Comparison {
        Comparison::of(&self.rates())
    }

    /// Baseline and engine of each round, both per second.
    pub(super) fn rates(&self) -> Vec<(f64, f64)> {
        self.0.iter().map(|(bare, ours)| (bare.rate, ours.rate)).collect()
    }

    /// Median and 99th percentile of the engine's single times over all rounds, in milliseconds.
    pub(super) fn times(&self) -> Option<(f64, f64)> {
        let times: Vec<_> = self.0.iter().flat_map(|(_, ours)| ours.times.iter().copied()).collect();
        (!times.is_empty()).then(|| (percentile_ms(&times, 0.5), percentile_ms(&times, 0.99)))
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    #[tokio::test]
    async fn the_side_that_goes_first_alternates() {
        let order = RefCell::new(String::new());
        let side = async |letter, rate| {
            order.borrow_mut().push(letter);
            Ok(Sample { rate, times: vec![Duration::from_millis(5)] })
        };
        let output = Output::new(true, false);
        let rounds = interleave(4, "test", &output, async || side('b', 2.0).await, async || side('e', 1.0).await);
        let rounds = rounds.await.unwrap();
        assert_eq!(*order.borrow(), "beebbeeb");
        assert_eq!(rounds.comparison().ratio, 0.5);
        assert_eq!(rounds.times(), Some((5.0, 5.0)));
    }
}
