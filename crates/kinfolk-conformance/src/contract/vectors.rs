//! The decisions of the core, case by case, driven through the store.
//!
//! Each case has a command of its own, so that many cases go through the same stages side by side: attempts that fail,
//! losses that make a suspect and strikes, the last claim, a request to cancel, and the ending that the case is about.

use kinfolk_core::decide::vectors::{Ending, all};
use kinfolk_core::decide::{Facts, Next, recover, settle};
use kinfolk_core::{
    Claim, ClaimedTask, Command, Gate, NewTask, Outcome, Retry, RetryPolicy, Settled, State, TaskId, WorkerId,
};

use crate::world::{World, claim_of, command, new_task, plain_command, secs, settle_of};

/// More seconds than any task of these cases waits for after a strike.
const LONGEST_WAIT: u64 = 10;

struct Case {
    name: String,
    facts: Facts,
    ending: Ending,
}

impl Case {
    /// Losses that make these facts: the first makes a suspect, each further one a strike.
    fn losses(&self) -> u16 {
        if self.facts.suspect { self.facts.strikes + 1 } else { 0 }
    }

    fn next(&self) -> Next {
        match &self.ending {
            Ending::Settle(outcome) => settle(&self.facts, outcome),
            Ending::Lost { server_restarted } => recover(&self.facts, *server_restarted),
        }
    }
}

/// Makes the cases that `wanted` picks, each with its task in the store.
async fn cases(w: &World, wanted: fn(&Ending) -> bool) -> Vec<Case> {
    let mut cases = Vec::new();
    for (n, (facts, ending, _)) in all().into_iter().filter(|(_, ending, _)| wanted(ending)).enumerate() {
        cases.push(Case { name: format!("case-{n}"), facts, ending });
    }
    let command = |case: &Case| Command { retry: case.facts.retry, ..plain_command(&case.name) };
    w.store.register(&cases.iter().map(command).collect::<Vec<_>>()).await.unwrap();
    let task = |case: &Case| NewTask { max_attempts: Some(case.facts.max_attempts), ..new_task(&case.name) };
    let made = w.store.enqueue(&cases.iter().map(task).collect::<Vec<_>>()).await.unwrap();
    for (case, answer) in cases.iter_mut().zip(made) {
        case.facts.task = answer.id().unwrap();
    }
    cases
}

/// Claims the one task of a case, on a worker of its own.
async fn claim(w: &World, case: &Case) -> (WorkerId, ClaimedTask) {
    let worker = w.worker().await;
    let only = Claim { commands: vec![command(&case.name)], ..claim_of(worker, 1) };
    let mut tasks = w.store.claim(&only).await.unwrap().tasks;
    (worker, tasks.pop().expect("the task of the case is open"))
}

/// Brings every case to the moment before its ending; the claims.
async fn arrange(w: &World, cases: &[Case]) -> Vec<ClaimedTask> {
    for case in cases {
        for _ in 1..case.facts.attempt {
            let (worker, task) = claim(w, case).await;
            let outcome = crate::world::failed(Retry::After(secs(0)));
            assert_eq!(w.settle(&task, outcome).await, Settled::Recorded(State::Pending));
            w.store.leave(worker).await.unwrap();
        }
    }
    let most = cases.iter().map(Case::losses).max().unwrap_or(0);
    for round in 0..most {
        w.advance(LONGEST_WAIT).await;
        for case in cases.iter().filter(|case| case.losses() > round) {
            claim(w, case).await;
        }
        w.lose_all().await;
    }
    w.advance(LONGEST_WAIT).await;
    let mut claims = Vec::new();
    for case in cases {
        let (_, task) = claim(w, case).await;
        if case.facts.cancel_requested {
            w.store.cancel(task.id).await.unwrap();
        }
        let shown = w.get(task.id).await;
        assert_eq!(
            (shown.attempt, shown.suspect, shown.strikes),
            (case.facts.attempt, case.facts.suspect, case.facts.strikes)
        );
        claims.push(task);
    }
    claims
}

/// The task must be where the decision sends it.
async fn arrived(w: &World, case: &Case) {
    let (task, next) = (w.get(case.facts.task).await, case.next());
    let what = format!("{:?} {:?}", case.facts, case.ending);
    assert_eq!((task.state, task.attempt), (next.state, next.attempt), "{what}");
    assert_eq!((task.suspect, task.strikes), (next.suspect, next.strikes), "{what}");
    if next.state == State::Pending {
        let gate = if next.delay.is_zero() { Gate::Open } else { Gate::Time };
        assert_eq!(task.gate, Some(gate), "{what}");
        if gate == Gate::Time {
            assert_eq!(task.due, w.now().plus(next.delay), "{what}");
        }
    }
    if let Some(kind) = next.verdict {
        assert_eq!(task.failure.map(|failure| failure.kind), Some(kind), "{what}");
    }
}

async fn settled(w: &World, wanted: fn(&Ending) -> bool) {
    let cases = cases(w, wanted).await;
    let claims = arrange(w, &cases).await;
    let outcome = |case: &Case| match &case.ending {
        Ending::Settle(outcome) => outcome.clone(),
        Ending::Lost { .. } => unreachable!("only settles were picked"),
    };
    let batch: Vec<_> = cases.iter().zip(&claims).map(|(case, task)| settle_of(task, outcome(case))).collect();
    let answers = w.store.settle(&batch).await.unwrap();
    for (case, answer) in cases.iter().zip(answers) {
        assert_eq!(answer, Settled::Recorded(case.next().state), "{:?} {:?}", case.facts, case.ending);
        arrived(w, case).await;
    }
}

/// Every case of a good end.
pub async fn every_case_of_done(w: &World) {
    settled(w, |ending| matches!(ending, Ending::Settle(Outcome::Done(_)))).await;
}

/// Every case of a failure.
pub async fn every_case_of_failed(w: &World) {
    settled(w, |ending| matches!(ending, Ending::Settle(Outcome::Failed { .. }))).await;
}

/// Every case of an attempt that ends neither well nor badly.
pub async fn every_case_of_snooze_release_and_cancelled(w: &World) {
    let wanted =
        |ending: &Ending| matches!(ending, Ending::Settle(Outcome::Snooze(_) | Outcome::Release | Outcome::Cancelled));
    settled(w, wanted).await;
}

/// Every case of a lost worker.
pub async fn every_case_of_lost(w: &World) {
    let cases = cases(w, |ending| matches!(ending, Ending::Lost { server_restarted: false })).await;
    arrange(w, &cases).await;
    w.lose_all().await;
    for case in &cases {
        arrived(w, case).await;
    }
}

/// Every case of a server that was restarted; a store without a server can't be, and says so.
pub async fn every_case_of_a_restarted_server(w: &World) {
    let cases = cases(w, |ending| matches!(ending, Ending::Lost { server_restarted: true })).await;
    arrange(w, &cases).await;
    let judge = w.worker().await;
    w.pass_a_lease(&[judge]).await;
    if !w.fixture().restart_server().await {
        assert_ne!(w.store.kind(), "postgres", "a PostgreSQL server can be restarted");
        return;
    }
    w.recover_all(judge).await;
    for case in &cases {
        arrived(w, case).await;
    }
}

/// The delay after each attempt is the policy's, for every task number.
pub async fn every_delay_is_the_policys(w: &World) {
    let retry = RetryPolicy { max_attempts: Some(2), jitter_pct: 50, ..RetryPolicy::default() };
    w.store.register(&[Command { retry, ..plain_command("mail") }]).await.unwrap();
    let made: Vec<TaskId> = w.enqueue_many("mail", 200).await;
    let worker = w.worker().await;
    let tasks = w.claim(worker, 200).await;
    let batch: Vec<_> = tasks.iter().map(|task| settle_of(task, crate::world::failed(Retry::Policy))).collect();
    w.store.settle(&batch).await.unwrap();
    for task in w.all().await {
        assert!(made.contains(&task.id));
        assert_eq!(task.due.since(w.now()), retry.delay(task.id, 1), "task {}", task.id);
    }
}
