//! `kinfolk work`: a worker with built-in commands. The first signal lets it finish what it runs, the second ends it.

use std::collections::BTreeSet;
use std::str::FromStr;
use std::time::Duration;

use kinfolk::{Kinfolk, State, Store, WorkerHandle};
use kinfolk_core::{InputError, QueueName};

use crate::builtin;
use crate::exit::Exit;
use crate::fault::Fault;
use crate::session::Session;
use crate::stop::Signals;

/// How often `--until-idle` looks whether there is anything left.
const IDLE_LOOK: Duration = Duration::from_millis(100);

/// `kinfolk work`
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// Take from this queue, at most this many at once, like mail=4; may be given several times; without it, the queues
    /// of the built-in commands
    #[arg(long, value_name = "NAME[=CAPACITY]")]
    queue: Vec<Lane>,

    /// At most this many tasks at once, over all queues
    #[arg(long, value_name = "N", default_value_t = 16, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    capacity: u32,

    /// Also run the command `shell`, which can run any program
    #[arg(long)]
    allow_shell: bool,

    /// End when every task it could run has settled, those that are due later too
    #[arg(long)]
    until_idle: bool,
}

/// A queue, and how much of it to run at once.
#[derive(Clone, Debug)]
pub(crate) struct Lane {
    queue: QueueName,
    capacity: Option<usize>,
}

impl FromStr for Lane {
    type Err = InputError;

    fn from_str(text: &str) -> Result<Self, InputError> {
        let Some((name, capacity)) = text.split_once('=') else {
            return Ok(Self { queue: text.parse()?, capacity: None });
        };
        match capacity.parse() {
            Ok(capacity) if capacity > 0 => Ok(Self { queue: name.parse()?, capacity: Some(capacity) }),
            _ => Err(InputError::Other(format!("not a capacity: {capacity:?}; write the queue like mail=4"))),
        }
    }
}

/// Runs it.
pub(crate) async fn run(args: Args, session: &Session) -> Result<(), Fault> {
    let mut signals = Signals::listen()?;
    let store = session.open_or_create().await?;
    let capacity = args.capacity as usize;
    let mut worker = Kinfolk::new(store.clone()).worker().capacity(capacity);
    for lane in &args.queue {
        worker = worker.queue(lane.queue.as_str(), lane.capacity.unwrap_or(capacity));
    }
    let worker = builtin::add(worker, args.allow_shell).start().await?;
    let queues = args.queues(store.as_ref()).await?;
    session.out.hint(format_args!("{}; Ctrl-C to stop", sentence(&args, &queues)));

    tokio::select! {
        () = signals.next() => session.out.hint("stopping: what runs may finish; Ctrl-C again to end at once"),
        idle = until_idle(&args, &worker, store.as_ref(), &queues) => idle?,
    }
    stop(worker, &mut signals).await
}

impl Args {
    /// The queues it takes from: those it was given, or those of its commands.
    async fn queues(&self, store: &dyn Store) -> Result<BTreeSet<QueueName>, Fault> {
        if !self.queue.is_empty() {
            return Ok(self.queue.iter().map(|lane| lane.queue.clone()).collect());
        }
        let ours = builtin::names(self.allow_shell);
        let commands = store.commands().await?.into_iter();
        Ok(commands.filter(|command| ours.contains(&command.name.as_str())).map(|command| command.queue).collect())
    }
}

fn sentence(args: &Args, queues: &BTreeSet<QueueName>) -> String {
    let queues: Vec<&str> = queues.iter().map(QueueName::as_str).collect();
    format!("working on {} with {}", queues.join(", "), builtin::names(args.allow_shell).join(", "))
}

/// Waits until nothing is left that this worker could run; for good, when it was not asked to.
async fn until_idle(
    args: &Args,
    worker: &WorkerHandle,
    store: &dyn Store,
    queues: &BTreeSet<QueueName>,
) -> Result<(), Fault> {
    if !args.until_idle {
        return std::future::pending().await;
    }
    let commands = builtin::names(args.allow_shell);
    loop {
        // The worker knows best what can be run now; the store is asked for what others run and what is due later.
        worker.wait_idle().await;
        let paused: BTreeSet<QueueName> = store
            .queues()
            .await?
            .into_iter()
            .filter(|queue| queue.paused_at.is_some())
            .map(|queue| queue.name)
            .collect();
        let stats = store.stats().await?;
        let left = stats.counts.iter().any(|count| {
            let ours = queues.contains(&count.queue) && commands.contains(&count.command.as_str());
            let waits = count.state == State::Pending && !paused.contains(&count.queue);
            ours && (waits || count.state == State::Running)
        });
        if !left {
            return Ok(());
        }
        tokio::time::sleep(IDLE_LOOK).await;
    }
}

async fn stop(worker: WorkerHandle, signals: &mut Signals) -> Result<(), Fault> {
    tokio::select! {
        stopped = worker.stop() => Ok(stopped?),
        () = signals.next() => {
            worker.kill().await?;
            Err(Fault::new(Exit::Interrupted, "interrupted", "stopped hard; the tasks in hand were given back"))
        }
    }
}
