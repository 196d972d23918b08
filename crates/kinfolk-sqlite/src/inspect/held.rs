//! Pending tasks by the reason that holds them, as the indexes tell reasons apart, counted no further than a look goes.

use kinfolk_core::held::{Fact, Held, Pending, held};
use kinfolk_core::limits::LOOK_MAX;
use kinfolk_core::{CommandName, QueueName};
use rusqlite::{Params, params};

use crate::error::Result;
use crate::inspect::groups;
use crate::inspect::stats;
use crate::readers::Snapshot;

const PAGE: usize = LOOK_MAX + 1;

macro_rules! sql {
    ($name:literal) => {
        include_str!(concat!("../../sql/inspect/held/", $name, ".sql"))
    };
}

/// How many pending tasks of a queue, or of all, are held up by what.
pub(crate) fn held_up(snapshot: &Snapshot<'_>, queue: Option<&QueueName>) -> Result<Vec<Held>> {
    let Some(queues) = snapshot.catalogue.queues_named(queue) else { return Ok(Vec::new()) };
    let mut facts = Facts { snapshot, pending: Vec::new(), served: served(snapshot)? };
    for queue in queues {
        facts.of_queue(queue)?;
    }
    Ok(held(facts.pending, snapshot.now))
}

/// Which live workers claim from which queues and handle which commands.
fn served(snapshot: &Snapshot<'_>) -> Result<Vec<(Vec<QueueName>, Vec<CommandName>)>> {
    let live = stats::workers(snapshot)?.into_iter().filter(|worker| worker.lease_until >= snapshot.now);
    Ok(live.map(|worker| (worker.queues, worker.commands)).collect())
}

struct Facts<'a, 'b> {
    snapshot: &'a Snapshot<'b>,
    pending: Vec<Pending>,
    served: Vec<(Vec<QueueName>, Vec<CommandName>)>,
}

impl Facts<'_, '_> {
    fn of_queue(&mut self, queue: i64) -> Result<()> {
        let now = self.snapshot.now.as_micros();
        let not_due = self.count(sql!("not_due"), params![queue, now, PAGE])?;
        self.add(queue, Fact::NotDue, not_due)?;
        let after = self.count(sql!("bucket"), params![queue, "after", PAGE])?;
        self.add(queue, Fact::After, after)?;
        let limited = self.count(sql!("bucket"), params![queue, "limit", PAGE])?;
        self.add(queue, Fact::FamilyLimit, limited)?;
        self.keys(queue)?;
        self.open(queue)
    }

    fn add(&mut self, queue: i64, fact: Fact, tasks: u64) -> Result<()> {
        let known = self.snapshot.catalogue.queue_by_id(queue)?;
        let (queue, paused) = (known.name.clone(), known.paused_at.is_some());
        self.pending.push(Pending { queue, paused, fact, tasks, cut: false });
        Ok(())
    }

    fn count(&self, sql: &str, params: impl Params) -> Result<u64> {
        Ok(self.snapshot.conn.prepare_cached(sql)?.query_row(params, |row| row.get(0))?)
    }

    /// The tasks behind keys; of all keys together so many.
    fn keys(&mut self, queue: i64) -> Result<()> {
        let mut statement = self.snapshot.conn.prepare_cached(sql!("keys"))?;
        let rows = statement.query_map(params![queue, PAGE], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
        let rows: Vec<(i64, String, u64)> = rows.collect::<rusqlite::Result<_>>()?;
        let cut = rows.iter().map(|(_, _, tasks)| tasks).sum::<u64>() > LOOK_MAX as u64;
        for (group, key, tasks) in rows {
            let group = self.snapshot.catalogue.group(group)?;
            let until = groups::until(self.snapshot, group, &key)?;
            self.add(queue, Fact::Key { group: group.group.clone(), key, until }, tasks)?;
            if let Some(last) = self.pending.last_mut() {
                last.cut = cut;
            }
        }
        Ok(())
    }

    /// The tasks that nothing holds, by command.
    fn open(&mut self, queue: i64) -> Result<()> {
        let known = self.snapshot.catalogue.queue_by_id(queue)?;
        let (name, fair) = (known.name.clone(), known.policy.fair.is_some());
        let commands: Vec<i64> = self.snapshot.catalogue.command_ids().collect();
        for id in commands {
            let mut tasks = self.count(sql!("open"), params![queue, id, PAGE])?;
            tasks += self.count(sql!("due"), params![queue, id, self.snapshot.now.as_micros(), PAGE])?;
            let command = self.snapshot.catalogue.command_name(id)?.clone();
            let serves = |(queues, commands): &(Vec<QueueName>, Vec<CommandName>)| {
                queues.contains(&name) && commands.contains(&command)
            };
            let served = self.served.iter().any(serves);
            self.add(queue, Fact::Open { command, fair, served }, tasks)?;
        }
        Ok(())
    }
}
