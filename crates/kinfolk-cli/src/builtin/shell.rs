//! The command `shell`: a program with its arguments. There is no shell in between, so nothing in a payload is ever
//! interpreted. Only a worker started with `--allow-shell` handles it.

use std::process::{ExitStatus, Stdio};

use kinfolk::core::limits::RESULT_BYTES_MAX;
use kinfolk::{Ctx, TaskError};
use serde::{Deserialize, Serialize};
use tokio::process::Command;

use super::captured;
use super::group::{self, Group};

/// Room for the result's other members.
const STDOUT_BYTES_MAX: usize = RESULT_BYTES_MAX - 1024;
/// How much of stderr tells what went wrong.
const STDERR_BYTES_MAX: usize = 2 * 1024;

/// The payload of `shell`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Program {
    program: String,
    #[serde(default)]
    args: Vec<String>,
}

/// The result of `shell`.
#[derive(Serialize)]
pub(super) struct Output {
    exit: i32,
    stdout: String,
    /// Some of stdout is missing at its end.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    cut: bool,
}

/// Runs the program. It learns which task it is for from `KINFOLK_TASK` and `KINFOLK_ATTEMPT`. When the attempt is
/// cancelled it is asked to end; when the attempt is over, for whatever reason, it and what it started are killed.
pub(super) async fn shell(ctx: Ctx, payload: Program) -> Result<Output, TaskError> {
    let mut command = Command::new(&payload.program);
    command.args(&payload.args).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.env("KINFOLK_TASK", ctx.task().to_string()).env("KINFOLK_ATTEMPT", ctx.attempt().to_string());
    group::prepare(&mut command);
    let mut child =
        command.spawn().map_err(|fault| TaskError::new(format!("can't start {}: {fault}", payload.program)))?;
    let group = Group::of(&child);
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    let (Some(stdout), Some(stderr)) = (stdout, stderr) else { return Err("the program has no output".into()) };

    let all = async {
        tokio::try_join!(
            captured::head(stdout, STDOUT_BYTES_MAX),
            captured::tail(stderr, STDERR_BYTES_MAX),
            child.wait()
        )
    };
    tokio::pin!(all);
    let ((stdout, cut), stderr, status) = tokio::select! {
        ended = &mut all => ended?,
        () = ctx.cancelled() => {
            group.terminate();
            all.await?;
            return Err(TaskError::new(format!("{} was stopped", payload.program)));
        }
    };
    match status.code() {
        Some(0) => {
            let (stdout, cut_again) = captured::text(&stdout, STDOUT_BYTES_MAX);
            Ok(Output { exit: 0, stdout, cut: cut || cut_again })
        }
        _ => Err(failure(&payload.program, status, &stderr)),
    }
}

fn failure(program: &str, status: ExitStatus, stderr: &[u8]) -> TaskError {
    let (words, _) = captured::text(stderr, STDERR_BYTES_MAX);
    let how = status.code().map_or_else(|| status.to_string(), |code| format!("exit code {code}"));
    let said = match words.trim() {
        "" => String::new(),
        words => format!(": {words}"),
    };
    TaskError::new(format!("{program} ended with {how}{said}")).detail(&serde_json::json!({ "exit": status.code() }))
}
