//! A store with very many tasks of every sort in it, made by the engine itself, so that it looks like one that has been in use: what
//! the pages are measured on.

use std::time::Duration;

use anyhow::Context as _;
use kinfolk::{CommandName, Ctx, Due, NewTask, Policy, QueueName, State, Sub, TaskError, WorkerBuilder, WorkerHandle};
use kinfolk_core::filter::{Filter, Order};
use kinfolk_core::limits::PAGE_MAX;
use kinfolk_core::operate::Action;
use kinfolk_core::{Command, Json, OnDuplicate, Schedule, ScheduleName, StatusName, TaskId, Unique, UniqueScope};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::engine::{Engine, NOOP, OTHER, PARENT, QUEUE};
use super::grouped::GROUPED;
use super::load::payload;

/// What always fails, for one of a few reasons.
const FAILS: &str = "bench.fails";
/// What is cancelled before it runs.
const DROPPED: &str = "bench.dropped";
/// Tasks that are made ready for an enqueue at a time.
const PAGE: usize = 100_000;
/// A queue on which nothing starts.
const STILL: &str = "bench-still";
const SCHEDULE: &str = "bench-nightly";
const UNIQUE: &str = "bench-unique";

/// The payload of a parent: how many children it awaits, and how many of them fail, or are handled by nobody.
#[derive(Debug, Serialize, Deserialize)]
struct Family {
    children: usize,
    failing: usize,
    open: usize,
}

/// What is in the store, and what to call it in an address.
pub(super) struct Burden {
    /// The worker that holds the slots of full keys for as long as it lives.
    pub holder: WorkerHandle,
    /// Words that stand for what differs from store to store.
    pub words: Vec<(&'static str, String)>,
}

#[derive(Deserialize)]
struct Numbered {
    number: usize,
}

/// Fails as tasks of one command do: a few reasons, each with numbers of its own.
async fn fail(_ctx: Ctx, Numbered { number }: Numbered) -> Result<(), TaskError> {
    let words = match number % 5 {
        0 => format!("the bank refused order {number}: \"insufficient funds\""),
        1 => format!("timed out after {} ms", 1_000 + number % 997),
        2 => format!("no route to 10.0.{}.{}", number % 256, number / 256 % 256),
        3 => format!("customer {number} is gone"),
        _ => "the printer is out of paper".to_owned(),
    };
    Err(TaskError::new(words).do_not_retry())
}

async fn parent(ctx: Ctx, family: Family) -> Result<usize, TaskError> {
    let command = |n| match n {
        n if n < family.open => OTHER,
        n if n < family.open + family.failing => FAILS,
        _ => NOOP,
    };
    let subs = (0..family.children).map(|n| Sub::new(command(n), &payload(n)));
    Ok(ctx.fan_out::<Value>(subs).collect_all().await?.len())
}

/// Runs a worker until it has nothing more to do.
async fn run_dry(worker: WorkerBuilder) -> anyhow::Result<()> {
    let worker = worker.start().await?;
    worker.wait_idle().await;
    Ok(worker.stop().await?)
}

impl Engine {
    /// Fills the store with so many tasks: a family of a tenth of them that is at work, small ones, tasks that completed, failed or
    /// were cancelled, and tasks that are not due, ready, behind full keys, and on a paused queue.
    pub(super) async fn burden(&self, load: usize, capacity: usize) -> anyhow::Result<Burden> {
        self.declare_groups().await?;
        let names = [FAILS, DROPPED].map(|name| CommandName::new(name).map(Command::new));
        self.kinfolk().register(&names.into_iter().collect::<Result<Vec<_>, _>>()?).await?;
        let (tenth, twentieth, fiftieth, few) = (load / 10, load / 20, (load / 50).max(1), load / 1_000);
        let root = self.families(tenth, few, capacity).await?;
        self.plain(FAILS, twentieth, |task| task).await?;
        let ended = load.saturating_sub(3 * tenth + 2 * twentieth + 2 * fiftieth + 22 * few);
        self.plain(NOOP, ended, |task| task).await?;
        run_dry(self.worker_of(&[NOOP], capacity).handler(FAILS, fail)).await?;
        self.drop_some(fiftieth).await?;
        self.plain(NOOP, tenth, |task| NewTask { due: Due::After(Duration::from_secs(24 * 3600)), ..task }).await?;
        self.plain(OTHER, tenth, |task| task).await?;
        let still = QueueName::new(STILL)?;
        self.kinfolk().set_queue(&still, &Policy::default()).await?;
        self.kinfolk().pause(&still, None).await?;
        self.plain(NOOP, twentieth, |task| NewTask { queue: Some(still.clone()), ..task }).await?;
        let holder = self.block(fiftieth, capacity).await?;
        self.settings().await?;
        let words = self.words(root).await?;
        Ok(Burden { holder, words })
    }

    /// One family of this size, with children that have ended and others that nobody handles, and a few small ones of ten, half of
    /// which are at work as well.
    async fn families(&self, size: usize, few: usize, capacity: usize) -> anyhow::Result<TaskId> {
        let command = CommandName::new(PARENT)?;
        let task = |family: Family| anyhow::Ok(NewTask::new(command.clone(), Json::of(&family)?));
        let large = Family { children: size, failing: size / 100, open: size / 3 };
        let root = self.kinfolk().enqueue_many(&[task(large)?]).await?[0].id()?;
        let small = |n| task(Family { children: 10, failing: 0, open: n % 2 });
        self.enqueue_all((0..2 * few).map(small).collect::<anyhow::Result<_>>()?).await?;
        run_dry(self.worker_of(&[NOOP], capacity).handler(FAILS, fail).handler(PARENT, parent)).await?;
        Ok(root)
    }

    /// Enqueues so many tasks of a command, each changed a little.
    async fn plain(&self, command: &str, many: usize, change: impl Fn(NewTask) -> NewTask) -> anyhow::Result<()> {
        let command = CommandName::new(command)?;
        for from in (0..many).step_by(PAGE) {
            let page = (from..many.min(from + PAGE)).map(|n| change(NewTask::new(command.clone(), payload(n))));
            self.enqueue_all(page.collect()).await?;
        }
        Ok(())
    }

    /// Tasks that are cancelled before anyone takes them.
    async fn drop_some(&self, many: usize) -> anyhow::Result<()> {
        self.plain(DROPPED, many, |task| task).await?;
        let mut filter = Filter {
            command: Some(CommandName::new(DROPPED)?),
            state: vec![State::Pending],
            order: Order::Oldest,
            limit: PAGE_MAX,
            ..Filter::default()
        };
        loop {
            let page = self.kinfolk().store().bulk(Action::Cancel, &filter).await?;
            let Some(next) = page.next else { return Ok(()) };
            filter.after = Some(next);
        }
    }

    /// What a site has few of: schedules, statuses, unique keys.
    async fn settings(&self) -> anyhow::Result<()> {
        let noop = CommandName::new(NOOP)?;
        let task = NewTask::new(noop.clone(), payload(0));
        let schedule = Schedule::new(ScheduleName::new(SCHEDULE)?, "0 3 * * *", task.clone());
        self.kinfolk().store().put_schedule(&schedule).await?;
        self.kinfolk().store().put_status(&StatusName::new("bench")?, &[noop]).await?;
        let due = Due::After(Duration::from_secs(24 * 3600));
        let unique =
            Unique { key: UNIQUE.to_owned(), scope: UniqueScope::default(), on_duplicate: OnDuplicate::default() };
        let unique = NewTask { unique: Some(unique), due, ..task };
        self.kinfolk().enqueue_many(&[unique]).await?;
        Ok(())
    }

    /// What stands for what in an address.
    async fn words(&self, root: TaskId) -> anyhow::Result<Vec<(&'static str, String)>> {
        let store = self.kinfolk().store();
        let size = self.kinfolk().tally(root).await?.total;
        let child = store.children(root, size / 2, 1).await?.pop().context("a child of the large family")?;
        let fan_out = child.fan_out.context("the fan-out of a child")?;
        let now = store.now().await?;
        Ok(vec![
            ("{root}", root.to_string()),
            ("{child}", child.id.to_string()),
            ("{fan_out}", fan_out.to_string()),
            ("{completed}", self.newest(NOOP, State::Completed).await?),
            ("{failed}", self.newest(FAILS, State::Failed).await?),
            ("{later}", self.newest(NOOP, State::Pending).await?),
            ("{blocked}", self.newest(GROUPED, State::Pending).await?),
            ("{queue}", QUEUE.to_owned()),
            ("{still}", STILL.to_owned()),
            ("{command}", NOOP.to_owned()),
            ("{fails}", FAILS.to_owned()),
            ("{dropped}", DROPPED.to_owned()),
            ("{grouped}", GROUPED.to_owned()),
            ("{schedule}", SCHEDULE.to_owned()),
            ("{unique}", UNIQUE.to_owned()),
            ("{hour}", now.minus(Duration::from_secs(3_600)).to_string()),
            ("{now}", now.to_string()),
        ])
    }
    /// The newest task of a command in a state. A page looks at so many tasks only, so it can take several.
    async fn newest(&self, command: &str, state: State) -> anyhow::Result<String> {
        let command = CommandName::new(command)?;
        let mut filter = Filter { command: Some(command.clone()), state: vec![state], limit: 1, ..Filter::default() };
        loop {
            let page = self.kinfolk().store().list(&filter).await?;
            if let Some(task) = page.tasks.first() {
                return Ok(task.id.to_string());
            }
            let next = page.next.with_context(|| format!("no task of {command} is {state}"))?;
            filter = filter.next_page(next);
        }
    }
}
