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
    let refused = db.run(&["delete"]);
    assert_eq!(refused.code, 2, "nothing is deleted without a filter: {refused:?}");
    assert_eq!(db.one(&["delete", "--state", "cancelled"])["done"], 2);
    assert_eq!(db.one(&["list", "--count"])["tasks"], 0);
}
