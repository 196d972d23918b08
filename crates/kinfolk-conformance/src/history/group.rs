//! The operations on groups that random histories are made of, how they are drawn, played and compared.
//!
//! What a store may do as it likes is levelled before it is compared: behind which of several full keys a task waits, and so
//! whether one that is blocked shows the gate `open` or `limit`, how many wait behind each key, and how many of those that
//! stand before a task are open. Which tasks start, also where values take turns or room is kept, who holds slots and why a task
//! is not running is compared to the letter.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use proptest::prelude::*;

use kinfolk_core::inspect::Stats;
use kinfolk_core::limits::FAILED_TRIES_MAX;
use kinfolk_core::store::Answer;
use kinfolk_core::{
    Claim, Claimed, ClaimedTask, CommandName, Explanation, Gate, GroupName, GroupRef, GroupSpec, Groups, Inspect, Json,
    KeyFilter, KeyView, Keys, Operate, Outcome, Policy, Rate, Reason, Setting, Task, Work,
};

use super::op::{Ask, COMMANDS, End, Op, QUEUES, WORKERS};
use super::play::{Difference, Player, command_name};

/// One step of a history about groups.
#[derive(Clone, Debug)]
#[allow(missing_docs, reason = "each names a verb of the store and what it is given")]
pub enum Change {
    SetGroup {
        group: usize,
        key: Option<u8>,
        setting: Setting,
    },
    RemoveGroup(usize),
    SlowDown {
        back: usize,
        group: usize,
        secs: u64,
    },
    /// A task needs two hot keys, and others come and go under each of them, until room is kept for it.
    Struggle {
        worker: usize,
        queue: usize,
    },
}

/// The keys of a task to enqueue. `bold`: also those of groups that its command does not declare, to be rejected.
#[derive(Clone, Debug)]
#[allow(missing_docs, reason = "each says it")]
pub struct Given {
    pub keys: Vec<(usize, u8)>,
    pub inherit: bool,
    pub bold: bool,
}

const NAMES: [&str; 4] = ["tenant", "message", "provider", "total"];
const TENANT: usize = 0;
const MESSAGE: usize = 1;
const PROVIDER: usize = 2;
const TOTAL: usize = 3;
const HOT: &str = "hot";

pub(super) fn change() -> impl Strategy<Value = Change> {
    let group = 0..all_groups().len();
    let rate = prop::option::weighted(0.2, rate());
    let setting = (prop::option::weighted(0.7, 0..4u32), rate).prop_map(|(limit, rate)| Setting { limit, rate });
    prop_oneof![
        12 => (group.clone(), prop::option::of(0..2u8), setting)
            .prop_map(|(group, key, setting)| Change::SetGroup { group, key, setting }),
        2 => group.prop_map(Change::RemoveGroup),
        1 => (0..WORKERS, 0..QUEUES).prop_map(|(worker, queue)| Change::Struggle { worker, queue }),
        4 => (0..6usize, 0..NAMES.len(), prop::sample::select(vec![0u64, 3, 12, 40]))
            .prop_map(|(back, group, secs)| Change::SlowDown { back, group, secs }),
    ]
}

pub(super) fn groups() -> impl Strategy<Value = Groups> {
    let tenant = (1..4u32, prop::bool::weighted(0.3), prop::bool::weighted(0.4))
        .prop_map(|(limit, hold, shared)| GroupSpec { hold, shared, ..GroupSpec::limit(limit) });
    let provider = (rate(), prop::option::weighted(0.3, 1..3u32))
        .prop_map(|(rate, limit)| GroupSpec { limit, ..GroupSpec::rate(rate).shared() });
    (
        prop::option::weighted(0.7, tenant),
        prop::option::weighted(0.5, Just(GroupSpec::limit(1))),
        prop::option::weighted(0.3, provider),
        prop::option::weighted(0.2, (1..4u32).prop_map(GroupSpec::limit)),
    )
        .prop_map(|(tenant, message, provider, total)| {
            let all = [(TENANT, tenant), (MESSAGE, message), (PROVIDER, provider), (TOTAL, total)];
            Groups(all.into_iter().filter_map(|(group, spec)| Some((group_name(group), spec?))).collect())
        })
}

/// The key whose values take turns on a queue.
pub(super) fn fair_key() -> impl Strategy<Value = GroupName> {
    prop_oneof![4 => Just(TENANT), 1 => Just(MESSAGE)].prop_map(group_name)
}

fn rate() -> impl Strategy<Value = Rate> {
    // Intervals that the spans by which time passes in a history come close to from below.
    (1..3u32, 1..3u32).prop_map(|(count, burst)| Rate::new(count, Duration::from_secs(4)).burst(burst))
}

pub(super) fn given() -> impl Strategy<Value = Given> {
    let key = |group: usize, weight| prop::option::weighted(weight, (Just(group), 0..2u8));
    (key(TENANT, 0.6), key(MESSAGE, 0.4), key(PROVIDER, 0.4), any::<bool>(), prop::bool::weighted(0.05)).prop_map(
        |(tenant, message, provider, inherit, bold)| Given {
            keys: [tenant, message, provider].into_iter().flatten().collect(),
            inherit,
            bold,
        },
    )
}

/// What a history knows of groups, to give sensible keys and to know what may differ.
#[derive(Default)]
pub(super) struct Known {
    declared: BTreeMap<CommandName, Groups>,
    /// Some command has had groups.
    grouped: bool,
    /// Some key has had a rate, or was slowed down.
    rated: bool,
    /// Some command has had a total: its tasks are held up without keys.
    totalled: bool,
    /// Some queue will have a fair key.
    fair: bool,
}

impl Known {
    /// What is known of a history before it begins.
    pub(super) fn of(history: &[Op]) -> Self {
        let fair = |op: &Op| matches!(op, Op::SetQueue { policy, .. } if policy.fair.is_some());
        Self { fair: history.iter().any(fair), ..Self::default() }
    }

    /// The priority that is given. Where values take turns all have the same: in which order those that were held up by a key
    /// and those in line of another priority come is not laid down.
    pub(super) fn priority(&self, given: Option<i32>) -> Option<i32> {
        given.filter(|_| !self.fair)
    }

    /// Takes in what a registration declares, before it is carried out.
    pub(super) fn hear(&mut self, groups: Option<&Groups>) {
        for (name, spec) in groups.into_iter().flat_map(|groups| &groups.0) {
            self.grouped = true;
            self.rated |= spec.rate.is_some();
            self.totalled |= *name == GroupName::total();
        }
    }

    pub(super) fn keys(&self, command: &CommandName, given: &Given) -> Keys {
        let declared = self.declared.get(command);
        let known = |name: &GroupName| given.bold || declared.is_some_and(|groups| groups.0.contains_key(name));
        let keys = given.keys.iter().map(|(group, key)| (group_name(*group), key_name(*key)));
        Keys(keys.filter(|(name, _)| known(name)).collect())
    }

    pub(super) fn level_task(&self, task: &mut Task) {
        if task.gate == Some(Gate::Limit) && (!task.keys.is_empty() || self.totalled) {
            task.gate = Some(Gate::Open);
        }
    }

    pub(super) fn level_stats(&self, stats: &mut Stats) {
        if self.grouped {
            stats.oldest_open.clear();
        }
    }

    fn level_explanation(&self, explanation: &mut Explanation) {
        if let [Reason::InLine { before }] = &mut explanation.reasons[..]
            && self.grouped
        {
            *before = 0;
        }
    }

    /// A repeated claim says of a task whose group was removed meanwhile what it likes.
    fn level_claimed(&self, claim: &Claim, claimed: &mut Claimed) {
        if claim.repeated {
            claimed.tasks.iter_mut().for_each(|task| task.holds_slots = false);
        }
        if self.rated {
            claimed.next_due = None;
        }
    }
}

fn level_keys(keys: &mut Vec<KeyView>) {
    keys.iter_mut().for_each(|key| key.waiters = 0);
    keys.retain(|key| key.held > 0 || key.until.is_some());
}

impl Player<'_> {
    pub(super) async fn change(&mut self, change: &Change) -> Result<(), Difference> {
        match change {
            Change::SetGroup { group, key, setting } => {
                let group = &all_groups()[*group];
                let key = key.map(key_name);
                self.known.rated |= setting.rate.is_some();
                let store = self.store.set_group(group, key.as_deref(), setting).await;
                let model = self.model.set_group(group, key.as_deref(), setting).await;
                self.same("set_group", &model, &store)
            }
            Change::RemoveGroup(group) => {
                let group = &all_groups()[*group];
                let store = self.store.remove_group(group).await;
                let model = self.model.remove_group(group).await;
                self.learn().await;
                self.same("remove_group", &model, &store)
            }
            Change::SlowDown { back, group, secs } => {
                let Some(task) = self.attempt(*back) else { return Ok(()) };
                let (group, until) = (group_name(*group), self.now.plus(Duration::from_secs(*secs)));
                self.known.rated = true;
                let store = self.store.slow_down(task.id, task.token, &group, until).await;
                let model = self.model.slow_down(task.id, task.token, &group, until).await;
                self.same("slow_down", &model, &store)
            }
            Change::Struggle { worker, queue } => Box::pin(self.struggle(*worker, *queue)).await,
        }
    }

    /// Each round ends the one that holds a key, with another one coming in behind.
    async fn struggle(&mut self, worker: usize, queue: usize) -> Result<(), Difference> {
        let groups = Groups([TENANT, MESSAGE].map(|group| (group_name(group), GroupSpec::limit(1))).into());
        let command = Op::Register {
            command: 0,
            queue,
            priority: 0,
            max_attempts: Some(3),
            base_ms: 0,
            max_strikes: 20,
            groups: Some(groups),
        };
        self.apply(&command).await?;
        // Among values that take turns room may be kept one claim earlier.
        self.apply(&Op::SetQueue { queue, policy: Policy::default() }).await?;
        self.apply(&Op::RegisterWorker { worker, commands: 7, lease_s: 30 }).await?;
        // Behind which of two full keys a task waits is not laid down, so it never comes across two.
        let claim = Op::Claim { worker, queue, commands: 1, limit: 50, repeat: false };
        for groups in [&[TENANT][..], &[TENANT, MESSAGE], &[MESSAGE]] {
            self.apply(&Op::Enqueue(vec![hot(groups)])).await?;
            self.apply(&claim).await?;
        }
        for round in 0..2 * usize::from(FAILED_TRIES_MAX) + 2 {
            let side = [TENANT, MESSAGE][round % 2];
            self.apply(&Op::Enqueue(vec![hot(&[side])])).await?;
            let holder = |task: &&ClaimedTask| task.keys.get(&group_name(side)) == Some(HOT) && task.keys.0.len() == 1;
            let back = self.claims.iter().rev().position(|task| holder(&task));
            let done = End { outcome: Outcome::Done(None), made: None };
            self.apply(&Op::Settle(back.map(|back| (back, done)).into_iter().collect())).await?;
            self.apply(&claim).await?;
        }
        Ok(())
    }

    /// Learns which groups there are now.
    pub(super) async fn learn(&mut self) {
        let commands = self.model.commands().await.unwrap_or_default();
        let groups = commands.into_iter().filter_map(|command| Some((command.name, command.groups?)));
        self.known.declared = groups.collect();
    }

    /// Claims on both; when the worker must look again is compared where it is laid down.
    pub(super) async fn claim_both(&self, claim: &Claim) -> Result<Claimed, Difference> {
        let mut store = self.store.claim(claim).await;
        let mut model = self.model.claim(claim).await;
        let given = store.as_ref().ok().map(|claimed| (claimed.next_due, claimed.tasks.len()));
        let latest = self.model.must_look_by(claim);
        let level = |claimed: &mut Answer<Claimed>| {
            if let Ok(claimed) = claimed {
                self.known.level_claimed(claim, claimed);
            }
        };
        level(&mut store);
        level(&mut model);
        if let (Ok(store), Ok(model)) = (&mut store, &model) {
            // A hint too many costs a look, and no more.
            store.tasks.iter_mut().zip(&model.tasks).for_each(|(store, model)| store.holds_slots &= model.holds_slots);
        }
        self.same("claim", &model, &store)?;
        if let (Some((next_due, taken)), Some(latest)) = (given, latest)
            && self.known.rated
            && taken < claim.limit
            && next_due.is_none_or(|next_due| next_due > latest)
        {
            self.same("claim: when to look again", &Ok(Some(latest)), &Ok(next_due))?;
        }
        Ok(store.unwrap_or_default())
    }

    /// Compares groups, keys, and why each of these is not running. Of those that have ended, and so wait for nothing, one of
    /// each state is asked about.
    pub(super) async fn observe_groups(&self, tasks: &[Task]) -> Result<(), Difference> {
        self.same("groups", &self.model.groups().await, &self.store.groups().await)?;
        let filter = KeyFilter { limit: 1_000, ..KeyFilter::default() };
        let (mut model, mut store) = (self.model.keys(&filter).await, self.store.keys(&filter).await);
        let _ = [&mut model, &mut store].map(|keys| keys.as_mut().map(level_keys));
        self.same("keys", &model, &store)?;
        let mut ended = BTreeSet::new();
        for Task { id, state, .. } in tasks {
            if state.is_terminal() && !ended.insert(*state) {
                continue;
            }
            let id = *id;
            let (mut model, mut store) = (self.model.explain(id).await, self.store.explain(id).await);
            let level = |explanation: &mut Explanation| self.known.level_explanation(explanation);
            let _ = [&mut model, &mut store].map(|explanation| explanation.as_mut().map(level));
            self.same("explain", &model, &store)?;
        }
        Ok(())
    }
}

/// The groups that operators speak of: of each command, and shared.
fn all_groups() -> Vec<GroupRef> {
    let shared = [TENANT, PROVIDER].map(|group| GroupRef::shared(group_name(group)));
    let own = (0..COMMANDS).flat_map(|command| {
        [TENANT, MESSAGE, TOTAL].map(|group| GroupRef::of(command_name(command), group_name(group)))
    });
    shared.into_iter().chain(own).collect()
}

fn group_name(group: usize) -> GroupName {
    GroupName::new(NAMES[group]).expect("a sound name")
}

fn key_name(key: u8) -> String {
    ["acme", "beta", HOT][usize::from(key)].to_owned()
}

/// A task of the first command under the hot key of each of these groups.
fn hot(groups: &[usize]) -> Ask {
    Ask {
        command: 0,
        payload: Json::object(),
        queue: None,
        priority: None,
        delay_s: None,
        unique: None,
        max_attempts: None,
        timeout_s: None,
        given: Given { keys: groups.iter().map(|group| (*group, 2)).collect(), inherit: false, bold: false },
    }
}
