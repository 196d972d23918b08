//! The pictures of the README: the demo's pages, in light and dark.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use kinfolk_testkit::{Browser, Setup};

const WIDTH: u32 = 1_280;
/// How long the shop is left to itself before it is looked at: its charts have a column for each minute.
const SETTLED: Duration = Duration::from_secs(100);
const PATIENCE: Duration = Duration::from_secs(300);

/// Runs the demo, and takes a picture of Now and of a family at work.
pub(crate) fn take(root: &Path) -> Result<bool> {
    let folder = root.join("docs/images");
    fs::create_dir_all(&folder)?;
    let build = Command::new("cargo").current_dir(root).args(["build", "--workspace", "--bin", "kinfolk"]).status()?;
    if !build.success() {
        bail!("the program could not be built");
    }
    let database = root.join("target/screenshots.db");
    for ending in ["", "-wal", "-shm"] {
        let _ = fs::remove_file(format!("{}{ending}", database.display()));
    }
    let demo = Demo::start(root, &database)?;
    let browser = Browser::start("screenshots", Setup::default()).context("there is no chromedriver")?;
    browser.look(WIDTH, false);
    browser.go(&demo.address);
    let begun = Instant::now();
    // A family at work that has something to show: half way through, with a fan-out.
    let family = loop {
        let found = browser.run(
            "return [...document.querySelectorAll('.cells.family')].map(row => [row.querySelector('a').href, row.innerText]) \
             .find(([, text]) => /approval|letters/.test(text))?.[0] ?? ''",
        );
        match found.as_str() {
            Some(found) if !found.is_empty() && begun.elapsed() > SETTLED => break found.to_owned(),
            _ if begun.elapsed() > PATIENCE => bail!("no family at work was found"),
            _ => std::thread::sleep(Duration::from_millis(100)),
        }
    };
    let now = format!("{}?span=15m", demo.address);
    for (name, address) in [("family", family.as_str()), ("now", now.as_str())] {
        for (scheme, dark) in [("light", false), ("dark", true)] {
            browser.look(WIDTH, dark);
            browser.go(address);
            browser.until("the page is live", "document.querySelector('#live span').innerText === 'Live'");
            let file = folder.join(format!("{name}-{scheme}.png"));
            fs::write(&file, browser.picture(WIDTH))?;
            println!("{}", file.display());
        }
    }
    Ok(true)
}

/// The demo, until it is dropped.
struct Demo {
    process: Child,
    address: String,
}

impl Demo {
    fn start(root: &Path, database: &Path) -> Result<Self> {
        let mut process = Command::new(root.join("target/debug/kinfolk"))
            .args(["--database", &format!("sqlite:{}", database.display()), "demo", "--orders", "24"])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()?;
        let mut lines = BufReader::new(process.stdout.take().context("no output")?).lines();
        let first = lines.next().context("the demo said nothing")??;
        let address =
            first.split_whitespace().find(|word| word.starts_with("http://")).context(first.clone())?.to_owned();
        // Nobody reads the rest, and it must not block.
        std::thread::spawn(move || lines.for_each(drop));
        Ok(Self { process, address })
    }
}

impl Drop for Demo {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
