//! Sub-tasks: the children of a fan-out before they exist, and the options they share.

use std::time::Duration;

use kinfolk_core::limits::MADE_MAX;
use kinfolk_core::{InputError, Keys, NewTask, QueueName, Rule};
use serde::Serialize;

use super::key::Asked;
use crate::ctx::Ctx;
use crate::draft::{Draft, made_options, task_options};
use crate::task::Task;
use crate::task_error::TaskError;
use crate::trace;

/// A sub-task to be made: its command, its payload and its options. An option that is left out comes from the fan-out, then from
/// the command, then from the parent (the priority at once).
#[derive(Debug)]
pub struct Sub {
    pub(crate) draft: Draft,
}

impl Sub {
    /// A sub-task for a command by its name.
    pub fn new<P: Serialize + ?Sized>(command: impl AsRef<str>, args: &P) -> Self {
        Self { draft: Draft::of_command(command.as_ref(), args) }
    }

    /// A typed sub-task. It has no unique key, even if its type has one: a result that is awaited is its own.
    pub fn of<T: Task>(task: &T) -> Self {
        Self { draft: Draft::of_sub_task(task) }
    }

    task_options!();
    made_options!();
}

/// The options of a fan-out.
#[derive(Clone, Debug, Default)]
pub(crate) struct Terms {
    pub(crate) rule: Option<Rule>,
    pub(crate) queue: Option<QueueName>,
    pub(crate) priority: Option<i32>,
    pub(crate) max_attempts: Option<u16>,
    pub(crate) sub_task_timeout: Option<Duration>,
    pub(crate) keys: Keys,
    pub(crate) inherit_keys: bool,
    pub(crate) timeout: Option<Duration>,
    pub(crate) cancel_on_failure: bool,
    pub(crate) name: Option<String>,
    pub(crate) page: Option<u32>,
    pub(crate) mistake: Option<InputError>,
}

impl Terms {
    pub(crate) fn threshold(&mut self, share: f64) {
        if (0.0..=1.0).contains(&share) {
            // Parts in a million, so that no float decides anything later.
            self.rule = Some(Rule::Threshold((share * 1e6).round() as u32));
        } else {
            let words = format!("a threshold of {share} is out of range; it must be 0 to 1");
            self.mistake.get_or_insert(InputError::Other(words));
        }
    }

    pub(crate) fn on_queue(&mut self, queue: &str) {
        match QueueName::new(queue) {
            Ok(queue) => self.queue = Some(queue),
            Err(fault) => drop(self.mistake.get_or_insert(fault)),
        }
    }

    pub(crate) fn with_keys(&mut self, keys: Result<Keys, InputError>) {
        match keys {
            Ok(keys) => self.keys.0.extend(keys),
            Err(fault) => drop(self.mistake.get_or_insert(fault)),
        }
    }
}

/// Sub-tasks as they were asked for.
pub(crate) struct Children {
    /// The name of the operation.
    pub(crate) name: String,
    pub(crate) digest: String,
    /// How many there are.
    pub(crate) total: u32,
    /// The tasks themselves, unless they were made before.
    pub(crate) tasks: Vec<NewTask>,
}

impl Children {
    /// Reads the sub-tasks once; `None` when there are none. Those that were made before are not kept: they may be many.
    pub(crate) fn gather(ctx: &Ctx, terms: &Terms, subs: impl Iterator<Item = Sub>) -> Result<Option<Self>, TaskError> {
        let refused = |fault: InputError| TaskError::from(fault).do_not_retry();
        if let Some(mistake) = &terms.mistake {
            return Err(refused(mistake.clone()));
        }
        let mut asked = Asked::default();
        let expected = subs.size_hint().0;
        let mut gathered: Option<(Self, bool)> = None;
        for sub in subs {
            let mut child = sub.draft.into_task().map_err(refused)?;
            asked.child(&child);
            let (children, new) = gathered.get_or_insert_with(|| {
                let name = terms.name.clone().unwrap_or_else(|| child.command.to_string());
                let new = !ctx.with_book(|book| book.knows_next(&ctx.spot(&name)));
                let room = if new { expected.min(MADE_MAX) } else { 0 };
                (Self { name, digest: String::new(), total: 0, tasks: Vec::with_capacity(room) }, new)
            });
            children.total += 1;
            if *new {
                share_names(&mut child, children.tasks.last());
                let child = fitted(ctx, terms, child);
                child.check().map_err(refused)?;
                children.tasks.push(child);
            }
        }
        Ok(gathered.map(|(mut children, _)| {
            children.tasks.shrink_to_fit();
            Self { digest: asked.digest(), ..children }
        }))
    }
}

/// Lets a child share the text of its names with the one before it: there may be very many.
fn share_names(child: &mut NewTask, before: Option<&NewTask>) {
    let Some(before) = before else { return };
    if child.command == before.command {
        child.command = before.command.clone();
    }
    if child.queue.is_some() && child.queue == before.queue {
        child.queue.clone_from(&before.queue);
    }
}

/// A child with what the fan-out says about it. The store takes an option that is left out from its command, then from the parent.
fn fitted(ctx: &Ctx, terms: &Terms, mut child: NewTask) -> NewTask {
    child.queue = child.queue.or_else(|| terms.queue.clone());
    child.priority = child.priority.or(terms.priority);
    child.max_attempts = child.max_attempts.or(terms.max_attempts);
    child.timeout = child.timeout.or(terms.sub_task_timeout);
    for (group, key) in &terms.keys.0 {
        child.keys.0.entry(group.clone()).or_insert_with(|| key.clone());
    }
    child.inherit_keys |= terms.inherit_keys;
    child.trace = child.trace.or_else(trace::current).or_else(|| ctx.trace().map(str::to_owned));
    child
}
