//! A page stays current by itself, also over a restart of its server; every state of it is an address.

use kinfolk_testkit::Setup;

use super::site;

#[test]
fn a_page_follows_its_task_and_survives_a_restart_of_the_server() {
    let Some(mut site) = site("pages that stay current", Setup::default()) else { return };
    let family = r#"{"children": [{"command": "echo", "payload": 1, "count": 3}, {"command": "wait", "payload": {"signal": "go"}}]}"#;
    let root = site.enqueue(&["fan_out", family]);
    site.reaches(&root, "waiting");
    site.open(&format!("/families/{root}"));
    site.browser.until("it is live", "document.querySelector('#live span').innerText === 'Live'");
    // What a page that was loaded again would have lost.
    site.browser.run("window.since = 1");
    site.says("3 completed");
    let waits = site.db.json(&["list", "--command", "wait"])[0]["id"].to_string();

    site.crash();
    site.says("Reconnecting");
    site.restart();
    site.browser.until("it is live again", "document.querySelector('#live span').innerText === 'Live'");
    site.reaches(&waits, "waiting");
    site.db.ok(&["signal", &waits, "go", "true"]);
    site.reaches(&root, "completed");
    site.browser.until("the family has completed", "document.querySelector('.head .badge.completed')");
    assert_eq!(site.value("window.since"), 1, "the page was loaded again");
    // The end of a family is a change of the list that it stands in.
    site.open("/tasks?state=completed");
    site.says(&format!("#{root}"));
    site.browser.run("window.since = 1");
    let later = site.enqueue(&["noop"]);
    site.says("1 new task matches");
    assert!(
        !site.value("document.body.innerText").as_str().unwrap().contains(&format!("#{later}")),
        "rows move by themselves"
    );
    site.browser.click(".news");
    site.says(&format!("#{later}"));
    assert_eq!(site.value("window.since"), 1, "the page was loaded again");
}

#[test]
fn every_state_of_a_page_is_an_address() {
    let Some(site) = site("addresses of pages", Setup::default()) else { return };
    let echo = site.enqueue(&["echo", "7"]);
    let wait = site.enqueue(&["wait", r#"{"signal": "go"}"#]);
    site.reaches(&echo, "completed");
    site.reaches(&wait, "waiting");
    let shown = |id: &str| format!("document.querySelector('[data-key=\"t{id}\"]')");
    site.open("/tasks?command=echo");
    site.browser.until("the one is there", &shown(&echo));
    assert!(site.value(&shown(&wait)).is_null());
    site.browser.click("a.chip");
    site.browser.until("both are there", &format!("{} && {}", shown(&echo), shown(&wait)));
    assert_eq!(site.address(), "/tasks");
    site.browser.back();
    site.browser
        .until("the filter is there again", &format!("location.search === '?command=echo' && !{}", shown(&wait)));
    site.browser.forward();
    site.browser.until("it is gone again", &format!("location.search === '' && {}", shown(&wait)));
    // What is typed becomes a part of the address, too.
    site.browser.click(".filter input[type=search]");
    site.browser.keys("state:waiting\u{e007}");
    site.browser.until("only the other is there", &format!("{} && !{}", shown(&wait), shown(&echo)));
    assert!(site.address().contains("state=waiting"), "{}", site.address());
    // So do the views of a family.
    site.open(&format!("/families/{wait}"));
    site.browser.click("[data-view='2']");
    site.browser.until("it is a tree", "location.search === '?view=tree'");
    site.browser.click("[data-view='3']");
    site.browser.until("it is a graph", "location.search === '?view=graph' && document.querySelector('.graph svg')");
    site.browser.back();
    site.browser.until("it is a tree again", "location.search === '?view=tree'");
}
