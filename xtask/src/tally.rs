//! Running `cargo test`, showing its output as it comes, and adding up the result lines of the test binaries.

use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};
use std::thread;

use anyhow::{Context, Result};

use crate::interrupt;

/// Tests passed and failed so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    pub(crate) passed: u64,
    pub(crate) failed: u64,
    /// Of those passed, how many have said that this machine does not allow what they test.
    pub(crate) not_tested: u64,
}

impl Tally {
    /// Takes in one line of output, if it is the result line of a test binary, or that of a test that could test nothing.
    fn read(&mut self, line: &str) {
        self.not_tested += u64::from(line.contains("NOT TESTED: "));
        let Some(counts) = line.trim().strip_prefix("test result: ") else { return };
        for part in counts.split([';', '.']) {
            let mut words = part.split_whitespace();
            if let (Some(Ok(count)), Some(what)) = (words.next().map(str::parse::<u64>), words.next()) {
                match what {
                    "passed" => self.passed += count,
                    "failed" => self.failed += count,
                    _ => {}
                }
            }
        }
    }

    /// Runs a test command and adds up. A test binary that died, or did not build, counts as one failed test.
    pub(crate) fn run(&mut self, command: &mut Command) -> Result<bool> {
        let failed_before = self.failed;
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("can't start {command:?}"))?;
        let output = child.stdout.take().context("no output to read")?;
        let reader = thread::spawn(move || {
            let mut tally = Self::default();
            for line in BufReader::new(output).split(b'\n').map_while(Result::ok) {
                let line = String::from_utf8_lossy(&line);
                tally.read(&line);
                let _ = writeln!(std::io::stdout(), "{line}");
            }
            tally
        });
        let status = interrupt::wait(&mut child)?;
        let sum = reader.join().unwrap_or_default();
        self.passed += sum.passed;
        self.failed += sum.failed;
        self.not_tested += sum.not_tested;
        if !status.success() && self.failed == failed_before {
            println!("a test binary died or did not build ({status}): counted as one failed test");
            self.failed += 1;
        }
        Ok(status.success())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn result_lines_are_added_up_and_other_lines_are_not() {
        let mut tally = Tally::default();
        tally.read("running 3 tests");
        tally.read("test x ... NOT TESTED: a full disk: this machine has none");
        tally.read("test result: ok. 12 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.03s");
        tally.read("test result: FAILED. 2 passed; 3 failed; 0 ignored; 0 measured; 0 filtered out; finished in 1.00s");
        assert_eq!(tally, Tally { passed: 14, failed: 3, not_tested: 1 });
    }

    #[test]
    fn a_binary_that_dies_without_a_result_line_is_a_failed_test() {
        let mut tally = Tally::default();
        let fine = tally.run(Command::new("sh").args(["-c", "exit 9"])).unwrap();
        assert!(!fine);
        assert_eq!(tally, Tally { passed: 0, failed: 1, not_tested: 0 });
    }
}
