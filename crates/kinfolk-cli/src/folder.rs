//! A folder in the system's temporary one, which goes with its value.

use std::path::{Path, PathBuf};

/// The folder. Nobody has made it yet.
pub(crate) struct Folder(PathBuf);

impl Folder {
    /// One whose name begins like this.
    pub(crate) fn new(prefix: &str) -> Self {
        Self(std::env::temp_dir().join(format!("{prefix}-{}", uuid::Uuid::new_v4())))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // It may never have been there.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
