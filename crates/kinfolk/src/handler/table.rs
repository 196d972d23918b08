//! Handlers with their types erased, by command.

use std::collections::HashMap;
use std::future::{Future, ready};
use std::sync::Arc;

use futures_util::future::BoxFuture;
use kinfolk_core::{Command, CommandBuilder, CommandName, Groups, InputError};
use serde::de::DeserializeOwned;

use super::{Handler, payload_of};
use crate::ctx::Ctx;
use crate::done::{Ending, IntoDone};
use crate::extract::Given;
use crate::layer::Layer;
use crate::source::CommandSource;
use crate::task::Task;
use crate::task_error::TaskError;

/// Runs one attempt.
pub(crate) type Run = Arc<dyn Fn(Ctx) -> BoxFuture<'static, Result<Ending, TaskError>> + Send + Sync>;

/// Looks whether the worker lacks something for the arguments of a handler.
type Check = fn(&Given) -> Result<(), InputError>;

/// The handlers of a worker, by command.
#[derive(Clone, Default)]
pub(crate) struct Handlers {
    by_command: HashMap<CommandName, Run>,
    checks: Vec<(CommandName, Check)>,
    /// Commands that come and go, and what runs them.
    pub(crate) source: Option<Arc<dyn CommandSource>>,
    of_source: Option<Run>,
    /// Commands that are registered as they are here.
    pub(crate) declared: Vec<Command>,
    /// Commands of which only the name is given: registered with defaults, unless someone has done so before.
    pub(crate) named: Vec<CommandName>,
    /// The groups that were declared beside a handler; its command is registered with them.
    pub(crate) groups: HashMap<CommandName, Groups>,
    /// The layers around handlers, the outermost first.
    pub(crate) layers: Vec<Layer>,
    /// The values that handlers may ask for by their arguments.
    pub(crate) given: Given,
}

/// The command of a handler: a bare name takes the defaults that someone else registered, or the engine's own; a
/// [`Command`] is registered as it is.
pub trait IntoCommand {
    #[doc(hidden)]
    fn into_command(self) -> Result<Result<Command, CommandName>, InputError>;
}

impl IntoCommand for &str {
    fn into_command(self) -> Result<Result<Command, CommandName>, InputError> {
        CommandName::new(self).map(Err)
    }
}

impl IntoCommand for CommandName {
    fn into_command(self) -> Result<Result<Command, CommandName>, InputError> {
        Ok(Err(self))
    }
}

impl IntoCommand for Command {
    fn into_command(self) -> Result<Result<Command, CommandName>, InputError> {
        Ok(Ok(self))
    }
}

impl IntoCommand for CommandBuilder {
    fn into_command(self) -> Result<Result<Command, CommandName>, InputError> {
        self.build().map(Ok)
    }
}

impl Handlers {
    pub(crate) fn add(&mut self, command: impl IntoCommand, handler: Run) -> Result<CommandName, InputError> {
        let name = match command.into_command()? {
            Ok(command) => {
                let name = command.name.clone();
                self.declared.push(command);
                name
            }
            Err(name) => {
                self.named.push(name.clone());
                name
            }
        };
        match self.by_command.insert(name.clone(), handler) {
            None => Ok(name),
            Some(_) => Err(InputError::Other(format!("command {name} has two handlers; give it one"))),
        }
    }

    /// Adds the handler of a typed task.
    pub(crate) fn add_typed<M, H: Handler<M>>(&mut self, handler: H) -> Result<(), InputError> {
        let name = self.add(H::Task::command(), of_handler(handler))?;
        self.checks.push((name, H::check));
        Ok(())
    }

    /// Refuses a handler that asks for what the worker was not given.
    pub(crate) fn check_given(&self) -> Result<(), InputError> {
        for (command, check) in &self.checks {
            check(&self.given)
                .map_err(|lack| InputError::Other(format!("the handler of command {command}: {lack}")))?;
        }
        Ok(())
    }

    /// The command with the groups that were declared beside its handler, if some were.
    pub(crate) fn grouped(&self, command: Command) -> Command {
        match self.groups.get(&command.name) {
            Some(groups) => Command { groups: Some(groups.clone()), ..command },
            None => command,
        }
    }

    /// Refuses groups of a command without a handler here: it would not be registered with them.
    pub(crate) fn check_groups(&self, sourced: &[CommandName]) -> Result<(), InputError> {
        match self.groups.keys().find(|name| !self.by_command.contains_key(name) && !sourced.contains(name)) {
            Some(name) => {
                Err(InputError::Other(format!("groups of command {name}, which has no handler here; add one")))
            }
            None => Ok(()),
        }
    }

    pub(crate) fn set_source(&mut self, source: Arc<dyn CommandSource>) {
        self.of_source = Some(of_source(Arc::clone(&source)));
        self.source = Some(source);
    }

    pub(crate) fn get(&self, command: &CommandName) -> Option<&Run> {
        self.by_command.get(command).or(self.of_source.as_ref())
    }

    pub(crate) fn commands(&self) -> Vec<CommandName> {
        let mut commands: Vec<_> = self.by_command.keys().cloned().collect();
        commands.sort();
        commands
    }
}

/// A handler made of a function of context and payload.
pub(crate) fn of_function<P, R, F, W>(function: F) -> Run
where
    P: DeserializeOwned,
    R: IntoDone,
    F: Fn(Ctx, P) -> W + Send + Sync + 'static,
    W: Future<Output = Result<R, TaskError>> + Send + 'static,
{
    Arc::new(move |ctx| match payload_of::<P>(&ctx) {
        Ok(payload) => {
            let work = function(ctx, payload);
            Box::pin(async move { Ending::of(work.await?) })
        }
        Err(fault) => Box::pin(ready(Err(fault))),
    })
}

/// The handler of a typed task.
fn of_handler<M, H: Handler<M>>(handler: H) -> Run {
    Arc::new(move |ctx| {
        let handler = handler.clone();
        Box::pin(async move { handler.run(ctx).await })
    })
}

/// The handler of whatever a source has.
fn of_source(source: Arc<dyn CommandSource>) -> Run {
    Arc::new(move |ctx| {
        let source = Arc::clone(&source);
        Box::pin(async move { Ending::of(source.run(ctx).await?) })
    })
}
