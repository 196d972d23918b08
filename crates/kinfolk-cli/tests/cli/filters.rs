//! Tasks by a filter: listed, counted, and changed many at once.

use crate::support::sqlite;

#[test]
fn tasks_are_listed_counted_and_changed_by_a_filter() {
    let db = sqlite();
    db.ok(&["migrate"]);
    db.ok(&["register", "send"]);
    db.ok(&["enqueue", "send", r#"{"customer": {"id": 17}}"#]);
    db.ok(&["enqueue", "send", r#"{"customer": {"id": 18}}"#, "--delay", "1h"]);
    assert_eq!(db.one(&["list", "--payload", "customer.id=17"])["id"], 1);
    assert_eq!(db.one(&["list", "--order", "oldest", "--after", "1"])["id"], 2);
    assert_eq!(db.one(&["list", "--state", "pending", "--created-after", "1h", "--roots", "--count"])["tasks"], 2);
    assert_eq!(db.one(&["list", "--has-children", "--count"])["tasks"], 0);

    assert_eq!(db.one(&["cancel", "--command", "send", "--dry-run"])["tasks"], 2);
    assert_eq!(db.one(&["list", "--state", "pending", "--count"])["tasks"], 2, "a dry run changes nothing");
    assert_eq!(db.one(&["run-now", "--command", "send"])["done"], 2);
    assert_eq!(db.one(&["cancel", "--command", "send"])["done"], 2);
    assert_eq!(db.one(&["retry", "--state", "cancelled", "--payload", "customer.id=18"])["done"], 1);
    assert_eq!(db.one(&["cancel", "--payload", "customer.id=18"])["done"], 1);
    for verb in ["delete", "cancel", "retry", "run-now"] {
        let said = db.fails(&[verb], 2);
        assert!(said.contains("by number") && said.contains("--state") && said.contains("--all"), "{verb}: {said}");
        for beside in ["--dry-run", "--all", "--state=cancelled"] {
            let ran = db.run(&[verb, "1", beside]);
            assert_eq!(ran.code, 2, "numbers and a filter are one or the other: {ran:?}");
            assert!(ran.stderr.contains("cannot be used with"), "{ran:?}");
        }
    }
    assert_eq!(db.run(&["cancel", "--command", "send", "--family"]).code, 2, "a family is named by a number");
    assert_eq!(db.one(&["list", "--state", "cancelled", "--count"])["tasks"], 2, "nothing was done");
    assert_eq!(db.one(&["delete", "--state", "cancelled"])["done"], 2);
    assert_eq!(db.one(&["list", "--count"])["tasks"], 0);
}
