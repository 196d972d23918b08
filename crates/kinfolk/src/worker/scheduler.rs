//! The scheduler: fires what is due, once in the whole fleet.
//!
//! Any worker may fire a schedule; the store carries a plan out only if the schedule is still armed for the tick it was
//! made for. A schedule that can't be planned is reported and left alone: it never stops the others.

use std::sync::Arc;
use std::time::Duration;

use kinfolk_core::{Event, Schedule, StoreError, Timestamp};

use super::state::Shared;

const EVERY: Duration = Duration::from_millis(500);

/// Fires due schedules.
pub(crate) struct Scheduler {
    shared: Arc<Shared>,
}

impl Scheduler {
    pub(crate) fn new(shared: Arc<Shared>) -> Self {
        Self { shared }
    }

    /// Fires what is due.
    pub(crate) async fn run(self) {
        loop {
            self.look().await;
            tokio::time::sleep(EVERY).await;
        }
    }

    /// Fires what is due now.
    pub(crate) async fn look(&self) {
        if let Err(fault) = self.run_once().await {
            self.shared.observer.trouble("due_schedules", &fault);
        }
    }

    async fn run_once(&self) -> Result<(), StoreError> {
        let due = self.shared.store().due_schedules().await?;
        if due.is_empty() {
            return Ok(());
        }
        let now = self.shared.store().now().await?;
        for schedule in &due {
            if let Err(fault) = self.fire(schedule, now).await {
                self.shared.observer.trouble("fire", &fault);
            }
        }
        Ok(())
    }

    async fn fire(&self, schedule: &Schedule, now: Timestamp) -> Result<(), StoreError> {
        let Some(plan) = schedule.plan(now)? else { return Ok(()) };
        let fired = self.shared.store().fire(&plan).await?;
        if !fired.too_late {
            self.shared.observer.emit(&Event::ScheduleFired {
                schedule: plan.name,
                tasks: fired.tasks,
                overlapped: fired.overlapped,
                rejected: fired.rejected,
            });
            self.shared.wake_all();
        }
        Ok(())
    }
}
