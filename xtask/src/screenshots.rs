//! The pictures of the README: Now and a family at work, in light and dark, of the demo. Beside them, in `target/screenshots`, every
//! page in light, in the dark and on a phone, to be looked at.

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

/// Orders of all kinds are at work.
const BUSY: &str = "document.querySelectorAll('.cells.family').length >= 5";
/// A page that shows whatever there is.
const ANY: &str = "true";

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
    // A family at work that has something to show: near its end, with two fan-outs.
    let family = loop {
        let found = browser.run(
            "return [...document.querySelectorAll('.cells.family')].map(row => [row.querySelector('a').href, row.innerText]) \
             .find(([, text]) => /letters/.test(text))?.[0] ?? ''",
        );
        match found.as_str() {
            Some(found) if !found.is_empty() && begun.elapsed() > SETTLED => break found.to_owned(),
            _ if begun.elapsed() > PATIENCE => bail!("no family at work was found"),
            _ => std::thread::sleep(Duration::from_millis(100)),
        }
    };
    let now = format!("{}?span=15m", demo.address);
    for (name, address, when) in [("family", family.as_str(), ANY), ("now", now.as_str(), BUSY)] {
        for (scheme, dark) in [("light", false), ("dark", true)] {
            shoot(&browser, (address, when), WIDTH, dark, &folder.join(format!("{name}-{scheme}.png")))?;
        }
    }
    every_page(&browser, &demo.address, &family, &root.join("target/screenshots"))?;
    Ok(true)
}

/// Every page in light, in the dark and on a phone.
fn every_page(browser: &Browser, address: &str, family: &str, folder: &Path) -> Result<()> {
    fs::create_dir_all(folder)?;
    browser.go(&format!("{address}tasks?state=failed"));
    let failed = browser.run("return document.querySelector('table.tasks tbody a')?.href ?? ''");
    let at = |path: &str| format!("{address}{path}");
    let pages = [
        ("now", at("?span=15m")),
        ("tasks", at("tasks")),
        ("counts", at("tasks?count=command")),
        ("task", failed.as_str().filter(|href| !href.is_empty()).map_or_else(|| at("tasks/1"), str::to_owned)),
        ("families", at("families")),
        ("family", family.to_owned()),
        ("tree", format!("{family}?view=tree")),
        ("graph", format!("{family}?view=graph")),
        ("failures", at("failures")),
        ("groups", at("groups")),
        ("queues", at("queues")),
        ("workers", at("workers")),
        ("schedules", at("schedules")),
    ];
    for (name, page) in &pages {
        for (look, width, dark) in [("light", WIDTH, false), ("dark", WIDTH, true), ("360", 360, false)] {
            shoot(browser, (page, ANY), width, dark, &folder.join(format!("{name}-{look}.png")))?;
        }
    }
    Ok(())
}

/// One picture of one page, as soon as it is live and shows what it is to show.
fn shoot(browser: &Browser, (address, when): (&str, &str), width: u32, dark: bool, file: &Path) -> Result<()> {
    browser.look(width, dark);
    browser.go(address);
    browser.until("the page is live", "document.querySelector('#live span').innerText === 'Live'");
    browser.until("the page has something to show", when);
    fs::write(file, browser.picture(width))?;
    println!("{}", file.display());
    Ok(())
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
