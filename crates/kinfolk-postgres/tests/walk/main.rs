//! Pairs of calls, walked through every order of their marked points: whatever the order, the invariants hold, nobody locks
//! up, and what follows is one of the few things that may follow.

mod bulk;
#[path = "../common/mod.rs"]
mod common;
mod declare;
mod durable;
mod families;
mod follow_ups;
mod groups;
mod pairs;
mod walker;

use kinfolk_core::{Inspect, Work};
use kinfolk_postgres::PgStore;
use kinfolk_postgres::testing::{self, TestDatabase};

use walker::{Call, Walker, next_choices};

/// One pair of calls: how to set it up, and what must be so afterwards.
struct Stage {
    database: TestDatabase,
    store: PgStore,
    walker: Walker,
}

impl Stage {
    /// A database with the test build of the functions.
    async fn new() -> Self {
        let (database, store) = common::fresh().await;
        testing::install_clock(&store).await.unwrap();
        testing::install_points(&store).await.unwrap();
        let walker = Walker::new(&database).await;
        Self { database, store, walker }
    }

    /// Sets the pair up, walks one schedule, and checks what every schedule must keep. Answers the choices that were made, and
    /// what went wrong.
    async fn walk(&mut self, pair: &impl Pair, choices: &[usize]) -> (Vec<usize>, Vec<String>) {
        testing::wipe(&self.store).await.unwrap();
        let scene = pair.set_up(&self.store).await;
        let (made, answers) = self.walker.walk(choices, pair.calls(&scene)).await;
        let mut faults: Vec<String> =
            answers.iter().filter_map(|answer| answer.as_ref().err().map(ToString::to_string)).collect();
        faults.extend(self.store.check().await.unwrap().iter().map(|broken| format!("{broken:?}")));
        let stuck = self.store.sweep().await.unwrap();
        if stuck > 0 {
            faults.push(format!("{stuck} stuck"));
        }
        faults.extend(pair.judge(&self.store, &scene).await.err());
        (made, faults)
    }
}

/// A pair of calls on one scene.
trait Pair {
    /// What the calls are made on.
    type Scene;

    /// The calls, as they are named in the report.
    const NAME: &'static str;

    /// Makes the scene.
    async fn set_up(&self, store: &PgStore) -> Self::Scene;

    /// The two calls.
    fn calls(&self, scene: &Self::Scene) -> [Call; 2];

    /// Whether what came of it may come of it.
    async fn judge(&self, store: &PgStore, scene: &Self::Scene) -> Result<(), String>;
}

/// Walks every schedule of a pair, or up to the first one with a fault that ends the search; answers what went wrong, with the
/// schedule.
async fn walk_until<P: Pair>(pair: &P, stage: &mut Stage, ends: impl Fn(&str) -> bool) -> Vec<String> {
    let (mut next, mut walked, mut wrong) = (Some(Vec::new()), 0, Vec::new());
    while let Some(choices) = next {
        let (made, faults) = stage.walk(pair, &choices).await;
        wrong.extend(faults.iter().map(|fault| format!("{made:?}: {fault}")));
        walked += 1;
        next = next_choices(made).filter(|_| !faults.iter().any(|fault| ends(fault)));
    }
    println!("{}: {walked} schedules walked, {} went wrong", P::NAME, wrong.len());
    wrong
}

async fn every_schedule_is_sound(pair: impl Pair) {
    let mut stage = Stage::new().await;
    let wrong = walk_until(&pair, &mut stage, |_| false).await;
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    drop(stage.database);
}

/// Some schedule shows this fault when a piece of the engine is replaced by a worse one. Its deadlocks are not logged: the server's log
/// must show none.
async fn a_worse_piece_shows(fault: &str, pair: impl Pair, worse: &str) {
    let mut stage = Stage::new().await;
    testing::execute(&stage.store, worse).await.unwrap();
    let silent =
        "do $$ begin execute format('alter database %I set log_min_messages = fatal', current_database()); end $$";
    testing::execute(&stage.store, silent).await.unwrap();
    // The setting is for new sessions.
    stage.walker = Walker::new(&stage.database).await;
    let wrong = walk_until(&pair, &mut stage, |found| found.contains(fault)).await;
    assert!(wrong.iter().any(|found| found.contains(fault)), "no schedule showed it: {wrong:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_test_build_differs_in_nothing_but_the_points() {
    let (_database, store) = common::fresh().await;
    let shipped = testing::function_sources(&store).await.unwrap();
    assert!(!shipped.iter().any(|source| source.contains("kinfolk.point(")));
    testing::install_points(&store).await.unwrap();
    let built = testing::function_sources(&store).await.unwrap();
    let without = |source: &String| {
        let lines = source
            .lines()
            .map(str::trim)
            .filter(|line| !line.starts_with("perform kinfolk.point('") && !line.starts_with("-- point: "));
        lines.collect::<Vec<_>>().join("\n")
    };
    let shipped: Vec<String> = shipped.iter().map(without).collect();
    let points = built.iter().filter(|source| source.contains("perform kinfolk.point('")).count();
    assert!(points > 0, "there are marked points");
    let built: Vec<String> = built.iter().filter(|s| !s.starts_with("kinfolk.point(text)")).map(without).collect();
    assert_eq!(shipped, built);
}
