//! The options of a worker before it starts: its handlers, its queues and its behaviour.

use std::collections::BTreeMap;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use kinfolk_core::{CommandName, Event, GroupSpec, Groups, InputError, QueueName};
use serde::de::DeserializeOwned;

use super::state::Options;
use crate::ctx::Ctx;
use crate::done::{Ending, IntoDone};
use crate::handler::{Handler, Handlers, IntoCommand, of_function};
use crate::kinfolk::Kinfolk;
use crate::layer::{Layer, Next};
use crate::observe::Observer;
use crate::schedule::Schedule;
use crate::source::CommandSource;
use crate::task_error::TaskError;
use crate::trace::TraceAs;

/// A worker about to be started. The first mistake made on the way is the answer of [`WorkerBuilder::start`].
#[derive(Clone)]
#[must_use = "a worker does nothing until it is started"]
pub struct WorkerBuilder {
    pub(super) kinfolk: Kinfolk,
    pub(super) queues: BTreeMap<QueueName, usize>,
    pub(super) capacity: Option<usize>,
    pub(super) handlers: Handlers,
    pub(super) schedules: Vec<kinfolk_core::Schedule>,
    pub(super) observer: Observer,
    pub(super) options: Options,
    pub(super) mistake: Option<InputError>,
}

impl WorkerBuilder {
    /// Claim from this queue, and run at most so many of its tasks at once. Without any call of this, the worker claims
    /// from the queues of its commands, a hundred tasks each.
    pub fn queue(mut self, name: impl AsRef<str>, capacity: usize) -> Self {
        match QueueName::new(name.as_ref()) {
            Ok(name) if capacity > 0 => {
                self.queues.insert(name, capacity);
            }
            Ok(name) => self.mistaken(InputError::Other(format!("queue {name} has no capacity; give it 1 or more"))),
            Err(fault) => self.mistaken(fault),
        }
        self
    }

    /// Run at most so many tasks at once over all queues. Default: the sum of the queues.
    pub fn capacity(mut self, total: usize) -> Self {
        if total == 0 {
            self.mistaken(InputError::Other("the worker has no capacity; give it 1 or more".to_owned()));
        }
        self.capacity = Some(total);
        self
    }

    /// Handle a typed task with an async function: see [`Handler`].
    pub fn handle<M, H: Handler<M>>(mut self, handler: H) -> Self {
        if let Err(fault) = self.handlers.add_typed(handler) {
            self.mistaken(fault);
        }
        self
    }

    /// Handle a command with a function of context and payload, without a type for its tasks. The command is a name, or a
    /// [`Command`](crate::Command) with defaults of its own.
    pub fn handler<P, R, F, W>(mut self, command: impl IntoCommand, function: F) -> Self
    where
        P: DeserializeOwned,
        R: IntoDone,
        F: Fn(Ctx, P) -> W + Send + Sync + 'static,
        W: Future<Output = Result<R, TaskError>> + Send + 'static,
    {
        if let Err(fault) = self.handlers.add(command, of_function(function)) {
            self.mistaken(fault);
        }
        self
    }

    /// Give handlers a value of the program, such as a pool of connections: those that ask for
    /// [`State<S>`](crate::extract::State) get a clone. One value of each type; a handler that asks for one that was not given is
    /// an error at the start.
    pub fn state<S: Clone + Send + Sync + 'static>(mut self, state: S) -> Self {
        if let Err(fault) = self.handlers.given.put(state) {
            self.mistaken(fault);
        }
        self
    }

    /// Put something around every attempt. The layer that was added first is the outermost.
    ///
    /// ```no_run
    /// use std::time::Instant;
    /// use kinfolk::{Ctx, Kinfolk, Next};
    ///
    /// # async fn example(kinfolk: Kinfolk) -> Result<(), kinfolk::Error> {
    /// let worker = kinfolk
    ///     .worker()
    ///     .layer(|ctx: Ctx, next: Next| async move {
    ///         let began = Instant::now();
    ///         let ended = next.run().await;
    ///         println!("{} {} took {:?}", ctx.command(), ctx.task(), began.elapsed());
    ///         ended
    ///     })
    ///     .start()
    ///     .await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// A layer may end the attempt without running it, and change how it ended. It is dropped with its handler when that is
    /// suspended, timed out or stopped, and begins anew when the handler is resumed.
    pub fn layer<F, W>(mut self, layer: F) -> Self
    where
        F: Fn(Ctx, Next) -> W + Send + Sync + 'static,
        W: Future<Output = Result<Ending, TaskError>> + Send + 'static,
    {
        self.handlers.layers.push(Layer::new(None, layer));
        self
    }

    /// Put something around the attempts of one command, among the layers of all in the order in which they were added.
    pub fn layer_for<F, W>(mut self, command: impl AsRef<str>, layer: F) -> Self
    where
        F: Fn(Ctx, Next) -> W + Send + Sync + 'static,
        W: Future<Output = Result<Ending, TaskError>> + Send + 'static,
    {
        match CommandName::new(command.as_ref()) {
            Ok(command) => self.handlers.layers.push(Layer::new(Some(command), layer)),
            Err(fault) => self.mistaken(fault),
        }
        self
    }

    /// Declare the groups of a command that this worker handles, each a name and a limit, a rate or a whole [`GroupSpec`]:
    /// these and no others. A group of the name `total` is the command's own total.
    ///
    /// ```no_run
    /// # use kinfolk::{Ctx, Kinfolk, TaskError};
    /// # async fn process(_: Ctx, message: String) -> Result<(), TaskError> { Ok(()) }
    /// # async fn example(kinfolk: Kinfolk) -> Result<(), kinfolk::Error> {
    /// let worker = kinfolk.worker().handler("process-message", process);
    /// let worker = worker.groups("process-message", [("tenant", 20), ("message", 1)]).start().await?;
    /// kinfolk.enqueue("process-message", "hello").key("tenant", "acme").key("message", "msg-1").await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn groups<N: AsRef<str>, S: Into<GroupSpec>>(
        mut self,
        command: impl AsRef<str>,
        groups: impl IntoIterator<Item = (N, S)>,
    ) -> Self {
        let declared = CommandName::new(command.as_ref()).and_then(|name| Ok((name, Groups::of(groups)?)));
        match declared {
            Ok((name, groups)) => drop(self.handlers.groups.insert(name, groups)),
            Err(fault) => self.mistaken(fault),
        }
        self
    }

    /// Declare a schedule: it is made, or changed, when the worker starts. One that is there as it is declared here stays armed as
    /// it was, and one that an operator has paused stays paused. A schedule that is no longer declared stays too, and `kinfolk doctor`
    /// tells of it.
    pub fn schedule(mut self, schedule: Schedule) -> Self {
        match schedule.build() {
            Ok(twice) if self.schedules.iter().any(|other| other.name == twice.name) => {
                let words = format!("two schedules are called {}; name one of them", twice.name);
                self.mistaken(InputError::Other(words));
            }
            Ok(schedule) => self.schedules.push(schedule),
            Err(fault) => self.mistaken(fault),
        }
        self
    }

    /// Also handle the commands of this source, which may change while the worker runs.
    pub fn commands_from(mut self, source: Arc<dyn CommandSource>) -> Self {
        self.handlers.set_source(source);
        self
    }

    /// Be told of everything that happens. Called from many threads; be short.
    pub fn on_event(mut self, listener: impl Fn(&Event) + Send + Sync + 'static) -> Self {
        self.observer.listen(listener);
        self
    }

    /// Whether the spans of attempts hang below the span in which their task was enqueued, or are linked to it. Default: below.
    /// Only with the feature `otel` is there a difference.
    pub fn trace_as(mut self, how: TraceAs) -> Self {
        self.observer.trace_as = how;
        self
    }

    /// Be told of every attempt that failed, with the whole error, before that is recorded: also of a panic and of a timeout. What
    /// becomes of the task is told by the events `retried` and `failed`. Called where handlers run; be short.
    pub fn on_error(mut self, hook: impl Fn(&Ctx, &TaskError) + Send + Sync + 'static) -> Self {
        self.observer.hook(hook);
        self
    }
}

/// How it behaves.
impl WorkerBuilder {
    /// The name shown to people. Default: the host and the process id.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.options.name = name.into();
        self
    }

    /// The program that the worker is a part of, and its version, as people see them: `shop 1.8.2`, say. Workers that say
    /// another one than those that started after them are shown as older. Default: nothing is said.
    pub fn version(mut self, version: impl Into<String>) -> Self {
        self.options.version = version.into();
        self
    }

    /// How long the worker is believed alive after a heartbeat. Default 30 s, at least 1 s.
    pub fn lease(mut self, lease: Duration) -> Self {
        self.options.lease = lease;
        self
    }

    /// How often it renews its lease. Default 5 s; well below the lease.
    pub fn heartbeat(mut self, every: Duration) -> Self {
        self.options.heartbeat = every;
        self
    }

    /// How often an idle queue is looked at when no wake-up comes. Default 1 s.
    pub fn poll(mut self, every: Duration) -> Self {
        self.options.poll = every;
        self
    }

    /// How long a cancelled handler may go on before it is dropped. Default 10 s.
    pub fn grace(mut self, grace: Duration) -> Self {
        self.options.grace = grace;
        self
    }

    /// How long a stopping worker lets its handlers go on before it gives their tasks back. Default 20 s.
    pub fn stop_grace(mut self, grace: Duration) -> Self {
        self.options.stop_grace = grace;
        self
    }

    /// Whether this worker also recovers lost tasks, looks for what waits for nothing, fires schedules and prunes. Default yes; every fleet needs one that
    /// does.
    pub fn maintenance(mut self, maintenance: bool) -> Self {
        self.options.maintenance = maintenance;
        self
    }
}

impl WorkerBuilder {
    /// Hear no wake-ups: only polling finds work.
    #[cfg(feature = "testing")]
    pub(crate) fn deaf(mut self) -> Self {
        self.options.wakeups = false;
        self
    }

    pub(crate) fn kinfolk(&self) -> &Kinfolk {
        &self.kinfolk
    }

    fn mistaken(&mut self, fault: InputError) {
        self.mistake.get_or_insert(fault);
    }
}

impl std::fmt::Debug for WorkerBuilder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("WorkerBuilder")
            .field("queues", &self.queues)
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}
