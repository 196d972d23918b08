//! The judge of workflows is itself judged: a workflow that ran well is spoilt in every way, and each must be noticed.

use anyhow::{Context, Result, ensure};
use kinfolk_core::durable::Rule;
use kinfolk_core::{Command, CommandName, Json, State, Task, TaskId};
use kinfolk_faults::bed::{Bed, Kind};
use kinfolk_faults::flows::judge::Flows;
use kinfolk_faults::flows::notes::{self, Note, What};
use kinfolk_faults::flows::{FLOW, Flow, GO, Op, wait_over};
use kinfolk_faults::victim::made;

use crate::flow_points::signal_when_asked;
use crate::{PATIENCE, ledger, start, worker};

/// A workflow with a step, a signal, a fan-out, a stream and a follow-up, run to its end and seen twice.
async fn scene() -> Result<Flows> {
    let bed = Bed::new(Kind::Sqlite).await?;
    let store = bed.open().await?;
    store.register(&[Command::new(CommandName::new(FLOW)?)]).await?;
    let leaf = |name: &str| Flow { returns: Json::trusted("0.10"), ..Flow::new(name, Vec::new()) };
    let flows = vec![leaf("first"), leaf("second")];
    let fan_out = Op::FanOut { rule: Rule::FailFast, timeout_ms: None, cancels: false, flows };
    let stream = Op::Stream { page: 1, folds: true, flows: vec![leaf("third"), leaf("fourth")] };
    let make = Op::Make { children: vec![leaf("made")], follow_up: Some(Box::new(leaf("after"))) };
    let ops = vec![Op::Step, make, Op::Signal(GO.to_owned(), None), fan_out, stream, Op::Random];
    let root = Flow { errors: 1, ..Flow::new("root", ops) }.task()?;
    let root = made(&store.enqueue(&[root]).await?)?[0];
    let _worker = start("the worker", &worker(&bed))?;
    signal_when_asked(store.clone(), root).await?;
    wait_over(&*store, PATIENCE).await?;
    Flows::read(&*store, notes::read(&notes::beside(&ledger(&bed)))?).await
}

fn named<'a>(flows: &'a mut Flows, name: &str) -> Result<&'a mut Task> {
    let is_it = |task: &&mut Task| task.payload.to::<Flow>().is_ok_and(|flow| flow.name == name);
    flows.tasks.values_mut().find(is_it).with_context(|| format!("there is no {name}"))
}

/// The last note of the root about an operation.
fn last<'a>(flows: &'a mut Flows, op: &str) -> Result<&'a mut Note> {
    let root = named(flows, "root")?.id;
    flows.notes.iter_mut().rev().find(|note| note.task == root && note.op == op).context("no such note")
}

/// Changes what one run of the root was answered.
fn answer(flows: &mut Flows, op: &str, change: impl Fn(&str) -> String) -> Result<()> {
    let note = last(flows, op)?;
    let What::Saw(value) = &note.what else { anyhow::bail!("not an answer: {note:?}") };
    let changed = Json::parse(&change(value.as_str()))?;
    ensure!(changed != *value, "nothing was changed in {value}");
    note.what = What::Saw(changed);
    Ok(())
}

type Spoil = fn(&mut Flows) -> Result<()>;

/// Ways to spoil it, and what they are.
const SPOILS: &[(&str, Spoil)] = &[
    ("a recorded step ran again", |flows| {
        let note = Note { what: What::Body(Json::null()), ..last(flows, "0")?.clone() };
        flows.notes.push(note);
        Ok(())
    }),
    ("a step was seen and is not recorded", |flows| {
        flows.histories.clear();
        Ok(())
    }),
    ("a replay saw another value", |flows| answer(flows, "0", |_| "1".to_owned())),
    ("a recorded random number changed", |flows| {
        let (first, note) =
            (last(flows, "5")?.clone(), Note { what: What::Saw(Json::null()), ..last(flows, "5")?.clone() });
        flows.notes.extend([first, note]);
        Ok(())
    }),
    ("a signal was taken out of turn", |flows| {
        let root = named(flows, "root")?.id;
        for note in flows.notes.iter_mut().filter(|note| note.task == root && note.op == "2") {
            note.what = What::Saw(Json::parse("[1]")?);
        }
        Ok(())
    }),
    ("one replay heard another result", |flows| answer(flows, "3", |heard| heard.replacen("0.1", "0.11", 1))),
    ("a child returned something else", |flows| {
        named(flows, "second")?.result = Some(Json::parse("0.1000001")?);
        Ok(())
    }),
    ("a child whose result was heard has failed", |flows| {
        named(flows, "second")?.state = State::Failed;
        Ok(())
    }),
    ("a stream changed its order", |flows| {
        let part = flows.notes.iter().find(|note| matches!(note.what, What::Part(0, _))).context("no part")?.clone();
        flows.notes.push(Note { what: What::Part(0, Json::null()), ..part });
        Ok(())
    }),
    ("an operation was left out", |flows| {
        let root = named(flows, "root")?.id;
        flows.notes.retain(|note| note.task != root || note.op != "4");
        Ok(())
    }),
    ("a child was made twice", |flows| {
        let copy = Task { id: TaskId(1_000), ..named(flows, "third")?.clone() };
        flows.tasks.insert(copy.id, copy);
        Ok(())
    }),
    ("a spawned child is missing", |flows| {
        let id = named(flows, "made")?.id;
        flows.tasks.remove(&id);
        Ok(())
    }),
    ("the follow-up came first", |flows| {
        let after = named(flows, "after")?.id;
        let (its, others): (Vec<_>, Vec<_>) = flows.notes.drain(..).partition(|note| note.task == after);
        flows.notes = [its, others].concat();
        Ok(())
    }),
    ("a child has not ended", |flows| {
        named(flows, "first")?.state = State::Waiting;
        Ok(())
    }),
    ("the parent ended first", |flows| {
        let root = named(flows, "root")?;
        root.finished_at = Some(root.created_at);
        Ok(())
    }),
];

#[tokio::test(flavor = "multi_thread")]
async fn a_workflow_spoilt_in_any_way_is_noticed() -> Result<()> {
    let scene = scene().await?;
    scene.judge().context("before anything was spoilt")?;
    for (what, spoil) in SPOILS {
        let mut spoilt = scene.clone();
        spoil(&mut spoilt).context(*what)?;
        ensure!(spoilt.judge().is_err(), "not noticed: {what}");
    }
    Ok(())
}
