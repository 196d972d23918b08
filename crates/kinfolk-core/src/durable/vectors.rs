//! Verdicts that every store must come to.

use super::{Rule, Verdict};
use crate::family::Tally;

/// Every way in which up to five children can end, under every rule and at the edges of rounding, with its verdict.
pub fn all() -> Vec<(Rule, Tally, Option<Verdict>)> {
    let rules = [
        Rule::FailFast,
        Rule::CollectAll,
        Rule::Threshold(0),
        Rule::Threshold(1),
        Rule::Threshold(200_000),
        Rule::Threshold(333_333),
        Rule::Threshold(333_334),
        Rule::Threshold(500_000),
        Rule::Threshold(666_667),
        Rule::Threshold(800_001),
        Rule::Threshold(999_999),
        Rule::Threshold(1_000_000),
    ];
    let mut cases = Vec::new();
    for rule in rules {
        for total in 1..=5_u64 {
            for completed in 0..=total {
                for failed in 0..=total - completed {
                    for cancelled in 0..=total - completed - failed {
                        let tally = Tally { total, completed, failed, cancelled };
                        cases.push((rule, tally, rule.verdict(&tally)));
                    }
                }
            }
        }
    }
    cases
}
