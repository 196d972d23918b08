//! The checker of families is itself checked: a family that ran well is spoilt in every way, and each must be noticed.

use std::collections::BTreeMap;

use anyhow::{Context, Result, ensure};
use kinfolk_core::{ChildOrder, State, Task, TaskId};
use kinfolk_faults::bed::{Bed, Kind};
use kinfolk_faults::families::Families;
use kinfolk_faults::journal::{self, JournalLine};
use kinfolk_faults::sound::{all_tasks, wait_drained};
use kinfolk_faults::victim::{FollowUp, Plan};

use crate::{PATIENCE, journal, start, worker};

/// All that a checker gets to see.
#[derive(Clone)]
struct Scene {
    tasks: BTreeMap<TaskId, Task>,
    journal: Vec<JournalLine>,
}

impl Scene {
    /// A root with two children in order and a follow-up, all of it run.
    async fn new() -> Result<Self> {
        let bed = Bed::new(Kind::Sqlite).await?;
        let store = bed.open().await?;
        let _worker = start("the worker", &worker(&bed))?;
        let after = FollowUp { plan: Plan::named("after"), when_completed: false, key: None };
        let plan = Plan { order: ChildOrder::InOrder, follow_ups: vec![after], ..Plan::wide("root", 2) };
        // The worker makes the command known, and may not be that far.
        let deadline = std::time::Instant::now() + PATIENCE;
        while store.enqueue(&[plan.task()?]).await?[0].id().is_err() {
            ensure!(std::time::Instant::now() < deadline, "the worker does not start");
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        }
        wait_drained(&*store, PATIENCE).await?;
        Ok(Self { tasks: all_tasks(&*store).await?, journal: journal::read(&journal(&bed))? })
    }

    fn judge(&self) -> Result<()> {
        Families::new(self.tasks.clone(), &self.journal)?.judge()
    }

    fn named(&mut self, name: &str) -> Result<&mut Task> {
        let is_it = |task: &&mut Task| task.payload.to::<Plan>().is_ok_and(|plan| plan.name == name);
        self.tasks.values_mut().find(is_it).with_context(|| format!("there is no {name}"))
    }

    /// Moves all lines of a task to the front.
    fn hurry(&mut self, name: &str) -> Result<()> {
        let id = self.named(name)?.id;
        let (its, others): (Vec<_>, Vec<_>) =
            self.journal.drain(..).partition(|line| line.entry().is_some_and(|entry| entry.task == id));
        self.journal = [its, others].concat();
        Ok(())
    }
}

type Spoil = fn(&mut Scene) -> Result<()>;

/// Ways to spoil it, and what they are.
const SPOILS: &[(&str, Spoil)] = &[
    ("a child is missing", |scene| {
        let id = scene.named("root.1")?.id;
        scene.tasks.remove(&id);
        Ok(())
    }),
    ("a child was made twice", |scene| {
        let copy = Task { id: TaskId(1_000), ..scene.named("root.1")?.clone() };
        scene.tasks.insert(copy.id, copy);
        Ok(())
    }),
    ("a child is not in its family", |scene| {
        scene.named("root.1")?.root = TaskId(1_000);
        Ok(())
    }),
    ("a child has not ended", |scene| {
        scene.named("root.1")?.state = State::Running;
        Ok(())
    }),
    ("a child completed without having run", |scene| {
        let id = scene.named("root.1")?.id;
        scene.journal.retain(|line| line.entry().is_none_or(|entry| entry.task != id));
        Ok(())
    }),
    ("the parent ended first", |scene| {
        let root = scene.named("root")?;
        root.finished_at = root.started_at;
        Ok(())
    }),
    ("the parent completed though a child failed", |scene| {
        scene.named("root.1")?.state = State::Failed;
        Ok(())
    }),
    ("children out of order", |scene| scene.hurry("root.1")),
    ("no follow-up", |scene| {
        let id = scene.named("after")?.id;
        scene.tasks.remove(&id);
        Ok(())
    }),
    ("the follow-up was made twice", |scene| {
        let copy = Task { id: TaskId(1_000), root: TaskId(1_000), ..scene.named("after")?.clone() };
        scene.tasks.insert(copy.id, copy);
        Ok(())
    }),
    ("the follow-up came first", |scene| scene.hurry("after")),
];

#[tokio::test(flavor = "multi_thread")]
async fn a_family_spoilt_in_any_way_is_noticed() -> Result<()> {
    let scene = Scene::new().await?;
    scene.judge().context("before anything was spoilt")?;
    for (what, spoil) in SPOILS {
        let mut spoilt = scene.clone();
        spoil(&mut spoilt)?;
        ensure!(spoilt.judge().is_err(), "not noticed: {what}");
    }
    Ok(())
}
