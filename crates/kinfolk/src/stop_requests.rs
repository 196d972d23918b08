//! The requests to stop that a process gets: Ctrl-C, or SIGTERM from the program that runs it as a service.

use std::time::Duration;

use tokio::time::Instant;

/// Signals within this span are one request: `timeout` and process managers signal a process and then its group, so that one
/// wish arrives twice.
const ONE_REQUEST: Duration = Duration::from_secs(1);

/// The requests to stop, one after another, for a program that has more to stop than one worker. From the moment this is made, no
/// such signal ends the process by itself. [`WorkerHandle::run_until_signal`](crate::WorkerHandle::run_until_signal) does all of
/// it for one worker.
///
/// ```no_run
/// # async fn example(worker: kinfolk::WorkerHandle) -> Result<(), kinfolk::Error> {
/// let mut stops = kinfolk::StopRequests::listen();
/// stops.next().await;
/// tokio::select! {
///     answer = worker.stop() => answer?,
///     () = stops.next() => worker.kill().await?,
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct StopRequests {
    /// A signal that the process can't listen to ends it as ever.
    #[cfg(unix)]
    interrupt: Option<tokio::signal::unix::Signal>,
    #[cfg(unix)]
    terminate: Option<tokio::signal::unix::Signal>,
    last: Option<Instant>,
}

impl StopRequests {
    /// Begins to listen.
    #[cfg(unix)]
    pub fn listen() -> Self {
        use tokio::signal::unix::{SignalKind, signal};
        let (interrupt, terminate) = (signal(SignalKind::interrupt()), signal(SignalKind::terminate()));
        Self { interrupt: interrupt.ok(), terminate: terminate.ok(), last: None }
    }

    /// Begins to listen.
    #[cfg(not(unix))]
    pub fn listen() -> Self {
        Self { last: None }
    }

    /// The next request. Signals within a second are one. Cancel-safe.
    pub async fn next(&mut self) {
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
        async fn told(signal: &mut Option<tokio::signal::unix::Signal>) {
            match signal {
                Some(signal) => drop(signal.recv().await),
                None => std::future::pending().await,
            }
        }
        tokio::select! {
            () = told(&mut self.interrupt) => {}
            () = told(&mut self.terminate) => {}
        }
    }

    #[cfg(not(unix))]
    async fn signal(&mut self) {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}
