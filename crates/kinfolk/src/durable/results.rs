//! The results of children, in order, and the failures of those children that failed.

use std::fmt;

use kinfolk_core::{ChildResult, CommandName, Failure, FailureKind, FanOut, FanOutId, Rule, State, TaskId, Verdict};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::task_error::TaskError;

/// Failures in the words of an error; the error itself has all of them.
const TOLD: usize = 3;
/// Failures that are kept with the failed task, for programs.
const DETAILED: usize = 20;

/// The results of a fan-out, in the order of its sub-tasks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Results<T>(Vec<SubResult<T>>);

/// The end of one sub-task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SubResult<T> {
    /// Which one of the fan-out; 0 is the first.
    pub index: u32,
    /// Its number as a task.
    pub task: TaskId,
    /// Its result, or its failure.
    pub outcome: Result<T, SubFailure>,
}

/// Why a sub-task did not complete.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, thiserror::Error)]
#[error("{words} ({kind} of sub-task {index}, task {task}, attempt {attempt})", kind = failure.kind, words = failure.message)]
pub struct SubFailure {
    /// Which one of the fan-out; 0 is the first.
    pub index: u32,
    /// Its number as a task.
    pub task: TaskId,
    /// Its failure.
    pub failure: Failure,
    /// Attempts it had.
    pub attempt: u16,
}

/// A fan-out did not end as its rule demands. A handler that ends with it has failed, and is not tried again by itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FanOutError {
    /// Which fan-out.
    pub fan_out: FanOutId,
    /// The rule.
    pub rule: Rule,
    /// Whether too many failed, or it took too long.
    pub verdict: Verdict,
    /// Sub-tasks in all.
    pub total: u64,
    /// Sub-tasks that had ended without completing when it was decided; of a fan-out that took too long, also those that had
    /// not ended.
    pub failed: u64,
    /// All of those that had ended.
    pub failures: Vec<SubFailure>,
}

/// A call did not complete. A handler that ends with it has failed, and is not tried again by itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CallError {
    /// The command that was called.
    pub command: CommandName,
    /// The task that ran it.
    pub task: Option<TaskId>,
    /// Whether it failed, or took too long.
    pub verdict: Verdict,
    /// Its failure; `None` if it took too long.
    pub failure: Option<Failure>,
    /// Attempts it had.
    pub attempt: u16,
}

impl<T> Results<T> {
    pub(crate) fn new(results: Vec<SubResult<T>>) -> Self {
        Self(results)
    }

    /// How many sub-tasks there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there was nothing to do.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether every sub-task completed.
    pub fn all_succeeded(&self) -> bool {
        self.0.iter().all(|result| result.outcome.is_ok())
    }

    /// The results of the sub-tasks that completed, in order.
    pub fn values(self) -> Vec<T> {
        self.0.into_iter().filter_map(|result| result.outcome.ok()).collect()
    }

    /// The results of the sub-tasks that completed and the failures of the others, both in order.
    pub fn partition(self) -> (Vec<T>, Vec<SubFailure>) {
        let (mut values, mut failures) = (Vec::with_capacity(self.0.len()), Vec::new());
        for result in self.0 {
            match result.outcome {
                Ok(value) => values.push(value),
                Err(failure) => failures.push(failure),
            }
        }
        (values, failures)
    }

    /// One after another.
    pub fn iter(&self) -> std::slice::Iter<'_, SubResult<T>> {
        self.0.iter()
    }
}

impl<T> IntoIterator for Results<T> {
    type Item = SubResult<T>;
    type IntoIter = std::vec::IntoIter<SubResult<T>>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl<'a, T> IntoIterator for &'a Results<T> {
    type Item = &'a SubResult<T>;
    type IntoIter = std::slice::Iter<'a, SubResult<T>>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.iter()
    }
}

impl<T: DeserializeOwned> SubResult<T> {
    /// A child's end as its parent sees it. A result that does not fit the type is the parent's error, not the child's.
    pub(crate) fn of(child: ChildResult) -> Result<Self, TaskError> {
        let (index, task) = (child.index, child.task);
        if child.state != State::Completed {
            return Ok(Self { index, task, outcome: Err(failure_of(child)) });
        }
        let result = child.result.unwrap_or_else(kinfolk_core::Json::null);
        match result.to() {
            Ok(value) => Ok(Self { index, task, outcome: Ok(value) }),
            Err(fault) => {
                let words = format!(
                    "the result of sub-task {index} (task {task}) does not fit the type it is read as: {fault}"
                );
                Err(TaskError::new(words).do_not_retry())
            }
        }
    }
}

/// Why a child did not complete.
pub(crate) fn failure_of(child: ChildResult) -> SubFailure {
    let failure = child.failure.unwrap_or_else(|| match child.state {
        State::Cancelled => Failure::cancelled(),
        _ => Failure::new(FailureKind::Error, "it left no word"),
    });
    SubFailure { index: child.index, task: child.task, failure, attempt: child.attempt }
}

impl FanOutError {
    /// `completed`: how many had completed when it was decided.
    pub(crate) fn new(fan_out: &FanOut, verdict: Verdict, completed: u64, failures: Vec<SubFailure>) -> Self {
        let failed = match verdict {
            Verdict::TimedOut => fan_out.tally.total.saturating_sub(completed),
            Verdict::Completed | Verdict::Failed => failures.len() as u64,
        };
        Self { fan_out: fan_out.id, rule: fan_out.rule, verdict, total: fan_out.tally.total, failed, failures }
    }

    /// The same with only so many failures, for what is kept with the task.
    pub(crate) fn detail(&self) -> Self {
        Self { failures: self.failures.iter().take(DETAILED).cloned().collect(), ..self.clone() }
    }
}

impl fmt::Display for FanOutError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { fan_out, total, failed, rule, .. } = self;
        if self.verdict == Verdict::TimedOut {
            write!(f, "fan-out {fan_out} of {total} sub-tasks took longer than it may; ")?;
        }
        // The failure comes first: where there is little room, the end is cut off.
        for failure in self.failures.iter().take(TOLD) {
            write!(f, "{failure}; ")?;
        }
        match self.failures.len().saturating_sub(TOLD) {
            0 => {}
            more => write!(f, "and {more} more; ")?,
        }
        write!(f, "{failed} of {total} sub-tasks of fan-out {fan_out} ({}) did not complete", rule.as_str())
    }
}

impl std::error::Error for FanOutError {}

impl fmt::Display for CallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let task = self.task.map(|task| format!(", task {task}")).unwrap_or_default();
        match &self.failure {
            // The failure comes first: where there is little room, the end is cut off.
            Some(failure) => write!(f, "{} ({} of {}{task})", failure.message, failure.kind, self.command),
            None => write!(f, "{}{task} took longer than it may", self.command),
        }
    }
}

impl std::error::Error for CallError {}

#[cfg(test)]
mod tests {
    use super::*;
    use kinfolk_core::{Json, Tally, Timestamp};

    fn child(index: u32, state: State, result: Option<&str>) -> ChildResult {
        let (task, result) = (TaskId(i64::from(index) + 100), result.map(|text| Json::parse(text).unwrap()));
        let failure = (state == State::Failed).then(|| Failure::new(FailureKind::Error, "no stock"));
        ChildResult { fan_out: FanOutId(7), index, task, state, ended: Some(index), result, failure, attempt: 2 }
    }

    #[test]
    fn results_can_be_taken_apart() {
        let all =
            [child(0, State::Completed, Some("5")), child(1, State::Failed, None), child(2, State::Cancelled, None)];
        let results = Results::<u8>::new(all.into_iter().map(|child| SubResult::of(child).unwrap()).collect());
        assert!(!results.all_succeeded() && results.len() == 3 && !results.is_empty());
        assert_eq!(results.clone().values(), [5]);
        let (values, failures) = results.partition();
        assert_eq!((values, failures.len()), (vec![5], 2));
        assert_eq!((failures[0].index, failures[0].task, failures[0].attempt), (1, TaskId(101), 2));
        assert_eq!(failures[1].failure, Failure::cancelled());
    }

    #[test]
    fn a_child_without_a_result_returned_nothing_and_a_foreign_result_is_told() {
        assert_eq!(SubResult::<()>::of(child(0, State::Completed, None)).unwrap().outcome, Ok(()));
        let fault = SubResult::<u8>::of(child(3, State::Completed, Some("\"x\""))).unwrap_err();
        assert!(fault.to_string().starts_with("the result of sub-task 3 (task 103) does not fit"), "{fault}");
    }

    #[test]
    fn a_failed_fan_out_names_the_first_failures_and_counts_the_rest() {
        let fan_out = FanOut {
            id: FanOutId(7),
            task: TaskId(1),
            rule: Rule::CollectAll,
            tally: Tally { total: 9, failed: 5, ..Tally::default() },
            verdict: Some(Verdict::Failed),
            decided_at: Some(5),
            deadline: None,
            created_at: Timestamp::default(),
            settled_at: Some(Timestamp::default()),
        };
        let failures = (0..5).map(|index| failure_of(child(index, State::Failed, None))).collect();
        let words = FanOutError::new(&fan_out, Verdict::Failed, 4, failures).to_string();
        assert!(words.starts_with("no stock (error of sub-task 0, task 100, attempt 2); no stock ("), "{words}");
        let frame = "; and 2 more; 5 of 9 sub-tasks of fan-out 7 (collect_all) did not complete";
        assert!(words.ends_with(frame), "{words}");
        // A sub-task that had not ended when the time was up did not complete either.
        let late = FanOutError::new(&fan_out, Verdict::TimedOut, 4, Vec::new()).to_string();
        assert!(late.starts_with("fan-out 7 of 9 sub-tasks took longer than it may; 5 of 9 sub-tasks"), "{late}");
    }
}
