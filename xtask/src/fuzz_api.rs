//! `cargo xtask fuzz-api`: schemathesis walks the HTTP API by its own OpenAPI document, on both stores. No answer may be a 5xx, and none
//! undocumented.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use anyhow::{Context as _, Result, bail};
use kinfolk_testkit::Cluster;

use crate::debian;

/// What an answer is checked for.
const CHECKS: &str = "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance,\
                      response_headers_conformance";

/// Commands that come with the worker of the server, so that there are tasks with the numbers that a walk tries first.
const COMMANDS: [&str; 3] = ["noop", "echo", "fail"];

/// Whether nothing was found in this many seconds on each store.
pub(crate) fn run(root: &Path, seconds: u32) -> Result<bool> {
    if Command::new("schemathesis").arg("--version").output().is_err() {
        bail!("schemathesis is missing; `pip install schemathesis` installs it");
    }
    let built = Command::new("cargo").args(["build", "--quiet", "--bin", "kinfolk"]).current_dir(root).status()?;
    if !built.success() {
        bail!("kinfolk can't be built");
    }
    let folder = std::env::temp_dir().join(format!("kinfolk-fuzz-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    let file = folder.join("fuzz.db").display().to_string();
    let on_sqlite = walk(root, &file, seconds);
    std::fs::remove_dir_all(&folder)?;
    let cluster = Cluster::new(&debian::tools()?, "")?;
    let on_postgres = walk(root, &cluster.url("postgres"), seconds);
    Ok(on_sqlite? && on_postgres?)
}

/// Walks the API of a server on this database.
fn walk(root: &Path, database: &str, seconds: u32) -> Result<bool> {
    let program = root.join("target/debug/kinfolk");
    kinfolk(&program, database, &["migrate"])?;
    for command in COMMANDS.iter().cycle().take(9) {
        kinfolk(&program, database, &["enqueue", command, "--register"])?;
    }
    let mut server = Server::start(&program, database)?;
    let address = server.address()?;
    let document = format!("{address}api/v1/openapi.json");
    println!("walking {document} on {database} for {seconds} s");
    let walked = Command::new("schemathesis")
        .args(["run", &document, "--checks", CHECKS, "--exclude-path-regex", "^/live/", "--max-examples", "10000"])
        .args(["--phases", "examples,coverage,fuzzing", "--continue-on-failure", "--max-time", &seconds.to_string()])
        .args(["--suppress-health-check", "all", "--request-timeout", "30"])
        .status()?;
    Ok(walked.success())
}

/// Runs a command of the program on this database.
fn kinfolk(program: &Path, database: &str, arguments: &[&str]) -> Result<()> {
    let ran = Command::new(program).args(["--database", database]).args(arguments).stdout(Stdio::null()).status()?;
    if !ran.success() {
        bail!("`kinfolk {}` went wrong on {database}", arguments.join(" "));
    }
    Ok(())
}

/// A `kinfolk serve` on a database of its own, ended with this.
struct Server(Child);

impl Server {
    fn start(program: &Path, database: &str) -> Result<Self> {
        let child = Command::new(program)
            .args(["--database", database, "serve", "--listen", "127.0.0.1:0"])
            .stderr(Stdio::piped())
            .spawn()?;
        Ok(Self(child))
    }

    /// Where it listens, by its first line.
    fn address(&mut self) -> Result<String> {
        let lines = BufReader::new(self.0.stderr.take().context("its stderr")?).lines();
        let mut lines = lines.map_while(Result::ok);
        let found = lines.find_map(|line| line.find("http://").map(|at| line[at..].trim().to_owned()));
        // What it says later is read as well, or it would stop when nobody does.
        std::thread::spawn(move || lines.for_each(drop));
        found.context("the server does not say where it listens")
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
