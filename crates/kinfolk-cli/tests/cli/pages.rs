//! The pages of the demo: each has something to show, and none is larger than it may be.

use std::io::{BufRead as _, BufReader};
use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::support::{Running, finish, sqlite};

/// What a page, the stylesheet and the script may weigh, in bytes, and how many elements a page may have.
const PAGE_BYTES: usize = 60 * 1024;
const STYLE_BYTES: usize = 25 * 1024;
const SCRIPT_BYTES: usize = 20 * 1024;
const ELEMENTS: usize = 1_500;
const PATIENCE: Duration = Duration::from_secs(120);

fn get(address: &str) -> String {
    let mut curl = std::process::Command::new("curl");
    curl.args(["-fsS", address]);
    let ran = finish(curl, "");
    assert_eq!(ran.code, 0, "{address}: {}", ran.stderr);
    ran.stdout
}

/// Reads a page again and again until it says this.
fn until(address: &str, says: &str) -> String {
    let begun = Instant::now();
    loop {
        let page = get(address);
        if page.contains(says) {
            return page;
        }
        assert!(begun.elapsed() < PATIENCE, "{address} does not say {says:?}: {page}");
        std::thread::sleep(Duration::from_millis(200));
    }
}

fn elements(page: &str) -> usize {
    page.match_indices('<')
        .filter(|(at, _)| page[at + 1..].starts_with(|next: char| next.is_ascii_alphabetic()))
        .count()
}

/// Where a link on a page leads that begins so.
fn link(page: &str, begin: &str) -> String {
    let at = page.find(&format!("href=\"{begin}")).unwrap_or_else(|| panic!("no link to {begin}: {page}")) + 6;
    page[at..].split('"').next().unwrap_or_default().replace("&amp;", "&").replace("&#38;", "&")
}

/// The family of an order: the first row of the list that has a bar and is one.
fn family(page: &str) -> String {
    let mut rows = page.split("<tr ").filter(|row| row.contains("class=\"bar\"") && row.contains("process_order"));
    link(rows.next().unwrap_or_else(|| panic!("no order: {page}")), "/families/")
}

#[test]
fn every_page_of_the_demo_has_something_to_show_and_keeps_its_budget() {
    let db = sqlite();
    let mut demo = db.command(&["demo", "--orders", "16"]);
    let mut demo = demo.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut lines = BufReader::new(demo.stdout.take().unwrap()).lines().map_while(Result::ok);
    let running = Running::of(demo);
    let first = lines.next().expect("it says something");
    std::thread::spawn(move || lines.for_each(drop));
    let at = first.find("http://").unwrap_or_else(|| panic!("the address comes first: {first}"));
    let address = first[at..].trim_end_matches('/').to_owned();
    let to = |path: &str| format!("{address}{path}");

    let family = family(&until(&to("/families?command=shop.process_order"), "class=\"bar\""));
    let failures = until(&to("/failures"), "data-key=");
    let groups = until(&to("/groups"), "Keys that hold tasks up");
    let pages = [
        (to("/"), "wants a look|want a look"),
        (to("/tasks"), "data-key=\"t"),
        (to("/tasks?state=failed"), "class=\"says failed\""),
        (to(&family), "shop.</i>process_order"),
        (to(&family.replace("/families/", "/tasks/")), "process_order"),
        (to("/families"), "process_order"),
        (to("/failures"), "Retry th"),
        (to(&link(&failures, "/failures?open=")), "The last one"),
        (to("/groups"), "supplier"),
        (to(&link(&groups, "/groups?group=")), "supplier"),
        (to("/queues"), "shop.packing"),
        (to("/queues/shop.packing"), "Its workers"),
        (to("/workers"), "alive"),
        (to("/schedules"), "Every 20 seconds"),
        (to("/schedules/count-the-till"), "The next 10 ticks"),
        (to("/keys"), "find or go to"),
    ];
    for (address, says) in &pages {
        let page = get(address);
        assert!(says.split('|').any(|word| page.contains(word)), "{address} does not say {says:?}: {page}");
        assert!(page.len() <= PAGE_BYTES, "{address} has {} bytes", page.len());
        assert!(elements(&page) <= ELEMENTS, "{address} has {} elements", elements(&page));
        // What the content policy forbids.
        assert!(!page.contains(" style=") && !page.contains("<style"), "{address}");
        assert!(!page.contains("<script>") && !page.contains(" onclick="), "{address}");
    }
    let page = get(&to("/"));
    let style = get(&to(&link(&page, "/assets/kinfolk.css")));
    assert!(style.len() <= STYLE_BYTES, "the stylesheet has {} bytes", style.len());
    let script = page.split("src=\"").nth(1).and_then(|rest| rest.split('"').next()).expect("a script");
    let script = get(&to(script));
    assert!(script.len() <= SCRIPT_BYTES, "the script has {} bytes", script.len());
    running.stop();
}
