//! Actions on tasks: cancel, retry, retry what failed in a family, run now, signal.

use axum::http::StatusCode;
use kinfolk_core::{Gate, Json, SignalName, State, Task, TaskId};

use super::{Input, Plan, Sent};
use crate::pages::part::words;
use crate::problem::Problem;
use crate::visit::Visit;

/// Tasks in one form at most.
const TASKS_MAX: usize = 200;

/// The tasks that a form names, as they are now.
async fn tasks(visit: &Visit, sent: &Sent) -> Result<Vec<Task>, Problem> {
    let ids: Vec<TaskId> =
        sent.all("task").map(|id| id.parse().map_err(|_| Problem::not_found("task", id))).collect::<Result<_, _>>()?;
    if ids.is_empty() {
        return Err(Problem::input("no task is selected; tick some, and press the button again"));
    }
    if ids.len() > TASKS_MAX {
        return Err(Problem::input(format!("{} tasks are selected; {TASKS_MAX} at once is the most", ids.len())));
    }
    let mut tasks = Vec::with_capacity(ids.len());
    for id in ids {
        tasks.push(visit.view().task(id).await?);
    }
    Ok(tasks)
}

/// What the action would do.
pub(super) async fn plan(visit: &Visit, verb: &str, sent: &Sent) -> Result<Plan, Problem> {
    let tasks = tasks(visit, sent).await?;
    match verb {
        "cancel" => cancel(visit, &tasks).await,
        "retry" => retry(visit, &tasks).await,
        "retry-family" => retry_family(visit, &tasks).await,
        "run-now" => Ok(run_now(&tasks)),
        _ => signal(&tasks, sent),
    }
}

async fn cancel(visit: &Visit, tasks: &[Task]) -> Result<Plan, Problem> {
    let count = |state: State| tasks.iter().filter(|task| task.state == state).count() as u64;
    let (pending, running, waiting) = (count(State::Pending), count(State::Running), count(State::Waiting));
    let ended = tasks.len() as u64 - pending - running - waiting;
    let mut below = 0;
    for task in tasks.iter().filter(|task| task.state == State::Waiting) {
        below += visit.view().tally(task.id).await?.open();
    }
    let open = pending + running + waiting;
    let title = match tasks {
        [one] if waiting == 1 => format!("Cancel the family of #{}?", one.id),
        [one] => format!("Cancel #{} {}?", one.id, one.command),
        _ => format!("Cancel {} of these {} tasks?", words::count(open), words::count(tasks.len() as u64)),
    };
    let lines = [
        (pending, "pending: cancelled at once"),
        (running, "running: asked to stop"),
        (waiting, "waiting: cancelled with all below it"),
        (below, "open children of those: cancelled or asked to stop"),
        (ended, "ended already: stays as it is"),
    ];
    Ok(Plan {
        title,
        lines: said(&lines),
        button: format!("Cancel {}", words::many(open, "task", "tasks")),
        danger: true,
        count: open,
        inputs: Vec::new(),
    })
}

/// Whether a task can run again by itself.
async fn is_leaf(visit: &Visit, task: &Task) -> Result<bool, Problem> {
    Ok(visit.view().tally(task.id).await?.total == 0)
}

async fn retry(visit: &Visit, tasks: &[Task]) -> Result<Plan, Problem> {
    let (mut again, mut families, mut stay) = (0, 0, 0);
    for task in tasks {
        match can_retry(visit, task).await? {
            Again::Itself => again += 1,
            Again::Family => families += 1,
            Again::No => stay += 1,
        }
    }
    let count = again + families;
    let title = match tasks {
        [one] => format!("Retry #{} {}?", one.id, one.command),
        _ => format!("Retry {} of these {} tasks?", words::count(count), words::count(tasks.len() as u64)),
    };
    let lines = [
        (again, "with fresh attempts, at its old position"),
        (families, "with a family: what failed in it runs again"),
        (stay, "stays as it is: it has not failed, or its parent has ended without it"),
    ];
    let button = format!("Retry {}", words::many(count, "task", "tasks"));
    Ok(Plan { title, lines: said(&lines), button, danger: false, count, inputs: Vec::new() })
}

enum Again {
    Itself,
    Family,
    No,
}

async fn can_retry(visit: &Visit, task: &Task) -> Result<Again, Problem> {
    if !matches!(task.state, State::Failed | State::Cancelled) {
        return Ok(Again::No);
    }
    if !is_leaf(visit, task).await? {
        let is_root = task.parent.is_none() && task.state == State::Failed;
        return Ok(if is_root { Again::Family } else { Again::No });
    }
    let Some(parent) = task.parent else { return Ok(Again::Itself) };
    let parent = visit.view().task(parent).await?;
    Ok(if parent.state.is_terminal() { Again::No } else { Again::Itself })
}

async fn retry_family(visit: &Visit, tasks: &[Task]) -> Result<Plan, Problem> {
    let [task] = tasks else { return Err(Problem::input("one family at a time")) };
    let root = visit.view().task(task.root).await?;
    let progress = visit.view().progress(root.id).await?;
    let failed = if root.state == State::Failed { progress.family.failed.max(1) } else { 0 };
    let lines = [
        (failed, "failed: what failed by itself runs again with fresh attempts, parents wait for it again"),
        (progress.family.completed, "completed: stays as it is, and is not done again"),
    ];
    Ok(Plan {
        title: format!("Retry what failed in the family of #{}?", root.id),
        lines: said(&lines),
        button: format!("Retry {} failed", words::count(failed)),
        danger: false,
        count: failed,
        inputs: Vec::new(),
    })
}

/// Whether a task waits for its time.
fn is_early(task: &Task) -> bool {
    task.state == State::Pending && task.gate == Some(Gate::Time)
}

fn run_now(tasks: &[Task]) -> Plan {
    let early = tasks.iter().filter(|task| is_early(task)).count() as u64;
    let title = match tasks {
        [one] => format!("Run #{} {} now?", one.id, one.command),
        _ => format!("Run {} of these {} tasks now?", words::count(early), words::count(tasks.len() as u64)),
    };
    let lines = [
        (early, "not due: stands in line from now on, as limits allow"),
        (tasks.len() as u64 - early, "stays as it is: it does not wait for its time"),
    ];
    let button = if early == 1 { "Run it now".to_owned() } else { format!("Run {} tasks now", words::count(early)) };
    Plan { title, lines: said(&lines), button, danger: false, count: early, inputs: Vec::new() }
}

fn signal(tasks: &[Task], sent: &Sent) -> Result<Plan, Problem> {
    let [task] = tasks else { return Err(Problem::input("one task at a time")) };
    let name = sent.need("name")?;
    let waits = task.signals.iter().any(|signal| signal.as_ref() == name);
    let count = u64::from(!task.state.is_terminal());
    let lines = [
        (u64::from(waits), "waits for it, and goes on"),
        (u64::from(!waits && count == 1), "does not wait for it now: it is kept until the handler asks"),
        (1 - count, "has ended: a signal can't reach it"),
    ];
    let value = sent.get("value").unwrap_or("true").to_owned();
    Ok(Plan {
        title: format!("Send #{} the signal {}?", task.id, words::short(name, 60)),
        lines: said(&lines),
        button: "Send it".to_owned(),
        danger: false,
        count,
        inputs: vec![Input { name: "value", label: "What it says, as JSON".to_owned(), value, is_text: true }],
    })
}

fn said(lines: &[(u64, &str)]) -> Vec<(String, String)> {
    lines.iter().filter(|(many, _)| *many > 0).map(|(many, words)| (words::count(*many), (*words).to_owned())).collect()
}

/// Does it. How many it was done to.
pub(super) async fn act(visit: &Visit, verb: &str, sent: &Sent) -> Result<u64, Problem> {
    let act = visit.act();
    let tasks = tasks(visit, sent).await?;
    let mut done = 0;
    for task in &tasks {
        match verb {
            "cancel" if !task.state.is_terminal() => {
                // It may have ended meanwhile, with another one of these.
                match act.cancel(task.id).await {
                    Err(problem) if problem.status == StatusCode::CONFLICT => {}
                    answer => {
                        answer?;
                        done += 1;
                    }
                }
            }
            "retry" => match can_retry(visit, task).await? {
                Again::Itself => {
                    act.retry(task.id).await?;
                    done += 1;
                }
                Again::Family => done += act.retry_family(task.id).await?.pending,
                Again::No => {}
            },
            "retry-family" => done += act.retry_family(task.root).await?.pending,
            "run-now" if is_early(task) => {
                act.run_now(task.id).await?;
                done += 1;
            }
            "signal" => {
                let name = SignalName::new(sent.need("name")?)?;
                let value = Json::parse(sent.get("value").unwrap_or("true"))?;
                act.signal(task.id, &name, &value).await?;
                done += 1;
            }
            _ => {}
        }
    }
    Ok(done)
}
