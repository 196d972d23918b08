//! Being asked to stop: Ctrl-C, or SIGTERM from whoever runs this as a service.

use tokio::signal;

use crate::exit::Exit;
use crate::fault::Fault;

/// The requests to stop, one after another. From the moment this is made, no signal ends the process by itself.
pub(crate) struct Signals {
    #[cfg(unix)]
    interrupt: signal::unix::Signal,
    #[cfg(unix)]
    terminate: signal::unix::Signal,
}

impl Signals {
    /// Begins to listen.
    #[cfg(unix)]
    pub(crate) fn listen() -> Result<Self, Fault> {
        use signal::unix::{SignalKind, signal};
        let failed = |fault: std::io::Error| Fault::new(Exit::Internal, "signals", fault.to_string());
        Ok(Self {
            interrupt: signal(SignalKind::interrupt()).map_err(failed)?,
            terminate: signal(SignalKind::terminate()).map_err(failed)?,
        })
    }

    /// Begins to listen.
    #[cfg(not(unix))]
    pub(crate) fn listen() -> Result<Self, Fault> {
        Ok(Self {})
    }

    /// The next request. Cancel-safe.
    #[cfg(unix)]
    pub(crate) async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }

    /// The next request. Cancel-safe.
    #[cfg(not(unix))]
    pub(crate) async fn next(&mut self) {
        if signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}
