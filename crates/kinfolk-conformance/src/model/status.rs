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
        self.statuses.remove(name).map(|_| ()).ok_or_else(|| StoreError::not_found("status", name))
    }

    pub(super) fn refresh_statuses(&mut self) -> Vec<Status> {
        let mut turned = Vec::new();
        for name in self.statuses.keys().cloned().collect::<Vec<_>>() {
            let active = self.is_active(&self.statuses[&name].commands);
            if active != self.statuses[&name].active {
                let status = Status { active, changed_at: self.now, ..self.statuses[&name].clone() };
                turned.push(status.clone());
                self.statuses.insert(name, status);
            }
        }
        turned
    }
}
