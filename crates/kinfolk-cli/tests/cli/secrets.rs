//! Secrets of providers: in no output, log, error, page or core dump.

use std::os::unix::process::ExitStatusExt as _;
use std::process::{Command, ExitStatus, Stdio};

use kinfolk_testkit::{HttpSite, Reply};
use rustix::process::Signal;

use crate::http::shell;
use crate::signals::signal;
use crate::support::{Db, Running, postgres, wait};

const SECRET: &str = "re_7d1f9c_hush";

/// A database with `email`, whose provider is at this address, and a file that says so.
fn office(site: &HttpSite) -> (Db, String) {
    let db = postgres().migrated();
    db.sql("select kinfolk.register_command('email', handler => 'email', max_attempts => 1)");
    std::fs::write(db.dir.path().join("secret"), SECRET).unwrap();
    let config = format!(
        "[providers.email]\nkind = \"resend\"\nbase = {:?}\nkey = {{ file = {:?} }}\nfrom = \"shop@example.org\"\nallow_private = true\n",
        site.url(),
        db.dir.path().join("secret"),
    );
    let path = db.dir.path().join("kinfolk.toml");
    std::fs::write(&path, config).unwrap();
    let path = path.to_str().unwrap().to_owned();
    (db, path)
}

fn email(db: &Db) -> String {
    let email = r#"{"to": "ann@example.org", "subject": "s", "text": "t"}"#;
    db.one(&["enqueue", "email", email])["task"].to_string()
}

#[test]
fn a_secret_is_in_no_output_log_error_or_page() {
    // A server that says the secret is one that leaks: what it says of a failure is told, so it says something else.
    let broken = Reply::status("401 Unauthorized", "", "the key is not known");
    let site = HttpSite::new(vec![broken, Reply::Say("nonsense".to_owned()), Reply::fine()]).unwrap();
    let (db, config) = office(&site);
    let log = db.dir.path().join("log");
    let mut serve = db.command(&["serve", "-vvv", "--listen", "127.0.0.1:0", "--config", &config]);
    let log_file = std::fs::File::create(&log).unwrap();
    let running = Running::of(serve.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log_file).spawn().unwrap());
    let said = || std::fs::read_to_string(&log).unwrap();
    db.until("it says where it is", |_| said().contains("http://127.0.0.1:"));
    let words = said();
    let (_, address) = words.split_once("http://").unwrap();
    let address = format!("http://{}", address.split(['/', ' ', '\n']).next().unwrap());
    let tasks: Vec<String> = (0..3).map(|_| email(&db)).collect();
    db.until("all have ended", |db| {
        tasks.iter().all(|task| ["completed", "failed"].contains(&db.state(task).as_str()))
    });
    assert!(site.asked().iter().all(|asked| asked.header("authorization") == Some(&format!("Bearer {SECRET}"))));
    let mut told = vec![
        db.ok(&["errors", "--json"]),
        db.ok(&["list", "--json"]),
        db.ok(&["failures", "--json"]),
        db.ok(&["commands", "--json"]),
        shell(&format!("curl -fsS {address}/errors")),
        shell(&format!("curl -fsS {address}/failures")),
        shell(&format!("curl -fsS {address}/metrics")),
        shell(&format!("curl -fsS {address}/api/v1/errors")),
    ];
    assert!(told[0].contains("the key is not known"), "{}", told[0]);
    for task in &tasks {
        told.push(db.ok(&["show", task, "--json"]));
        told.push(shell(&format!("curl -fsS {address}/tasks/{task}")));
    }
    running.stop();
    told.push(said());
    for text in told {
        assert!(!text.contains(SECRET) && !text.contains("7d1f9c"), "{text}");
    }
    // Nor is it said what is wrong with one.
    std::fs::write(db.dir.path().join("secret"), format!("{SECRET}\nmore")).unwrap();
    let refused = db.run(&["work", "--config", &config]);
    assert!(refused.code != 0 && !refused.stderr.contains("7d1f9c"), "{refused:?}");
}

/// Aborts a worker that was started like this and might leave a core.
fn aborted(db: &Db, args: &str) -> ExitStatus {
    let ready = db.dir.path().join("ready");
    let line = format!(
        "ulimit -c unlimited; exec {} --database '{}' work {args} --listen 127.0.0.1:0",
        env!("CARGO_BIN_EXE_kinfolk"),
        db.url
    );
    let mut child = Command::new("/bin/sh")
        .current_dir(db.dir.path())
        .args(["-c", &line])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(std::fs::File::create(&ready).unwrap())
        .spawn()
        .unwrap();
    db.until("it works", |_| std::fs::read_to_string(&ready).unwrap().contains("Ctrl-C"));
    signal(&child, Signal::ABORT);
    wait(&mut child)
}

#[test]
fn a_worker_with_secrets_leaves_no_core_dump() {
    let (db, config) = office(&HttpSite::new(Vec::new()).unwrap());
    let without = aborted(&db, "");
    assert_eq!(without.signal(), Some(6));
    if !without.core_dumped() {
        println!("NOT TESTED: core dumps of workers with secrets: this machine writes no core dumps");
        return;
    }
    let with = aborted(&db, &format!("--config '{config}'"));
    assert_eq!((with.signal(), with.core_dumped()), (Some(6), false));
}
