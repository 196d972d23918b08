//! The verdicts of the core, case by case, driven through the store.

use std::collections::BTreeMap;

use kinfolk_core::durable::vectors::all;
use kinfolk_core::{ClaimedTask, Outcome, Retry, Settle, State, Suspend, Tally};

use crate::flow::{fan_out, waiting_for};
use crate::world::{World, claim_of, command, failed, settle_of};

/// How the n-th child of a fan-out must end, so that this is its tally; none if it stays open.
fn end_of(n: u64, tally: &Tally) -> Option<Outcome> {
    match n {
        n if n < tally.completed => Some(Outcome::Done(None)),
        n if n < tally.completed + tally.failed => Some(failed(Retry::Never)),
        n if n < tally.ended() => Some(Outcome::Cancelled),
        _ => None,
    }
}

/// Every way in which up to five children can end, under every rule and at the edges of rounding.
pub async fn every_rule_comes_to_the_verdict_of_the_core(w: &World) {
    let cases = all();
    w.enqueue_many("mail", cases.len()).await;
    let worker = w.worker().await;
    let mut owners = Vec::new();
    while owners.len() < cases.len() {
        let claimed = w.claim(worker, 500).await;
        let suspend = |(task, (rule, tally, _)): (_, &(_, Tally, _))| -> Suspend {
            waiting_for(task, fan_out("items", usize::try_from(tally.total).unwrap(), *rule))
        };
        let batch: Vec<_> = claimed.iter().zip(&cases[owners.len()..]).map(suspend).collect();
        w.store.suspend(&batch).await.unwrap();
        owners.extend(claimed);
    }
    let tallies = owners.iter().zip(&cases).map(|(owner, (_, tally, _))| (owner.id, (*tally, 0..)));
    let mut tallies: BTreeMap<_, _> = tallies.collect();
    let only = kinfolk_core::Claim { commands: vec![command("report")], ..claim_of(worker, 1_000) };
    loop {
        let claim = kinfolk_core::Claim { token: claim_of(worker, 1).token, ..only.clone() };
        let tasks = w.store.claim(&claim).await.unwrap().tasks;
        if tasks.is_empty() {
            break;
        }
        let mut settle = |task: &ClaimedTask| -> Option<Settle> {
            let (tally, next) = tallies.get_mut(&task.parent?)?;
            Some(settle_of(task, end_of(next.next()?, tally)?))
        };
        let batch: Vec<_> = tasks.iter().filter_map(&mut settle).collect();
        w.store.settle(&batch).await.unwrap();
    }
    for (owner, (rule, tally, verdict)) in owners.iter().zip(&cases) {
        let found = w.history(owner.id).await.fan_outs.remove(0);
        assert_eq!((found.rule, found.tally), (*rule, *tally));
        assert_eq!(found.verdict, *verdict, "{rule:?} {tally:?}");
        assert_eq!(found.decided_at.is_some(), verdict.is_some());
        let state = if verdict.is_some() { State::Pending } else { State::Waiting };
        assert_eq!(w.state(owner.id).await, state);
    }
}
