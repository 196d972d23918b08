//! Whether anything is going on among a set of commands.

use kinfolk_core::limits::STATUS_COMMANDS_MAX;
use kinfolk_core::store::Answer;
use kinfolk_core::{CommandName, Gate, InputError, State, Status, StatusName, StoreError};

use super::{Bug, Engine, Row};

impl Engine {
    /// Whether a task of these commands runs, waits, or pends for any other reason than that its time has not come.
    pub(super) fn is_active(&self, commands: &[CommandName]) -> bool {
        let busy = |row: &&Row| match row.task.state {
            State::Running | State::Waiting => true,
            State::Pending => row.task.gate != Some(Gate::Time) || row.runs > 0 || self.has(Bug::ScheduledTaskIsActive),
            _ => false,
        };
        self.tasks.values().filter(busy).any(|row| commands.contains(&row.task.command))
    }

    pub(super) fn put_status(&mut self, name: &StatusName, commands: &[CommandName]) -> Answer<()> {
        if commands.len() > STATUS_COMMANDS_MAX {
            let (given, max) = (commands.len(), STATUS_COMMANDS_MAX);
            return Err(InputError::Batch { what: "commands of a status", given, max }.into());
        }
        let active = self.is_active(commands);
        let before = self.statuses.get(name).filter(|before| before.active == active);
        let changed_at = before.map_or(self.now, |before| before.changed_at);
        let status = Status { name: name.clone(), commands: commands.to_vec(), active, changed_at };
        self.statuses.insert(name.clone(), status);
        Ok(())
    }

    pub(super) fn remove_status(&mut self, name: &StatusName) -> Answer<()> {
        let removed = self.statuses.remove(name).map(|_| ()).ok_or_else(|| StoreError::not_found("status", name));
        if self.statuses.is_empty() {
            self.started.clear();
        }
        removed
    }

    /// A task of this command was started: who watches it is told, even if it ends before the next look.
    pub(super) fn tell_statuses(&mut self, command: CommandName) {
        if self.statuses.values().any(|status| status.commands.contains(&command)) {
            self.started.insert(command);
        }
    }

    pub(super) fn refresh_statuses(&mut self) -> Vec<Status> {
        let mut turned = Vec::new();
        let started = std::mem::take(&mut self.started);
        for name in self.statuses.keys().cloned().collect::<Vec<_>>() {
            let before = &self.statuses[&name];
            let active = self.is_active(&before.commands);
            let was_active = before.commands.iter().any(|command| started.contains(command));
            if active == before.active && (active || !was_active || self.has(Bug::ShortActivityIsMissed)) {
                continue;
            }
            let status = Status { active, changed_at: self.now, ..before.clone() };
            if active == before.active {
                turned.push(Status { active: true, ..status.clone() });
            }
            turned.push(status.clone());
            self.statuses.insert(name, status);
        }
        turned
    }
}
