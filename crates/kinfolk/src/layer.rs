//! Layers: code of the program around every attempt, or around the attempts of one command.
//!
//! The layer that was added first is the outermost: it begins first and ends last. A layer is dropped with its handler, when that
//! is suspended, cancelled, timed out or stopped hard, and begins anew when the handler is resumed: what must be told in any
//! case is told by an event or by `WorkerBuilder::on_error`.

use std::fmt;
use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use kinfolk_core::CommandName;

use crate::ctx::Ctx;
use crate::done::Ending;
use crate::handler::Run;
use crate::task_error::TaskError;
use crate::worker::runner::panicked;

type Work = BoxFuture<'static, Result<Ending, TaskError>>;

/// A layer, and the command that it is for; none is all.
#[derive(Clone)]
pub(crate) struct Layer {
    command: Option<CommandName>,
    around: Arc<dyn Fn(Ctx, Next) -> Work + Send + Sync>,
}

/// The inside of a layer: the next layer, and at last the handler.
#[must_use = "the handler does not run unless this is run"]
pub struct Next {
    ctx: Ctx,
    run: Run,
    /// The layers before this one have begun.
    from: usize,
}

impl Layer {
    pub(crate) fn new<F, W>(command: Option<CommandName>, layer: F) -> Self
    where
        F: Fn(Ctx, Next) -> W + Send + Sync + 'static,
        W: Future<Output = Result<Ending, TaskError>> + Send + 'static,
    {
        Self { command, around: Arc::new(move |ctx, next| Box::pin(layer(ctx, next))) }
    }

    fn is_for(&self, command: &CommandName) -> bool {
        self.command.as_ref().is_none_or(|own| own == command)
    }
}

impl Next {
    /// Runs what is inside. A handler that panics gives an error here.
    pub fn run(self) -> BoxFuture<'static, Result<Ending, TaskError>> {
        let Self { ctx, run, from } = self;
        let worker = Arc::clone(&ctx.worker);
        let layers = worker.handlers.layers.iter().enumerate().skip(from);
        match layers.into_iter().find(|(_, layer)| layer.is_for(ctx.command())) {
            Some((index, layer)) => {
                let next = Self { ctx: ctx.clone(), run, from: index + 1 };
                (layer.around)(ctx, next)
            }
            None => Box::pin(async move {
                let work = AssertUnwindSafe(async { run(ctx).await });
                work.catch_unwind().await.unwrap_or_else(|panic| Err(panicked(&*panic)))
            }),
        }
    }
}

/// Runs a handler with all that is around it.
pub(crate) fn run(handler: &Run, ctx: Ctx) -> Work {
    if ctx.worker.handlers.layers.is_empty() {
        return handler(ctx);
    }
    Next { ctx, run: Arc::clone(handler), from: 0 }.run()
}

impl fmt::Debug for Next {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Next").field("ctx", &self.ctx).finish_non_exhaustive()
    }
}
