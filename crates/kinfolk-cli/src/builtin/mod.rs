//! The commands that `kinfolk work` can run by itself, for trying things out and for simple errands.
//!
//! | command | payload | does |
//! |---|---|---|
//! | `noop` | anything | nothing |
//! | `echo` | anything | gives its payload back as its result |
//! | `sleep` | `{"ms": 250}` | waits, until it is cancelled |
//! | `fail` | `{"message": "no", "times": 2}` | fails its first attempts, all of them without `times` |
//! | `spawn` | `{"children": [{"command": "noop", "count": 3}]}` | makes a family |
//! | `fan_out` | `{"children": [{"command": "echo", "payload": 7}]}` | awaits their results, and gives them back |
//! | `wait` | `{"signal": "go"}` | waits for a signal without a worker, and gives back what it says |
//! | `shell` | `{"program": "date", "args": ["+%s"]}` | runs a program; only where it is allowed |

mod captured;
mod durable;
mod family;
mod group;
mod plain;
mod shell;

use kinfolk::WorkerBuilder;

/// The name and version that the workers of this program tell.
pub(crate) const VERSION: &str = concat!("kinfolk ", env!("CARGO_PKG_VERSION"));

/// Adds the built-in commands to a worker.
pub(crate) fn add(worker: WorkerBuilder, allow_shell: bool) -> WorkerBuilder {
    let worker = worker
        .handler("noop", plain::noop)
        .handler("echo", plain::echo)
        .handler("sleep", plain::sleep)
        .handler("fail", plain::fail)
        .handler("spawn", family::spawn)
        .handler("fan_out", durable::fan_out)
        .handler("wait", durable::wait);
    if allow_shell { worker.handler("shell", shell::shell) } else { worker }
}

/// The names of the built-in commands.
pub(crate) fn names(allow_shell: bool) -> Vec<&'static str> {
    let mut names = vec!["noop", "echo", "sleep", "fail", "spawn", "fan_out", "wait"];
    if allow_shell {
        names.push("shell");
    }
    names
}
