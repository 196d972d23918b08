//! The business register of `examples/register`, under the real `kinfolk work`: whatever happens, every derived table is what it would be if
//! it were derived from nothing.

use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use kinfolk_testkit::{Browser, Cluster, Setup, Stop, Tools};

use crate::http::server;
use crate::support::{DEADLINE, Db, postgres, sqlite};

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/register");

/// A register with no units in it, and few periods, so that a derivation is short.
fn register(db: Db) -> Db {
    let script = std::fs::read_to_string(format!("{FOLDER}/install.sql")).unwrap();
    for file in script.lines().filter_map(|line| line.strip_prefix("\\ir ")) {
        db.sql(&std::fs::read_to_string(format!("{FOLDER}/{file}")).unwrap());
    }
    db.sql("update register.calendar set today = '2019-05-20'");
    db
}

/// The first column of the one row; `None` while the server is away.
fn ask(db: &Db, sql: &str) -> Option<String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let (client, connection) = tokio_postgres::connect(&db.url, tokio_postgres::NoTls).await.ok()?;
        let connection = tokio::spawn(connection);
        let messages = client.simple_query(sql).await;
        drop(client);
        let _ = connection.await;
        messages.ok()?.iter().find_map(|message| match message {
            tokio_postgres::SimpleQueryMessage::Row(row) => row.get(0).map(str::to_owned),
            _ => None,
        })
    })
}

/// Waits until nothing is imported or derived.
#[track_caller]
fn idle(db: &Db) {
    let active =
        "select register.is_importing() or register.is_deriving_statistical_units() or register.is_deriving_reports()";
    db.until("all is derived", |db| ask(db, active).as_deref() == Some("f"));
}

/// Every derived table is what it must be, and no task was lost on the way.
#[track_caller]
fn assert_derived(db: &Db, story: &str) {
    let check =
        "select coalesce(string_agg(subject || ': ' || differences, ', '), 'equal') from register.check_derived()";
    assert_eq!(ask(db, check).as_deref(), Some("equal"), "{story}");
    let failed = "select count(*) from kinfolk.tasks where state in ('failed', 'cancelled')";
    assert_eq!(ask(db, failed).as_deref(), Some("0"), "{story}");
}

/// Chance, from a seed that a failing test tells.
struct Chance(u64);

impl Chance {
    fn new() -> Self {
        Self(std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_nanos() as u64 | 1)
    }

    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % end
    }

    /// One edit of the register.
    fn edit(&mut self) -> String {
        const KINDS: [&str; 11] = [
            "move", "merge", "merge", "rewrite", "close", "transfer", "delete", "dissolve", "vanish", "found", "report",
        ];
        let kind = KINDS[usize::try_from(self.below(11)).unwrap()];
        format!("select register.edit('{kind}', {}, date '2019-01-01' + {});", 1 + self.below(80), self.below(200))
    }
}

struct Worker(Child);

impl Worker {
    fn start(db: &Db) -> Self {
        let config = db.dir.path().join("kinfolk.toml");
        std::fs::write(&config, "lease = \"2s\"").unwrap();
        let mut command = db.command(&["work", "--config", config.to_str().unwrap()]);
        Self(command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap())
    }
}

impl Drop for Worker {
    /// As `kill -9` does.
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn the_demo_imports_a_register_derives_it_and_derives_what_changes() {
    let db = postgres().migrated();
    // Another program has failed in this database; that is none of the register's business.
    db.ok(&["register", "broken", "--queue", "other"]);
    db.ok(&["enqueue", "broken"]);
    db.ok(&["cancel", "1"]);
    let told = db.one(&["demo", "register", "--units", "1000", "--once"]);
    assert_eq!(told["units"], 1000);
    let rounds = told["rounds"].as_array().unwrap();
    assert_eq!(rounds.len(), 3);
    for round in rounds {
        let stages = round["stages"].as_array().unwrap();
        assert_eq!(stages.len(), 9, "{round}");
    }
    assert_eq!(rounds[2]["stages"][1]["children"], 1, "one unit is one batch");
    let jobs = "select count(*) filter (where state = 'finished') || ' of ' || count(*) || ', ' || sum(rows_bad) from register.import_job";
    assert_eq!(ask(&db, jobs).as_deref(), Some("4 of 4, 0"));
    assert!(db.fails(&["demo", "register", "--once"], 2).contains("a register already"));
    let refused = sqlite().run(&["demo", "register"]);
    assert!(refused.code == 2 && refused.stderr.contains("PostgreSQL"), "{refused:?}");
}

#[test]
fn a_bad_row_is_kept_with_its_line_and_column_and_loses_no_good_one() {
    let db = register(postgres().migrated());
    db.sql(
        "select register.upload('enterprise', E'id,valid_from,name\\n1,2019-01-01,\"Smith, \"\"Sons\"\"\"\\nx,2019-02-30,B\\n3,2019-01-01,C\\n4,2019-01-01\\n');
        select register.upload('figure', E'unit_id,valid_from\\n1,2019-01-01');",
    );
    db.ok(&["work", "--until-idle"]);
    let job = "select state || ' ' || rows_good || ' ' || rows_bad from register.import_job where kind = 'enterprise'";
    assert_eq!(ask(&db, job).as_deref(), Some("finished 2 2"));
    let errors = "select string_agg(format('%s %s: %s', line, column_name, message), '; ' order by line, column_name) from register.import_error";
    let told = "3 id: x is no number; 3 valid_from: 2019-02-30 is no day, such as 2026-01-31; 5 line: 2 fields where 3 are expected; 5 name: name is missing";
    assert_eq!(ask(&db, errors).as_deref(), Some(told));
    let names =
        "select string_agg(name, '; ' order by unit_id) from register.statistical_unit where unit_type = 'enterprise'";
    assert_eq!(ask(&db, names).as_deref(), Some("Smith, \"Sons\"; C"));
    let failed = "select error from register.import_job where state = 'failed'";
    assert_eq!(ask(&db, failed).as_deref(), Some("the header lacks employees, turnover, unit_type"));
    assert_derived(&db, "an import");
}

#[test]
fn what_is_derived_after_any_changes_equals_what_is_derived_from_nothing() {
    let db = register(postgres().migrated());
    let mut chance = Chance::new();
    let seed = chance.0;
    db.sql("call register.generate(1000)");
    let _worker = Worker::start(&db);
    idle(&db);
    assert_derived(&db, "the first derivation");
    for round in 0..5 {
        let edits: String = (0..=chance.below(5)).map(|_| chance.edit()).collect();
        db.sql(&edits);
        idle(&db);
        assert_derived(&db, &format!("seed {seed}, round {round}: {edits}"));
    }
    // ANALYZE once for each derivation, by its sync point, and never in a batch.
    let analyzed = "select (select analyze_count from pg_stat_user_tables where relname = 'statistical_unit_staging')
        = (select count(*) from kinfolk.tasks where command = 'derive_statistical_unit_continue')";
    db.until("each derivation analyzes once", |db| ask(db, analyzed).as_deref() == Some("t"));
}

#[test]
fn a_child_that_fails_fails_its_parent_and_a_retry_of_the_family_finishes_the_derivation() {
    let db = register(postgres().migrated());
    let stages = [
        ("derive_statistical_unit", "statistical_unit_refresh_batch", "statistical_unit_staging", 3),
        ("derive_statistical_history", "derive_statistical_history_period", "statistical_history", 1),
        (
            "derive_statistical_unit_facet",
            "derive_statistical_unit_facet_partition",
            "statistical_unit_facet_staging",
            1,
        ),
    ];
    for (_, child, table, _) in stages {
        db.sql(&format!(
            "select kinfolk.register_command('{child}', max_attempts => 1);
            alter table register.{table} add constraint broken check (false)"
        ));
    }
    db.sql("call register.generate(1000)");
    for (parent, _, table, skipped) in stages {
        db.ok(&["work", "--until-idle"]);
        let failed = db.json(&["list", "--state", "failed", "--command", parent]);
        let root = failed[0]["id"].to_string();
        let follow_ups = db.json(&["list", "--state", "cancelled", "--follows", &root]);
        assert_eq!((failed.len(), follow_ups.len()), (1, skipped), "{failed:?}, {follow_ups:?}");
        if parent == "derive_statistical_unit" {
            let published = "select count(*) from register.statistical_unit";
            assert_eq!(ask(&db, published).as_deref(), Some("0"), "nothing is published");
        }
        db.sql(&format!("alter table register.{table} drop constraint broken"));
        db.ok(&["retry", "--family", &root]);
        let back = db.json(&["list", "--state", "pending", "--follows", &root]);
        assert_eq!(back.len(), skipped, "{back:?}");
    }
    db.ok(&["work", "--until-idle"]);
    assert_derived(&db, "three repairs");
}

#[test]
fn a_unit_has_the_figures_of_all_that_belongs_to_it_in_each_slice_of_its_life() {
    let db = register(postgres().migrated());
    db.sql(
        "insert into register.enterprise (id, valid_from, name) values (1, '2019-01-01', 'one'), (2, '2019-01-01', 'two');
        insert into register.legal_unit (id, valid_from, enterprise_id, name, legal_form, region, activity)
        values (5, '2019-01-01', 1, 'unit', 2, 101, 1001), (5, '2019-04-01', 2, 'unit', 2, 101, 1001);
        insert into register.establishment (id, valid_from, valid_until, legal_unit_id, name, region, activity)
        values (9, '2019-02-01', '2019-05-01', 5, 'shop', 202, 1102);
        insert into register.figure (unit_type, unit_id, valid_from, employees, turnover)
        values ('legal_unit', 5, '2019-01-01', 3, 30), ('establishment', 9, '2019-01-01', 4, 40), ('establishment', 9, '2019-03-01', 6, 60);",
    );
    db.ok(&["work", "--until-idle"]);
    let slices = |unit: &str| {
        let sql = format!(
            "select string_agg(concat_ws(' ', to_char(valid_from, 'MM-DD'), employees, parts, region), ', ' order by valid_from)
            from register.statistical_unit where (unit_type, unit_id) = {unit}"
        );
        ask(&db, &sql).unwrap()
    };
    assert_eq!(slices("('establishment', 9)"), "02-01 4 0 202, 03-01 6 0 202");
    assert_eq!(
        slices("('legal_unit', 5)"),
        "01-01 3 0 101, 02-01 7 1 101, 03-01 9 1 101, 04-01 9 1 101, 05-01 3 0 101"
    );
    assert_eq!(slices("('enterprise', 1)"), "01-01 3 1 101, 02-01 7 1 101, 03-01 9 1 101, 04-01 0 0 0");
    assert_eq!(slices("('enterprise', 2)"), "01-01 0 0 0, 04-01 9 1 101, 05-01 3 1 101");
    let history = "select string_agg(concat_ws(' ', to_char(period, 'MM'), units, births, deaths, employees), ', ' order by period)
        from register.statistical_history where resolution = 'year-month' and unit_type = 'establishment'";
    assert_eq!(ask(&db, history).as_deref(), Some("02 1 1 0 4, 03 1 0 0 6, 04 1 0 0 6, 05 0 0 1 0"));
    assert_derived(&db, "by hand");
}

#[test]
fn a_derivation_that_begins_before_the_flush_of_the_last_one_destroys_nothing_that_is_staged() {
    let db = register(postgres().migrated());
    db.sql(
        "insert into register.enterprise (id, valid_from, name) values (1, '2019-01-01', 'one'), (2, '2019-01-01', 'two');
        select register.refresh_units(array[1, 2]);
        update register.enterprise set name = 'another' where id = 2;
        select register.refresh_units(array[2]);
        select register.statistical_unit_flush_staging('{\"cycle\": 1}');",
    );
    let names = "select string_agg(name, ', ' order by unit_id) from register.statistical_unit";
    assert_eq!(ask(&db, names).as_deref(), Some("one, another"));
}

#[test]
fn changes_while_workers_and_the_server_are_killed_are_never_lost() {
    let tools = Tools::find(None).expect("a PostgreSQL");
    let cluster = Cluster::new(&tools, "").unwrap();
    let db = register(Db::at(&cluster.url("postgres")).migrated());
    let mut chance = Chance::new();
    let seed = chance.0;
    db.sql("call register.generate(1000)");
    let mut worker = Worker::start(&db);
    let mut lost = 0;
    for round in 0..10 {
        db.sql(&(0..3).map(|_| chance.edit()).collect::<String>());
        wait(Duration::from_millis(chance.below(1_500)));
        if round % 2 == 0 {
            drop(worker);
            worker = Worker::start(&db);
        } else {
            cluster.stop(Stop::Immediate).unwrap();
            cluster.start().unwrap();
            lost += 1;
        }
    }
    assert_eq!(lost, 5);
    idle(&db);
    assert_derived(&db, &format!("seed {seed}"));
    drop(worker);
    cluster.assert_no_deadlock().unwrap();
    assert_eq!(db.ok(&["check"]).trim(), "every invariant holds");
}

/// Lets the fault come at a moment that nobody chose.
fn wait(span: Duration) {
    let until = Instant::now() + span.min(DEADLINE);
    while Instant::now() < until {
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn the_page_shows_stages_live_and_says_when_caches_are_out_of_date() {
    let db = register(postgres().migrated());
    db.sql("insert into register.enterprise (id, valid_from, name) values (1, '2019-01-01', 'one')");
    let Some(browser) = Browser::start("the page of the register", Setup::default()) else { return };
    let (serving, address) = server(&db, &["serve", "--pages", &format!("{FOLDER}/pages")]);
    // A worker looks at the statuses after the last settle: the page is to begin when that was told.
    let told = "select bool_and(not s.active and s.changed_at >= (
            select max(t.finished_at) from kinfolk.tasks t where t.command = any (s.commands)
        )) from kinfolk.statuses() s where s.name <> 'is_importing'";
    idle(&db);
    db.until("the end of the derivation is told", |db| ask(db, told).as_deref() == Some("t"));
    browser.go(&format!("{address}/app/"));
    let says =
        |selector: &str, words: &str| format!("document.querySelector({selector:?}).innerText.includes({words:?})");
    browser.until("the page is live", &says("#connection", "Live"));
    browser.until("the statuses are shown", &says("#statuses", "deriving reports: idle"));
    browser.until("a batch is counted", &says("#stages", "1 of 1"));
    browser.until("nothing was derived since", &says("#caches", "Nothing was derived"));
    // So short that no look of the page may fall into it.
    db.sql("update register.enterprise set name = 'another'");
    browser.until("caches are out of date", &says("#caches", "Invalidated at"));
    serving.stop();
}
