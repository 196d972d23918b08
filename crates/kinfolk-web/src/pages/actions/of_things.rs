//! Actions on queues, schedules and groups.

use kinfolk_core::{CommandName, GroupName, GroupRef, KeyFilter, QueueName, ScheduleName, Setting, State};

use super::{Input, Plan, Sent};
use crate::pages::part::words;
use crate::pages::tasks::counted_words;
use crate::problem::Problem;
use crate::visit::Visit;

/// What the action would do.
pub(super) async fn plan(visit: &Visit, verb: &str, sent: &Sent) -> Result<Plan, Problem> {
    match verb {
        "pause-queue" | "resume-queue" => queue(visit, verb == "pause-queue", sent).await,
        "pause-schedule" | "resume-schedule" => schedule(visit, verb == "pause-schedule", sent).await,
        "run-schedule" => run_schedule(visit, sent).await,
        _ => limit(visit, sent).await,
    }
}

async fn queue(visit: &Visit, pausing: bool, sent: &Sent) -> Result<Plan, Problem> {
    let name = QueueName::new(sent.need("queue")?)?;
    let queues = visit.view().queues().await?;
    let queue = queues.iter().find(|queue| queue.name == name).ok_or_else(|| Problem::not_found("queue", &name))?;
    let stats = visit.view().stats().await?;
    let count = |state: State| stats.tasks_in(Some(&name), state);
    let lines = match pausing {
        true => vec![
            (count(State::Pending), "pending: start nothing until it is resumed"),
            (count(State::Running), "running: go on"),
        ],
        false => vec![(count(State::Pending), "pending: start again, as limits allow")],
    };
    let lines = lines.iter().filter(|(matches, _)| matches.tasks > 0);
    Ok(Plan {
        title: format!("{} queue {name}?", if pausing { "Pause" } else { "Resume" }),
        lines: lines.map(|(matches, words)| (counted_words(*matches), (*words).to_owned())).collect(),
        button: if pausing { "Pause it" } else { "Resume it" }.to_owned(),
        danger: false,
        // A queue that is so already needs nothing.
        count: u64::from(queue.paused_at.is_some() != pausing),
        inputs: Vec::new(),
    })
}

async fn schedule(visit: &Visit, pausing: bool, sent: &Sent) -> Result<Plan, Problem> {
    let name = ScheduleName::new(sent.need("schedule")?)?;
    let schedules = visit.view().schedules().await?;
    let schedule = schedules.iter().find(|schedule| schedule.name == name);
    let schedule = schedule.ok_or_else(|| Problem::not_found("schedule", &name))?;
    let line = match pausing {
        true => "Ticks that pass while it is paused are not made up for.",
        false => "It is armed for its next tick from now on.",
    };
    Ok(Plan {
        title: format!("{} schedule {name}?", if pausing { "Pause" } else { "Resume" }),
        lines: vec![(String::new(), line.to_owned())],
        button: if pausing { "Pause it" } else { "Resume it" }.to_owned(),
        danger: false,
        count: u64::from(schedule.paused != pausing),
        inputs: Vec::new(),
    })
}

async fn run_schedule(visit: &Visit, sent: &Sent) -> Result<Plan, Problem> {
    let name = ScheduleName::new(sent.need("schedule")?)?;
    let schedules = visit.view().schedules().await?;
    let schedule = schedules.iter().find(|schedule| schedule.name == name);
    let schedule = schedule.ok_or_else(|| Problem::not_found("schedule", &name))?;
    Ok(Plan {
        title: format!("Run {name} now?"),
        lines: vec![
            (
                "1".to_owned(),
                format!("task of {} is enqueued, with the payload of the schedule", schedule.task.command),
            ),
            (String::new(), "Its ticks go on as they are.".to_owned()),
        ],
        button: "Run it now".to_owned(),
        danger: false,
        count: 1,
        inputs: Vec::new(),
    })
}

/// The group that a form names, and the key.
fn named(sent: &Sent) -> Result<(GroupRef, &str), Problem> {
    let command = sent.get("command").filter(|name| !name.is_empty()).map(CommandName::new).transpose()?;
    Ok((GroupRef { command, name: GroupName::new(sent.need("group")?)? }, sent.need("key")?))
}

async fn limit(visit: &Visit, sent: &Sent) -> Result<Plan, Problem> {
    let (group, key) = named(sent)?;
    let keys =
        visit.view().keys(&KeyFilter { group: Some(group.clone()), limit: 1_000, ..KeyFilter::default() }).await?;
    let found = keys.iter().find(|view| view.key == key).ok_or_else(|| Problem::not_found("key in use", key))?;
    let slots = sent.get("slots").map(ToOwned::to_owned);
    let slots = slots.or(found.limit.map(|limit| limit.to_string())).unwrap_or_default();
    let what = if key.is_empty() { group.to_string() } else { format!("{} {}", group.name, words::short(key, 60)) };
    let mut lines = vec![
        (
            words::count(found.held),
            words::verb(found.held, "holds a slot now, and goes on", "hold a slot now, and go on"),
        ),
        (words::count(found.waiters), words::verb(found.waiters, "waits behind it", "wait behind it")),
    ];
    if let Some(limit) = slots.parse::<u64>().ok().filter(|limit| found.limit.map(u64::from) != Some(*limit)) {
        let start = limit.saturating_sub(found.held).min(found.waiters);
        lines.push((
            words::count(start),
            format!(
                "can start at once with {}, {} still wait",
                words::many(limit, "slot", "slots"),
                words::count(found.waiters - start)
            ),
        ));
    }
    Ok(Plan {
        title: format!("How many slots for {what}?"),
        lines,
        button: "Set it".to_owned(),
        danger: false,
        count: 1,
        inputs: vec![Input { name: "slots", label: "Slots".to_owned(), value: slots, is_text: false }],
    })
}

/// Does it.
pub(super) async fn act(visit: &Visit, verb: &str, sent: &Sent) -> Result<u64, Problem> {
    let act = visit.act();
    match verb {
        "pause-queue" => act.pause(&QueueName::new(sent.need("queue")?)?).await?,
        "resume-queue" => act.resume(&QueueName::new(sent.need("queue")?)?).await?,
        "pause-schedule" | "resume-schedule" => {
            act.pause_schedule(&ScheduleName::new(sent.need("schedule")?)?, verb == "pause-schedule").await?;
        }
        "run-schedule" => {
            act.run_schedule(&ScheduleName::new(sent.need("schedule")?)?).await?;
        }
        _ => {
            let (group, key) = named(sent)?;
            let slots = sent.need("slots")?;
            let limit = slots.parse().map_err(|_| Problem::input(format!("{slots:?} is no number of slots")))?;
            let setting = Setting { limit: Some(limit), rate: None };
            act.set_group(&group, (!key.is_empty()).then_some(key), &setting).await?;
        }
    }
    Ok(1)
}
