//! The throw-away servers start, answer, restart and leave nothing behind.

use std::path::PathBuf;

use kinfolk_testkit::{Bouncer, Cluster, Stop, Tools};

fn servers_of_this_process() -> Vec<PathBuf> {
    let tag = format!("kinfolk-server-{}-", std::process::id());
    let entries = std::fs::read_dir(std::env::temp_dir()).unwrap().flatten().map(|entry| entry.path());
    entries.filter(|path| path.to_string_lossy().contains(&tag)).collect()
}

#[test]
fn a_cluster_keeps_what_was_committed_through_an_immediate_stop_and_is_gone_when_dropped() {
    let cluster = Cluster::new(&Tools::need().unwrap(), "").unwrap();
    cluster.psql("create table kept as select 42 as answer").unwrap();
    cluster.stop(Stop::Immediate).unwrap();
    assert!(cluster.psql("select 1").is_err(), "a stopped server still answers");
    cluster.start().unwrap();
    assert_eq!(cluster.psql("select answer from kept").unwrap(), "42");

    let bouncer = Bouncer::new(cluster.port()).unwrap();
    assert!(bouncer.url("postgres").starts_with("postgres://"));

    drop(bouncer);
    drop(cluster);
    assert_eq!(servers_of_this_process(), Vec::<PathBuf>::new());
}
