//! Durable handlers under fire: workers are killed while workflows run, wait, are resumed and cancelled. No recorded step
//! runs again, no child is made twice, and every run of a handler is answered alike.

use std::time::Duration;

use anyhow::{Result, ensure};
use kinfolk_core::durable::Rule;
use kinfolk_core::{Json, SignalName, State, Store, TaskId};
use kinfolk_faults::bed::{Bed, Kind};
use kinfolk_faults::flows::{Flow, Op, assert_flows, notes, signal_value, wait_over};
use kinfolk_faults::sound::{all_tasks, assert_unbroken, cancel_if_open};
use kinfolk_faults::victim::{MENDED, Orders, made};

use crate::families::Fleet;
use crate::kill_loop::{losses, wait_running};
use crate::{Chance, PATIENCE, ledger, worker};

/// What flows return: whatever JSON can say, and some numbers that no float holds.
const RETURNS: &[&str] = &[
    "null",
    "0.1",
    "9007199254740993",
    "12345678901234567890123456789.00000000000000000001",
    "1e-20",
    "-1E+30",
    "[0.30000000000000004,[],{}]",
    r#"{"a":1.10,"é":"\u00e9 \ud83d\ude00 \n"}"#,
];
const GENERATIONS: u64 = 3;

/// Workflows of all shapes, one after another.
pub(crate) struct Shapes {
    pub(crate) chance: Chance,
    made: u64,
}

impl Shapes {
    pub(crate) fn new() -> Self {
        Self { chance: Chance::new(), made: 0 }
    }

    /// A workflow of up to four generations.
    pub(crate) fn next(&mut self) -> Result<Flow> {
        self.made += 1;
        let name = format!("w{}", self.made);
        let mut flow = self.flow(&name, 0)?;
        flow.fails = false;
        Ok(flow)
    }

    fn flow(&mut self, name: &str, depth: u64) -> Result<Flow> {
        let most = if depth == GENERATIONS { 2 } else { 5 - depth };
        let count = self.chance.below(most) + u64::from(depth == 0);
        let ops = (0..count).map(|nth| self.op(&format!("{name}.{nth}"), depth)).collect::<Result<_>>()?;
        let returns = Json::parse(RETURNS[self.below(RETURNS.len())?])?;
        let errors = u16::from(self.chance.once_in(5));
        let fails = self.chance.once_in(12);
        let strict = self.chance.once_in(3);
        Ok(Flow { errors, fails, strict, returns, ..Flow::new(name, ops) })
    }

    fn below(&mut self, end: usize) -> Result<usize> {
        Ok(usize::try_from(self.chance.below(end as u64))?)
    }

    fn op(&mut self, name: &str, depth: u64) -> Result<Op> {
        let is_leaf = depth == GENERATIONS;
        Ok(match self.chance.below(if is_leaf { 5 } else { 12 }) {
            0 | 1 => Op::Step,
            2 => Op::Now,
            3 => Op::Random,
            4 => Op::Sleep(self.chance.below(60)),
            5 => Op::Call(Box::new(self.flow(&format!("{name}.c"), depth + 1)?)),
            6 | 7 => self.fan_out(name, depth)?,
            8 => Op::Stream {
                page: u32::try_from(1 + self.chance.below(3))?,
                folds: self.chance.once_in(2),
                flows: self.flows(name, depth, 6)?,
            },
            9 if depth == 0 => Op::Signal("go".to_owned(), self.chance.once_in(3).then_some(30)),
            10 if depth == 0 => Op::Both(self.branch(name, "l", depth)?, self.branch(name, "r", depth)?),
            9 | 10 => Op::Step,
            _ => Op::Make {
                children: self.flows(&format!("{name}.m"), depth + 1, 2)?,
                follow_up: match self.chance.once_in(2) {
                    true => Some(Box::new(Flow::new(format!("{name}.after"), vec![Op::Step]))),
                    false => None,
                },
            },
        })
    }

    fn fan_out(&mut self, name: &str, depth: u64) -> Result<Op> {
        let rule = match self.chance.below(3) {
            0 => Rule::FailFast,
            1 => Rule::CollectAll,
            _ => Rule::Threshold(700_000),
        };
        let timeout_ms = if self.chance.once_in(4) { Some(20 + self.chance.below(200)) } else { None };
        Ok(Op::FanOut { rule, timeout_ms, cancels: self.chance.once_in(2), flows: self.flows(name, depth, 5)? })
    }

    fn flows(&mut self, name: &str, depth: u64, most: u64) -> Result<Vec<Flow>> {
        (0..=self.chance.below(most)).map(|nth| self.flow(&format!("{name}.{nth}"), depth + 1)).collect()
    }

    /// A branch of its own signals; one in ten ends the whole handler badly.
    fn branch(&mut self, name: &str, side: &str, depth: u64) -> Result<Vec<Op>> {
        let name = format!("{name}{side}");
        let mut ops = vec![self.op(&name, depth + 1)?, Op::Step];
        if self.chance.once_in(3) {
            ops.push(Op::Signal(format!("go_{side}"), self.chance.once_in(3).then_some(50)));
        }
        if self.chance.once_in(10) {
            ops.push(Op::Fail);
        }
        Ok(ops)
    }

    /// Enqueues a few of them.
    pub(crate) async fn enqueue(&mut self, store: &dyn Store, flows: usize) -> Result<Vec<Sent>> {
        let plans = (0..flows).map(|_| self.next()).collect::<Result<Vec<_>>>()?;
        let roots = plans.iter().map(Flow::task).collect::<Result<Vec<_>>>()?;
        let ids = made(&store.enqueue(&roots).await?)?;
        Ok(ids.into_iter().zip(plans).map(|(id, plan)| Sent::new(id, &plan)).collect())
    }
}

/// A workflow and the signals it is still to get.
#[derive(Clone)]
pub(crate) struct Sent {
    pub(crate) root: TaskId,
    signals: Vec<(String, Json)>,
}

impl Sent {
    pub(crate) fn new(root: TaskId, plan: &Flow) -> Self {
        let mut counts = std::collections::BTreeMap::<String, usize>::new();
        let mut signals = Vec::new();
        for name in plan.signals() {
            let nth = counts.entry(name.to_owned()).or_default();
            signals.extend(signal_value(*nth).map(|value| (name.to_owned(), value)));
            *nth += 1;
        }
        Self { root, signals }
    }

    /// Sends the next few of its signals. One that has ended gets none.
    pub(crate) async fn signal(&mut self, store: &dyn Store, count: usize) -> Result<()> {
        for (name, value) in self.signals.drain(..count.min(self.signals.len())) {
            if let Err(fault) = store.signal(self.root, &SignalName::new(&name)?, &value).await {
                let has_ended = store.task(self.root).await?.is_some_and(|task| task.state.is_terminal());
                ensure!(has_ended, "a signal was refused: {fault}");
            }
        }
        Ok(())
    }
}

/// PostgreSQL has found no deadlock in this database.
pub(crate) async fn assert_no_deadlock(bed: &Bed, kind: Kind) -> Result<()> {
    if kind == Kind::Postgres {
        let sql = "select deadlocks from pg_stat_database where datname = current_database()";
        let deadlocks: i64 = bed.plain().await?.query_one(sql, &[]).await?.get(0);
        ensure!(deadlocks == 0, "{deadlocks} deadlocks");
    }
    Ok(())
}

async fn kill_among_flows(kind: Kind) -> Result<()> {
    const TRIES: usize = 3;
    for _ in 0..TRIES {
        if kill_rounds(kind).await? {
            return Ok(());
        }
    }
    anyhow::bail!("in {TRIES} tries a worker lost its lease: this machine is too slow for the test")
}

/// False if a worker that nobody killed was too slow for its lease: it works on in what others were given.
async fn kill_rounds(kind: Kind) -> Result<bool> {
    const ROUNDS: u64 = 15;
    const FLOWS_A_ROUND: usize = 4;
    let bed = Bed::new(kind).await?;
    let store = bed.open().await?;
    let mut shapes = Shapes::new();
    let mut fleet = Fleet::start(&bed, Orders { work_ms: 10, lease_ms: 2_000, ..worker(&bed) }, 3)?;
    let (mut sent, mut unsent): (Vec<Sent>, Vec<Sent>) = (Vec::new(), Vec::new());
    for round in 0..ROUNDS {
        let mut new = shapes.enqueue(&*store, FLOWS_A_ROUND).await?;
        unsent.extend(new.iter().cloned());
        for one in sent.iter_mut().chain(&mut new) {
            one.signal(&*store, usize::from(shapes.chance.once_in(2))).await?;
        }
        wait_running(&*store).await?;
        tokio::time::sleep(Duration::from_millis(shapes.chance.below(60))).await;
        if round % 3 == 0 {
            cancel_if_open(&*store, new[0].root).await?;
        }
        fleet.replace(&mut shapes.chance)?;
        let broken = store.check().await?;
        ensure!(broken.is_empty(), "the store is not sound while it is at work: {broken:#?}");
        sent.extend(new);
    }
    for one in &mut sent {
        one.signal(&*store, usize::MAX).await?;
    }
    wait_over(&*store, PATIENCE).await?;
    let was_slow = fleet.has_lost_a_lease();
    let tasks = all_tasks(&*store).await?;
    println!("{} tasks in {} workflows", tasks.len(), sent.len());
    ensure!(losses(&*store, tasks.keys()).await? > ROUNDS / 5, "hardly a task was lost: the kills hit nobody at work");
    ensure!(tasks.values().any(|task| task.steps > 2 && task.state == State::Completed), "nothing was recorded");
    let roots: Vec<_> = sent.iter().map(|one| one.root).collect();
    let judged = assert_flows(&*store, &roots, notes::read(&notes::beside(&ledger(&bed)))?).await;
    if was_slow && judged.is_err() {
        println!("a worker lost its lease without being killed: {judged:?}");
        return Ok(false);
    }
    judged?;
    repair_among_kills(&bed, &*store, &mut fleet, (&mut shapes.chance, unsent)).await?;
    fleet.stop()?;
    assert_no_deadlock(&bed, kind).await?;
    Ok(true)
}

/// What was broken is mended, every workflow that has failed is retried, and workers are killed meanwhile. All of them
/// complete then, and nobody who had completed before runs again.
async fn repair_among_kills(
    bed: &Bed,
    store: &dyn Store,
    fleet: &mut Fleet,
    (chance, mut unsent): (&mut Chance, Vec<Sent>),
) -> Result<()> {
    const ROUNDS: usize = 6;
    const KILLS: usize = 2;
    std::fs::write(bed.folder().join(MENDED), "")?;
    let before = all_tasks(store).await?;
    let noted = notes::read(&notes::beside(&ledger(bed)))?.len();
    unsent.retain(|one| before.get(&one.root).is_some_and(|task| task.state == State::Failed));
    ensure!(!unsent.is_empty(), "no workflow has failed: there is nothing to repair");
    println!("{} workflows are repaired", unsent.len());
    // What comes behind a repaired fan-out may take too long in its turn: then that is what is repaired next.
    for round in 0..ROUNDS {
        for one in &mut unsent {
            store.retry_family(one.root).await?;
            // Those that it took after it had failed are forgotten; too many do no harm.
            one.clone().signal(store, usize::MAX).await?;
        }
        if round < KILLS {
            wait_running(store).await?;
            fleet.replace(chance)?;
        }
        wait_over(store, PATIENCE).await?;
        let after = all_tasks(store).await?;
        unsent.retain(|one| after.get(&one.root).is_none_or(|task| task.state != State::Completed));
        if unsent.is_empty() {
            break;
        }
    }
    if let Some(one) = unsent.first() {
        let (task, history) = (store.task(one.root).await?, store.history(one.root).await?);
        anyhow::bail!("not repaired: {task:#?} with {history:#?}");
    }
    let is_over = |id: &TaskId| before.get(id).is_some_and(|task| task.state == State::Completed);
    let again = notes::read(&notes::beside(&ledger(bed)))?.into_iter().skip(noted).find(|note| is_over(&note.task));
    ensure!(again.is_none(), "ran again though it had completed: {again:?}");
    assert_unbroken(store).await
}

#[tokio::test(flavor = "multi_thread")]
async fn workers_killed_among_workflows_repeat_no_recorded_step_on_sqlite() -> Result<()> {
    kill_among_flows(Kind::Sqlite).await
}

#[tokio::test(flavor = "multi_thread")]
async fn workers_killed_among_workflows_repeat_no_recorded_step_on_postgres() -> Result<()> {
    kill_among_flows(Kind::Postgres).await
}
