//! A lock file for each worker, so that the death of its process is known at once.
//!
//! The file is locked as long as its worker lives in this process; the operating system lets go of it when the process
//! ends, however it ends. Whoever can lock the file of another worker knows that this worker is dead. The lock belongs
//! to the open file, so two stores in one process see each other's as held. A stopped process keeps its lock: its
//! lease decides. A missing file says nothing, and then too the lease decides.

use std::collections::HashMap;
use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use kinfolk_core::{StoreError, WorkerId};

/// The lock files of one database file.
pub(crate) struct Locks {
    /// Where they are; a temporary store has none.
    folder: Option<PathBuf>,
    own: Mutex<HashMap<WorkerId, File>>,
}

impl Locks {
    /// The lock files beside this database file.
    pub(crate) fn beside(database: &Path) -> Self {
        let mut folder = database.as_os_str().to_owned();
        folder.push(".workers");
        Self { folder: Some(folder.into()), own: Mutex::default() }
    }

    /// No lock files: nobody else can have the file open.
    pub(crate) fn none() -> Self {
        Self { folder: None, own: Mutex::default() }
    }

    fn file(&self, worker: WorkerId) -> Option<PathBuf> {
        self.folder.as_ref().map(|folder| folder.join(format!("{worker}.lock")))
    }

    /// Takes the lock of a worker of this process, before others can see the worker.
    pub(crate) fn hold(&self, worker: WorkerId) -> Result<(), StoreError> {
        let Some(path) = self.file(worker) else { return Ok(()) };
        let mut own = self.own.lock().unwrap_or_else(PoisonError::into_inner);
        if own.contains_key(&worker) {
            return Ok(());
        }
        let opened = path
            .parent()
            .map_or(Ok(()), std::fs::create_dir_all)
            .and_then(|()| File::options().create(true).truncate(false).write(true).open(&path));
        let file = opened.map_err(|fault| cannot(&path, &fault))?;
        match file.try_lock() {
            Ok(()) => {
                own.insert(worker, file);
                Ok(())
            }
            // Another store of this process has registered the same worker, or somebody looks at it this moment.
            Err(TryLockError::WouldBlock) => Ok(()),
            Err(TryLockError::Error(fault)) => Err(cannot(&path, &fault)),
        }
    }

    /// Whether the process of this worker is known to be dead.
    pub(crate) fn is_dead(&self, worker: WorkerId) -> bool {
        if self.own.lock().unwrap_or_else(PoisonError::into_inner).contains_key(&worker) {
            return false;
        }
        self.file(worker)
            .and_then(|path| File::options().write(true).open(path).ok())
            .is_some_and(|file| file.try_lock().is_ok())
    }

    /// Removes the lock of a worker that is no more.
    pub(crate) fn remove(&self, worker: WorkerId) {
        let own = self.own.lock().unwrap_or_else(PoisonError::into_inner).remove(&worker);
        if let Some(path) = self.file(worker)
            && let Err(fault) = std::fs::remove_file(&path)
            && fault.kind() != std::io::ErrorKind::NotFound
        {
            tracing::warn!(path = %path.display(), %fault, "a lock file can't be removed");
        }
        drop(own);
    }
}

fn cannot(path: &Path, fault: &std::io::Error) -> StoreError {
    let detail = format!("{}: {fault}", path.display());
    match fault.kind() {
        std::io::ErrorKind::StorageFull => StoreError::Full { detail },
        std::io::ErrorKind::ReadOnlyFilesystem => StoreError::ReadOnly { detail },
        std::io::ErrorKind::PermissionDenied => StoreError::Forbidden { detail },
        _ => StoreError::Unavailable { detail },
    }
}
