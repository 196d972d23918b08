//! The pages in a real browser, served by the real binary: what a person sees, presses and types. On a machine without one they
//! say so.

mod acts;
mod keyboard;
mod live;
mod looks;
mod plain;

use std::io::{BufRead as _, BufReader};
use std::process::Stdio;

use kinfolk_testkit::{Browser, Setup};
use serde_json::{Value, json};

use crate::support::{Db, Running, sqlite};

/// A database, a server on it, and a browser.
pub(crate) struct Site {
    db: Db,
    server: Option<Running>,
    /// `http://127.0.0.1:…`
    address: String,
    browser: Browser,
}

/// A site on a new SQLite file; `None` on a machine without a browser.
fn site(what: &str, setup: Setup) -> Option<Site> {
    let browser = Browser::start(what, setup)?;
    Some(Site::on(sqlite().migrated(), browser))
}

impl Site {
    fn on(db: Db, browser: Browser) -> Self {
        let (server, address) = serve(&db, "127.0.0.1:0");
        Self { db, server: Some(server), address, browser }
    }

    /// Opens a page.
    fn open(&self, path: &str) {
        self.browser.go(&format!("{}{path}", self.address));
    }

    /// Enqueues a task. Its number.
    fn enqueue(&self, args: &[&str]) -> String {
        self.db.one(&[&["enqueue"], args].concat())["task"].to_string()
    }

    /// Waits until a task is in this state.
    fn reaches(&self, id: &str, state: &str) {
        self.db.until(&format!("task {id} is {state}"), |db| db.state(id) == state);
    }

    /// Presses what a page offers, and says yes to what it asks.
    fn press(&self, selector: &str) {
        self.browser.click(selector);
        self.agree();
    }

    /// Says yes.
    fn agree(&self) {
        self.browser.click("main .ask button");
        self.browser.until("the page says what was done", "document.querySelector('.done')");
    }

    /// Waits until the page says this somewhere.
    fn says(&self, words: &str) {
        let said = format!("document.body.innerText.replace(/\\s+/g, ' ').includes({})", json!(words));
        self.browser.until(&format!("the page says {words:?}"), &said);
    }

    fn value(&self, script: &str) -> Value {
        self.browser.run(&format!("return {script}"))
    }

    /// Where the browser is, without the address of the server.
    fn address(&self) -> String {
        self.value("location.pathname + location.search").as_str().unwrap().to_owned()
    }

    /// Ends the server, in the way that a crash does.
    fn crash(&mut self) {
        drop(self.server.take());
    }

    /// Starts it again where it was.
    fn restart(&mut self) {
        let (server, address) = serve(&self.db, &self.address["http://".len()..]);
        assert_eq!(address, self.address);
        self.server = Some(server);
    }
}

/// A server in the background, and its address.
fn serve(db: &Db, listen: &str) -> (Running, String) {
    let mut command = db.command(&["serve", "--listen", listen]);
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map_while(Result::ok);
    let running = Running::of(child);
    let address = lines.find_map(|line| line.find("http://").map(|at| line[at..].trim_end_matches('/').to_owned()));
    // What it says later is read as well, or it would stop when nobody does.
    std::thread::spawn(move || lines.for_each(drop));
    (running, address.expect("it says where it listens"))
}
