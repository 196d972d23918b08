//! What a caller may see besides tasks: counts, queues, commands, workers, groups and keys, schedules, statuses, the audit log.

use std::time::Duration;

use kinfolk_core::audit::Audited;
use kinfolk_core::held::Held;
use kinfolk_core::inspect::{Finding, Health, Stats};
use kinfolk_core::limits::PAGE_MAX;
use kinfolk_core::minute::Minute;
use kinfolk_core::worker::WorkerView;
use kinfolk_core::{
    Command, CommandName, GroupRef, GroupView, Json, KeyFilter, KeyView, Queue, QueueName, Schedule, Status,
};

use super::{Seen, View};
use crate::access::Role;
use crate::problem::Problem;

impl View<'_> {
    /// Counts.
    pub(crate) async fn stats(&self) -> Seen<Stats> {
        let mut stats = self.store()?.stats().await?;
        stats.counts.retain(|count| self.caller.may_see(&count.queue));
        stats.oldest_open.retain(|(queue, _)| self.caller.may_see(queue));
        Ok(stats)
    }

    /// How many pending tasks of a queue, or of all, are held up by what.
    pub(crate) async fn held(&self, queue: Option<&QueueName>) -> Seen<Vec<Held>> {
        let mut held = self.store()?.held(queue).await?;
        held.retain(|held| self.caller.may_see(&held.queue));
        Ok(held)
    }

    /// What workers did in the minutes of the span until now, by minute, queue and command.
    pub(crate) async fn minutes(&self, span: Duration) -> Seen<Vec<Minute>> {
        let mut minutes = self.store()?.minutes(span).await?;
        minutes.retain(|minute| self.caller.may_see(&minute.queue));
        Ok(minutes)
    }

    /// All queues, by name.
    pub(crate) async fn queues(&self) -> Seen<Vec<Queue>> {
        let mut queues = self.store()?.queues().await?;
        queues.retain(|queue| self.caller.may_see(&queue.name));
        Ok(queues)
    }

    /// All commands, by name.
    pub(crate) async fn commands(&self) -> Seen<Vec<Command>> {
        let mut commands = self.store()?.commands().await?;
        commands.retain(|command| self.caller.may_see(&command.queue));
        Ok(commands)
    }

    /// All workers, oldest first.
    pub(crate) async fn workers(&self) -> Seen<Vec<WorkerView>> {
        let mut workers = self.store()?.workers().await?;
        if self.caller.queues.is_some() {
            let commands = self.commands().await?;
            for worker in &mut workers {
                worker.queues.retain(|queue| self.caller.may_see(queue));
                worker.commands.retain(|name| commands.iter().any(|one| one.name == *name));
            }
            workers.retain(|worker| !worker.queues.is_empty());
        }
        Ok(workers)
    }

    /// What the doctor finds that is not as it should be: for those who may see all queues.
    pub(crate) async fn doctor(&self) -> Seen<Vec<Finding>> {
        let store = self.store()?;
        if self.caller.queues.is_some() {
            return Ok(Vec::new());
        }
        let mut found = store.doctor().await?;
        found.retain(|finding| finding.health != Health::Good);
        Ok(found)
    }

    /// All schedules, by name.
    pub(crate) async fn schedules(&self) -> Seen<Vec<Schedule>> {
        let mut schedules = self.store()?.schedules().await?;
        for schedule in &mut schedules {
            let payload = std::mem::replace(&mut schedule.task.payload, Json::null());
            schedule.task.payload = self.app.config.redact.apply(payload);
        }
        if self.caller.queues.is_some() {
            let commands = self.commands().await?;
            schedules.retain(|schedule| match &schedule.task.queue {
                Some(queue) => self.caller.may_see(queue),
                None => commands.iter().any(|command| command.name == schedule.task.command),
            });
        }
        Ok(schedules)
    }

    /// Whether a task of one of these commands is at work, or ready to be.
    pub(crate) async fn is_active(&self, commands: &[CommandName]) -> Seen<bool> {
        let store = self.store()?;
        if self.caller.queues.is_some() {
            let own = self.commands().await?;
            let seen: Vec<_> =
                commands.iter().filter(|name| own.iter().any(|one| one.name == **name)).cloned().collect();
            return Ok(store.is_active(&seen).await?);
        }
        Ok(store.is_active(commands).await?)
    }

    /// All statuses, by name.
    pub(crate) async fn statuses(&self) -> Seen<Vec<Status>> {
        let mut statuses = self.store()?.statuses().await?;
        if self.caller.queues.is_some() {
            let commands = self.commands().await?;
            statuses.retain(|status| status.commands.iter().all(|name| commands.iter().any(|one| one.name == *name)));
        }
        Ok(statuses)
    }

    /// All groups.
    pub(crate) async fn groups(&self) -> Seen<Vec<GroupView>> {
        let mut groups = self.store()?.groups().await?;
        if self.caller.queues.is_some() {
            let commands = self.commands().await?;
            groups.retain(|group| group.commands.iter().any(|name| commands.iter().any(|one| one.name == *name)));
        }
        Ok(groups)
    }

    /// The keys that are in use, the first ones.
    pub(crate) async fn keys(&self, filter: &KeyFilter) -> Seen<Vec<KeyView>> {
        Ok(self.key_page(filter).await?.0)
    }

    /// A page of the keys that are in use, and the last of them if there may be more.
    pub(crate) async fn key_page(&self, filter: &KeyFilter) -> Seen<(Vec<KeyView>, Option<(GroupRef, String)>)> {
        let mut keys = self.store()?.keys(filter).await?;
        let full = keys.len() >= filter.limit.clamp(1, PAGE_MAX);
        let next = keys.last().filter(|_| full).map(|last| (last.group.clone(), last.key.clone()));
        if self.caller.queues.is_some() {
            let groups = self.groups().await?;
            keys.retain(|key| groups.iter().any(|group| group.group == key.group));
        }
        Ok((keys, next))
    }

    /// A page of the audit log, newest first: for those who may see everything.
    pub(crate) async fn audit_log(&self, before: Option<i64>, limit: usize) -> Seen<Vec<Audited>> {
        if !self.caller.is(Role::Admin) || self.caller.queues.is_some() {
            return Err(Problem::forbidden(
                "the audit log takes the role admin, on all queues; send a token that has it",
            ));
        }
        Ok(self.store()?.audit_log(before, limit).await?)
    }
}
