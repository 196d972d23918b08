//! Ctrl-C and friends: noticed, not died of, so that what was started is stopped and removed.

use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

static ASKED: OnceLock<Arc<AtomicBool>> = OnceLock::new();

/// Listens from now on. A second signal ends the process at once.
pub(crate) fn install() -> Result<()> {
    let asked = ASKED.get_or_init(Arc::default);
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        signal_hook::flag::register_conditional_shutdown(signal, 130, Arc::clone(asked))?;
        signal_hook::flag::register(signal, Arc::clone(asked))?;
    }
    Ok(())
}

/// Whether someone has asked this process to end.
pub(crate) fn asked() -> bool {
    ASKED.get().is_some_and(|asked| asked.load(Ordering::Relaxed))
}

/// Waits for a child; ends it when this process is asked to end.
pub(crate) fn wait(child: &mut Child) -> Result<ExitStatus> {
    loop {
        if let Some(status) = child.try_wait()? {
            if asked() {
                bail!("interrupted");
            }
            return Ok(status);
        }
        if asked() {
            // A terminal's Ctrl-C has reached the child already; a plain kill of this process has not.
            let _ = kinfolk_testkit::signal("TERM", child.id());
            thread::sleep(Duration::from_millis(500));
            let _ = child.kill();
            let _ = child.wait();
            bail!("interrupted");
        }
        thread::sleep(Duration::from_millis(30));
    }
}

/// Runs a command to its end with our own output. Whether it ended well.
pub(crate) fn run(command: &mut Command) -> Result<bool> {
    let mut child = command.stdin(Stdio::null()).spawn().with_context(|| format!("can't start {command:?}"))?;
    Ok(wait(&mut child)?.success())
}
