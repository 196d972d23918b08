//! The engine's side of groups: tasks with keys, workers that handle them, and keys that are full for as long as it takes.

use std::time::Duration;

use anyhow::Context as _;
use kinfolk::{Command, CommandName, NewTask, TaskError, WorkerHandle};
use kinfolk_core::limits::PAGE_MAX;
use kinfolk_core::{GroupName, GroupRef, Groups, KeyFilter, Keys};
use serde::de::IgnoredAny;
use tokio::sync::mpsc;

use super::engine::{Engine, QUEUE};
use super::load::{Timed, payload};

/// What has two groups: [`TENANT`] and [`MESSAGE`].
pub(super) const GROUPED: &str = "bench.grouped";
/// What has ten groups.
pub(super) const MANY: &str = "bench.many-groups";
const TENANT: &str = "tenant";
const MESSAGE: &str = "message";
/// Slots of each tenant.
const TENANT_LIMIT: u32 = 20;
/// Groups of [`MANY`], keys in each of them, and slots of each key.
const MANY_GROUPS: usize = 10;
const MANY_KEYS: u64 = 100;
const MANY_LIMIT: u32 = 5;
/// Tenants all of whose slots are taken.
const FULL_TENANTS: usize = 10;
/// Tasks that hold those slots.
const HOLDERS: usize = FULL_TENANTS * TENANT_LIMIT as usize;
/// No handler takes longer to start.
const START_MAX: Duration = Duration::from_secs(120);
/// Tasks that are made ready for an enqueue at a time.
const PAGE: usize = 100_000;

/// What keys tasks have.
#[derive(Clone, Copy, Debug)]
pub(super) enum Shape {
    /// None, and no groups.
    Plain,
    /// One of so many tenants, and a message of their own.
    Tenants(usize),
    /// A tenant whose slots are to be taken, and a message of their own.
    Holders,
    /// A tenant all of whose slots are taken, and a message of their own.
    Blocked,
    /// One in each of ten groups.
    Many,
}

impl Shape {
    /// The command of such tasks.
    pub(super) const fn command(self) -> &'static str {
        match self {
            Self::Plain => super::engine::NOOP,
            Self::Tenants(_) | Self::Holders | Self::Blocked => GROUPED,
            Self::Many => MANY,
        }
    }

    /// The keys of the task with this number.
    fn keys(self, n: usize) -> anyhow::Result<Keys> {
        let two = |tenant, message| Keys::of([(TENANT, tenant), (MESSAGE, message)]);
        let full = || format!("full-{}", n % FULL_TENANTS);
        let key = |group: usize| format!("k-{}", scattered(n, group) % MANY_KEYS);
        Ok(match self {
            Self::Plain => Keys::new(),
            Self::Tenants(many) => two(format!("t-{}", n % many), format!("m-{n}"))?,
            Self::Holders => two(full(), format!("h-{n}"))?,
            Self::Blocked => two(full(), format!("b-{n}"))?,
            Self::Many => Keys::of((0..MANY_GROUPS).map(|group| (many_group(group), key(group))))?,
        })
    }
}

/// A number that has nothing to do with its neighbours, and is the same in every run.
fn scattered(n: usize, group: usize) -> u64 {
    let mut bits =
        (n as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ (group as u64 + 1).wrapping_mul(0xd1b5_4a32_d192_ed03);
    bits = (bits ^ (bits >> 31)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits ^ (bits >> 29)
}

fn many_group(group: usize) -> String {
    format!("group-{group}")
}

impl Engine {
    /// Registers the commands with groups.
    pub(super) async fn declare_groups(&self) -> anyhow::Result<()> {
        let two = Groups::of([(TENANT, TENANT_LIMIT), (MESSAGE, 1)])?;
        let many = Groups::of((0..MANY_GROUPS).map(|group| (many_group(group), MANY_LIMIT)))?;
        for (name, groups) in [(GROUPED, two), (MANY, many)] {
            let command = Command { groups: Some(groups), ..Command::new(CommandName::new(name)?) };
            self.kinfolk().register(&[command]).await?;
        }
        Ok(())
    }

    /// Enqueues `n` tasks of a shape.
    pub(super) async fn enqueue_shape(&self, shape: Shape, n: usize) -> anyhow::Result<Timed> {
        let command = CommandName::new(shape.command())?;
        let task = |n| anyhow::Ok(NewTask { keys: shape.keys(n)?, ..NewTask::new(command.clone(), payload(n)) });
        let mut timed = Timed { took: Duration::ZERO, calls: Vec::new() };
        for from in (0..n).step_by(PAGE) {
            let page = (from..n.min(from + PAGE)).map(task).collect::<anyhow::Result<_>>()?;
            let Timed { took, calls } = self.enqueue_all(page).await?;
            timed.took += took;
            timed.calls.extend(calls);
        }
        Ok(timed)
    }

    /// Takes all slots of some tenants and lets `many` tasks wait behind them. They wait for as long as the worker that
    /// comes back lives; it takes nothing more.
    pub(super) async fn block(&self, many: usize, capacity: usize) -> anyhow::Result<WorkerHandle> {
        let (send, mut started) = mpsc::unbounded_channel();
        let hold = move |_, _: IgnoredAny| {
            let _ = send.send(());
            std::future::pending::<Result<(), TaskError>>()
        };
        self.enqueue_shape(Shape::Holders, HOLDERS).await?;
        let worker = self.kinfolk().worker().queue(QUEUE, HOLDERS).capacity(HOLDERS).maintenance(false);
        let holder = worker.handler(GROUPED, hold).start().await?;
        for _ in 0..HOLDERS {
            tokio::time::timeout(START_MAX, started.recv()).await.context("the holders of slots don't start")?;
        }
        self.enqueue_shape(Shape::Blocked, many).await?;
        let blocker = self.worker_of(&[GROUPED], capacity).start().await?;
        let (mut waiting, mut before) = (0, None);
        // A claim blocks so many at most: it takes several until all have been looked at.
        while waiting < many as u64 && before != Some(waiting) {
            before = Some(waiting);
            blocker.wait_idle().await;
            waiting = self.waiting().await?;
        }
        blocker.stop().await?;
        anyhow::ensure!(waiting == many as u64, "{waiting} of {many} tasks wait behind full keys");
        Ok(holder)
    }

    /// Tasks that wait behind the key of a tenant.
    async fn waiting(&self) -> anyhow::Result<u64> {
        let group = GroupRef::of(CommandName::new(GROUPED)?, GroupName::new(TENANT)?);
        let filter = KeyFilter { group: Some(group), blocking: true, after: None, limit: PAGE_MAX };
        Ok(self.kinfolk().store().keys(&filter).await?.iter().map(|key| key.waiters).sum())
    }
}
