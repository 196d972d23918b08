//! `cargo xtask register-bench`: the derivations of `examples/register` at several sizes, each on a cluster of its own, stage by stage next to
//! the figures of the system that the example is modelled on, and next to a plain SQL script that does the same without the engine.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use kinfolk_testkit::Cluster;

use crate::{debian, interrupt};

/// The sizes that are run when none are named.
pub(crate) const SIZES: [&str; 3] = ["31000", "310000", "3100000"];

/// A server for statistics on a small machine. Nothing that guards data is switched off.
const SETTINGS: &str = "
fsync = on
full_page_writes = on
shared_buffers = '2GB'
work_mem = '64MB'
maintenance_work_mem = '512MB'
max_wal_size = '8GB'
checkpoint_timeout = '15min'
autovacuum_naptime = '1min'
track_functions = 'all'
";

/// The stages, with the seconds that a national register published for its production run in February 2026.
const STAGES: &str = "
    select rpad(s.step || ' ' || s.stage, 40) || lpad(s.seconds::text, 10) || lpad(s.children::text, 8)
        || lpad(coalesce(s.child_seconds::text, '-'), 12) || lpad(coalesce(s.parallel::text, '-'), 6)
        || lpad(coalesce(t.theirs, '-'), 28)
    from (select s.*, row_number() over () as nth from register.stages(%) s) s
    left join (values
        ('derive_statistical_unit', '6800 s, 2337 batches, 3.7'),
        ('statistical_unit_flush_staging', '1038 s'),
        ('derive_reports', '0.006 s'),
        ('derive_statistical_history', '2 s, 3 periods'),
        ('derive_statistical_unit_facet', '178 s'),
        ('derive_statistical_history_facet', '1 s, 3 periods')
    ) as t(stage, theirs) using (stage)
    order by s.nth";

/// How much of the server's time in functions is spent in the engine's own, without the handlers that they call.
const SHARE: &str = "
    select format('the engine''s own share of the time in functions: %s s of %s s, %s %%',
        round(own / 1000, 2), round(whole / 1000, 1), round(100 * own / whole, 2))
    from (select sum(self_time)::numeric as whole, (sum(self_time) filter (where schemaname = 'kinfolk'))::numeric as own
          from pg_stat_user_functions) as f";

/// The functions of the engine that took most of it.
const MOST: &str = "
    select format('  %s: %s calls, %s s', funcname, calls, round(self_time::numeric / 1000, 2))
    from pg_stat_user_functions
    where schemaname = 'kinfolk'
    order by self_time desc
    limit 8";

/// Runs all sizes.
pub(crate) fn run(root: &Path, sizes: &[&str]) -> Result<bool> {
    let built =
        Command::new("cargo").args(["build", "--quiet", "--release", "--bin", "kinfolk"]).current_dir(root).status()?;
    if !built.success() {
        bail!("kinfolk can't be built");
    }
    for size in sizes {
        let units: u32 = size.parse().with_context(|| format!("not a number of units: {size}"))?;
        Bench::new(root, units)?.run()?;
    }
    Ok(true)
}

struct Bench {
    cluster: Cluster,
    units: u32,
    worker: Option<Worker>,
}

struct Worker(Child);

impl Drop for Worker {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Bench {
    /// A register of this size, not derived yet.
    fn new(root: &Path, units: u32) -> Result<Self> {
        let cluster = Cluster::new(&debian::tools()?, SETTINGS)?;
        let url = cluster.url("postgres");
        let program = root.join("target/release/kinfolk");
        let migrated = Command::new(&program).args(["--database", &url, "migrate"]).stdout(Stdio::null()).status()?;
        if !migrated.success() {
            bail!("the schema can't be made");
        }
        let folder = root.join("examples/register");
        let script = std::fs::read_to_string(folder.join("install.sql"))?;
        for file in script.lines().filter_map(|line| line.strip_prefix("\\ir ")) {
            cluster.psql(&std::fs::read_to_string(folder.join(file))?)?;
        }
        cluster.psql(&format!("call register.generate({units})"))?;
        // Else the derivation that comes first would do it, beside an autovacuum, and the script that comes second would not.
        cluster.psql("vacuum (analyze)")?;
        cluster.psql("checkpoint")?;
        let work = Command::new(&program)
            .args(["--database", &url, "work"])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        Ok(Self { cluster, units, worker: Some(Worker(work)) })
    }

    fn run(mut self) -> Result<()> {
        println!(
            "\n{} units: stage, seconds, children, seconds of children, side by side; theirs for 3,100,000",
            self.units
        );
        self.cluster.psql("select pg_stat_reset()")?;
        let full = self.round("all units", 0, "select 1")?;
        println!("{}\n{}", self.cluster.psql(SHARE)?, self.cluster.psql(MOST)?);
        for (title, change) in [
            ("1 % changed", "select register.report_figures(0.01, 2)"),
            ("one unit changed", "select register.report_one()"),
        ] {
            let after = self.cluster.psql("select max(id) from kinfolk.tasks")?.parse()?;
            self.round(title, after, change)?;
        }
        if self.units <= 310_000 {
            let differences = self.cluster.psql("select count(*) from register.check_derived()")?;
            println!("tables that differ from a derivation from nothing: {differences}");
        }
        self.worker = None;
        let one = self.plainly(1)?;
        let two = self.plainly(2)?;
        let of = |span: Duration| span.as_secs_f64();
        println!("a plain script on one connection: {:.1} s; on two: {:.1} s", of(one), of(two));
        println!("the pipeline: {full:.1} s, {:.2} of one connection, {:.2} of two", full / of(one), full / of(two));
        self.cluster.assert_no_deadlock()
    }

    /// Changes something, waits until it is derived, prints the stages. The seconds from the first task to the last end.
    fn round(&self, title: &str, after: i64, change: &str) -> Result<f64> {
        self.cluster.psql(change)?;
        let active = "select count(*) from register.stages(0) s where s.state not in ('done')";
        while self.cluster.psql(active)? != "0" {
            if interrupt::asked() {
                bail!("interrupted");
            }
            thread::sleep(Duration::from_millis(200));
        }
        println!("{}", self.cluster.psql(&STAGES.replace('%', &after.to_string()))?);
        let failed = self.cluster.psql("select count(*) from kinfolk.tasks where state in ('failed', 'cancelled')")?;
        if failed != "0" {
            bail!("{failed} tasks did not complete");
        }
        let sql = format!(
            "select round(extract(epoch from max(finished_at) - min(first_started_at)), 2) from kinfolk.tasks where id > {after}"
        );
        let seconds = self.cluster.psql(&sql)?;
        println!("{title}: {seconds} s\n");
        Ok(seconds.parse()?)
    }

    /// The same from nothing by a script, on this many connections.
    fn plainly(&self, connections: usize) -> Result<Duration> {
        let begun = Instant::now();
        self.cluster.psql("call register.plain_plan()")?;
        self.share("plain_units", connections)?;
        self.cluster.psql("call register.plain_flush()")?;
        self.share("plain_history", connections)?;
        self.share("plain_partitions", connections)?;
        self.cluster.psql("select register.reduce_facets()")?;
        self.share("plain_history_facets", connections)?;
        Ok(begun.elapsed())
    }

    fn share(&self, procedure: &str, connections: usize) -> Result<()> {
        thread::scope(|scope| {
            let call = |part| {
                let sql = format!("call register.{procedure}({part}, {connections})");
                scope.spawn(move || self.cluster.psql(&sql))
            };
            let running: Vec<_> = (0..connections).map(call).collect();
            running.into_iter().try_for_each(|part| match part.join() {
                Ok(answer) => answer.map(drop),
                Err(_) => bail!("a connection broke down"),
            })
        })
    }
}
