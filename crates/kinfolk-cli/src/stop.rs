//! Being asked to stop: Ctrl-C, or SIGTERM from the program that runs this as a service.

use std::time::Duration;

use tokio::signal;
use tokio::time::Instant;

use crate::exit::Exit;
use crate::fault::Fault;

/// Signals within this span are one request: `timeout` and process managers signal a process and then its group, so that one
/// wish arrives twice.
const ONE_REQUEST: Duration = Duration::from_secs(1);

/// The requests to stop, one after another. From the moment this is made, no signal ends the process by itself.
pub(crate) struct Signals {
    #[cfg(unix)]
    interrupt: signal::unix::Signal,
    #[cfg(unix)]
    terminate: signal::unix::Signal,
    last: Option<Instant>,
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
            last: None,
        })
    }

    /// Begins to listen.
    #[cfg(not(unix))]
    pub(crate) fn listen() -> Result<Self, Fault> {
        Ok(Self { last: None })
    }

    /// The next request. Cancel-safe.
    pub(crate) async fn next(&mut self) {
        loop {
            self.signal().await;
            let now = Instant::now();
            if self.last.is_none_or(|last| now - last >= ONE_REQUEST) {
                self.last = Some(now);
                return;
            }
        }
    }

    #[cfg(unix)]
    async fn signal(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }

    #[cfg(not(unix))]
    async fn signal(&mut self) {
        if signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}
