//! A child process and everything it has started, ended together.

use tokio::process::{Child, Command};

/// A process group that dies when this is dropped: with the attempt that owns it, however that ends.
pub(super) struct Group {
    #[cfg(unix)]
    leader: Option<rustix::process::Pid>,
}

/// Makes the child the leader of a group of its own, and makes sure that it dies when the attempt no longer waits for it.
pub(super) fn prepare(command: &mut Command) {
    command.kill_on_drop(true);
    #[cfg(unix)]
    command.process_group(0);
}

impl Group {
    /// The group of a child that was prepared.
    pub(super) fn of(child: &Child) -> Self {
        #[cfg(unix)]
        let leader = child.id().and_then(|id| rustix::process::Pid::from_raw(i32::try_from(id).ok()?));
        #[cfg(not(unix))]
        let _ = child;
        Self {
            #[cfg(unix)]
            leader,
        }
    }

    /// Asks all of them to end.
    pub(super) fn terminate(&self) {
        #[cfg(unix)]
        self.send(rustix::process::Signal::TERM);
    }

    #[cfg(unix)]
    fn send(&self, signal: rustix::process::Signal) {
        if let Some(leader) = self.leader {
            // A group that has ended by itself can't be signalled, and need not be.
            let _ = rustix::process::kill_process_group(leader, signal);
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        #[cfg(unix)]
        self.send(rustix::process::Signal::KILL);
    }
}
