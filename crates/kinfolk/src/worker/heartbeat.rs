//! The heartbeat: keeps the lease, hears of cancellations, and knows when the lease is lost.
//!
//! A lease is lost when the store says so, or when it could not be renewed for its whole length by our own monotonic
//! clock: by then others may have been given the tasks. Either way every handler is dropped, nothing of theirs is
//! recorded, and the worker registers anew under another id.

use std::sync::Arc;
use std::time::Duration;

use kinfolk_core::{Event, StoreError, WorkerId};
use tokio::time::{Instant, sleep_until, timeout_at};

use super::state::Shared;
use crate::backoff::Backoff;

/// How soon a heartbeat that failed is tried again.
const SECOND_BEAT: Duration = Duration::from_millis(500);

/// Keeps the lease of a worker.
pub(crate) struct HeartbeatLoop {
    shared: Arc<Shared>,
    /// When the last renewal that succeeded was sent.
    renewed: Instant,
}

impl HeartbeatLoop {
    /// The heartbeat of a worker that registered at this moment.
    pub(crate) fn new(shared: Arc<Shared>, registered: Instant) -> Self {
        Self { shared, renewed: registered }
    }

    /// Beats.
    pub(crate) async fn run(mut self) {
        let mut next = self.renewed + self.shared.options.heartbeat;
        loop {
            tokio::select! {
                () = sleep_until(next) => {}
                () = self.shared.heartbeat.notified() => {}
            }
            let pause = if self.run_once().await { self.shared.options.heartbeat } else { SECOND_BEAT };
            next = Instant::now() + pause.min(self.shared.options.heartbeat);
        }
    }

    /// One heartbeat. `false` when it failed and should be tried again soon.
    async fn run_once(&mut self) -> bool {
        let Some(worker) = self.shared.roster.worker() else { return self.register().await };
        let sent = Instant::now();
        let answer = timeout_at(self.renewed + self.shared.options.lease, self.shared.store().heartbeat(worker)).await;
        match answer {
            Ok(Ok(beat)) => {
                self.renewed = sent;
                for (task, token) in beat.cancel {
                    self.shared.roster.cancel(task, token);
                }
                self.tell_commands(worker).await;
                true
            }
            Ok(Err(StoreError::LeaseLost { .. })) => self.lost(worker, false).await,
            Ok(Err(fault)) => {
                self.shared.observer.trouble("heartbeat", &fault);
                let late = self.renewed.elapsed() >= self.shared.options.lease;
                late && self.lost(worker, true).await
            }
            Err(_) => self.lost(worker, true).await,
        }
    }

    /// Lets others see what this worker can run, when that has changed. Right after a renewal, so that it can't bring
    /// back a worker that was lost meanwhile.
    async fn tell_commands(&self, worker: WorkerId) {
        if !self.shared.commands.take_untold() {
            return;
        }
        let spec = self.shared.spec(worker);
        let told = self.shared.store().register_worker(&spec);
        match timeout_at(self.renewed + self.shared.options.lease / 2, told).await {
            Ok(Ok(())) => return,
            Ok(Err(fault)) => self.shared.observer.trouble("register_worker", &fault),
            Err(_) => {}
        }
        self.shared.commands.keep_untold();
    }

    /// Drops everything and becomes a worker again. `unsure`: the store did not say that the lease is lost, so what the
    /// worker held may still be its own, and is given back.
    async fn lost(&mut self, worker: WorkerId, unsure: bool) -> bool {
        if self.shared.roster.lose(worker) {
            self.shared.observer.emit(&Event::LeaseLost { worker });
            self.shared.renamed.notify_one();
        }
        if unsure {
            self.give_back(worker).await;
        }
        self.register().await
    }

    async fn give_back(&self, worker: WorkerId) {
        let mut backoff = Backoff::for_trouble();
        while let Err(fault) = self.shared.store().leave(worker).await {
            self.shared.observer.trouble("leave", &fault);
            tokio::time::sleep(backoff.pause(2)).await;
        }
    }

    async fn register(&mut self) -> bool {
        let mut backoff = Backoff::for_trouble();
        let spec = self.shared.fresh_spec();
        loop {
            let sent = Instant::now();
            match self.shared.store().register_worker(&spec).await {
                Ok(()) => {
                    self.renewed = sent;
                    break;
                }
                Err(fault) => self.shared.observer.trouble("register_worker", &fault),
            }
            tokio::time::sleep(backoff.pause(2)).await;
        }
        self.shared.roster.add(spec.id);
        if let Err(fault) = self.shared.declare().await {
            self.shared.observer.trouble("declare_schedules", &fault);
        }
        self.shared.observer.emit(&Event::WorkerStarted { worker: spec.id });
        self.shared.renamed.notify_one();
        self.shared.wake_all();
        true
    }
}
