//! Everything by keyboard alone: nothing here clicks.

use kinfolk_testkit::Setup;
use serde_json::json;

use super::site;

const ENTER: &str = "\u{e007}";
const TAB: &str = "\u{e004}";
const ESCAPE: &str = "\u{e00c}";
const RIGHT: &str = "\u{e014}";

#[test]
fn a_task_is_found_opened_and_retried_by_keys() {
    let Some(site) = site("pages by keyboard", Setup::default()) else { return };
    site.db.ok(&["register", "fail", "--max-attempts", "1"]);
    let failed = site.enqueue(&["fail", r#"{"message": "out of stock"}"#]);
    site.reaches(&failed, "failed");
    let root = site.enqueue(&["fan_out", r#"{"children": [{"command": "echo", "count": 6}]}"#]);
    site.reaches(&root, "completed");
    let (browser, focused) = (&site.browser, "document.activeElement");
    site.open("/");
    // The first stop leads past the bar.
    browser.keys(TAB);
    browser.until("the way past the bar has the focus", &format!("{focused}.matches('.skip')"));
    browser.keys(ENTER);
    browser.until("it was taken", "location.hash === '#main'");
    browser.keys("gt");
    browser.until("the tasks are there", "location.pathname === '/tasks' && document.querySelector('[data-key]')");
    browser.keys("?");
    browser.until("the keys are explained", "document.querySelector('dialog[open]')");
    browser.keys(ESCAPE);
    browser.until("no more", "!document.querySelector('dialog[open]')");
    // The find field, by its key.
    browser.keys("/");
    browser.until("the find field has the focus", &format!("{focused}.matches('.find input')"));
    browser.keys(&format!("state:failed{ENTER}"));
    browser.until(
        "what failed is there",
        "location.search.includes('state=failed') && document.querySelector('[data-key]')",
    );
    browser.keys("j");
    let row = json!(format!("t{failed}"));
    browser.until("its row has the focus", &format!("{focused}.closest('[data-key]')?.dataset.key === {row}"));
    browser.keys("x");
    site.says("1 selected");
    browser.keys(ENTER);
    browser.until("it is open", &format!("location.pathname === '/tasks/{failed}'"));
    browser.keys("r");
    browser.until("it asks first", &format!("{focused}.matches('.ask button')"));
    browser.keys(ENTER);
    browser.until("it was done", "document.querySelector('.done')");
    site.db.until("it has run again", |db| db.one(&["show", &failed])["runs"].as_array().map_or(0, Vec::len) > 1);
    // A family: its rows, folded and unfolded.
    site.open(&format!("/families/{root}"));
    let rows = "document.querySelectorAll('.tl [data-key]').length";
    browser.until("its rows are there", &format!("{rows} > 1"));
    let folded = site.value(rows).as_u64().unwrap();
    browser.keys("jj");
    browser
        .until("a row has the focus", &format!("{focused}.closest('[data-key]')?.querySelector('[data-fold=open]')"));
    browser.keys(RIGHT);
    browser.until("it is unfolded", &format!("{rows} > {folded}"));
    browser.keys("2");
    browser.until("it is a tree", "location.search.includes('view=tree')");
}
