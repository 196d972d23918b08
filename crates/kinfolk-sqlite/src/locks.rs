//! A lock file for each worker, so that the death of its process is known at once.
//!
//! The file is locked as long as its worker lives in this process; the operating system lets go of it when the process
//! ends, however it ends. A process that can lock the file of another worker knows that this worker is dead. The lock belongs
//! to the open file, so two stores in one process see each other's as held. A stopped process keeps its lock: its
//! lease decides. A missing file says nothing, and then too the lease decides.

use std::collections::HashMap;
use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use kinfolk_core::{StoreError, WorkerId};

/// How often a lock that another process looks at this moment is tried again.
const TRIES: u32 = 5;
const PAUSE: Duration = Duration::from_millis(1);

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

    /// No lock files: no other process can have the file open.
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
        if own.contains_key(&worker) && path.exists() {
            return Ok(());
        }
        for _ in 0..TRIES {
            let file = make(&path).map_err(|fault| cannot(&path, &fault))?;
            match file.try_lock() {
                // Somebody may have swept the file away between its making and its locking.
                Ok(()) if path.exists() => {
                    own.insert(worker, file);
                    return Ok(());
                }
                Ok(()) | Err(TryLockError::WouldBlock) => std::thread::sleep(PAUSE),
                Err(TryLockError::Error(fault)) => return Err(cannot(&path, &fault)),
            }
        }
        // Another store of this process has registered the same worker, and holds its lock.
        Ok(())
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

    /// Removes the lock files of workers that are not registered any more: of processes that died while they registered or left.
    pub(crate) fn sweep(&self, known: &[WorkerId]) {
        let Some(files) = self.folder.as_ref().and_then(|folder| std::fs::read_dir(folder).ok()) else { return };
        for file in files.flatten() {
            let name = file.file_name();
            let id = name.to_str().and_then(|name| name.strip_suffix(".lock")).and_then(|id| id.parse().ok());
            if let Some(worker) = id.map(WorkerId)
                && !known.contains(&worker)
                && let Ok(open) = File::options().write(true).open(file.path())
                && open.try_lock().is_ok()
            {
                // Best effort: the next call tries again.
                let _ = std::fs::remove_file(file.path());
            }
        }
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

fn make(path: &Path) -> std::io::Result<File> {
    path.parent().map_or(Ok(()), std::fs::create_dir_all)?;
    File::options().create(true).truncate(false).write(true).open(path)
}

fn cannot(path: &Path, fault: &std::io::Error) -> StoreError {
    let detail = format!("{}: {fault}", path.display());
    match fault.kind() {
        std::io::ErrorKind::StorageFull => StoreError::Full { detail },
        std::io::ErrorKind::ReadOnlyFilesystem => StoreError::ReadOnly { detail },
        std::io::ErrorKind::PermissionDenied => StoreError::NoAccess { detail },
        _ => StoreError::Unavailable { detail },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use uuid::Uuid;

    #[test]
    fn a_held_lock_is_seen_by_others_and_a_dropped_one_means_death() {
        let folder = std::env::temp_dir().join(format!("kinfolk-{}", Uuid::new_v4()));
        std::fs::create_dir(&folder).unwrap();
        let (mine, other) = (Locks::beside(&folder.join("x.db")), Locks::beside(&folder.join("x.db")));
        let worker = WorkerId(Uuid::new_v4());
        assert!(!other.is_dead(worker), "a missing file says nothing");
        mine.hold(worker).unwrap();
        mine.hold(worker).unwrap();
        assert!(!mine.is_dead(worker) && !other.is_dead(worker));
        other.sweep(&[]);
        assert!(!other.is_dead(worker), "a held lock is not swept away");
        drop(mine);
        assert!(other.is_dead(worker));
        other.sweep(&[worker]);
        assert!(other.is_dead(worker), "the file of a known worker stays");
        other.sweep(&[]);
        assert!(!other.is_dead(worker));
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
