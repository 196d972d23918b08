//! How every page looks: no complaint of the browser, none of axe-core, nothing too wide for a telephone.

use std::io::Write as _;
use std::path::Path;

use kinfolk_testkit::{Setup, axe};
use serde_json::Value;

use super::{Site, site};

/// A site on which every page has something to show, and the addresses of all pages.
fn furnished(what: &str) -> Option<(Site, Vec<String>)> {
    let site = site(what, Setup::default())?;
    let db = &site.db;
    db.ok(&["register", "fail", "--max-attempts", "1"]);
    db.ok(&["register", "sleep", "--group", "tenant=1"]);
    db.ok(&["register", "echo", "--label", "n"]);
    db.ok(&["schedule", "put", "nightly", "0 3 * * *", "noop"]);
    db.ok(&["queue", "set", "mail"]);
    db.ok(&["queue", "pause", "mail", "--by", "ann"]);
    let children = r#"{"command": "echo", "payload": {"n": 1}, "count": 6}, {"command": "fail", "payload": {"message": "out of stock"}, "count": 2},
        {"command": "wait", "payload": {"signal": "clearance"}}, {"command": "sleep", "payload": {"ms": 3600000}, "keys": {"tenant": "acme"}, "count": 2}"#;
    let root = site.enqueue(&["fan_out", &format!(r#"{{"children": [{children}], "rule": {{"threshold": 0.5}}}}"#)]);
    let spawned = r#"{"children": [{"command": "fail"}, {"command": "echo"}], "follow_ups": [{"command": "noop"}]}"#;
    let ended = site.enqueue(&["spawn", spawned]);
    let many =
        r#"{"children": [{"command": "noop", "count": 150}, {"command": "echo", "payload": {"n": 2}, "count": 60}]}"#;
    let wide = site.enqueue(&["spawn", many]);
    let failed = site.enqueue(&["fail", r#"{"message": "no <b>stock</b> left, none at all"}"#]);
    let held = site.enqueue(&["noop", "--queue", "mail"]);
    let later =
        site.enqueue(&["echo", r#"{"big": 9007199254740993, "deep": {"list": [1, 2, 3], "text": "a"}}"#, "--in", "2h"]);
    site.reaches(&root, "waiting");
    site.reaches(&ended, "failed");
    site.reaches(&wide, "completed");
    site.reaches(&failed, "failed");
    db.until("all that can run has run", |db| db.json(&["list", "--state", "completed"]).len() >= 8);
    let mut pages: Vec<String> = [
        "/",
        "/tasks",
        "/tasks?state=completed&command=echo",
        "/tasks?state=cancelled",
        "/tasks?count=command",
        "/families",
        "/failures",
    ]
    .into_iter()
    .chain(["/groups", "/queues", "/queues/mail", "/workers", "/schedules", "/schedules/nightly", "/keys", "/nowhere"])
    .map(str::to_owned)
    .collect();
    pages.extend([&root, &ended, &failed, &held, &later].map(|id| format!("/tasks/{id}")));
    for view in ["", "?view=tree", "?view=graph", "?fold=0&idle=1"] {
        pages.push(format!("/families/{root}{view}"));
    }
    pages.extend(["", "?view=tree", "?view=graph"].map(|view| format!("/families/{ended}{view}")));
    pages.push(format!("/families/{wide}?open=s{wide}"));
    Some((site, pages))
}

#[test]
fn every_page_opens_without_a_complaint_and_fits_a_telephone() {
    let Some((site, pages)) = furnished("pages that open") else { return };
    for page in &pages {
        site.browser.look(1_280, false);
        site.open(page);
        site.browser.until("the page is there", "document.readyState === 'complete' && document.querySelector('h1')");
        let mut said = site.browser.console();
        // What is not there is told with the status that says so, of which a browser makes a note.
        said.retain(|line| page != "/nowhere" || !line.contains("404"));
        assert_eq!(said, Vec::<String>::new(), "{page}");
        for width in [1_280, 360] {
            site.browser.look(width, width == 360);
            let wide = site.value(
                "[document.documentElement.scrollWidth - document.documentElement.clientWidth, \
                 [...document.querySelectorAll('main *')].filter(e => e.getBoundingClientRect().right > innerWidth + 1 \
                 && !e.closest('.scroll, .graph, .hidden, svg')).map(e => e.outerHTML.slice(0, 120)).slice(0, 3).join('\\n')]",
            );
            assert_eq!(wide[0], 0, "{page} is too wide at {width} pixels:\n{}", wide[1].as_str().unwrap_or_default());
        }
    }
}

#[test]
fn axe_core_finds_nothing_on_any_page_in_light_or_dark() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let Some(script) = axe(&root) else {
        // Written around the harness, which would keep it to itself.
        let _ = writeln!(std::io::stdout(), "NOT TESTED: axe-core on the pages: `cargo xtask test` fetches it, by npm");
        return;
    };
    let Some((site, pages)) = furnished("axe-core on the pages") else { return };
    let mut found = Vec::new();
    for page in &pages {
        site.open(page);
        site.browser.run(&script);
        for (scheme, dark) in [("light", false), ("dark", true)] {
            site.browser.look(1_280, dark);
            // Only colours differ in the dark.
            let rules = if dark { "runOnly: ['color-contrast'], " } else { "" };
            let answer = site.browser.run_to_end(&format!(
                "const done = arguments[arguments.length - 1]; \
                 axe.run(document, {{{rules}resultTypes: ['violations']}}).then(said => done(said.violations \
                 .map(v => `${{v.id}}: ${{v.help}}: ${{v.nodes.slice(0, 3).map(n => n.html.slice(0, 160) + ' ' + n.any.map(a => a.message).join(' ')).join(' | ')}}`)), \
                 fault => done([String(fault)]))"
            ));
            let said = answer.as_array().cloned().unwrap_or_default();
            found.extend(said.iter().map(|line| format!("{page} {scheme}: {}", line.as_str().unwrap_or_default())));
        }
        assert_ne!(site.value("typeof axe"), Value::String("undefined".to_owned()));
    }
    assert!(found.is_empty(), "{} findings:\n{}", found.len(), found.join("\n"));
}
