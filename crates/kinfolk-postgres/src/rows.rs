//! Rows become the core's types here, and nowhere else.

use std::time::Duration;

use kinfolk_core::audit::{Audit, Audited};
use kinfolk_core::cause::FailedTask;
use kinfolk_core::error_log::LoggedError;
use kinfolk_core::held::{Fact, Pending};
use kinfolk_core::inspect::{Count, Finding, Health, Violation};
use kinfolk_core::minute::{Figures, Minute};
use kinfolk_core::schedule::Fired;
use kinfolk_core::store::Answer;
use kinfolk_core::task::Ending;
use kinfolk_core::worker::WorkerView;
use kinfolk_core::{
    Attempt, Checkpoint, ChildResult, Command, CommandName, Due, Enqueued, Failure, FanOut, FanOutId, Gate, GroupName,
    GroupRef, History, InputError, Json, Key, Keys, NewTask, OnDuplicate, Policy, Queue, QueueName, Rejection,
    Retention, RetryPolicy, Rule, Run, Schedule, ScheduleName, Settled, SignalName, SqlHandler, State, Status,
    StatusName, StepKind, StoreError, Tally, Task, TaskId, Timestamp, Unique, UniqueScope, Verdict, WaitedFor,
    WorkerId,
};
use tokio_postgres::Row;
use tokio_postgres::types::FromSql;
use uuid::Uuid;

use crate::values::{JsonOut, Moment, span};

/// The columns of [`task`], of the view `kinfolk.tasks` and of functions that answer its rows.
macro_rules! task_columns {
    () => {
        "id, command, queue, state, gate, priority, due, position, attempt, max_attempts, timeout_us, payload, result, \
         failure, unique_key, created_at, started_at, finished_at, cancel_requested_at, worker, suspect, strikes, trace, \
         parent, root, depth, outcome, steps, signals, report, keys, fan_out, index, first_started_at, ran_us, made_by, \
         follows, label_path"
    };
}
pub(crate) use task_columns;

pub(crate) fn get<'a, T: FromSql<'a>>(row: &'a Row, index: usize) -> Answer<T> {
    row.try_get(index).map_err(|fault| StoreError::Fault { code: "row".to_owned(), detail: fault.to_string() })
}

fn strange(what: &str, value: &str) -> StoreError {
    StoreError::Fault { code: "row".to_owned(), detail: format!("unknown {what} {value:?}") }
}

pub(crate) fn moment(row: &Row, index: usize) -> Answer<Timestamp> {
    Ok(get::<Moment>(row, index)?.0)
}

pub(crate) fn maybe_moment(row: &Row, index: usize) -> Answer<Option<Timestamp>> {
    Ok(get::<Option<Moment>>(row, index)?.map(|moment| moment.0))
}

fn small(row: &Row, index: usize) -> Answer<u16> {
    Ok(u16::try_from(get::<i16>(row, index)?).unwrap_or_default())
}

fn whole(row: &Row, index: usize) -> Answer<u32> {
    Ok(u32::try_from(get::<i32>(row, index)?).unwrap_or_default())
}

pub(crate) fn maybe_whole(row: &Row, index: usize) -> Answer<Option<u32>> {
    Ok(get::<Option<i32>>(row, index)?.and_then(|n| u32::try_from(n).ok()))
}

fn signal_names(row: &Row, index: usize) -> Answer<Vec<SignalName>> {
    let names = get::<Option<Vec<&str>>>(row, index)?.unwrap_or_default();
    Ok(names.into_iter().map(SignalName::new).collect::<Result<_, InputError>>()?)
}

pub(crate) fn count(row: &Row, index: usize) -> Answer<u64> {
    Ok(u64::try_from(get::<i64>(row, index)?).unwrap_or_default())
}

fn json(row: &Row, index: usize) -> Answer<Option<Json>> {
    Ok(get::<Option<JsonOut>>(row, index)?.map(|json| json.0))
}

fn failure(row: &Row, index: usize) -> Answer<Option<Failure>> {
    json(row, index)?.map(|json| json.to().map_err(StoreError::from)).transpose()
}

pub(crate) fn keys(row: &Row, index: usize) -> Answer<Keys> {
    json(row, index)?.map_or_else(|| Ok(Keys::new()), |json| json.to().map_err(StoreError::from))
}

fn queue_names(row: &Row, index: usize) -> Answer<Vec<QueueName>> {
    Ok(get::<Vec<&str>>(row, index)?.into_iter().map(QueueName::new).collect::<Result<_, InputError>>()?)
}

pub(crate) fn command_names(row: &Row, index: usize) -> Answer<Vec<CommandName>> {
    Ok(get::<Vec<&str>>(row, index)?.into_iter().map(CommandName::new).collect::<Result<_, InputError>>()?)
}

pub(crate) fn task(row: &Row) -> Answer<Task> {
    Ok(Task {
        id: TaskId(get(row, 0)?),
        command: CommandName::new(get(row, 1)?)?,
        queue: QueueName::new(get(row, 2)?)?,
        state: get::<&str>(row, 3)?.parse()?,
        gate: get::<Option<&str>>(row, 4)?.map(str::parse::<Gate>).transpose()?,
        priority: get(row, 5)?,
        due: moment(row, 6)?,
        position: moment(row, 7)?,
        attempt: small(row, 8)?,
        max_attempts: small(row, 9)?,
        timeout: get::<Option<i64>>(row, 10)?.map(span),
        payload: get::<JsonOut>(row, 11)?.0,
        result: json(row, 12)?,
        failure: failure(row, 13)?,
        unique_key: get(row, 14)?,
        created_at: moment(row, 15)?,
        started_at: maybe_moment(row, 16)?,
        first_started_at: maybe_moment(row, 33)?,
        ran_before: span(get::<i64>(row, 34)?),
        finished_at: maybe_moment(row, 17)?,
        cancel_requested_at: maybe_moment(row, 18)?,
        worker: get::<Option<Uuid>>(row, 19)?.map(WorkerId),
        suspect: get(row, 20)?,
        strikes: small(row, 21)?,
        keys: keys(row, 30)?,
        trace: get(row, 22)?,
        parent: get::<Option<i64>>(row, 23)?.map(TaskId),
        root: TaskId(get(row, 24)?),
        depth: small(row, 25)?,
        fan_out: get::<Option<i64>>(row, 31)?.map(FanOutId),
        index: maybe_whole(row, 32)?,
        made_by: get::<Option<i64>>(row, 35)?.map(TaskId),
        follows: get::<Option<i64>>(row, 36)?.map(TaskId),
        label_path: get::<Option<&str>>(row, 37)?.map(str::parse).transpose()?,
        outcome: get::<Option<&str>>(row, 26)?.map(str::parse::<State>).transpose()?,
        steps: whole(row, 27)?,
        signals: signal_names(row, 28)?,
        report: json(row, 29)?.map(|json| json.to().map_err(StoreError::from)).transpose()?,
    })
}

pub(crate) fn pending(row: &Row) -> Answer<Pending> {
    let command = get::<Option<&str>>(row, 4)?.map(CommandName::new).transpose()?;
    let group = get::<Option<&str>>(row, 6)?.map(GroupName::new).transpose()?;
    let fact = match (get::<&str>(row, 3)?, command, group) {
        ("time", ..) => Fact::NotDue,
        ("after", ..) => Fact::After,
        ("limit", _, None) => Fact::FamilyLimit,
        ("limit", _, Some(name)) => Fact::Key {
            group: GroupRef { name, command: get::<Option<&str>>(row, 7)?.map(CommandName::new).transpose()? },
            key: get(row, 8)?,
            until: maybe_moment(row, 9)?,
        },
        (_, Some(command), _) => Fact::Open { command, fair: get(row, 2)?, served: get(row, 5)? },
        (fact, ..) => return Err(strange("fact", fact)),
    };
    Ok(Pending {
        queue: QueueName::new(get(row, 0)?)?,
        paused: get(row, 1)?,
        fact,
        tasks: count(row, 10)?,
        cut: get(row, 11)?,
    })
}

pub(crate) fn failed_task(row: &Row) -> Answer<FailedTask> {
    Ok(FailedTask {
        id: TaskId(get(row, 0)?),
        command: CommandName::new(get(row, 1)?)?,
        finished_at: moment(row, 2)?,
        kind: get::<&str>(row, 3)?.parse()?,
        message: get(row, 4)?,
    })
}

pub(crate) fn attempt(row: &Row) -> Answer<Attempt> {
    let ending: &str = get(row, 5)?;
    Ok(Attempt {
        run: u32::try_from(get::<i32>(row, 0)?).unwrap_or_default(),
        attempt: small(row, 1)?,
        started_at: moment(row, 2)?,
        ended_at: moment(row, 3)?,
        worker: WorkerId(get(row, 4)?),
        ending: Ending::from_word(ending).ok_or_else(|| strange("ending", ending))?,
        failure: failure(row, 6)?,
    })
}

/// A row of `kinfolk.runs`.
pub(crate) fn run(row: &Row) -> Answer<Run> {
    let word = |word| Ending::from_word(word).ok_or_else(|| strange("ending", word));
    let ending = get::<Option<&str>>(row, 6)?.map(word).transpose()?;
    let fan_outs = get::<Option<Vec<i64>>>(row, 8)?.unwrap_or_default();
    let waited_for = WaitedFor {
        fan_outs: fan_outs.into_iter().map(FanOutId).collect(),
        until: maybe_moment(row, 9)?,
        signals: signal_names(row, 10)?,
    };
    Ok(Run {
        task: TaskId(get(row, 0)?),
        run: whole(row, 1)?,
        attempt: small(row, 2)?,
        started_at: moment(row, 3)?,
        ended_at: maybe_moment(row, 4)?,
        worker: WorkerId(get(row, 5)?),
        ending,
        failure: failure(row, 7)?,
        waited_for: (ending == Some(Ending::Suspended)).then_some(waited_for),
    })
}

/// The answers to an enqueue: all created, except for the rows that say otherwise.
pub(crate) fn enqueued(ids: &[i64], tasks: &[NewTask], rows: &[Row]) -> Answer<Vec<Enqueued>> {
    let mut answers: Vec<Enqueued> = ids.iter().map(|id| Enqueued::Created(TaskId(*id))).collect();
    for row in rows {
        let nth = usize::try_from(get::<i32>(row, 0)?).unwrap_or_default().wrapping_sub(1);
        let outcome: &str = get(row, 1)?;
        let holder = get::<Option<i64>>(row, 2)?.map(TaskId);
        let name: Option<&str> = get(row, 3)?;
        let answer = match (outcome, holder, name) {
            ("existing", Some(id), _) => Enqueued::Existing(id),
            ("merged", Some(id), _) => Enqueued::Merged(id),
            (why, None, Some(name)) => Enqueued::Rejected(rejection(why, name)?),
            _ => return Err(strange("outcome", outcome)),
        };
        match answers.get_mut(nth) {
            Some(kept) if nth < tasks.len() => *kept = answer,
            _ => return Err(strange("index", &nth.to_string())),
        }
    }
    Ok(answers)
}

/// The reason why an enqueue made no task, with the missing name.
pub(crate) fn rejection(why: &str, name: &str) -> Answer<Rejection> {
    match why {
        "unknown_command" => Ok(Rejection::UnknownCommand(CommandName::new(name)?)),
        "unknown_queue" => Ok(Rejection::UnknownQueue(QueueName::new(name)?)),
        "unknown_group" => Ok(Rejection::UnknownGroup(GroupName::new(name)?)),
        _ => Err(strange("outcome", why)),
    }
}

/// The answers to a settle; `many` of them, each at its place. Plain completions come without an answer.
pub(crate) fn settled(many: usize, rows: &[Row]) -> Answer<Vec<Settled>> {
    let mut answers = vec![Settled::Recorded(State::Completed); many];
    for row in rows {
        let nth = usize::try_from(get::<i32>(row, 0)?).unwrap_or_default().wrapping_sub(1);
        let answer: &str = get(row, 1)?;
        let state = || -> Answer<State> { Ok(get::<&str>(row, 2)?.parse()?) };
        let answer = match answer {
            "recorded" => Settled::Recorded(state()?),
            "repeated" => Settled::Repeated(state()?),
            "stale" => Settled::Stale,
            other => return Err(strange("answer", other)),
        };
        *answers.get_mut(nth).ok_or_else(|| strange("index", &nth.to_string()))? = answer;
    }
    Ok(answers)
}

pub(crate) fn queue(row: &Row) -> Answer<Queue> {
    Ok(Queue {
        name: QueueName::new(get(row, 0)?)?,
        paused_at: maybe_moment(row, 1)?,
        paused_by: get(row, 8)?,
        policy: Policy {
            retention: Retention {
                completed: get::<Option<i64>>(row, 2)?.map(span),
                failed: get::<Option<i64>>(row, 3)?.map(span),
                cancelled: get::<Option<i64>>(row, 4)?.map(span),
            },
            family_limit: maybe_whole(row, 5)?,
            child_limit: maybe_whole(row, 6)?,
            depth_limit: small(row, 7)?,
            fair: get::<Option<&str>>(row, 9)?.map(GroupName::new).transpose()?,
        },
    })
}

pub(crate) fn command(row: &Row) -> Answer<Command> {
    let whole = |index| -> Answer<u32> { Ok(u32::try_from(get::<i64>(row, index)?).unwrap_or_default()) };
    Ok(Command {
        name: CommandName::new(get(row, 0)?)?,
        queue: QueueName::new(get(row, 1)?)?,
        priority: get(row, 2)?,
        retry: RetryPolicy {
            max_attempts: get::<Option<i16>>(row, 3)?.and_then(|many| u16::try_from(many).ok()),
            base_ms: whole(4)?,
            cap_ms: whole(5)?,
            jitter_pct: u8::try_from(small(row, 6)?).unwrap_or_default(),
            max_strikes: small(row, 14)?,
        },
        timeout: get::<Option<i64>>(row, 7)?.map(span),
        groups: json(row, 13)?.map(|json| json.to().map_err(StoreError::from)).transpose()?,
        label: get::<Option<&str>>(row, 18)?.map(str::parse).transpose()?,
        handler: get::<Option<String>>(row, 8)?
            .map(|function| -> Answer<SqlHandler> {
                Ok(SqlHandler {
                    function,
                    before: get(row, 10)?,
                    after: get(row, 11)?,
                    statement_timeout: get::<Option<i64>>(row, 12)?.map(span),
                    envelope: get(row, 15)?,
                    on_success: get(row, 16)?,
                    on_error: get(row, 17)?,
                })
            })
            .transpose()?,
    })
}

pub(crate) fn worker(row: &Row) -> Answer<WorkerView> {
    Ok(WorkerView {
        id: WorkerId(get(row, 0)?),
        name: get(row, 1)?,
        queues: queue_names(row, 2)?,
        commands: command_names(row, 3)?,
        started_at: moment(row, 4)?,
        lease_until: moment(row, 5)?,
        running: count(row, 6)?,
        version: get(row, 7)?,
    })
}

pub(crate) fn schedule(row: &Row) -> Answer<Schedule> {
    Ok(Schedule {
        name: ScheduleName::new(get(row, 0)?)?,
        cron: get(row, 1)?,
        zone: get(row, 2)?,
        missed: get::<&str>(row, 3)?.parse()?,
        overlap: get::<&str>(row, 4)?.parse()?,
        paused: get(row, 5)?,
        next_at: maybe_moment(row, 6)?,
        last_at: maybe_moment(row, 7)?,
        last_task: get::<Option<i64>>(row, 8)?.map(TaskId),
        declared_at: maybe_moment(row, 23)?,
        task: scheduled_task(row)?,
    })
}

fn scheduled_task(row: &Row) -> Answer<NewTask> {
    let due = match (maybe_moment(row, 13)?, get::<Option<i64>>(row, 14)?) {
        (Some(moment), _) => Due::At(moment),
        (None, Some(delay)) => Due::After(span(delay)),
        (None, None) => Due::Now,
    };
    let unique = get::<Option<String>>(row, 15)?
        .map(|key| -> Answer<Unique> {
            let scope = match get::<&str>(row, 16)? {
                "pending" => UniqueScope::Pending,
                "active" => UniqueScope::Active,
                "window" => UniqueScope::Window(span(get(row, 17)?)),
                other => return Err(strange("scope", other)),
            };
            let on_duplicate = match get::<&str>(row, 18)? {
                "keep" => OnDuplicate::Keep,
                "replace" => OnDuplicate::Replace,
                "merge" => OnDuplicate::Merge,
                other => return Err(strange("rule", other)),
            };
            Ok(Unique { key, scope, on_duplicate })
        })
        .transpose()?;
    Ok(NewTask {
        command: CommandName::new(get(row, 9)?)?,
        payload: get::<JsonOut>(row, 10)?.0,
        queue: get::<Option<&str>>(row, 11)?.map(QueueName::new).transpose()?,
        priority: get(row, 12)?,
        due,
        unique,
        max_attempts: get::<Option<i32>>(row, 19)?.and_then(|many| u16::try_from(many).ok()),
        timeout: get::<Option<i64>>(row, 20)?.map(span),
        keys: keys(row, 22)?,
        inherit_keys: false,
        trace: get(row, 21)?,
    })
}

pub(crate) fn status(row: &Row) -> Answer<Status> {
    Ok(Status {
        name: StatusName::new(get(row, 0)?)?,
        commands: command_names(row, 1)?,
        active: get(row, 2)?,
        changed_at: moment(row, 3)?,
    })
}

pub(crate) fn audited(row: &Row) -> Answer<Audited> {
    let audit = Audit {
        who: get(row, 2)?,
        what: get(row, 3)?,
        subject: get(row, 4)?,
        tasks: get::<i64>(row, 5)?.unsigned_abs(),
    };
    Ok(Audited { id: get(row, 0)?, at: moment(row, 1)?, audit })
}

pub(crate) fn logged_error(row: &Row) -> Answer<LoggedError> {
    Ok(LoggedError {
        id: get(row, 0)?,
        at: moment(row, 1)?,
        task: TaskId(get(row, 2)?),
        command: CommandName::new(get(row, 3)?)?,
        queue: QueueName::new(get(row, 4)?)?,
        attempt: small(row, 5)?,
        handler: get(row, 6)?,
        failure: json(row, 7)?.unwrap_or_else(Json::null).to()?,
    })
}

pub(crate) fn minute(row: &Row) -> Answer<Minute> {
    let micros = |index| Ok::<_, StoreError>(Duration::from_micros(count(row, index)?));
    let figures = Figures {
        started: count(row, 3)?,
        waited: micros(4)?,
        waited_max: micros(5)?,
        completed: count(row, 6)?,
        failed: count(row, 7)?,
        retried: count(row, 8)?,
        cancelled: count(row, 9)?,
        suspended: count(row, 10)?,
        ran: micros(11)?,
        ran_max: micros(12)?,
    };
    let (queue, command) = (QueueName::new(get(row, 1)?)?, CommandName::new(get(row, 2)?)?);
    Ok(Minute { at: moment(row, 0)?, queue, command, figures })
}

pub(crate) fn fired(row: &Row) -> Answer<Fired> {
    let (rejected, missing): (Vec<&str>, Vec<&str>) = (get(row, 3)?, get(row, 4)?);
    Ok(Fired {
        tasks: get::<Vec<i64>>(row, 0)?.into_iter().map(TaskId).collect(),
        overlapped: count(row, 1)?,
        too_late: get(row, 2)?,
        rejected: rejected.iter().zip(missing).map(|(why, name)| rejection(why, name)).collect::<Answer<_>>()?,
    })
}

/// Four counts, from this place on.
pub(crate) fn tally(row: &Row, index: usize) -> Answer<Tally> {
    Ok(Tally {
        total: count(row, index)?,
        completed: count(row, index + 1)?,
        failed: count(row, index + 2)?,
        cancelled: count(row, index + 3)?,
    })
}

pub(crate) fn tasks_counted(row: &Row) -> Answer<Count> {
    Ok(Count {
        queue: QueueName::new(get(row, 0)?)?,
        command: CommandName::new(get(row, 1)?)?,
        state: get::<&str>(row, 2)?.parse()?,
        tasks: count(row, 3)?,
    })
}

pub(crate) fn violation(row: &Row) -> Answer<Violation> {
    Ok(Violation { invariant: get(row, 0)?, detail: get(row, 1)?, task: get::<Option<i64>>(row, 2)?.map(TaskId) })
}

pub(crate) fn finding(row: &Row) -> Answer<Finding> {
    let health = match get::<&str>(row, 1)? {
        "good" => Health::Good,
        "warning" => Health::Warning,
        "bad" => Health::Bad,
        other => return Err(strange("health", other)),
    };
    Ok(Finding { subject: get(row, 0)?, health, found: get(row, 2)?, remedy: get(row, 3)? })
}

/// The history, from the rows of `kinfolk.history`, each by its part.
pub(crate) fn history(rows: &[Row]) -> Answer<History> {
    let mut history = History::default();
    for row in rows {
        match get::<i32>(row, 0)? {
            1 => {
                history.checkpoints.push(checkpoint(row)?);
                history.recorded_at.push(moment(row, 17)?);
            }
            2 => history.fan_outs.push(fan_out(row, 20, 7, 8)?),
            _ => history.results.push(child_result(FanOutId(get(row, 7)?), row, 19)?),
        }
    }
    Ok(history)
}

fn checkpoint(row: &Row) -> Answer<Checkpoint> {
    let kind: &str = get(row, 4)?;
    Ok(Checkpoint {
        key: Key { branch: get(row, 1)?, name: get(row, 2)?, occurrence: whole(row, 3)? },
        kind: StepKind::from_word(kind).ok_or_else(|| strange("kind", kind))?,
        digest: get(row, 5)?,
        value: get::<JsonOut>(row, 6)?.0,
    })
}

/// A fan-out; its task, its number and the rest are in the columns from these on.
pub(crate) fn fan_out(row: &Row, task: usize, id: usize, rest: usize) -> Answer<FanOut> {
    let rule = match get::<&str>(row, rest)? {
        "fail_fast" => Rule::FailFast,
        "collect_all" => Rule::CollectAll,
        "threshold" => Rule::Threshold(maybe_whole(row, rest + 1)?.unwrap_or_default()),
        other => return Err(strange("rule", other)),
    };
    let verdict = get::<Option<&str>>(row, rest + 6)?;
    Ok(FanOut {
        id: FanOutId(get(row, id)?),
        task: TaskId(get(row, task)?),
        rule,
        tally: tally(row, rest + 2)?,
        verdict: verdict.map(|word| Verdict::from_word(word).ok_or_else(|| strange("verdict", word))).transpose()?,
        decided_at: maybe_whole(row, rest + 7)?,
        deadline: maybe_moment(row, rest + 8)?,
        created_at: moment(row, rest + 9)?,
        settled_at: maybe_moment(row, rest + 10)?,
    })
}

/// The state and result of a child of this fan-out, from this column on.
pub(crate) fn child_result(fan_out: FanOutId, row: &Row, index: usize) -> Answer<ChildResult> {
    Ok(ChildResult {
        fan_out,
        index: whole(row, index)?,
        task: TaskId(get(row, index + 1)?),
        state: get::<&str>(row, index + 2)?.parse()?,
        ended: maybe_whole(row, index + 3)?,
        result: json(row, index + 4)?,
        failure: failure(row, index + 5)?,
        attempt: small(row, index + 6)?,
    })
}
