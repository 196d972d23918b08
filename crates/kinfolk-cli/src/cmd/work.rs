//! `kinfolk work`: a worker for commands whose handlers are functions in the database, and for the built-in ones. The first
//! signal lets it finish what it runs, the second ends it.

mod config;
pub(crate) mod crew;

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use kinfolk::core::inspect::Filter;
use kinfolk::core::limits::PAGE_MAX;
use kinfolk::{State, StopRequests, Store, TaskView};
use kinfolk_core::{Gate, InputError, QueueName, StoreError};
use kinfolk_postgres::PgOptions;
use kinfolk_web::Server;

use self::config::Config;
use self::crew::Crew;
use super::serve::{self, Serving};
use crate::builtin;
use crate::database::{self, Target};
use crate::dump;
use crate::exit::Exit;
use crate::fault::Fault;
use crate::session::Session;

/// Tasks at once, when nothing else is said.
const CAPACITY: u32 = 16;

/// How often `--until-idle` looks whether there is anything left.
const IDLE_LOOK: Duration = Duration::from_millis(100);

/// `kinfolk work`
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    #[command(flatten)]
    hire: Hire,

    /// End when every task it could run has settled, those that are due later too
    #[arg(long)]
    until_idle: bool,

    /// Answer /metrics, /healthz and /readyz here
    #[arg(long, value_name = "ADDRESS:PORT")]
    listen: Option<SocketAddr>,
}

/// The queues and handlers of the workers of a process.
#[derive(clap::Args, Debug)]
pub(crate) struct Hire {
    /// Claim from this queue, at most this many at once, like mail=4; may be given several times; without it and without
    /// a config file, the queues of the commands it can run, those that come up later too
    #[arg(long, value_name = "NAME[=CAPACITY]")]
    queue: Vec<QueueArg>,

    /// A file that names queues, with capacities, limits and pauses
    #[arg(long, value_name = "PATH")]
    config: Option<PathBuf>,

    /// At most this many tasks at once, over all queues; 16 unless the config file says otherwise
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    capacity: Option<u32>,

    /// Also run the command `shell`, which can run any program
    #[arg(long)]
    allow_shell: bool,
}

/// A queue, and how much of it to run at once.
#[derive(Clone, Debug)]
pub(crate) struct QueueArg {
    queue: QueueName,
    capacity: Option<usize>,
}

impl FromStr for QueueArg {
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
    let mut stops = StopRequests::listen();
    let config = args.hire.config()?;
    let measures = args.listen.map(|_| serve::measure()).transpose()?;
    let store = session.open_or_create().await?;
    let serving = match args.listen {
        Some(address) => {
            let web = config.web.server()?.measures(measures);
            let serving = Serving::start(Server::bind_probes(address, Arc::clone(&store), web).await?)?;
            session.out.hint(format_args!("http://{}/metrics", serving.address));
            Some(serving)
        }
        None => None,
    };
    let (crew, queues) = args.hire.start(&config, store, session).await?;
    session.out.hint(format_args!("{}; Ctrl-C to stop", sentence(&crew, &queues).await?));

    tokio::select! {
        () = stops.next() => session.out.hint("stopping: what runs may finish; Ctrl-C again to end at once"),
        idle = until_idle(&args, &crew) => idle?,
        grown = crew.grow(queues) => grown?,
    }
    stop(&crew, &mut stops).await?;
    match serving {
        Some(serving) => serving.stop().await,
        None => Ok(()),
    }
}

impl Hire {
    /// The settings of the config file.
    pub(crate) fn config(&self) -> Result<Config, Fault> {
        Ok(self.config.as_deref().map(Config::read).transpose()?.unwrap_or_default())
    }

    /// Starts the workers. Says which queues they take from.
    pub(crate) async fn start(
        &self,
        config: &Config,
        store: Arc<dyn Store>,
        session: &Session,
    ) -> Result<(Crew, BTreeSet<QueueName>), Fault> {
        config.apply(store.as_ref()).await?;
        self.must_know_queues(store.as_ref(), session).await?;
        let crew = self.crew(config, store, session)?;
        let queues = crew.start().await?;
        Ok((crew, queues))
    }

    /// A misspelt queue is an error: nothing would ever come from it. The built-in commands make the default one.
    async fn must_know_queues(&self, store: &dyn Store, session: &Session) -> Result<(), Fault> {
        if self.queue.is_empty() {
            return Ok(());
        }
        let mut known: BTreeSet<QueueName> = store.queues().await?.into_iter().map(|queue| queue.name).collect();
        known.insert(QueueName::default());
        let Some(queue) = self.queue.iter().find(|queue| !known.contains(&queue.queue)) else { return Ok(()) };
        let known: Vec<&str> = known.iter().map(QueueName::as_str).collect();
        let make = session.command_line(&format!("queue set {}", queue.queue));
        let message = format!("{}; there are: {}; to make it, type `{make}`", queue.queue, known.join(", "));
        Err(StoreError::not_found("queue", message).into())
    }

    fn crew(&self, config: &Config, store: Arc<dyn Store>, session: &Session) -> Result<Crew, Fault> {
        let capacity = self.capacity.or(config.capacity).unwrap_or(CAPACITY) as usize;
        let configured = config.queues.iter().map(|(queue, config)| (queue.clone(), config.capacity));
        let named = self.queue.iter().map(|queue| (queue.queue.clone(), queue.capacity));
        let queues: BTreeMap<QueueName, Option<usize>> = configured.chain(named).collect();
        let server = match session.target()? {
            Target::Server(url) => {
                let options = database::options(&session.global);
                let name = "kinfolk handler".to_owned();
                Some((url, PgOptions { pool_size: capacity, application_name: name, ..options }))
            }
            Target::File(_) => None,
        };
        let providers = config.providers.open().map_err(|fault| Fault::input(fault.to_string()))?;
        dump::forbid(&providers);
        Ok(Crew {
            store,
            server,
            queues: queues.into_iter().map(|(queue, most)| (queue, most.unwrap_or(capacity))).collect(),
            capacity,
            lease: config.lease()?,
            allow_shell: self.allow_shell,
            providers,
            workers: Mutex::default(),
        })
    }
}

pub(crate) async fn sentence(crew: &Crew, queues: &BTreeSet<QueueName>) -> Result<String, Fault> {
    let queues: Vec<&str> = queues.iter().map(QueueName::as_str).collect();
    let handlers: Vec<_> = crew.commands().await?.into_iter().filter_map(|command| command.handler).collect();
    // A handler without a schema is one of this program.
    let (functions, own): (Vec<_>, Vec<_>) =
        handlers.iter().map(|handler| handler.function.as_str()).partition(|name| name.contains('.'));
    let own: BTreeSet<&str> = own.into_iter().collect();
    let and = match functions.len() {
        0 => String::new(),
        1 => " and 1 function in the database".to_owned(),
        many => format!(" and {many} functions in the database"),
    };
    let mut names: Vec<&str> = builtin::names(crew.allow_shell);
    names.extend(own);
    Ok(format!("working on {} with {}{and}", queues.join(", "), names.join(", ")))
}

/// Waits until nothing is left that this worker could run; for good, when it was not asked to.
async fn until_idle(args: &Args, crew: &Crew) -> Result<(), Fault> {
    if !args.until_idle {
        return std::future::pending().await;
    }
    loop {
        // The workers know best what can be run now; the store is asked for what others run and what is due later.
        crew.wait_idle().await;
        let (queues, commands) = (crew.queues().await?, crew.commands().await?);
        let paused: BTreeSet<QueueName> = crew
            .store
            .queues()
            .await?
            .into_iter()
            .filter(|queue| queue.paused_at.is_some())
            .map(|queue| queue.name)
            .collect();
        let stats = crew.store.stats().await?;
        let left = stats.counts.iter().any(|count| {
            let ours = queues.contains(&count.queue) && commands.iter().any(|command| command.name == count.command);
            let waits = count.state == State::Pending && !paused.contains(&count.queue);
            ours && (waits || count.state == State::Running)
        });
        if !left && !sleeps(crew, &queues).await? {
            return Ok(());
        }
        tokio::time::sleep(IDLE_LOOK).await;
    }
}

/// Whether the handler of a task that this worker could run waits for its time to come.
async fn sleeps(crew: &Crew, queues: &BTreeSet<QueueName>) -> Result<bool, Fault> {
    let commands = crew.commands().await?;
    let mut filter = Filter { state: vec![State::Waiting], limit: PAGE_MAX, ..Filter::default() };
    loop {
        let page = crew.store.list(&filter).await?;
        let ours = |task: &TaskView| {
            queues.contains(&task.queue) && commands.iter().any(|command| command.name == task.command)
        };
        if page.tasks.iter().any(|task| task.gate == Some(Gate::Time) && ours(task)) {
            return Ok(true);
        }
        filter.before = page.next;
        if page.next.is_none() {
            return Ok(false);
        }
    }
}

pub(crate) async fn stop(crew: &Crew, stops: &mut StopRequests) -> Result<(), Fault> {
    tokio::select! {
        stopped = crew.stop() => stopped,
        () = stops.next() => {
            crew.kill().await?;
            Err(Fault::new(Exit::Interrupted, "interrupted", "stopped hard; the tasks in hand were given back"))
        }
    }
}
