//! The operations of durable handlers that random histories are made of, how they are drawn, and how they are played.

use std::collections::BTreeSet;
use std::time::Duration;

use proptest::prelude::*;

use kinfolk_core::inspect::Filter;
use kinfolk_core::{
    Await, Checkpoint, ClaimedTask, FanOutId, Inspect, Json, Key, NewFanOut, Operate, ReadBy, Record, Report, Rule,
    SignalName, StepKind, Suspend, TaskId, Work,
};

use super::op::{Ask, Making, ask, making};
use super::play::{Difference, Player, made_of, new_task};

/// One step of a history about durable handlers. Attempts are counted from the latest claim, as in a settle.
#[derive(Clone, Debug)]
#[allow(missing_docs, reason = "each names a verb of the store and what it is given")]
pub enum Deed {
    Record {
        back: usize,
        steps: Vec<Step>,
    },
    Suspend(Vec<(usize, Pause)>),
    /// `fan_out`: the n-th of that task; past the end, one that never was.
    Expire {
        back: usize,
        fan_out: usize,
    },
    TakeSignal {
        back: usize,
        key: u8,
        name: u8,
    },
    Report {
        back: usize,
        done: u64,
    },
    Signal {
        task: usize,
        name: u8,
        value: Json,
    },
}

/// A suspension.
#[derive(Clone, Debug)]
#[allow(missing_docs, reason = "named as in Suspend")]
pub struct Pause {
    pub steps: Vec<Step>,
    pub made: Option<Making>,
    pub fan_outs: Vec<Fan>,
    /// Fan-outs begun before, the n-th of that task, and how many ends are waited for.
    pub awaits: Vec<(usize, u32)>,
    pub until_s: Option<i64>,
    pub signals: u8,
}

/// A checkpoint. `other`: its value is not the one that this key usually has.
#[derive(Clone, Debug)]
#[allow(missing_docs, reason = "named as in Checkpoint")]
pub struct Step {
    pub key: u8,
    pub kind: StepKind,
    pub other: bool,
}

/// A fan-out. `stale_key`: under a key that was used before.
#[derive(Clone, Debug)]
#[allow(missing_docs, reason = "named as in NewFanOut")]
pub struct Fan {
    pub stale_key: bool,
    pub children: Vec<Ask>,
    pub rule: Rule,
    pub timeout_s: Option<u64>,
    pub cancel_on_failure: bool,
    pub wake_at: Option<u32>,
}

/// How many of the latest claims are spoken of.
const CLAIMED: usize = 8;

pub(super) fn deed() -> impl Strategy<Value = Deed> {
    let back = 0..CLAIMED;
    prop_oneof![
        3 => (back.clone(), prop::collection::vec(step(), 1..3)).prop_map(|(back, steps)| Deed::Record { back, steps }),
        6 => prop::collection::vec((back.clone(), pause()), 1..3).prop_map(Deed::Suspend),
        4 => (back.clone(), 0..3usize).prop_map(|(back, fan_out)| Deed::Expire { back, fan_out }),
        2 => (back.clone(), 0..4u8, 0..2u8).prop_map(|(back, key, name)| Deed::TakeSignal { back, key, name }),
        1 => (back, 0..9u64).prop_map(|(back, done)| Deed::Report { back, done }),
        3 => (0..CLAIMED * 2, 0..2u8, (0..9u8).prop_map(|n| Json::of(&n).expect("a number is JSON")))
            .prop_map(|(task, name, value)| Deed::Signal { task, name, value }),
    ]
}

pub(super) fn pause() -> impl Strategy<Value = Pause> {
    let fan_outs = prop_oneof![
        2 => Just(Vec::new()),
        6 => fan().prop_map(|one| vec![one]),
        1 => prop::collection::vec(fan(), 2),
    ];
    let until_s = prop_oneof![Just(-5i64), Just(0), Just(3), Just(40), Just(4_000)];
    (
        prop::collection::vec(step(), 0..2),
        prop::option::weighted(0.3, making()),
        fan_outs,
        prop::collection::vec((0..3usize, 0..4u32), 0..2),
        prop::option::weighted(0.3, until_s),
        prop_oneof![3 => Just(0u8), 1 => Just(1u8), 1 => Just(3)],
    )
        .prop_map(|(steps, made, fan_outs, awaits, until_s, signals)| Pause {
            steps,
            made,
            fan_outs,
            awaits,
            until_s,
            signals,
        })
}

fn fan() -> impl Strategy<Value = Fan> {
    let rule = prop_oneof![
        2 => Just(Rule::FailFast),
        2 => Just(Rule::CollectAll),
        1 => prop::sample::select(vec![0, 1, 333_334, 500_000, 1_000_000]).prop_map(Rule::Threshold),
    ];
    let child = ask().prop_map(|ask| Ask { unique: None, ..ask });
    (
        prop::bool::weighted(0.05),
        prop::collection::vec(child, 1..4),
        rule,
        prop::option::weighted(0.3, prop_oneof![Just(0u64), Just(3), Just(40)]),
        any::<bool>(),
        prop::option::weighted(0.3, 0..3u32),
    )
        .prop_map(|(stale_key, children, rule, timeout_s, cancel_on_failure, wake_at)| Fan {
            stale_key,
            children,
            rule,
            timeout_s,
            cancel_on_failure,
            wake_at,
        })
}

fn step() -> impl Strategy<Value = Step> {
    let kind = prop_oneof![4 => Just(StepKind::Step), 1 => Just(StepKind::Fold)];
    (0..4u8, kind, prop::bool::weighted(0.03)).prop_map(|(key, kind, other)| Step { key, kind, other })
}

impl Player<'_> {
    pub(super) async fn deed(&mut self, deed: &Deed) -> Result<(), Difference> {
        match deed {
            Deed::Record { back, steps } => {
                let Some(task) = self.attempt(*back) else { return Ok(()) };
                let records = [Record { task: task.id, token: task.token, checkpoints: checkpoints(steps) }];
                let (store, model) = (self.store.record(&records).await, self.model.record(&records).await);
                self.same("record", &model, &store)
            }
            Deed::Suspend(pauses) => {
                let pauses: Vec<_> =
                    pauses.iter().filter_map(|(back, pause)| Some((self.attempt(*back)?, pause.clone()))).collect();
                self.suspend(&pauses).await
            }
            Deed::Expire { back, fan_out } => {
                let Some(task) = self.attempt(*back) else { return Ok(()) };
                let fan_out = self.fan_out_of(task.id, *fan_out);
                let store = self.store.expire(task.id, task.token, fan_out).await;
                let model = self.model.expire(task.id, task.token, fan_out).await;
                self.same("expire", &model, &store)
            }
            Deed::TakeSignal { back, key, name } => {
                let Some(task) = self.attempt(*back) else { return Ok(()) };
                let (key, name) = (key_of("signal", u32::from(*key)), signal_name(*name));
                let store = self.store.take_signal(task.id, task.token, &key, &name).await;
                let model = self.model.take_signal(task.id, task.token, &key, &name).await;
                self.same("take_signal", &model, &store)
            }
            Deed::Report { back, done } => {
                let Some(task) = self.attempt(*back) else { return Ok(()) };
                let report = Report { done: *done, total: Some(9), note: Some("on its way".to_owned()) };
                let store = self.store.report(task.id, task.token, &report).await;
                let model = self.model.report(task.id, task.token, &report).await;
                self.same("report", &model, &store)
            }
            Deed::Signal { task, name, value } => {
                // Handlers that wait are among what was claimed of late; the rest goes to any task.
                let claimed = self.attempt(*task).filter(|_| *task < CLAIMED);
                let (task, name) = (claimed.map_or(self.nth(*task), |task| task.id), signal_name(*name));
                let store = self.store.signal(task, &name, value).await;
                let model = self.model.signal(task, &name, value).await;
                self.same("signal", &model, &store)
            }
        }
    }

    /// Suspends: those that make nothing in one call, the others one by one, since which of them gets its numbers first is
    /// not laid down. Of one family only one member is suspended in a call: what they do to each other within it is not
    /// laid down either.
    pub(super) async fn suspend(&mut self, pauses: &[(ClaimedTask, Pause)]) -> Result<(), Difference> {
        let mut roots = BTreeSet::new();
        let pauses = pauses.iter().filter(|(task, _)| roots.insert(task.root));
        let suspends: Vec<_> = pauses.map(|(task, pause)| self.suspend_of(task, pause)).collect();
        let (makers, others): (Vec<_>, Vec<_>) = suspends.into_iter().partition(|one| one.iter().next().is_some());
        for maker in makers {
            self.suspend_at_once(vec![maker]).await?;
        }
        if others.is_empty() { Ok(()) } else { self.suspend_at_once(others).await }
    }

    /// Suspends on the store first, so that the model can give what was made the same numbers.
    async fn suspend_at_once(&mut self, suspends: Vec<Suspend>) -> Result<(), Difference> {
        let store = self.store.suspend(&suspends).await;
        self.number_what_was_made().await;
        let mut begun = Vec::new();
        for suspend in &suspends {
            let history = self.store.history(suspend.task).await.unwrap_or_default();
            let known = self.fan_outs.entry(suspend.task).or_default();
            for fan_out in history.fan_outs {
                if !known.contains(&fan_out.id) {
                    known.push(fan_out.id);
                    begun.push(fan_out.id);
                }
            }
        }
        self.model.number_next_fan_outs(begun);
        let model = self.model.suspend(&suspends).await;
        self.same("suspend", &model, &store)
    }

    fn suspend_of(&self, task: &ClaimedTask, pause: &Pause) -> Suspend {
        let before = self.fan_outs.get(&task.id).map_or(0, Vec::len);
        let fan_outs = pause.fan_outs.iter().enumerate().map(|(n, fan)| NewFanOut {
            key: key_of("items", if fan.stale_key { 0 } else { u32::try_from(before + n).unwrap_or(u32::MAX) }),
            digest: "items".to_owned(),
            children: fan.children.iter().map(|ask| new_task(ask, self.now, &self.known)).collect::<Vec<_>>().into(),
            rule: fan.rule,
            timeout: fan.timeout_s.map(Duration::from_secs),
            cancel_on_failure: fan.cancel_on_failure,
            wake_at: fan.wake_at.unwrap_or(u32::try_from(fan.children.len()).unwrap_or(u32::MAX)),
        });
        let awaits = pause.awaits.iter().filter_map(|(nth, wake_at)| {
            let fan_out = *self.fan_outs.get(&task.id)?.get(*nth)?;
            Some(Await { fan_out, wake_at: *wake_at })
        });
        let until = pause.until_s.map(|secs| {
            let span = Duration::from_secs(secs.unsigned_abs());
            if secs < 0 { self.now.minus(span) } else { self.now.plus(span) }
        });
        let mut suspend = Suspend {
            checkpoints: checkpoints(&pause.steps),
            made: pause.made.as_ref().map(|made| made_of(task, made, self.now, &self.known)),
            fan_outs: fan_outs.collect(),
            awaits: awaits.collect(),
            until,
            signals: (0..2).filter(|name| pause.signals >> name & 1 == 1).map(signal_name).collect(),
            ..Suspend::new(task.id, task.token)
        };
        if suspend.check().is_err() {
            suspend.until = Some(self.now.plus(Duration::from_secs(3)));
        }
        suspend
    }

    /// Compares what was recorded, and what became of what was awaited.
    pub(super) async fn observe_flows(&self) -> Result<(), Difference> {
        let page = self.store.list(&Filter { limit: 1_000, ..Filter::default() }).await.unwrap_or_default();
        for task in page.tasks.iter().filter(|task| task.steps > 0 || self.fan_outs.contains_key(&task.id)) {
            let (store, model) = (self.store.history(task.id).await, self.model.history(task.id).await);
            self.same("history", &model, &store)?;
        }
        for fan_out in self.fan_outs.values().flatten() {
            for (by, from, limit) in [(ReadBy::Index, 0, 100), (ReadBy::Ended, 0, 100), (ReadBy::Ended, 1, 1)] {
                let store = self.store.results(*fan_out, by, from, limit).await;
                let model = self.model.results(*fan_out, by, from, limit).await;
                self.same("results", &model, &store)?;
            }
            let indexes = [0, 2, 1, 100];
            let (store, model) =
                (self.store.ended_at(*fan_out, &indexes).await, self.model.ended_at(*fan_out, &indexes).await);
            self.same("ended_at", &model, &store)?;
        }
        Ok(())
    }

    pub(super) fn attempt(&self, back: usize) -> Option<ClaimedTask> {
        self.claims.get(self.claims.len().checked_sub(back + 1)?).cloned()
    }

    fn fan_out_of(&self, task: TaskId, nth: usize) -> FanOutId {
        let known = self.fan_outs.get(&task).and_then(|known| known.get(nth));
        known.copied().unwrap_or(FanOutId(i64::MAX))
    }
}

fn checkpoints(steps: &[Step]) -> Vec<Checkpoint> {
    let checkpoint = |step: &Step| Checkpoint {
        key: key_of("step", u32::from(step.key)),
        kind: step.kind,
        digest: String::new(),
        value: Json::of(&(step.key, step.other)).expect("numbers are JSON"),
    };
    let mut all: Vec<Checkpoint> = Vec::new();
    for step in steps.iter().map(checkpoint) {
        if all.iter().all(|before| before.key != step.key) {
            all.push(step);
        }
    }
    all
}

fn key_of(name: &str, occurrence: u32) -> Key {
    Key { branch: String::new(), name: name.to_owned(), occurrence }
}

fn signal_name(name: u8) -> SignalName {
    SignalName::new(["go", "stop"][usize::from(name)]).expect("a sound name")
}
