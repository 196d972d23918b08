//! The catalogue: the commands this worker claims, and the service that keeps those of its source up to date.
//!
//! A change counts from the next claim on. The worker's row in the store follows with the next heartbeat, so that others
//! see what it can run.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use kinfolk_core::{CommandName, StoreError};

use super::state::Shared;

/// The commands of a worker: those it was built with, and those its source has now.
#[derive(Debug)]
pub(crate) struct Commands {
    built_in: Vec<CommandName>,
    now: RwLock<Vec<CommandName>>,
    /// The store has not been told yet.
    untold: AtomicBool,
}

impl Commands {
    pub(crate) fn new(built_in: Vec<CommandName>, sourced: Vec<CommandName>) -> Self {
        let commands = Self { now: RwLock::new(built_in.clone()), built_in, untold: AtomicBool::new(false) };
        commands.set_sourced(sourced);
        commands.untold.store(false, Ordering::SeqCst);
        commands
    }

    /// All of them, by name.
    pub(crate) fn now(&self) -> Vec<CommandName> {
        self.now.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The source has these now. Says whether that is news.
    fn set_sourced(&self, sourced: Vec<CommandName>) -> bool {
        let mut commands: Vec<CommandName> = self.built_in.iter().cloned().chain(sourced).collect();
        commands.sort();
        commands.dedup();
        let mut now = self.now.write().unwrap_or_else(PoisonError::into_inner);
        let is_news = *now != commands;
        if is_news {
            *now = commands;
            self.untold.store(true, Ordering::SeqCst);
        }
        is_news
    }

    /// Whether the store is to be told, which the caller then does.
    pub(crate) fn take_untold(&self) -> bool {
        self.untold.swap(false, Ordering::SeqCst)
    }

    /// That did not work: it is to be told later.
    pub(crate) fn keep_untold(&self) {
        self.untold.store(true, Ordering::SeqCst);
    }
}

/// Keeps the commands of a worker's source up to date.
pub(crate) struct Catalogue {
    shared: Arc<Shared>,
}

impl Catalogue {
    pub(crate) fn new(shared: Arc<Shared>) -> Self {
        Self { shared }
    }

    /// Looks at the source at every poll interval.
    pub(crate) async fn run(self) {
        loop {
            tokio::time::sleep(self.shared.options.poll).await;
            if let Err(fault) = self.run_once().await {
                self.shared.observer.trouble("commands", &fault);
            }
        }
    }

    async fn run_once(&self) -> Result<(), StoreError> {
        let Some(source) = &self.shared.handlers.source else { return std::future::pending().await };
        if self.shared.commands.set_sourced(source.commands().await?) {
            self.shared.heartbeat.notify_one();
            self.shared.wake_all();
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(names: &[&str]) -> Vec<CommandName> {
        names.iter().map(|name| CommandName::new(name).unwrap()).collect()
    }

    #[test]
    fn what_the_source_has_comes_and_goes_and_the_store_is_told_once() {
        let commands = Commands::new(names(&["b"]), names(&["c", "b"]));
        assert_eq!(commands.now(), names(&["b", "c"]));
        assert!(!commands.take_untold() && !commands.set_sourced(names(&["c"])));
        assert!(commands.set_sourced(names(&["a"])));
        assert_eq!(commands.now(), names(&["a", "b"]));
        assert!(commands.take_untold() && !commands.take_untold());
    }
}
