//! `kinfolk-bench` with next to nothing to do: every scenario runs on both stores, says what it should, and leaves
//! nothing behind. How fast it is, no test can say.

use std::process::Stdio;
use std::time::Duration;

use kinfolk::{Command, Json, Kinfolk, State};
use kinfolk_postgres::testing::TestDatabase;
use serde_json::Value;
use tempfile::TempDir;

/// No run takes longer, even on a busy machine.
const DEADLINE: Duration = Duration::from_secs(300);

const TINY: [&str; 12] =
    ["--n", "20", "--rounds", "1", "--capacity", "10", "--load", "30", "--blocked", "30", "--minutes", "0.01"];

/// A database of one test.
struct Db {
    url: String,
    folder: TempDir,
    /// Kept for its end.
    _server: Option<TestDatabase>,
}

impl Db {
    fn sqlite() -> Self {
        let folder = tempfile::tempdir().unwrap();
        Self { url: folder.path().join("kinfolk.db").to_str().unwrap().to_owned(), folder, _server: None }
    }

    async fn postgres() -> Self {
        let server = TestDatabase::create().await;
        Self { url: server.url.clone(), folder: tempfile::tempdir().unwrap(), _server: Some(server) }
    }

    /// What a run prints on stdout and stderr.
    async fn bench(&self, scenario: &str, more: &[&str]) -> (String, String) {
        let mut command = tokio::process::Command::new(env!("CARGO_BIN_EXE_kinfolk-bench"));
        command.args([scenario, "--database", &self.url]).args(TINY).args(more).current_dir(self.folder.path());
        command.env_remove("RUST_LOG").stdin(Stdio::null()).kill_on_drop(true);
        let ran = tokio::time::timeout(DEADLINE, command.output()).await.expect("it ends").unwrap();
        let [stdout, stderr] = [ran.stdout, ran.stderr].map(|text| String::from_utf8(text).unwrap());
        assert!(ran.status.success(), "{}\n{stdout}{stderr}", ran.status);
        (stdout, stderr)
    }
}

macro_rules! on_both_stores {
    ($($name:ident),+ $(,)?) => {
        mod sqlite {
            $(#[tokio::test] async fn $name() { super::$name(&super::Db::sqlite()).await; })+
        }
        mod postgres {
            $(#[tokio::test] async fn $name() { super::$name(&super::Db::postgres().await).await; })+
        }
    };
}

on_both_stores!(
    every_scenario_prints_its_figures_as_lines_of_json,
    the_statements_of_the_bare_loop_are_printed_on_demand,
    what_was_in_the_database_is_left_alone
);

async fn every_scenario_prints_its_figures_as_lines_of_json(db: &Db) {
    let server = db.url.starts_with("postgres");
    let (figures, told) = db.bench("all", &["--json"]).await;
    let figures = figures.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    // `pages` has a figure for each address, which depends on what the API has.
    let (addresses, figures): (Vec<_>, Vec<_>) =
        figures.partition(|figure| figure["scenario"].as_str().unwrap().starts_with('/'));
    assert!(addresses.len() > 100, "{} addresses", addresses.len());
    let names: Vec<_> = figures.iter().map(|figure| figure["scenario"].as_str().unwrap()).collect();
    let mut expected =
        vec!["enqueue", "enqueue", "drain", "drain", "latency", "latency", "fan-out", "fan-out", "serial"];
    expected.extend(server.then_some(["serial-sql", "serial-behind"]).into_iter().flatten());
    expected.extend(["flow-calls", "flow-fan-out", "flow-parents"]);
    expected.extend(["groups-seed", "groups", "groups-tight", "groups-blocked", "groups-beside"]);
    expected.extend(server.then_some("groups-beside-buffers"));
    expected.push("groups-mixed");
    expected.extend(server.then_some("groups-mixed-buffers"));
    expected.push("flat");
    expected.extend(server.then_some(["buffers", "wal"]).into_iter().flatten());
    expected.push("pages-beside");
    expected.extend(server.then_some("supervisor"));
    expected.extend(["horizon", "horizon-drain", "horizon-groups"]);
    assert_eq!(names, expected);
    for figure in &figures {
        assert_eq!(figure["store"], if server { "postgres" } else { "sqlite" });
        assert!(figure["baseline"].as_str().is_some_and(|words| !words.is_empty()), "{figure}");
        for number in ["n", "rate", "baseline_rate", "ratio"] {
            assert!(figure[number].as_f64().is_some_and(|number| number > 0.0), "{number} of {figure}");
        }
        assert!(figure["spread"].as_f64().is_some_and(|spread| spread >= 0.0), "{figure}");
        let timed = ["enqueue", "latency", "fan-out", "flow-fan-out"].contains(&figure["scenario"].as_str().unwrap());
        assert_eq!(figure["p50_ms"].is_number() && figure["p99_ms"].is_number(), timed, "{figure}");
    }
    let drains: Vec<_> = figures.iter().filter(|figure| figure["scenario"] == "drain").collect();
    assert_eq!(drains.iter().map(|drain| drain["n"].as_u64().unwrap()).collect::<Vec<_>>(), [20, 200]);
    assert_eq!(drains[0]["bar"], if server { 0.7 } else { 0.45 });
    let groups = figures.iter().find(|figure| figure["scenario"] == "groups").unwrap();
    assert_eq!((&groups["n"], &groups["bar"]), (&100.into(), &0.5.into()), "five times N");
    assert!(told.contains("1 rounds instead of at least 7"), "{told}");
}

async fn the_statements_of_the_bare_loop_are_printed_on_demand(db: &Db) {
    let (quiet, _) = db.bench("enqueue", &[]).await;
    assert!(quiet.contains("ratio") && !quiet.contains("create table"), "{quiet}");
    let (_, told) = db.bench("enqueue", &["--json", "--verbose"]).await;
    for words in ["create table bare_task", "insert into bare_task", "round 1 of 1", "row width"] {
        assert!(told.contains(words), "{words}: {told}");
    }
}

async fn what_was_in_the_database_is_left_alone(db: &Db) {
    let kinfolk = Kinfolk::open(&db.url).await.unwrap();
    kinfolk.register(&[Command::new("noop".parse().unwrap())]).await.unwrap();
    let task = kinfolk.enqueue("noop", &Json::object()).await.unwrap().id().unwrap();
    db.bench("drain", &["--json"]).await;
    assert_eq!(kinfolk.task(task).await.unwrap().state, State::Pending);
    let counts = kinfolk.store().stats().await.unwrap().counts;
    assert_eq!(counts.iter().map(|count| count.tasks).sum::<u64>(), 1, "{counts:?}");
    let left = std::fs::read_dir(db.folder.path()).unwrap().map(|entry| entry.unwrap().file_name());
    let left: Vec<_> = left.filter(|name| name.to_string_lossy().contains("bench")).collect();
    assert!(left.is_empty(), "{left:?}");
}
