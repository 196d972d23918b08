//! The course of a task, by its runs.

use kinfolk_core::task::WaitedFor;
use kinfolk_core::{Failure, FailureKind, SignalName, WorkerId};
use uuid::Uuid;

use super::*;
use Phase::{After, Before, Failed, Held, InLine, Later, Paused, Ran, Running, Stopped, Tried, Waiting};

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_micros(seconds * 1_000_000)
}

/// A task in a state, made at 10 s, and ended at the second that is given.
fn task(state: &str, ended: Option<i64>) -> Task {
    let text = serde_json::json!({
        "id": 1, "command": "pack", "queue": "default", "state": state, "gate": (state == "pending").then_some("open"),
        "priority": 0, "due": at(10), "position": at(10), "attempt": 1, "max_attempts": 3, "timeout": null, "payload": {},
        "result": null, "failure": null, "unique_key": null, "created_at": at(10), "started_at": null,
        "first_started_at": null, "ran_before": {"secs": 0, "nanos": 0}, "finished_at": ended.map(at),
        "cancel_requested_at": null, "worker": null, "suspect": false, "strikes": 0, "keys": {}, "trace": null,
        "parent": null, "root": 1, "depth": 0, "fan_out": null, "index": null, "made_by": null, "follows": null, "label_path": null, "outcome": null, "steps": 0,
        "signals": [], "report": null,
    });
    serde_json::from_value(text).unwrap()
}

fn run(nth: u32, from: i64, to: Option<i64>, ending: Option<Ending>) -> Run {
    let failed = matches!(ending, Some(Ending::Retried | Ending::Failed));
    Run {
        task: kinfolk_core::TaskId(1),
        run: nth,
        attempt: 1,
        started_at: at(from),
        ended_at: to.map(at),
        worker: WorkerId(Uuid::nil()),
        ending,
        failure: failed.then(|| Failure::new(FailureKind::Error, "out of stock")),
        waited_for: None,
    }
}

fn phases(task: &Task, runs: &[Run]) -> Vec<(Phase, i64, Option<i64>)> {
    let course = Course::of(task, runs, &Names::default(), at(100));
    let seconds = |moment: Timestamp| moment.as_micros() / 1_000_000;
    course.stretches.iter().map(|one| (one.phase, seconds(one.from), one.to.map(seconds))).collect()
}

#[test]
fn a_retry_shows_what_failed_the_wait_and_what_went_well() {
    let runs = [run(1, 12, Some(15), Some(Ending::Retried)), run(2, 20, Some(24), Some(Ending::Completed))];
    assert_eq!(
        phases(&task("completed", Some(24)), &runs),
        [(InLine, 10, Some(12)), (Tried, 12, Some(15)), (Before, 15, Some(20)), (Ran, 20, Some(24))]
    );
    let last = [run(1, 12, Some(15), Some(Ending::Retried)), run(2, 20, Some(24), Some(Ending::Failed))];
    assert_eq!(phases(&task("failed", Some(24)), &last).pop(), Some((Failed, 20, Some(24))));
}

#[test]
fn a_suspended_handler_waits_without_a_worker_and_a_signal_resumes_it() {
    let signals = vec![SignalName::new("approve").unwrap()];
    let mut first = run(1, 10, Some(11), Some(Ending::Suspended));
    first.waited_for = Some(WaitedFor { signals, ..WaitedFor::default() });
    let waits = phases(&task("waiting", None), std::slice::from_ref(&first));
    assert_eq!(waits, [(Ran, 10, Some(11)), (Waiting, 11, None)]);
    let runs = [first, run(2, 40, None, None)];
    let course = Course::of(&task("running", None), &runs, &Names::default(), at(100));
    assert_eq!(course.signals, [(at(40), "approve".to_owned())]);
    assert_eq!(course.stretches.last().map(|last| (last.phase, last.to)), Some((Running, None)));
    assert!(course.story().contains("waited 29 s for the signal approve"), "{}", course.story());
}

#[test]
fn a_parent_waits_for_its_children_and_may_fail_with_them() {
    let runs = [run(1, 10, Some(12), Some(Ending::Completed))];
    assert_eq!(phases(&task("completed", Some(30)), &runs), [(Ran, 10, Some(12)), (Waiting, 12, Some(30))]);
    let failed = phases(&task("failed", Some(30)), &runs);
    assert_eq!(failed, [(Ran, 10, Some(12)), (Waiting, 12, Some(30)), (Failed, 30, Some(30))]);
}

#[test]
fn a_task_that_never_ran_tells_what_it_waits_for() {
    assert_eq!(phases(&task("pending", None), &[]), [(InLine, 10, None)]);
    let mut after = task("pending", None);
    after.gate = Some(Gate::After);
    assert_eq!(phases(&after, &[]), [(After, 10, None)]);
    assert_eq!(phases(&task("cancelled", Some(14)), &[]), [(InLine, 10, Some(14)), (Stopped, 14, Some(14))]);
}

#[test]
fn each_wait_of_a_pending_task_has_a_phase_of_its_own() {
    let pending = |gate: Gate, due: i64, failed: bool| {
        let mut task = task("pending", None);
        (task.gate, task.due) = (Some(gate), at(due));
        task.failure = failed.then(|| Failure::new(FailureKind::Error, "out of stock"));
        task
    };
    assert_eq!(phases(&pending(Gate::Open, 10, false), &[]), [(InLine, 10, None)]);
    assert_eq!(phases(&pending(Gate::Limit, 10, false), &[]), [(Held, 10, None)]);
    assert_eq!(phases(&pending(Gate::Time, 120, false), &[]), [(Later, 10, Some(120))]);
    let tried = run(1, 12, Some(15), Some(Ending::Retried));
    let before = phases(&pending(Gate::Time, 120, true), std::slice::from_ref(&tried));
    assert_eq!(before[2..], [(Before, 15, Some(120))]);
    let due = phases(&pending(Gate::Time, 60, true), &[tried]);
    assert_eq!(due[2..], [(Before, 15, Some(60)), (InLine, 60, None)], "it is due, and no claim has looked yet");
}

#[test]
fn a_task_on_a_paused_queue_is_in_no_line_unless_something_else_holds_it() {
    let names = Names { paused: [("default".parse().unwrap(), at(40))].into(), ..Names::default() };
    let phases = |task: &Task| {
        let course = Course::of(task, &[], &names, at(100));
        course.stretches.iter().map(|one| (one.phase, one.from, one.to)).collect::<Vec<_>>()
    };
    let mut task = task("pending", None);
    assert_eq!(phases(&task), [(InLine, at(10), Some(at(40))), (Paused, at(40), None)]);
    task.position = at(50);
    assert_eq!(phases(&task), [(Paused, at(50), None)], "it was made after the pause");
    task.gate = Some(Gate::After);
    assert_eq!(phases(&task), [(After, at(50), None)]);
}
