//! Groups: what commands declare and operators set, who holds slots, and how much room a key has.
//!
//! A slot is a line in a list of holders. [`Engine::release`] strikes out those who no longer hold, after every call: no
//! other place gives a slot back, so none can be given back twice.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::slice;
use std::time::Duration;

use kinfolk_core::admit::{self, KeyRoom, Need};
use kinfolk_core::limits::{DELAY_MAX, FAILED_TRIES_MAX};
use kinfolk_core::store::Answer;
use kinfolk_core::{
    CommandName, Gate, GroupName, GroupRef, GroupSpec, Groups, InputError, Keys, NewTask, Rate, Rejection, Setting,
    State, StoreError, TaskId, Timestamp, Token,
};

use super::{Bug, Engine, Row, WorkerRow};

/// One key of one group; empty for a total.
pub(super) type KeyOf = (GroupRef, String);

/// A group and all that is known of its keys.
#[derive(Clone, Debug, Default)]
pub(super) struct GroupRow {
    pub(super) spec: GroupSpec,
    /// What is set for all keys, and for single ones.
    pub(super) set: Setting,
    pub(super) keys: BTreeMap<String, Setting>,
    /// The holders of slots, by key.
    pub(super) held: BTreeMap<String, BTreeSet<TaskId>>,
    pub(super) spent: BTreeMap<String, Spent>,
    /// The task that room is kept for, and on which key.
    pub(super) kept_for: Option<(TaskId, String)>,
}

/// What was used of a key's rate, and until when nothing may start under it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Spent {
    until: Option<Timestamp>,
    paused_until: Option<Timestamp>,
}

impl GroupRow {
    /// The slots of a key: what is set for it, else what is set for all, else what is declared.
    pub(super) fn limit(&self, key: &str) -> Option<u32> {
        let of_key = self.keys.get(key).and_then(|set| set.limit);
        of_key.or(self.set.limit).or(self.spec.limit)
    }

    fn rate(&self, key: &str) -> Option<Rate> {
        let of_key = self.keys.get(key).and_then(|set| set.rate);
        of_key.or(self.set.rate).or(self.spec.rate)
    }

    pub(super) fn holders(&self, key: &str) -> Vec<TaskId> {
        self.held.get(key).into_iter().flatten().copied().collect()
    }

    fn room(&self, key: &str, now: Timestamp) -> KeyRoom {
        let held = self.holders(key).len() as u64;
        let spent = self.spent.get(key).copied().unwrap_or_default();
        let paused = spent.paused_until.is_some_and(|until| until > now);
        let starts = self.rate(key).map(|rate| admit::starts(rate, spent.until, now));
        KeyRoom {
            slots: self.limit(key).map(|limit| u64::from(limit).saturating_sub(held)),
            starts: if paused { Some(0) } else { starts },
            kept_for: self.kept_for.as_ref().filter(|(_, kept)| kept == key).map(|(task, _)| *task),
        }
    }

    /// A rate that was changed counts from now on: of what was spent under another no more stands than it could have spent.
    fn rein_in(&mut self, now: Timestamp) {
        let rates: BTreeMap<_, _> = self.spent.keys().filter_map(|key| Some((key.clone(), self.rate(key)?))).collect();
        for (key, rate) in rates {
            let most = admit::spend(rate, None, now, u64::from(rate.burst));
            self.spent.entry(key).and_modify(|spent| spent.until = spent.until.map(|until| until.min(most)));
        }
    }

    /// Before which moment nothing starts under a key, if there is one.
    pub(super) fn until(&self, key: &str, now: Timestamp) -> Option<Timestamp> {
        let spent = self.spent.get(key).copied().unwrap_or_default();
        let paused = spent.paused_until.filter(|until| *until > now);
        let empty = |rate: &Rate| admit::starts(*rate, spent.until, now) == 0;
        let next = self.rate(key).filter(empty).zip(spent.until).map(|(rate, until)| admit::next_start(rate, until));
        paused.max(next)
    }
}

impl Engine {
    /// Makes a command's groups exactly these.
    pub(super) fn declare(&mut self, command: &CommandName, groups: &Groups) {
        let apart = self.has(Bug::SharedGroupCountsByCommand);
        let group = |name: &GroupName, spec: &GroupSpec| match spec.shared && !apart {
            true => GroupRef::shared(name.clone()),
            false => GroupRef::of(command.clone(), name.clone()),
        };
        let wanted: BTreeMap<_, _> = groups.0.iter().map(|(name, spec)| (name.clone(), group(name, spec))).collect();
        for (name, group) in &wanted {
            let carried = self.carried(command, group, groups.0[name].hold);
            let row = self.groups.entry(group.clone()).or_default();
            row.spec = groups.0[name].clone();
            row.rein_in(self.now);
            for (key, id) in carried {
                row.held.entry(key).or_default().insert(id);
            }
        }
        self.declared.insert(command.clone(), wanted);
        self.drop_undeclared();
        if !self.has(Bug::DeclarationCountsNothing) {
            self.count_running();
        }
    }

    /// The tasks of a command that hold slots for their families in a group that another one of that name replaces.
    fn carried(&self, command: &CommandName, group: &GroupRef, hold: bool) -> Vec<(String, TaskId)> {
        let before = self.declared.get(command).and_then(|declared| declared.get(&group.name));
        let before = before.filter(|before| hold && *before != group).map(|before| &self.groups[before]);
        let held = before.filter(|row| row.spec.hold).into_iter().flat_map(|row| &row.held);
        let each = held.flat_map(|(key, holders)| holders.iter().map(move |id| (key.clone(), *id)));
        each.filter(|(_, id)| self.tasks.get(id).is_some_and(|row| row.task.command == *command)).collect()
    }

    /// What runs holds a slot of each of its keys, also where its command has come to declare the group only now, or where
    /// the one above it that held it for the family does so no longer.
    fn count_running(&mut self) {
        let running = self.tasks.values().filter(|row| row.task.state == State::Running).map(|row| row.task.id);
        let needs = |id| self.needs(id).into_iter().filter(|need| need.takes_slot).map(move |need| (need.key, id));
        for ((group, key), id) in running.flat_map(needs).collect::<Vec<_>>() {
            self.groups.get_mut(&group).expect("it is needed").held.entry(key).or_default().insert(id);
        }
    }

    pub(super) fn remove_group(&mut self, group: &GroupRef) -> Answer<()> {
        self.group_mut(group)?;
        for declared in self.declared.values_mut() {
            declared.retain(|_, other| other != group);
        }
        self.drop_undeclared();
        Ok(())
    }

    /// Removes groups that no command declares, and the slots of tasks whose command has left the group. What waits behind a key that it no longer needs stands in line again.
    fn drop_undeclared(&mut self) {
        let declared: BTreeSet<_> = self.declared.values().flat_map(BTreeMap::values).cloned().collect();
        self.groups.retain(|group, _| declared.contains(group));
        for (group, row) in &mut self.groups {
            let declares = |id: &TaskId| {
                let task = self.tasks.get(id).map(|row| &row.task.command);
                let mine = task.and_then(|command| self.declared.get(command));
                mine.is_some_and(|mine| mine.get(&group.name) == Some(group))
            };
            row.held.values_mut().for_each(|holders| holders.retain(declares));
        }
        let needless = |row: &&Row| {
            let mine = self.declared.get(&row.task.command);
            row.behind.as_ref().is_some_and(|(group, _)| mine.is_none_or(|mine| mine.get(&group.name) != Some(group)))
        };
        for id in self.tasks.values().filter(needless).map(|row| row.task.id).collect::<Vec<_>>() {
            self.row_mut(id).go_pending(Gate::Open);
        }
    }

    pub(super) fn set_group(&mut self, group: &GroupRef, key: Option<&str>, setting: &Setting) -> Answer<()> {
        group.check_setting(key, setting)?;
        let (now, planted) = (self.now, self.has(Bug::LimitIsReadOnce));
        let row = self.group_mut(group)?;
        match key {
            None => row.set = *setting,
            Some(key) if setting.is_empty() => drop(row.keys.remove(key)),
            Some(_) if planted => {}
            Some(key) => drop(row.keys.insert(key.to_owned(), *setting)),
        }
        row.rein_in(now);
        for (_, spent) in row.spent.iter_mut().filter(|(paused, _)| key.is_none_or(|key| key == *paused)) {
            spent.paused_until = None;
        }
        Ok(())
    }

    pub(super) fn slow_down(&mut self, id: TaskId, token: Token, name: &GroupName, until: Timestamp) -> Answer<bool> {
        let ahead = until.since(self.now);
        if ahead > DELAY_MAX {
            return Err(InputError::Delay(u64::try_from(ahead.as_millis()).unwrap_or(u64::MAX)).into());
        }
        if !self.runs_under(id, token) {
            return Ok(false);
        }
        let key = self.needs(id).into_iter().map(|need| need.key).find(|(group, _)| group.name == *name);
        let (group, key) = key.ok_or_else(|| StoreError::not_found("group", name))?;
        let now = self.now;
        let spent = self.group_mut(&group)?.spent.entry(key).or_default();
        spent.paused_until = spent.paused_until.max(Some(until).filter(|until| *until > now));
        Ok(true)
    }

    /// The first group, by name, that a task gives a key for and its command does not declare.
    pub(super) fn unknown_group(&self, new: &NewTask) -> Option<Rejection> {
        let declared = self.declared.get(&new.command);
        let known = |name: &&GroupName| declared.is_some_and(|declared| declared.contains_key(*name));
        new.keys.0.keys().find(|name| !known(name)).cloned().map(Rejection::UnknownGroup)
    }

    /// The keys of a task that another one makes.
    pub(super) fn keys_of(&self, new: &NewTask, maker: Option<TaskId>) -> Keys {
        let mut keys = new.keys.clone();
        let maker = maker
            .filter(|_| new.inherit_keys || self.has(Bug::KeysAreInheritedUnasked))
            .map(|maker| &self.tasks[&maker].task.keys);
        for (name, key) in maker.into_iter().flat_map(|keys| &keys.0) {
            if self.declared.get(&new.command).is_some_and(|declared| declared.contains_key(name)) {
                keys.0.entry(name.clone()).or_insert_with(|| key.clone());
            }
        }
        keys
    }

    /// What a task needs to start. It takes no slot where it holds one, or where one above it does for the whole family.
    pub(super) fn needs(&self, id: TaskId) -> Vec<Need<KeyOf>> {
        let task = &self.tasks[&id].task;
        let need = |group: &GroupRef| {
            let total = (group.name == GroupName::total()).then_some("");
            let key = total.or_else(|| task.keys.get(&group.name))?.to_owned();
            let row = &self.groups[group];
            let holders: BTreeSet<_> = row.held.get(&key).cloned().unwrap_or_default();
            let above = row.spec.hold && self.above(id).iter().any(|above| holders.contains(above));
            Some(Need { takes_slot: !holders.contains(&id) && !above, key: (group.clone(), key) })
        };
        let declared: BTreeSet<_> = self.declared.get(&task.command).into_iter().flat_map(BTreeMap::values).collect();
        declared.into_iter().filter_map(need).collect()
    }

    fn above(&self, id: TaskId) -> Vec<TaskId> {
        let parent = |id: &TaskId| self.tasks[id].task.parent;
        std::iter::successors(parent(&id), parent).collect()
    }

    pub(super) fn room(&self, (group, key): &KeyOf) -> KeyRoom {
        let early = Duration::from_secs(u64::from(self.has(Bug::RateRefillsEarly)));
        let mut room = self.groups[group].room(key, self.now.plus(early));
        if self.has(Bug::OneSlotTooMany) {
            room.slots = room.slots.map(|free| free + 1);
        }
        room.kept_for = room.kept_for.filter(|task| self.keeps_room(*task));
        room
    }

    /// Whether what is kept for a task counts: nothing but slots that others hold keeps it from starting.
    fn keeps_room(&self, id: TaskId) -> bool {
        let task = &self.tasks[&id].task;
        let handles = |worker: &WorkerRow| {
            let spec = &worker.spec;
            worker.lease_until >= self.now && spec.queues.contains(&task.queue) && spec.commands.contains(&task.command)
        };
        let shut = |need: Need<KeyOf>| {
            let (group, key) = &need.key;
            let row = &self.groups[group];
            row.limit(key) == Some(0) || row.room(key, self.now).starts == Some(0)
        };
        self.queues[&task.queue].paused_at.is_none()
            && self.workers.values().any(handles)
            && !self.needs(id).into_iter().any(shut)
    }

    /// Looks at one candidate of a claim. One that waits behind a key without room is not looked at any further.
    pub(super) fn look_at(
        &self,
        id: TaskId,
        needs: &[Need<KeyOf>],
        rooms: &mut HashMap<KeyOf, KeyRoom>,
    ) -> Result<(), Option<KeyOf>> {
        for need in needs {
            rooms.entry(need.key.clone()).or_insert_with(|| self.room(&need.key));
        }
        let behind = self.tasks[&id].behind.as_ref();
        let waits = |need: &&Need<KeyOf>| behind == Some(&need.key) && !lets_in(rooms[&need.key], id, need);
        if needs.iter().any(|need| waits(&need)) || behind.is_some_and(|key| self.forgotten.contains(key)) {
            return Err(None);
        }
        admit::admit(id, needs, rooms).map_err(Some)
    }

    /// Lets a task wait behind a key. One that was sent from one to another often enough has room kept on all its keys.
    pub(super) fn block(&mut self, id: TaskId, key: KeyOf) {
        let row = self.row_mut(id);
        row.task.gate = Some(Gate::Limit);
        row.failed_tries += u16::from(row.behind.as_ref() != Some(&key));
        row.behind = Some(key);
        let needs = self.needs(id);
        if self.has(Bug::BlockedTaskTakesSlots) {
            let open = needs.iter().filter(|need| lets_in(self.room(&need.key), id, need));
            for (group, key) in open.map(|need| need.key.clone()).collect::<Vec<_>>() {
                self.groups.get_mut(&group).expect("it is needed").held.entry(key).or_default().insert(id);
            }
        }
        let others = needs.iter().filter_map(|need| self.groups[&need.key.0].kept_for.as_ref().map(|(task, _)| *task));
        let others: BTreeSet<_> = others.collect();
        let taken = others.iter().any(|other| *other == id || self.keeps_room(*other));
        if self.tasks[&id].failed_tries >= FAILED_TRIES_MAX && !taken && !self.has(Bug::NoRoomIsKept) {
            for row in self.groups.values_mut() {
                row.kept_for = row.kept_for.take().filter(|(other, _)| !others.contains(other));
            }
            for (group, key) in needs.into_iter().map(|need| need.key) {
                self.groups.get_mut(&group).expect("it is needed").kept_for = Some((id, key));
            }
        }
    }

    /// Takes what an admitted task needs.
    pub(super) fn take_slots(&mut self, id: TaskId, needs: Vec<Need<KeyOf>>) {
        let now = self.now;
        for Need { key: (group, key), takes_slot } in needs {
            let row = self.groups.get_mut(&group).expect("it is needed");
            if let Some(rate) = row.rate(&key) {
                let spent = row.spent.entry(key.clone()).or_default();
                spent.until = Some(admit::spend(rate, spent.until, now, 1));
            }
            if takes_slot {
                row.held.entry(key).or_default().insert(id);
            }
        }
    }

    /// Takes back the slots of all who no longer hold them, and what is kept for those who no longer wait.
    pub(super) fn release(&mut self) {
        let Self { groups, tasks, now, declared, bug, .. } = self;
        let planted = |state| match *bug {
            Some(Bug::SuspensionKeepsTheSlot) => state == State::Waiting,
            Some(Bug::BlockedTaskTakesSlots) => state == State::Pending,
            _ => false,
        };
        let holds_on = |state| state != State::Waiting || *bug != Some(Bug::WaitingParentLosesItsHold);
        for (group, row) in groups {
            let hold = row.spec.hold;
            let keeps = |id: &TaskId| {
                let state = tasks.get(id).map_or(State::Cancelled, |row| row.task.state);
                state == State::Running || hold && !state.is_terminal() && holds_on(state) || planted(state)
            };
            row.held.values_mut().for_each(|holders| holders.retain(&keeps));
            row.held.retain(|_, holders| !holders.is_empty());
            row.spent.retain(|_, spent| spent.until.max(spent.paused_until) > Some(*now));
            let waits = |id: &TaskId| {
                let row = tasks.get(id).filter(|row| row.task.state == State::Pending);
                let declared = row.and_then(|row| declared.get(&row.task.command));
                declared.is_some_and(|declared| declared.get(&group.name) == Some(group))
            };
            row.kept_for = row.kept_for.take().filter(|(id, _)| waits(id));
        }
    }

    /// Takes back the slots of one task, as only a planted mistake does.
    pub(super) fn free(&mut self, id: TaskId) {
        for holders in self.groups.values_mut().flat_map(|row| row.held.values_mut()) {
            holders.remove(&id);
        }
    }

    pub(super) fn holds_slots(&self, id: TaskId) -> bool {
        self.groups.values().flat_map(|row| row.held.values()).any(|holders| holders.contains(&id))
    }

    fn group_mut(&mut self, group: &GroupRef) -> Answer<&mut GroupRow> {
        self.groups.get_mut(group).ok_or_else(|| StoreError::not_found("group", group))
    }
}

/// Whether a key alone would let a task start.
pub(super) fn lets_in(room: KeyRoom, task: TaskId, need: &Need<KeyOf>) -> bool {
    let mut rooms = HashMap::from([(need.key.clone(), room)]);
    admit::admit(task, slice::from_ref(need), &mut rooms).is_ok()
}
