//! Without scripts everything works but liveness.

use kinfolk_testkit::Setup;

use super::site;

#[test]
fn without_scripts_pages_are_read_filtered_folded_and_acted_on() {
    let Some(site) = site("pages without scripts", Setup { without_scripts: true }) else { return };
    site.db.ok(&["register", "fail", "--max-attempts", "1"]);
    let failed = site.enqueue(&["fail", r#"{"message": "out of stock", "times": 1}"#]);
    site.reaches(&failed, "failed");
    site.open("/");
    assert_eq!(site.value("document.documentElement.classList.contains('scripted')"), false, "scripts run");
    site.says("As of ");
    site.open("/tasks");
    site.browser.click(".facets a[href*='state=failed']");
    site.browser.until("the address says so", "location.search.includes('state=failed')");
    site.browser.click(&format!("input.pick[value='{failed}']"));
    site.browser.click(".bulk [data-do='retry']");
    site.says("Retry");
    site.agree();
    let root = site.enqueue(&["fan_out", r#"{"children": [{"command": "echo", "count": 6}]}"#]);
    site.reaches(&root, "completed");
    site.open(&format!("/families/{root}"));
    let rows = "document.querySelectorAll('.tl [role=row]').length";
    let folded = site.value(rows).as_u64().unwrap();
    site.browser.click("a.fold[data-fold='open']");
    site.browser.until("more rows are there", &format!("{rows} > {folded}"));
    let exact = site.enqueue(&["echo", r#"{"order": 9007199254740993, "lines": [1, 2]}"#]);
    site.open(&format!("/tasks/{exact}"));
    site.says("9007199254740993");
    let open = "document.querySelectorAll('.json details[open]').length";
    let before = site.value(open).as_u64().unwrap();
    site.browser.click(".json details[open] > summary");
    site.browser.until("it is folded", &format!("{open} < {before}"));
}
