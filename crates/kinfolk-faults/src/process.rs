//! Child processes of a test: watched line by line, signalled by number, never left behind.

use std::io::{BufRead, BufReader};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

/// How often a wait looks again.
const LOOK: Duration = Duration::from_millis(5);

/// A child process; killed when dropped.
#[derive(Debug)]
pub struct Process {
    name: String,
    child: Child,
    lines: Arc<Mutex<Vec<String>>>,
    readers: Vec<JoinHandle<()>>,
}

impl Process {
    /// Starts a program. What it prints on both outputs is kept, line by line.
    pub fn spawn(name: &str, command: &mut Command) -> Result<Self> {
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .with_context(|| format!("can't start {command:?}"))?;
        let lines = Arc::default();
        let mut readers = Vec::new();
        readers.extend(child.stdout.take().map(|out| keep(out, &lines)));
        readers.extend(child.stderr.take().map(|out| keep(out, &lines)));
        Ok(Self { name: name.to_owned(), child, lines, readers })
    }

    /// Its number.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// What it has printed so far.
    pub fn lines(&self) -> Vec<String> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Whether it has been too slow for its lease: others may run its tasks while its handlers go on.
    pub fn has_lost_its_lease(&self) -> bool {
        self.lines().iter().any(|line| line.starts_with("event lease_lost"))
    }

    /// Waits for a line that starts like this, and returns the rest of it.
    pub fn wait_line(&mut self, start: &str, limit: Duration) -> Result<String> {
        let deadline = Instant::now() + limit;
        loop {
            let status = self.child.try_wait()?;
            if status.is_some() {
                self.hear_it_out();
            }
            let lines = self.lines();
            if let Some(rest) = lines.iter().find_map(|line| line.strip_prefix(start)) {
                return Ok(rest.trim().to_owned());
            }
            if let Some(status) = status {
                bail!("{} ended with {status} before it said {start:?}; it said:\n{}", self.name, lines.join("\n"));
            }
            if Instant::now() > deadline {
                bail!("{} did not say {start:?} within {limit:?}; it said:\n{}", self.name, lines.join("\n"));
            }
            thread::sleep(LOOK);
        }
    }

    /// Waits for the last words of a process that has ended: they may still be on their way.
    fn hear_it_out(&mut self) {
        for reader in self.readers.drain(..) {
            let _ = reader.join();
        }
    }

    /// Waits for its end.
    pub fn wait_end(&mut self, limit: Duration) -> Result<ExitStatus> {
        let deadline = Instant::now() + limit;
        loop {
            if let Some(status) = self.child.try_wait()? {
                self.hear_it_out();
                return Ok(status);
            }
            if Instant::now() > deadline {
                let lines = self.lines();
                bail!("{} did not end within {limit:?}; its last lines:\n{}", self.name, tail(&lines));
            }
            thread::sleep(LOOK);
        }
    }

    /// Waits until it has aborted itself, which is what a crash point does. Any other end is an error.
    pub fn wait_abort(&mut self, limit: Duration) -> Result<()> {
        let status = self.wait_end(limit)?;
        if status.signal() == Some(6) {
            return Ok(());
        }
        bail!("{} was to abort but ended with {status}; its last lines:\n{}", self.name, tail(&self.lines()));
    }

    /// Sends a signal by its name: STOP, CONT, TERM.
    pub fn signal(&self, name: &str) -> Result<()> {
        kinfolk_testkit::signal(name, self.child.id()).with_context(|| format!("can't send {name} to {}", self.name))
    }

    /// Ends it with signal 9 and waits until it is gone.
    pub fn kill(&mut self) -> Result<()> {
        self.child.kill()?;
        self.child.wait()?;
        Ok(())
    }

    /// Whether it has ended.
    pub fn ended(&mut self) -> Result<bool> {
        Ok(self.child.try_wait()?.is_some())
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn keep(out: impl std::io::Read + Send + 'static, lines: &Arc<Mutex<Vec<String>>>) -> JoinHandle<()> {
    let lines = Arc::clone(lines);
    thread::spawn(move || {
        for line in BufReader::new(out).lines().map_while(Result::ok) {
            lines.lock().unwrap_or_else(PoisonError::into_inner).push(line);
        }
    })
}

fn tail(lines: &[String]) -> String {
    lines[lines.len().saturating_sub(30)..].join("\n")
}
