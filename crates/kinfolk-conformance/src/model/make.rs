//! What a handler leaves behind: its siblings, children, follow-ups and other tasks, or why none of them can be.

use kinfolk_core::store::Answer;
use kinfolk_core::{ChildOrder, Failure, FollowUp, Gate, Made, NewTask, QueueName, Rejection, State, TaskId, When};

use super::produce::{Birth, ChildOf};
use super::{Bug, Engine, Entry};

impl Engine {
    /// The first of these that can't be made, in the order of making.
    pub(super) fn refusal(&self, maker: TaskId, made: &Made) -> Option<Rejection> {
        let task = &self.tasks[&maker].task;
        let parent = task.parent.filter(|_| self.tasks[&maker].fan_out.is_none());
        let siblings = made.siblings.iter().map(|new| match parent {
            None => Some(Rejection::NoParent(maker)),
            Some(parent) => self.refused_child(parent, new),
        });
        let children = made.children.iter().map(|new| self.refused_child(maker, new));
        let follow_ups = made.follow_ups.iter().map(|follow_up| self.rejection(&follow_up.task));
        let tasks = made.tasks.iter().map(|new| self.rejection(new));
        siblings.chain(children).chain(follow_ups).chain(tasks).flatten().next()
    }

    /// Makes all of it. Only the merge of a payload that grows too large can fail, and then nothing is kept.
    pub(super) fn make(&mut self, maker: TaskId, made: &Made) -> Answer<()> {
        if !self.has(Bug::SiblingComesTooLate) {
            self.make_siblings(maker, made)?;
        }
        self.make_children(maker, made)?;
        for follow_up in &made.follow_ups {
            self.make_follow_up(maker, follow_up)?;
        }
        for new in &made.tasks {
            self.enqueue_one(new, Some(maker))?;
        }
        Ok(())
    }

    pub(super) fn make_siblings(&mut self, maker: TaskId, made: &Made) -> Answer<()> {
        let parent = self.tasks[&maker].task.parent;
        for (new, parent) in made.siblings.iter().zip(parent.into_iter().cycle()) {
            self.make_child(parent, maker, new)?;
        }
        Ok(())
    }

    /// The order given last is that of all that have not begun.
    fn make_children(&mut self, maker: TaskId, made: &Made) -> Answer<()> {
        let before = (self.spawned_by(maker).len(), self.tasks[&maker].order);
        self.row_mut(maker).order = made.order;
        for new in &made.children {
            self.make_child(maker, maker, new)?;
        }
        let spawned = self.spawned_by(maker);
        if spawned.len() == before.0 {
            self.row_mut(maker).order = before.1;
        } else if made.order == ChildOrder::Together {
            for id in spawned {
                if self.tasks[&id].task.gate == Some(Gate::After) {
                    self.open(id);
                }
            }
        }
        Ok(())
    }

    pub(super) fn refused_child(&self, parent: TaskId, new: &NewTask) -> Option<Rejection> {
        if let Some(why) = self.rejection(new) {
            return Some(why);
        }
        let queue = self.queue_of(new)?;
        if self.queues[&queue].policy.child_limit == Some(0) {
            return Some(Rejection::NoChildren(queue));
        }
        let task = &self.tasks[&parent].task;
        let home = &self.tasks[&task.root].task.queue;
        let deep = task.depth + 1 > self.queues[home].policy.depth_limit && !self.has(Bug::DepthIsIgnored);
        deep.then(|| Rejection::TooDeep(home.clone()))
    }

    /// A child takes its parent's priority and its root's position. In order, only the first may start at once.
    fn make_child(&mut self, parent: TaskId, maker: TaskId, new: &NewTask) -> Answer<()> {
        if self.rejection(new).is_some() {
            return Ok(());
        }
        if let Some(holder) = self.holder(new, |_| true) {
            self.duplicate(holder, new)?;
            return Ok(());
        }
        let spawned = self.spawned_by(parent);
        let behind = self.tasks[&parent].order != ChildOrder::Together && spawned.iter().any(|id| self.is_open(*id));
        let child_of = ChildOf { parent, fan_out: None, nth: u32::try_from(spawned.len()).expect("few enough") };
        self.insert_child(new, maker, child_of, behind.then_some(Gate::After));
        Ok(())
    }

    pub(super) fn insert_child(&mut self, new: &NewTask, maker: TaskId, child_of: ChildOf, gate: Option<Gate>) {
        let row = &self.tasks[&child_of.parent];
        let position = self.tasks[&row.task.root].task.position;
        let mut birth =
            Birth { priority: row.task.priority, position, gate, maker: Some(maker), child_of: Some(child_of) };
        if self.has(Bug::ChildPriorityFromTheCommand) {
            birth.priority = self.commands[&new.command].priority;
        }
        if self.has(Bug::ChildLosesThePosition) {
            birth.position = new.due.at(self.now).max(self.now);
        }
        self.insert(new, birth);
    }

    /// A follow-up is a new task that waits for the maker's family, or one that pends under its key and waits for this
    /// family too. A child is never asked to wait: it could be asked to wait for itself.
    fn make_follow_up(&mut self, maker: TaskId, follow_up: &FollowUp) -> Answer<()> {
        let new = &follow_up.task;
        if self.rejection(new).is_some() {
            return Ok(());
        }
        let task = &self.tasks[&maker].task;
        let (priority, root) = (task.priority, task.root);
        let holder = self.holder(new, |row| row.task.parent.is_none());
        let id = match holder {
            Some(holder) => {
                self.duplicate(holder, new)?;
                let forgets = self.has(Bug::FollowUpForgetsTheSecondFamily);
                let row = self.row_mut(holder);
                if row.task.state != State::Pending || row.runs > 0 || forgets {
                    return Ok(());
                }
                row.go_pending(Gate::After);
                holder
            }
            None => {
                let position = self.tasks[&root].task.position;
                let gate = Some(Gate::After);
                let id = self.insert(new, Birth { priority, position, gate, maker: Some(maker), child_of: None });
                let made = &mut self.row_mut(id).task;
                (made.made_by, made.follows) = (Some(maker), Some(root));
                id
            }
        };
        let entry = self.follow_ups.entry(id).or_default().entry(root).or_default();
        entry.needs_completed |= follow_up.when == When::Completed;
        entry.ended = None;
        Ok(())
    }

    /// Opens the follow-ups of a queue whose families have all settled, or cancels those whose families did not end well.
    pub(super) fn open_follow_ups(&mut self, queue: &QueueName, page: usize) {
        let early = self.has(Bug::FollowUpOpensEarly);
        let here = self.follow_ups.iter().filter(|(id, _)| self.tasks[*id].task.queue == *queue);
        let settled = here.filter(|(_, entries)| early || entries.values().all(|entry| entry.ended.is_some()));
        let settled: Vec<_> = settled.map(|(id, _)| *id).take(page).collect();
        for id in settled {
            let mut entries = self.follow_ups.remove(&id).unwrap_or_default();
            entries.retain(|_, entry| entry.needs_completed && entry.ended != Some(State::Completed));
            let spoiler = entries.keys().next().copied();
            match spoiler.filter(|_| !self.has(Bug::SkippedFollowUpRuns)) {
                Some(root) => {
                    self.skipped.insert(id, entries);
                    self.end(id, State::Cancelled, Some(Failure::skipped_follow_up(root)));
                }
                None => self.open(id),
            }
        }
    }

    /// A family is set going again: what follows it waits for it again, and what was skipped because of it comes back.
    pub(super) fn follow_again(&mut self, root: TaskId) {
        // It may be a follow-up itself, and waits for nobody now.
        self.skipped.remove(&root);
        let needed = self.follow_ups.values_mut().filter_map(|entries| entries.get_mut(&root));
        needed.filter(|entry| entry.needs_completed).for_each(|entry| entry.ended = None);
        if self.has(Bug::SkippedFollowUpStaysAway) {
            return;
        }
        let spoiled = self.skipped.iter().filter(|(_, entries)| entries.contains_key(&root));
        for id in spoiled.map(|(id, _)| *id).collect::<Vec<_>>() {
            let mut entries = self.skipped.remove(&id).unwrap_or_default();
            if self.has(Bug::SpoilersAreForgotten) {
                entries.retain(|other, _| *other == root);
            }
            entries.insert(root, Entry { needs_completed: true, ended: None });
            self.follow_ups.insert(id, entries);
            let row = self.row_mut(id);
            row.go_pending(Gate::After);
            (row.task.finished_at, row.task.failure) = (None, None);
        }
    }
}
