//! The commands of a victim whose tasks have keys, and the witness in their handlers.
//!
//! The witness knows nothing of the engine: each key has as many files as its limit allows holders, and a handler locks one
//! of them while it works. The kernel lets go of the locks of a process that dies, so that nobody is counted who is not
//! there. A handler that finds all files of a key locked writes down who had them: the limit was passed.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Result;
use kinfolk::{Ctx, Done, TaskError, WorkerBuilder};
use kinfolk_core::{Command, CommandName, GroupName, GroupRef, Json, Keys, NewTask, QueueName, Setting, Store};
use serde::{Deserialize, Serialize};

use crate::victim::Orders;
use crate::{journal, ledger};

/// The commands whose tasks have keys; the last one has a queue of its own.
pub const WITH_KEYS: [&str; 3] = ["with_keys", "with_keys_too", "with_keys_aside"];
/// The group of the first one that [`Mode::Regroup`](super::Mode::Regroup) removes.
pub const SPARE: &str = "spare";
const ASIDE: &str = "aside";

/// What a task with keys does.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WithKeys {
    /// The rooms that it takes a seat in while it works.
    pub rooms: Vec<Room>,
    /// Attempts that end in an error before one goes well.
    pub errors: u16,
    /// Whether its first attempt ends in a snooze.
    pub snoozes: bool,
    /// Blocks its thread while it works, so that it goes on after its process was stopped, whatever the worker thinks.
    pub blocks: bool,
    /// The group in which it slows its key down, for a moment.
    pub slows: Option<String>,
}

/// A key as the witness sees it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Room {
    /// A name that no other key has, of any group.
    pub name: String,
    /// Its slots.
    pub limit: u32,
    /// Whether a task stays in it until it has ended.
    pub hold: bool,
}

/// A key whose limit was passed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Passed {
    /// The key.
    pub room: String,
    /// The process that was one too many, and those that had all the seats.
    pub processes: Vec<u32>,
}

/// The command of this name, as it is registered: on its queue, without groups.
pub fn command_with_keys(name: &str) -> Result<Command> {
    let queue = if name == WITH_KEYS[2] { QueueName::new(ASIDE)? } else { QueueName::default() };
    Ok(Command { queue, ..Command::new(CommandName::new(name)?) })
}

impl WithKeys {
    /// The task that does this, with these keys.
    pub fn task(&self, command: &str, keys: Keys) -> Result<NewTask> {
        Ok(NewTask { keys, ..NewTask::new(CommandName::new(command)?, Json::of(self)?) })
    }
}

/// Gives a worker all of them.
pub(super) fn add(mut builder: WorkerBuilder, orders: &Orders) -> Result<WorkerBuilder> {
    for name in WITH_KEYS {
        let (file, work) = (orders.ledger.clone(), Duration::from_millis(orders.work_ms));
        let handler = move |ctx: Ctx, with_keys: WithKeys| act(ctx, with_keys, file.clone(), work);
        builder = builder.handler(command_with_keys(name)?, handler);
    }
    Ok(builder)
}

async fn act(ctx: Ctx, with_keys: WithKeys, ledger: PathBuf, work: Duration) -> Result<Done<()>, TaskError> {
    const SOON: Duration = Duration::from_millis(1);
    let seats = enter_rooms(&ledger, &with_keys.rooms)?;
    if let Some(group) = &with_keys.slows {
        ctx.slow_down_for(group, SOON).await?;
    }
    if with_keys.blocks {
        std::thread::sleep(work);
    } else {
        tokio::time::sleep(work).await;
    }
    let attempts = if with_keys.snoozes { ctx.kinfolk().store().attempts(ctx.task()).await? } else { Vec::new() };
    // Left before the engine is told: from here on others may come.
    drop(seats);
    if ctx.attempt() <= with_keys.errors {
        return Err(TaskError::new("an error, as planned").retry_after(SOON));
    }
    if with_keys.snoozes && attempts.is_empty() {
        return Ok(Done::snooze(SOON));
    }
    ledger::note(&ledger, ctx.task())?;
    Ok(Done::value(()))
}

/// Sets the limit of a group, and removes it.
pub(super) async fn regroup(store: &dyn Store) -> Result<()> {
    let spare = GroupRef::of(CommandName::new(WITH_KEYS[0])?, GroupName::new(SPARE)?);
    store.set_group(&spare, None, &Setting { limit: Some(2), rate: None }).await?;
    Ok(store.remove_group(&spare).await?)
}

/// Takes a seat in each room; they are left when the answer is dropped. Where there is none, that is written down.
pub fn enter_rooms(ledger: &Path, rooms: &[Room]) -> std::io::Result<Vec<File>> {
    let folder = ledger.with_file_name("rooms");
    std::fs::create_dir_all(&folder)?;
    let mut seats = Vec::new();
    for room in rooms {
        match seat_in(&folder, room)? {
            Ok(seat) => seats.push(seat),
            Err(processes) => journal::append(&passed_file(ledger), &Passed { room: room.name.clone(), processes })?,
        }
    }
    Ok(seats)
}

/// The file of those keys whose limit was passed.
pub fn passed_file(ledger: &Path) -> PathBuf {
    ledger.with_file_name("passed")
}

/// A seat in a room, or the processes that have them all, and this one.
fn seat_in(folder: &Path, room: &Room) -> std::io::Result<Result<File, Vec<u32>>> {
    // Others come and go between two looks, so that all seats can seem to be taken though one always was free.
    const LOOKS: usize = 3;
    let mut processes = vec![std::process::id()];
    for seat in (0..LOOKS).flat_map(|_| 0..room.limit) {
        let path = folder.join(format!("{}.{seat}", room.name));
        let mut file = OpenOptions::new().create(true).append(true).open(&path)?;
        if file.try_lock().is_ok() {
            file.set_len(0)?;
            write!(file, "{}", std::process::id())?;
            return Ok(Ok(file));
        }
        // Whoever has just taken it may not have written yet; then nobody is excused on its account.
        processes.extend(std::fs::read_to_string(&path)?.parse::<u32>());
    }
    Ok(Err(processes))
}
