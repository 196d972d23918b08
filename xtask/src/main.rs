//! The project's own tool: `cargo xtask test` is all that a contributor or a CI machine has to run.
//!
//! It never changes the sources. What it starts it stops, also after a failure, a panic or Ctrl-C.

mod debian;
mod fuzz_api;
mod interrupt;
mod parts;
mod picture;
mod postgres;
mod postgres_versions;
mod register_bench;
mod screenshots;
mod steps;
mod tally;
mod tidy;

use std::env;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Result, bail};

const HELP: &str = "\
The tool of the Kinfolk project.

  cargo xtask test [FILTER…]         everything: format, lints, tidy, docs, licences, and all tests on a throw-away PostgreSQL;
                                     with filters only the tests whose names contain one of them
  cargo xtask check                  format, lints, tidy, docs and licences
  cargo xtask screenshots            the pictures of the README, from the demo's pages
  cargo xtask picture                the moving picture of the README: the demo, killed and started again
  cargo xtask reference              docs/configuration.md, from the types that the configuration file is read into
  cargo xtask sbom                   what the program is made of, as CycloneDX, in target/kinfolk.cdx.json
  cargo xtask tidy                   the project's own rules for its files
  cargo xtask fuzz-api [SECONDS]     walks the HTTP API on throw-away databases of both stores with schemathesis, which
                                     `pip install schemathesis` installs
  cargo xtask register-bench [UNITS…] the register of examples/register, derived at these sizes: stage by stage, next to the
                                     published figures of a national register, and to a plain SQL script
  cargo xtask postgres [--version N] a throw-away PostgreSQL for work by hand, until Ctrl-C
  cargo xtask postgres-versions [N…] the tests of the PostgreSQL store on the versions 14 to 18, or on these, with servers from npm
";

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    match run(&arguments) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Whether all is well.
fn run(arguments: &[String]) -> Result<bool> {
    interrupt::install()?;
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["test", filters @ ..] => steps::test(&root(), filters),
        ["check"] => steps::check(&root()),
        ["screenshots"] => screenshots::take(&root()),
        ["picture"] => picture::take(&root()),
        ["reference"] => tidy::write_reference(&root()),
        ["sbom"] => parts::write(&root()),
        ["tidy"] => Ok(tidy::run(&root())),
        ["fuzz-api"] => fuzz_api::run(&root(), 120),
        ["fuzz-api", seconds] => fuzz_api::run(&root(), seconds.parse()?),
        ["register-bench"] => register_bench::run(&root(), &register_bench::SIZES),
        ["register-bench", sizes @ ..] => register_bench::run(&root(), sizes),
        ["postgres"] => postgres::by_hand(None),
        ["postgres", "--version", major] => postgres::by_hand(Some(major.parse()?)),
        ["postgres-versions", majors @ ..] => postgres_versions::run(&root(), majors),
        [] | ["help" | "--help" | "-h"] => {
            print!("{HELP}");
            Ok(true)
        }
        _ => bail!("not a task: {}\n\n{HELP}", words.join(" ")),
    }
}

/// The workspace's folder.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().map_or_else(|| PathBuf::from("."), Path::to_path_buf)
}
