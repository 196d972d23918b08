//! The tasks that the handler of one attempt has made so far, kept until they are written.
//!
//! As long as the handler does nothing durable, this is a plain list. From then on each task in it is a named operation: it
//! is written with the suspension of the attempt, together with its checkpoint, and a resumed handler that asks for it
//! again makes nothing.

use std::sync::{Mutex, MutexGuard, PoisonError};

use kinfolk_core::limits::MADE_MAX;
use kinfolk_core::{Checkpoint, ChildOrder, Failure, FailureKind, FollowUp, InputError, Json, Made, NewTask, StepKind};

use crate::ctx::Ctx;
use crate::durable::book::{Book, Durable};
use crate::durable::key::{Spot, of_task};
use crate::durable::op::diverged;
use crate::family::MakeError;

/// Digests in one checkpoint; tasks that are made at one spot between two writes share as few checkpoints as possible.
const GROUP_MAX: usize = 4_000;

/// The relation of a new task to the task that makes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Relation {
    Child,
    Sibling,
    FollowUp,
    None,
}

/// The tasks that the handler of one attempt has made so far.
#[derive(Debug, Default)]
pub(crate) struct Buffer(Mutex<Kept>);

#[derive(Debug, Default)]
struct Kept {
    made: Option<Box<Made>>,
    /// The names of what was made, in the order of making; only in a handler that does something durable.
    made_at: Vec<MadeAt>,
    over: bool,
}

/// Which operation made a task.
#[derive(Debug)]
struct MadeAt {
    spot: Spot,
    number: u32,
    digest: String,
}

impl Ctx {
    pub(crate) fn make(&self, relation: Relation, name: Option<String>, new: FollowUp) -> Result<(), MakeError> {
        let (attempt, made) = (&self.attempt, &self.attempt.made);
        let mut kept = made.kept();
        if kept.over {
            return Err(MakeError::Over(self.task()));
        }
        kept.check_room()?;
        if attempt.durable.is_open() || name.is_some() || self.branch.is_some() {
            attempt.durable.open_with(|book| kept.write_all(book));
            let spot = match name {
                Some(name) => self.spot(&name),
                None => self.spot(&relation.name(&new.task)),
            };
            let digest = of_task(&new.task);
            if let Some(mut book) = attempt.durable.try_book() {
                let number = book.number(&spot);
                if let Some(recorded) = book.find_made(&spot, number) {
                    if recorded == digest {
                        return Ok(());
                    }
                    let words = diverged(self.task(), &spot.key(number), StepKind::Make, None);
                    book.mistaken(Failure::new(FailureKind::Diverged, words.clone()));
                    return Err(MakeError::Diverged(words));
                }
                kept.made_at.push(MadeAt { spot, number, digest });
            }
        }
        kept.add(relation, new);
        Ok(())
    }
}

impl Relation {
    /// The name of an operation that makes this.
    fn name(self, task: &NewTask) -> String {
        let verb = match self {
            Self::Child => "spawn",
            Self::Sibling => "spawn_sibling",
            Self::FollowUp => "follow_up",
            Self::None => "enqueue",
        };
        format!("{verb} {}", task.command)
    }
}

impl Kept {
    fn check_room(&self) -> Result<(), MakeError> {
        let made = self.made.as_ref().map_or(0, |made| made.len());
        if made >= MADE_MAX {
            let given = made + 1;
            return Err(InputError::Batch { what: "tasks made by one handler", given, max: MADE_MAX }.into());
        }
        Ok(())
    }

    fn add(&mut self, relation: Relation, new: FollowUp) {
        let made = self.made.get_or_insert_default();
        match relation {
            Relation::Child => made.children.push(new.task),
            Relation::Sibling => made.siblings.push(new.task),
            Relation::None => made.tasks.push(new.task),
            Relation::FollowUp => made.follow_ups.push(new),
        }
    }

    /// Gives names to all that was made before the handler did anything durable.
    fn write_all(&mut self, book: &mut Book) {
        let Some(made) = &self.made else { return };
        let follow_ups: Vec<_> = made.follow_ups.iter().map(|follow_up| follow_up.task.clone()).collect();
        let lists = [
            (Relation::Sibling, &made.siblings),
            (Relation::Child, &made.children),
            (Relation::FollowUp, &follow_ups),
            (Relation::None, &made.tasks),
        ];
        for (relation, task) in
            lists.into_iter().flat_map(|(relation, list)| list.iter().map(move |task| (relation, task)))
        {
            let spot = Spot { branch: "".into(), name: relation.name(task).into() };
            let number = book.number(&spot);
            self.made_at.push(MadeAt { spot, number, digest: of_task(task) });
        }
    }
}

impl Buffer {
    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Opens the book of the attempt, with all that was made before.
    pub(crate) fn open(&self, durable: &Durable) {
        let mut kept = self.kept();
        durable.open_with(|book| kept.write_all(book));
    }

    pub(crate) fn in_order(&self, order: ChildOrder) {
        let mut kept = self.kept();
        if order != ChildOrder::default() || kept.made.is_some() {
            kept.made.get_or_insert_default().order = order;
        }
    }

    pub(crate) fn has_children(&self) -> bool {
        self.kept().made.as_ref().is_some_and(|made| !made.children.is_empty())
    }

    /// The attempt has ended: all that it made, for the settle. Nothing can be added from now on.
    pub(crate) fn close(&self) -> Option<Box<Made>> {
        let mut kept = self.kept();
        kept.over = true;
        kept.made.take().filter(|made| !made.is_empty())
    }

    /// The attempt is suspended: all that it made, with the checkpoints that say so.
    pub(crate) fn close_with_checkpoints(&self) -> (Option<Box<Made>>, Vec<Checkpoint>) {
        let made = self.close();
        let made_at = std::mem::take(&mut self.kept().made_at);
        (made, checkpoints(made_at))
    }
}

/// One checkpoint for all that was made at one spot under consecutive numbers.
fn checkpoints(mut made_at: Vec<MadeAt>) -> Vec<Checkpoint> {
    made_at.sort_by(|a, b| (&a.spot.branch, &a.spot.name, a.number).cmp(&(&b.spot.branch, &b.spot.name, b.number)));
    let mut groups: Vec<(Spot, u32, Vec<String>)> = Vec::new();
    for MadeAt { spot, number, digest } in made_at {
        match groups.last_mut() {
            Some((of, first, digests))
                if *of == spot && *first as usize + digests.len() == number as usize && digests.len() < GROUP_MAX =>
            {
                digests.push(digest);
            }
            _ => groups.push((spot, number, vec![digest])),
        }
    }
    let checkpoint = |(spot, first, digests): (Spot, u32, Vec<String>)| Checkpoint {
        key: spot.key(first),
        kind: StepKind::Make,
        digest: String::new(),
        value: Json::of(&digests).unwrap_or_else(|_| Json::null()),
    };
    groups.into_iter().map(checkpoint).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use kinfolk_core::When;

    fn task(payload: u32) -> NewTask {
        NewTask::new("work".parse().unwrap(), Json::of(&payload).unwrap())
    }

    #[test]
    fn one_attempt_makes_only_so_many_tasks_and_nothing_after_its_end() {
        let buffer = Buffer::default();
        for _ in 0..MADE_MAX {
            let mut kept = buffer.kept();
            kept.check_room().unwrap();
            kept.add(Relation::Child, FollowUp { task: task(1), when: When::default() });
        }
        assert!(matches!(buffer.kept().check_room(), Err(MakeError::Input(InputError::Batch { max: MADE_MAX, .. }))));
        assert_eq!(buffer.close().map(|made| made.len()), Some(MADE_MAX));
        assert!(buffer.kept().over);
        assert_eq!(buffer.close(), None);
    }

    #[test]
    fn what_was_made_at_one_spot_shares_a_checkpoint() {
        let buffer = Buffer::default();
        for number in 0..3 {
            buffer.kept().add(Relation::Child, FollowUp { task: task(number), when: When::default() });
        }
        buffer.kept().add(Relation::None, FollowUp { task: task(9), when: When::default() });
        buffer.open(&Durable::default());
        let (made, written) = buffer.close_with_checkpoints();
        assert_eq!(made.map(|made| made.len()), Some(4));
        let names: Vec<_> = written.iter().map(|checkpoint| checkpoint.key.to_string()).collect();
        assert_eq!(names, ["enqueue work", "spawn work"]);
        assert_eq!(written[1].value.to::<Vec<String>>().unwrap(), [0, 1, 2].map(|number| of_task(&task(number))));
    }
}
