//! The statistics office of `examples/statistics`: from SQL alone, under the real `kinfolk work`.

use std::process::Stdio;

use crate::support::{Db, finish_child, postgres};

const TABLES: &str = include_str!("../../../../examples/statistics/1_tables.sql");
const HANDLERS: &str = include_str!("../../../../examples/statistics/2_handlers.sql");
const COMMANDS: &str = include_str!("../../../../examples/statistics/3_commands.sql");
const TRIGGERS: &str = include_str!("../../../../examples/statistics/4_triggers.sql");
const TESTING: &str = include_str!("../../../../examples/statistics/testing.sql");
const CONFIG: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/statistics/kinfolk.toml");

fn office() -> Db {
    let db = postgres().migrated();
    for part in [TABLES, HANDLERS, COMMANDS, TRIGGERS] {
        db.sql(part);
    }
    db
}

#[test]
fn its_pipeline_is_tested_in_one_transaction() {
    let db = office();
    db.sql(TESTING);
    assert_eq!(db.tasks(), 0, "nothing is left behind");
}

#[test]
fn rounds_follow_each_other_and_batches_run_side_by_side() {
    let db = office();
    db.sql("do $$ begin execute format('alter database %I set stats.pause = 0.2', current_database()); end $$");
    let mut worker = db.command(&["work", "--config", CONFIG]);
    let worker = worker.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();

    // A first round, and a second one that comes while the first is at work.
    db.ok(&["enqueue", "import", r#"{"from": 1, "to": 600}"#]);
    let derives = |db: &Db| db.json(&["list", "--command", "derive"]);
    db.until("the first round is at work", |db| derives(db).iter().any(|task| task["state"] == "waiting"));
    db.ok(&["enqueue", "import", r#"{"from": 1, "to": 600}"#]);
    db.until("both rounds are done", |db| {
        derives(db).len() == 2
            && db.json(&["list", "--command", "report"]).iter().filter(|t| t["state"] == "completed").count() == 2
    });
    db.ok(&["enqueue", "cleanup", r#"{"keep": "1 hour"}"#]);
    db.until("the office is swept", |db| db.json(&["list", "--command", "cleanup"])[0]["state"] == "completed");
    rustix::process::kill_process(
        rustix::process::Pid::from_raw(i32::try_from(worker.id()).unwrap()).unwrap(),
        rustix::process::Signal::TERM,
    )
    .unwrap();
    assert_eq!(finish_child(worker, "").code, 0);

    // Each family from its first begin to its last end; they never overlap, and come in this order.
    db.sql(
        "do $$ declare v_families record; begin
            create temporary table family as
            select coalesce(t.root, t.id) as root, min(l.began) as began, max(l.ended) as ended
            from stats.log l join kinfolk.tasks t on t.id = l.task group by 1;
            assert (select array_agg(t.command order by f.began) from family f join kinfolk.tasks t on t.id = f.root)
                = '{derive,flush,analyze,report,derive,flush,analyze,report}', 'a newer round waits for the older one''s flush';
            assert not exists (
                select from family a join family b on b.root > a.root and b.began < a.ended and a.began < b.ended),
                'families do not overlap';
            assert (
                select max(many) from (
                    select (select count(*) from stats.log b
                        where b.command = 'derive_batch' and b.began <= a.began and b.ended > a.began) as many
                    from stats.log a where a.command = 'derive_batch') side_by_side) between 2 and 3,
                'batches run side by side, three at most';
            assert (select count(*) from stats.log where command = 'derive_batch') >= 12;
            assert (select count(*) from stats.unit) = 600 and (select sum(units) from stats.report) = 600;
            assert (select count(*) from stats.staged) = 0 and (select count(*) from stats.change) = 0;
        end $$",
    );
    assert_eq!(db.ok(&["check"]).trim(), "every invariant holds");
}

#[test]
fn a_batch_that_is_too_large_is_shared_with_a_sibling() {
    let db = office();
    db.sql("insert into stats.enterprise select n, 'north', 5000 from generate_series(1, 100) n");
    db.ok(&["work", "--until-idle", "--config", CONFIG]);
    // One batch of 100 enterprises leaves 50 of them to a sibling, which leaves 25, which leaves 13.
    assert_eq!(db.json(&["list", "--command", "derive_batch"]).len(), 4);
    db.sql("do $$ begin assert (select count(*) from stats.unit) = 100; end $$");
}
