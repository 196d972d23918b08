//! Schedules that a program declares with its worker.
//!
//! They are made, or changed, when the worker starts; one that is there as it is declared stays armed as it was, and one that an
//! operator has paused stays paused. Nothing is removed: what code no longer declares is told by `kinfolk doctor`. On PostgreSQL the
//! worker's role must be a member of `kinfolk_operator`; one that is not gets `StoreError::Forbidden` at the start.

use kinfolk_core::{InputError, Missed, NewTask, Overlap, Schedule as Kept, ScheduleName, StoreError};
use serde::Serialize;

use crate::draft::Draft;
use crate::kinfolk::Kinfolk;
use crate::task::Task;

/// A recurring task, declared in code: `WorkerBuilder::schedule` takes it.
///
/// ```
/// use kinfolk::{Kinfolk, Overlap, Schedule, Task, TaskError};
/// use serde::{Deserialize, Serialize};
///
/// #[derive(Serialize, Deserialize, Task)]
/// #[task(command = "nightly")]
/// struct Nightly;
///
/// async fn nightly(_task: Nightly) -> Result<(), TaskError> {
///     Ok(())
/// }
///
/// fn worker(kinfolk: &Kinfolk) -> kinfolk::WorkerBuilder {
///     let at_three = Schedule::cron("0 3 * * *", "Europe/Oslo").task(&Nightly).overlap(Overlap::Skip);
///     kinfolk.worker().handle(nightly).schedule(at_three)
/// }
/// ```
#[derive(Debug)]
#[must_use = "a schedule is declared with a worker"]
pub struct Schedule {
    name: Option<String>,
    cron: String,
    zone: String,
    draft: Option<Draft>,
    missed: Missed,
    overlap: Overlap,
}

impl Schedule {
    /// At the times of this cron line (five fields, or six with seconds first), read in this time zone (`Europe/Oslo`, `UTC`).
    pub fn cron(line: impl Into<String>, zone: impl Into<String>) -> Self {
        let (missed, overlap) = (Missed::default(), Overlap::default());
        Self { name: None, cron: line.into(), zone: zone.into(), draft: None, missed, overlap }
    }

    /// Enqueue this typed task at each tick.
    pub fn task<T: Task>(self, task: &T) -> Self {
        Self { draft: Some(Draft::of_task(task)), ..self }
    }

    /// Enqueue a task of this command with this payload at each tick.
    pub fn command<P: Serialize + ?Sized>(self, command: impl AsRef<str>, payload: &P) -> Self {
        Self { draft: Some(Draft::of_command(command.as_ref(), payload)), ..self }
    }

    /// The name of the schedule. Default: the command.
    pub fn named(self, name: impl Into<String>) -> Self {
        Self { name: Some(name.into()), ..self }
    }

    /// The treatment of ticks at which no worker was there to fire. Default: one run makes up for all of them.
    pub fn missed(self, missed: Missed) -> Self {
        Self { missed, ..self }
    }

    /// The treatment of a tick while the task of the tick before has not ended. Default: the new one is enqueued all the same.
    pub fn overlap(self, overlap: Overlap) -> Self {
        Self { overlap, ..self }
    }

    /// The schedule as a store keeps it, not armed yet.
    pub fn build(self) -> Result<Kept, InputError> {
        let nothing = || InputError::Other(format!("the schedule {:?} has no task; give it one", self.cron));
        let task: NewTask = self.draft.ok_or_else(nothing)?.into_task()?;
        let name = ScheduleName::new(self.name.as_deref().unwrap_or(task.command.as_str()))?;
        let (zone, missed, overlap) = (self.zone, self.missed, self.overlap);
        Ok(Kept { zone, missed, overlap, ..Kept::new(name, self.cron, task) })
    }
}

/// Makes the schedules that a program declares, and changes a schedule that differs from its declaration.
pub(crate) async fn put_all(kinfolk: &Kinfolk, declared: &[Kept]) -> Result<(), StoreError> {
    if declared.is_empty() {
        return Ok(());
    }
    let there = kinfolk.schedules().await?;
    for schedule in declared {
        match there.iter().find(|there| there.name == schedule.name) {
            Some(there) if there.does_as(schedule) => {}
            Some(there) => drop(kinfolk.put_schedule(&Kept { paused: there.paused, ..schedule.clone() }).await?),
            None => drop(kinfolk.put_schedule(schedule).await?),
        }
    }
    Ok(())
}
