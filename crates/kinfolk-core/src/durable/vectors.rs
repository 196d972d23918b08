//! Verdicts that every store must come to, and what they make of a handler that gives up because of them.

use super::{Rule, Verdict};
use crate::family::Tally;
use crate::settle::FailureKind;

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

/// Every verdict over sub-tasks that failed in none, one or two ways, with the kind of failure of the handler that gives up.
pub fn kinds() -> Vec<(Verdict, Vec<FailureKind>, FailureKind)> {
    let mut ways = vec![vec![]];
    for one in FailureKind::ALL {
        ways.push(vec![one]);
        ways.extend(FailureKind::ALL.map(|other| vec![one, other]));
    }
    let of = |verdict: Verdict| ways.iter().map(move |way| (verdict, way.clone(), verdict.failure_kind(way.clone())));
    Verdict::ALL.into_iter().flat_map(of).collect()
}
