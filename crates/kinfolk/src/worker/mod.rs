//! The worker: claims tasks, runs their handlers, settles.
//!
//! One worker is a handful of services around shared state, each in its own file and of the same shape (`run` for good,
//! until the worker ends it; `run_once` for one step): the [`claimer`], a [`runner`] for each attempt, the [`settler`], the
//! [`recorder`], the [`heartbeat`], the [`wake`]-ups, the [`catalogue`] of commands, the [`queue_watch`], the [`minute_recorder`], and for maintenance the [`recoverer`], the
//! [`sweeper`], the [`scheduler`] and the [`pruner`]. The [`builder`] hears how the worker behaves, and [`start`] makes it run.

pub(crate) mod attempt;
mod builder;
mod catalogue;
mod claimer;
mod handle;
mod heartbeat;
pub(crate) mod inbox;
mod minute_recorder;
mod permits;
mod pruner;
mod queue_watch;
mod recorder;
mod recoverer;
pub(crate) mod runner;
mod scheduler;
pub(crate) mod settler;
mod start;
pub(crate) mod state;
mod sweeper;
mod wake;

use std::collections::BTreeMap;
use std::time::Duration;

pub use self::builder::WorkerBuilder;
pub use self::handle::WorkerHandle;
use self::state::Options;
use crate::handler::Handlers;
use crate::kinfolk::Kinfolk;
use crate::observe::Observer;

/// Where a worker begins: [`Worker::builder`].
#[derive(Debug)]
pub struct Worker;

impl Worker {
    /// A worker on this store, to be configured and started.
    ///
    /// ```no_run
    /// use kinfolk::{Ctx, Kinfolk, Worker};
    ///
    /// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
    /// let kinfolk = Kinfolk::open("sqlite:tasks.db").await?;
    /// let worker = Worker::builder(&kinfolk)
    ///     .queue("mail", 50)
    ///     .handler("send_email", |ctx: Ctx, to: String| async move {
    ///         println!("task {} writes to {to}", ctx.task());
    ///         Ok(())
    ///     })
    ///     .start()
    ///     .await?;
    /// worker.run_until_signal().await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn builder(kinfolk: impl Into<Kinfolk>) -> WorkerBuilder {
        WorkerBuilder {
            kinfolk: kinfolk.into(),
            queues: BTreeMap::new(),
            capacity: None,
            handlers: Handlers::default(),
            schedules: Vec::new(),
            observer: Observer::default(),
            options: Options {
                name: format!("{} process {}", host(), std::process::id()),
                version: String::new(),
                lease: Duration::from_secs(30),
                heartbeat: Duration::from_secs(5),
                poll: Duration::from_secs(1),
                grace: Duration::from_secs(10),
                stop_grace: Duration::from_secs(20),
                maintenance: true,
                wakeups: true,
            },
            mistake: None,
        }
    }
}

/// The name of this machine; in a container that is the container's.
#[cfg(unix)]
fn host() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

/// The name of this machine.
#[cfg(not(unix))]
fn host() -> String {
    std::env::var("COMPUTERNAME").unwrap_or_else(|_| "host".to_owned())
}
