//! Runs `kinfolk` on a database of the test's own. Every run has a deadline.

use std::io::{Read, Write as _};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

/// No run of the binary takes longer, even on a busy machine.
pub(crate) const DEADLINE: Duration = Duration::from_secs(300);

/// A database of one test.
pub(crate) struct Db {
    pub(crate) url: String,
    pub(crate) dir: TempDir,
    /// Kept for its end.
    _server: Option<Server>,
}

/// How a run ended.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// A SQLite file that is not there yet.
pub(crate) fn sqlite() -> Db {
    let dir = tempfile::tempdir().unwrap();
    Db { url: dir.path().join("kinfolk.db").to_str().unwrap().to_owned(), dir, _server: None }
}

/// An empty PostgreSQL database.
pub(crate) fn postgres() -> Db {
    let server = Server::create();
    Db { url: server.url.clone(), dir: tempfile::tempdir().unwrap(), _server: Some(server) }
}

/// Makes a test of each function for each store: the database it is given has a schema and nothing else.
macro_rules! on_both_stores {
    ($($name:ident),+ $(,)?) => {
        mod sqlite {
            $(#[test] fn $name() { super::$name(&crate::support::sqlite().migrated()); })+
        }
        mod postgres {
            $(#[test] fn $name() { super::$name(&crate::support::postgres().migrated()); })+
        }
    };
}
pub(crate) use on_both_stores;

impl Db {
    /// The SQLite file at this path, which someone else makes.
    pub(crate) fn at(path: &str) -> Self {
        Self { url: path.to_owned(), dir: tempfile::tempdir().unwrap(), _server: None }
    }

    /// The same with a schema.
    pub(crate) fn migrated(self) -> Self {
        self.ok(&["migrate"]);
        self
    }

    /// The same as another role sees it.
    pub(crate) fn as_role(&self, role: &str) -> Self {
        let url = self.url.replace("postgres://postgres@", &format!("postgres://{role}@"));
        assert_ne!(url, self.url);
        Self { url, dir: tempfile::tempdir().unwrap(), _server: None }
    }

    /// The file, of a SQLite database.
    pub(crate) fn file(&self) -> PathBuf {
        self.url.clone().into()
    }

    /// `kinfolk --database … args`, not started yet.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = kinfolk();
        command.current_dir(self.dir.path()).args(["--database", &self.url]).args(args);
        command
    }

    /// Runs it to its end.
    pub(crate) fn run(&self, args: &[&str]) -> Ran {
        finish(self.command(args), "")
    }

    /// Runs it with something on stdin.
    pub(crate) fn run_with(&self, args: &[&str], stdin: &str) -> Ran {
        finish(self.command(args), stdin)
    }

    /// What it prints when it goes well.
    #[track_caller]
    pub(crate) fn ok(&self, args: &[&str]) -> String {
        let ran = self.run(args);
        assert_eq!(ran.code, 0, "kinfolk {args:?}\n{}{}", ran.stdout, ran.stderr);
        ran.stdout
    }

    /// What happens when a person types this line into a shell.
    #[track_caller]
    pub(crate) fn types(&self, line: &str) -> Ran {
        let binary = PathBuf::from(env!("CARGO_BIN_EXE_kinfolk"));
        let mut shell = Command::new("/bin/sh");
        shell.current_dir(self.dir.path()).args(["-c", line]).env("PATH", binary.parent().unwrap());
        let ran = finish(shell, "");
        assert_eq!(ran.code, 0, "{line}\n{}{}", ran.stdout, ran.stderr);
        ran
    }

    /// A worker that goes on until it is told to stop, or the test has failed.
    pub(crate) fn worker(&self, args: &[&str]) -> Running {
        let mut command = self.command(&[&["work"], args].concat());
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        Running(child)
    }

    /// The JSON documents it prints, one a line.
    #[track_caller]
    pub(crate) fn json(&self, args: &[&str]) -> Vec<Value> {
        let args: Vec<&str> = args.iter().copied().chain(["--json"]).collect();
        documents(&self.ok(&args))
    }

    /// The one JSON document it prints.
    #[track_caller]
    pub(crate) fn one(&self, args: &[&str]) -> Value {
        let mut documents = self.json(args);
        assert_eq!(documents.len(), 1, "kinfolk {args:?}");
        documents.remove(0)
    }

    /// What the doctor finds; the exit code says whether anything is bad. The cluster of the test run trades safety for
    /// speed, which the doctor rightly finds bad: that is left out.
    #[track_caller]
    pub(crate) fn doctor(&self) -> Vec<Value> {
        let ran = self.run(&["doctor", "--json"]);
        let mut findings = documents(&ran.stdout);
        let bad = findings.iter().any(|finding| finding["health"] == "bad");
        assert_eq!(ran.code, i32::from(bad), "kinfolk doctor\n{}{}", ran.stdout, ran.stderr);
        findings.retain(|finding| !finding["subject"].as_str().is_some_and(|subject| subject.starts_with("setting ")));
        findings
    }

    /// What it says on stderr when it ends with this code, and that it says it in one line.
    #[track_caller]
    pub(crate) fn fails(&self, args: &[&str], code: i32) -> String {
        refused(&self.run(args), code)
    }

    /// How many tasks there are.
    #[track_caller]
    pub(crate) fn tasks(&self) -> usize {
        self.json(&["list", "--limit", "1000"]).len()
    }

    /// The state of a task.
    #[track_caller]
    pub(crate) fn state(&self, id: &str) -> String {
        self.one(&["show", id])["state"].as_str().unwrap().to_owned()
    }

    /// Waits until something holds; fails when it never does.
    #[track_caller]
    pub(crate) fn until(&self, what: &str, mut holds: impl FnMut(&Self) -> bool) {
        let deadline = Instant::now() + DEADLINE;
        while !holds(self) {
            assert!(Instant::now() < deadline, "waited in vain: {what}");
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Runs SQL on a server's database.
    pub(crate) fn sql(&self, sql: &str) {
        with_session(&self.url, sql, || ());
    }

    /// Overwrites a column of all rows of a table, behind the engine's back.
    pub(crate) fn edit(&self, table: &str, column: &str, text: &str) {
        if self.url.starts_with("postgres") {
            return self.sql(&format!("update kinfolk.{table} set {column} = '{text}'"));
        }
        let file = rusqlite::Connection::open(self.file()).unwrap();
        file.busy_timeout(DEADLINE).unwrap();
        file.execute(&format!("update {table} set {column} = ?1"), [text]).unwrap();
    }

    /// Does something while a session that has run this SQL is open.
    pub(crate) fn while_holding<T>(&self, sql: &str, act: impl FnOnce() -> T) -> T {
        with_session(&self.url, sql, act)
    }
}

/// A worker in the background.
pub(crate) struct Running(Child);

impl Running {
    /// Something that was started in the background.
    pub(crate) fn of(child: Child) -> Self {
        Self(child)
    }

    /// Stops it in order.
    pub(crate) fn stop(mut self) {
        crate::signals::signal(&self.0, rustix::process::Signal::TERM);
        assert!(wait(&mut self.0).success(), "it did not stop in order");
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// That a run was refused with this code, in one line, which is given back.
#[track_caller]
pub(crate) fn refused(ran: &Ran, code: i32) -> String {
    assert_eq!(ran.code, code, "{ran:?}");
    assert!(ran.stderr.starts_with("kinfolk: "), "{ran:?}");
    assert_eq!(ran.stderr.trim_end().lines().count(), 1, "{ran:?}");
    ran.stderr.clone()
}

/// JSON documents, one a line.
#[track_caller]
pub(crate) fn documents(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|fault| panic!("{fault}: {line}"))).collect()
}

/// The binary, free of what the caller's environment says.
pub(crate) fn kinfolk() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_kinfolk"));
    for variable in ["KINFOLK_DATABASE", "RUST_LOG", "NO_COLOR", "CLICOLOR_FORCE"] {
        command.env_remove(variable);
    }
    command
}

/// Runs a command to its end, within the deadline.
#[track_caller]
pub(crate) fn finish(mut command: Command, stdin: &str) -> Ran {
    let child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    finish_child(child, stdin)
}

/// Waits for a child with pipes, within the deadline.
#[track_caller]
pub(crate) fn finish_child(mut child: Child, stdin: &str) -> Ran {
    if let Some(mut pipe) = child.stdin.take() {
        // A command that reads no stdin may have ended before.
        let _ = pipe.write_all(stdin.as_bytes());
    }
    let read = |source: Option<Box<dyn Read + Send>>| {
        std::thread::spawn(move || {
            let mut text = String::new();
            source.map(|mut source| source.read_to_string(&mut text));
            text
        })
    };
    let stdout = read(child.stdout.take().map(|pipe| Box::new(pipe) as _));
    let stderr = read(child.stderr.take().map(|pipe| Box::new(pipe) as _));
    let status = wait(&mut child);
    Ran { code: status.code().unwrap_or(-1), stdout: stdout.join().unwrap(), stderr: stderr.join().unwrap() }
}

/// Waits for a child, and kills it when the deadline has passed.
#[track_caller]
pub(crate) fn wait(child: &mut Child) -> ExitStatus {
    let deadline = Instant::now() + DEADLINE;
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return status;
        }
        if Instant::now() > deadline {
            let _ = child.kill();
            panic!("it does not end");
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// A database in the test cluster, dropped at the end.
struct Server {
    admin: String,
    name: String,
    url: String,
}

impl Server {
    fn create() -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let admin = std::env::var("KINFOLK_TEST_PG")
            .expect("KINFOLK_TEST_PG names no PostgreSQL cluster; run the tests by `cargo xtask test`");
        let name = format!("kinfolk_cli_{}_{}", std::process::id(), NUMBER.fetch_add(1, Ordering::Relaxed));
        with_session(&admin, &format!("create database {name}"), || ());
        let (server, _) = admin.rsplit_once('/').expect("a URL with a database");
        let url = format!("{server}/{name}");
        Self { admin, name, url }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        with_session(&self.admin, &format!("drop database if exists {} with (force)", self.name), || ());
    }
}

fn with_session<T>(url: &str, sql: &str, act: impl FnOnce() -> T) -> T {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    runtime.block_on(async {
        let (client, connection) = tokio_postgres::connect(url, tokio_postgres::NoTls).await.unwrap();
        let connection = tokio::spawn(connection);
        client.batch_execute(sql).await.unwrap();
        let answer = act();
        drop(client);
        let _ = connection.await;
        answer
    })
}
