//! `kinfolk bench` with next to nothing to do: every scenario runs on both stores, says what it should, and leaves
//! nothing behind. How fast it is, no test can say.

use serde_json::Value;

use crate::support::{Db, documents, on_both_stores};

on_both_stores!(
    every_scenario_prints_its_figures_as_lines_of_json,
    the_statements_of_the_bare_loop_are_printed_on_demand,
    what_was_in_the_database_is_left_alone
);

const TINY: [&str; 12] =
    ["--n", "20", "--rounds", "1", "--capacity", "10", "--load", "30", "--blocked", "30", "--minutes", "0.01"];

fn bench(db: &Db, scenario: &str, more: &[&str]) -> (Vec<Value>, String) {
    let ran = db.run(&[&["bench", scenario], &TINY[..], more].concat());
    assert_eq!(ran.code, 0, "{ran:?}");
    (documents(&ran.stdout), ran.stderr)
}

fn every_scenario_prints_its_figures_as_lines_of_json(db: &Db) {
    let server = db.url.starts_with("postgres");
    let (figures, told) = bench(db, "all", &["--json"]);
    // `pages` has a figure for each address, which depends on what the API has.
    let (addresses, figures): (Vec<_>, Vec<_>) =
        figures.into_iter().partition(|figure| figure["scenario"].as_str().unwrap().starts_with('/'));
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

fn the_statements_of_the_bare_loop_are_printed_on_demand(db: &Db) {
    let quiet = db.ok(&[&["bench", "enqueue"], &TINY[..]].concat());
    assert!(quiet.contains("ratio") && !quiet.contains("create table"), "{quiet}");
    let (_, told) = bench(db, "enqueue", &["--json", "--verbose"]);
    for words in ["create table bare_task", "insert into bare_task", "round 1 of 1", "row width"] {
        assert!(told.contains(words), "{words}: {told}");
    }
}

fn what_was_in_the_database_is_left_alone(db: &Db) {
    db.ok(&["enqueue", "noop", "--register"]);
    bench(db, "drain", &["--json"]);
    assert_eq!((db.tasks(), db.state("1")), (1, "pending".to_owned()));
    let left = std::fs::read_dir(db.dir.path()).unwrap().map(|entry| entry.unwrap().file_name());
    let left: Vec<_> = left.filter(|name| name.to_string_lossy().contains("bench")).collect();
    assert!(left.is_empty(), "{left:?}");
}
