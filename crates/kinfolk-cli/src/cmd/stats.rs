//! `kinfolk stats`: how many tasks there are, by queue, command and state.

use std::collections::BTreeMap;

use kinfolk_core::State;
use kinfolk_core::inspect::Stats;

use crate::fault::Fault;
use crate::out::parts::StatsPart;
use crate::out::table::{self, Table};
use crate::out::words;
use crate::session::Session;
use crate::span;

/// Runs it.
pub(crate) async fn run(session: &Session) -> Result<(), Fault> {
    let store = session.open().await?;
    let (stats, held) = (store.stats().await?, store.held(None).await?);
    let out = session.out;
    if out.json() {
        return out.item(&StatsPart::new(&stats, &held));
    }
    if stats.counts.is_empty() {
        out.line("no tasks yet: see `kinfolk enqueue --help`")?;
    } else {
        out.line(table_of(&stats))?;
    }
    if !stats.more.is_empty() {
        let states: Vec<&str> = stats.more.iter().map(|state| state.as_str()).collect();
        out.line(format_args!("there are more tasks than were counted: {}", states.join(", ")))?;
    }
    out.line("")?;
    if stats.fan_outs > 0 {
        let (fan_outs, families) = (stats.fan_outs, stats.families);
        out.line(format_args!("fan-outs with open children: {fan_outs}, in families: {families}"))?;
    }
    for held in &held {
        out.line(words::held(held))?;
    }
    for (queue, since) in stats.first_in_line(&held) {
        out.line(format_args!("queue {queue}: the first in line has waited {}", span::show(stats.now.since(*since))))?;
    }
    out.line(match stats.workers {
        0 => "no worker is alive".to_owned(),
        1 => "1 worker is alive".to_owned(),
        workers => format!("{workers} workers are alive"),
    })
}

fn table_of(stats: &Stats) -> Table {
    let mut lines: BTreeMap<(&str, &str), [u64; 6]> = BTreeMap::new();
    for count in &stats.counts {
        let line = lines.entry((count.queue.as_str(), count.command.as_str())).or_default();
        line[column(count.state)] += count.tasks;
    }
    let mut headings = vec!["queue", "command"];
    headings.extend(State::ALL.map(State::as_str));
    headings.push("total");
    let mut table = Table::new(&headings).numbers(&[2, 3, 4, 5, 6, 7, 8]);
    let mut all = [0; 6];
    for ((queue, command), counts) in &lines {
        table.row(row(table::text(queue), table::text(command), *counts));
        for (sum, count) in all.iter_mut().zip(counts) {
            *sum += count;
        }
    }
    if lines.len() > 1 {
        table.row(row(table::bold("all"), table::text(""), all));
    }
    table
}

fn column(state: State) -> usize {
    State::ALL.iter().position(|known| *known == state).unwrap_or_default()
}

fn row(queue: comfy_table::Cell, command: comfy_table::Cell, counts: [u64; 6]) -> Vec<comfy_table::Cell> {
    let mut cells = vec![queue, command];
    cells.extend(State::ALL.into_iter().zip(counts).map(|(state, count)| table::number_of(state, count)));
    cells.push(table::number(counts.iter().sum()));
    cells
}
