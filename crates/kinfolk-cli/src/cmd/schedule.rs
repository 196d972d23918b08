//! `kinfolk schedule …`: recurring tasks.

use clap::{Subcommand, ValueEnum};
use jiff::tz::TimeZone;
use kinfolk_core::{CommandName, Missed, Overlap, Schedule, ScheduleName, Store, StoreError, Timestamp};
use serde_json::json;

use super::task_options::TaskOptions;
use crate::fault::Fault;
use crate::out::table::{self, Table};
use crate::out::time::{relative, relative_or_none};
use crate::out::view::ScheduleView;
use crate::payload;
use crate::session::Session;

/// `kinfolk schedule …`
#[derive(Subcommand, Debug)]
pub(crate) enum Verb {
    /// List the schedules
    List,
    /// Make a schedule, or change it
    Put(Box<Put>),
    /// Remove a schedule; its tasks stay
    Remove(Name),
    /// Switch a schedule off
    Pause(Name),
    /// Switch a schedule on again, from now on
    Resume(Name),
    /// Print the next ticks of a schedule
    Next(Next),
}

/// `kinfolk schedule put NAME CRON COMMAND [PAYLOAD]`
#[derive(clap::Args, Debug)]
pub(crate) struct Put {
    /// Its name
    name: ScheduleName,

    /// When: five cron fields, or six with seconds first, like "0 3 * * *"
    cron: String,

    /// The command to run at each tick
    command: CommandName,

    /// Its payload as JSON; `-` reads stdin; left out it is {}
    #[arg(allow_negative_numbers = true)]
    payload: Option<String>,

    #[command(flatten)]
    task: TaskOptions,

    /// The time zone the cron line is read in, like Europe/Oslo
    #[arg(long, value_name = "ZONE", default_value = "UTC")]
    zone: String,

    /// The effect of ticks that were missed
    #[arg(long, value_enum, value_name = "RULE", default_value = "once")]
    missed: MissedRule,

    /// The treatment of a tick while the task of the tick before has not ended
    #[arg(long, value_enum, value_name = "RULE", default_value = "allow")]
    overlap: OverlapRule,
}

/// The treatment of missed ticks.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum MissedRule {
    /// One run makes up for all of them.
    Once,
    /// Each gets its run, the latest hundred at most.
    All,
    /// They are left out.
    Skip,
}

/// The treatment of an overlap.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum OverlapRule {
    /// The new one is enqueued all the same.
    Allow,
    /// The tick is left out.
    Skip,
}

/// A schedule by its name.
#[derive(clap::Args, Debug)]
pub(crate) struct Name {
    /// Its name
    name: ScheduleName,
}

/// `kinfolk schedule next NAME`
#[derive(clap::Args, Debug)]
pub(crate) struct Next {
    /// Its name
    name: ScheduleName,

    /// How many ticks
    #[arg(short = 'n', long = "count", value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u16).range(1..=1_000))]
    count: u16,
}

/// Runs it.
pub(crate) async fn run(verb: Verb, session: &Session) -> Result<(), Fault> {
    match verb {
        Verb::List => list(session).await,
        Verb::Put(put) => put.run(session).await,
        Verb::Remove(Name { name }) => {
            session.open().await?.remove_schedule(&name).await?;
            session.out.say(&json!({"schedule": name, "removed": true}), format!("schedule {name} removed"))
        }
        Verb::Pause(Name { name }) => {
            let store = session.open().await?;
            store.pause_schedule(&name, true).await?;
            let schedule = find(store.as_ref(), &name).await?;
            session.out.say(&ScheduleView::from(&schedule), format!("schedule {name} paused"))
        }
        Verb::Resume(Name { name }) => {
            let store = session.open().await?;
            store.pause_schedule(&name, false).await?;
            let (schedule, now) = (find(store.as_ref(), &name).await?, store.now().await?);
            session.out.say(
                &ScheduleView::from(&schedule),
                format!("schedule {name} resumed; it fires {}", relative_or_none(now, schedule.next_at)),
            )
        }
        Verb::Next(next) => next.run(session).await,
    }
}

impl Put {
    async fn run(self, session: &Session) -> Result<(), Fault> {
        let task = self.task.task(self.command, payload::one(self.payload.as_deref())?)?;
        let schedule = Schedule {
            zone: self.zone,
            missed: match self.missed {
                MissedRule::Once => Missed::Once,
                MissedRule::All => Missed::All,
                MissedRule::Skip => Missed::Skip,
            },
            overlap: match self.overlap {
                OverlapRule::Allow => Overlap::Allow,
                OverlapRule::Skip => Overlap::Skip,
            },
            ..Schedule::new(self.name, self.cron, task)
        };
        // Refused here as well as in the store, so that a bad line does not even make the file.
        schedule.clone().armed(jiff::Timestamp::now().into())?;
        let store = session.open_or_create().await?;
        let put = store.put_schedule(&schedule).await?;
        let now = store.now().await?;
        session.out.say(
            &ScheduleView::from(&put),
            format!("schedule {} runs {}: it fires {}", put.name, put.task.command, relative_or_none(now, put.next_at)),
        )
    }
}

impl Next {
    async fn run(self, session: &Session) -> Result<(), Fault> {
        let store = session.open().await?;
        let schedule = find(store.as_ref(), &self.name).await?;
        let now = store.now().await?;
        if schedule.paused {
            session.out.hint(format_args!("schedule {} is paused; it would fire:", schedule.name));
        }
        let zone = TimeZone::get(&schedule.zone).unwrap_or(TimeZone::UTC);
        let mut from = now;
        for _ in 0..self.count {
            let Some(tick) = schedule.tick_after(from)? else { break };
            let local = tick.to_jiff().to_zoned(zone.clone()).strftime("%a %Y-%m-%d %H:%M:%S %Z").to_string();
            session.out.say(
                &json!({"schedule": schedule.name, "tick_at": tick, "local": local}),
                format!("{local}  {}", relative(now, tick)),
            )?;
            from = tick;
        }
        Ok(())
    }
}

async fn find(store: &dyn Store, name: &ScheduleName) -> Result<Schedule, Fault> {
    let found = store.schedules().await?.into_iter().find(|schedule| schedule.name == *name);
    Ok(found.ok_or_else(|| StoreError::not_found("schedule", name))?)
}

async fn list(session: &Session) -> Result<(), Fault> {
    let store = session.open().await?;
    let schedules = store.schedules().await?;
    let now = store.now().await?;
    let views: Vec<ScheduleView<'_>> = schedules.iter().map(ScheduleView::from).collect();
    session.out.list(&views, "no schedules: see `kinfolk schedule put --help`", || table_of(&schedules, now))
}

fn table_of(schedules: &[Schedule], now: Timestamp) -> Table {
    let mut table = Table::new(&["schedule", "cron", "zone", "command", "next", "last", "missed", "overlap"]);
    for schedule in schedules {
        let next = match schedule.paused {
            true => table::text("off").fg(comfy_table::Color::Yellow),
            false => table::text(relative_or_none(now, schedule.next_at)),
        };
        let last = match (schedule.last_at, schedule.last_task) {
            (Some(at), Some(task)) => format!("{} (task {task})", relative(now, at)),
            (at, _) => relative_or_none(now, at),
        };
        table.row(vec![
            table::text(&schedule.name),
            table::text(&schedule.cron),
            table::text(&schedule.zone),
            table::text(&schedule.task.command),
            next,
            table::text(last),
            table::text(schedule.missed.as_str()),
            table::text(schedule.overlap.as_str()),
        ]);
    }
    table
}
