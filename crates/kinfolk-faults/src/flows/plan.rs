//! Workflows as they are planned.

use kinfolk_core::durable::Rule;
use kinfolk_core::{CommandName, InputError, Json, NewTask};
use serde::{Deserialize, Serialize};

/// Plays the [`Flow`] in its payload.
pub const FLOW: &str = "flow";
/// Returns about 1 KiB: what a long stream is made of.
pub const PAD: &str = "pad";
/// A signal that workflows wait for.
pub const GO: &str = "go";

/// What one durable handler does, and all that it makes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Flow {
    /// A name that no other task has.
    pub name: String,
    /// What it does, one after another.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ops: Vec<Op>,
    /// Attempts that end in an error when all operations are through: the next one sees all of them again.
    pub errors: u16,
    /// Fails for good in the end, as long as there is no file [`crate::victim::MENDED`] beside the notes.
    pub fails: bool,
    /// Fails for good when a call or a fan-out was settled badly; otherwise it goes on.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub strict: bool,
    /// Blocks its thread in every step body, so that it goes on after its process was stopped.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub holds: bool,
    /// What it returns, to the digit.
    pub returns: Json,
}

/// One durable operation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Op {
    /// A step whose body returns something new each time it is entered.
    Step,
    /// One child.
    Call(Box<Flow>),
    /// Children, and all their results.
    FanOut {
        /// When it is settled.
        rule: Rule,
        /// How long it may take.
        timeout_ms: Option<u64>,
        /// Whether its children are cancelled when the task fails.
        cancels: bool,
        /// The children.
        flows: Vec<Flow>,
    },
    /// Children, and their results as they come.
    Stream {
        /// Results after which the handler is resumed.
        page: u32,
        /// Whether they are folded, or taken one by one.
        folds: bool,
        /// The children.
        flows: Vec<Flow>,
    },
    /// Children that return a lot, folded. Not judged one by one.
    Pads(u32),
    /// Children that do nothing, all results at once. Not judged one by one.
    Leaves(u32),
    /// A sleep between two looks at the clock.
    Sleep(u64),
    /// A signal of this name, or none after so long.
    Signal(String, Option<u64>),
    /// Nothing durable: blocks its thread, so that what comes next is asked for late if its process was stopped.
    Hold,
    /// The time.
    Now,
    /// A random number.
    Random,
    /// Children nobody waits for here, and what runs after the family.
    Make {
        /// The children.
        children: Vec<Flow>,
        /// What runs after the family.
        follow_up: Option<Box<Flow>>,
    },
    /// Two branches at once.
    Both(Vec<Op>, Vec<Op>),
    /// Ends the attempt badly, for good, whatever other branches wait for; unless it is mended.
    Fail,
}

impl Default for Flow {
    fn default() -> Self {
        let (name, ops, returns) = (String::new(), Vec::new(), Json::null());
        Self { name, ops, errors: 0, fails: false, strict: false, holds: false, returns }
    }
}

impl Flow {
    /// A workflow that does this.
    pub fn new(name: impl Into<String>, ops: Vec<Op>) -> Self {
        Self { name: name.into(), ops, ..Self::default() }
    }

    /// The root of this workflow, to be enqueued.
    pub fn task(&self) -> anyhow::Result<NewTask> {
        Ok(NewTask::new(CommandName::new(FLOW)?, Json::of(self)?))
    }

    /// Its operations with their paths, branches and all, but not those of its children.
    pub fn each(&self) -> Vec<(String, &Op)> {
        let mut all = Vec::new();
        each_of(&self.ops, "", &mut all);
        all
    }

    /// The signals that it asks for, in the order of asking.
    pub fn signals(&self) -> Vec<&str> {
        let asked = self.each().into_iter().map(|(_, op)| op);
        asked.filter_map(|op| if let Op::Signal(name, _) = op { Some(name.as_str()) } else { None }).collect()
    }
}

impl Op {
    /// The children that it waits for and that are judged one by one.
    pub fn awaited(&self) -> &[Flow] {
        match self {
            Self::Call(flow) => std::slice::from_ref(flow),
            Self::FanOut { flows, .. } | Self::Stream { flows, .. } => flows,
            _ => &[],
        }
    }

    /// When the children that it waits for are settled.
    pub const fn rule(&self) -> Rule {
        match self {
            Self::FanOut { rule, .. } => *rule,
            Self::Stream { .. } => Rule::CollectAll,
            _ => Rule::FailFast,
        }
    }
}

fn each_of<'a>(ops: &'a [Op], path: &str, all: &mut Vec<(String, &'a Op)>) {
    for (nth, op) in ops.iter().enumerate() {
        let path = format!("{path}{nth}");
        all.push((path.clone(), op));
        if let Op::Both(left, right) = op {
            each_of(left, &format!("{path}l"), all);
            each_of(right, &format!("{path}r"), all);
        }
    }
}

/// The value of the n-th signal of a name to one task.
pub fn signal_value(nth: usize) -> Result<Json, InputError> {
    Json::of(&nth)
}
