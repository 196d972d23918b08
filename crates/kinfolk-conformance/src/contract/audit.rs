//! The audit log, and the number by which a change is noticed.

use kinfolk_core::audit::Audit;
use kinfolk_core::limits::{AUDIT_BYTES_MAX, AUDIT_KEPT, PAGE_MAX};

use crate::world::World;

fn entry(what: &str, tasks: u64) -> Audit {
    Audit { who: "ann".to_owned(), what: what.to_owned(), subject: "task 1".to_owned(), tasks }
}

/// The audit log is shown newest first, in pages that follow each other, with the moment of each entry.
pub async fn the_log_is_newest_first_in_pages(w: &World) {
    for tasks in 1..=5 {
        w.store.audit(&entry("cancel", tasks)).await.unwrap();
        w.advance(1).await;
    }
    let first = w.store.audit_log(None, 3).await.unwrap();
    let rest = w.store.audit_log(first.last().map(|audited| audited.id), 3).await.unwrap();
    let all: Vec<_> = first.iter().chain(&rest).collect();
    assert_eq!(all.iter().map(|audited| audited.audit.tasks).collect::<Vec<_>>(), [5, 4, 3, 2, 1]);
    assert!(all.windows(2).all(|pair| pair[0].at > pair[1].at && pair[0].id > pair[1].id), "{all:?}");
    assert_eq!(all[0].audit, entry("cancel", 5));
    assert_eq!(w.store.audit_log(Some(all[4].id), PAGE_MAX).await.unwrap(), []);
}

/// A text that is too long is cut, and one that no store keeps is kept without what it can't have.
pub async fn long_and_hostile_texts_are_cut(w: &World) {
    let subject = format!("\0{}é", "x".repeat(AUDIT_BYTES_MAX - 2));
    w.store.audit(&Audit { subject: subject.clone(), ..entry("signal", 1) }).await.unwrap();
    let kept = w.store.audit_log(None, 1).await.unwrap().remove(0).audit.subject;
    assert_eq!(kept, format!(" {}", "x".repeat(AUDIT_BYTES_MAX - 2)));
}

/// Entries that are past their time go with a prune; the others stay.
pub async fn old_entries_are_pruned(w: &World) {
    w.store.audit(&entry("pause", 0)).await.unwrap();
    w.advance(60).await;
    w.store.audit(&entry("resume", 0)).await.unwrap();
    w.advance(AUDIT_KEPT.as_secs() - 60).await;
    w.store.prune().await.unwrap();
    let left = w.store.audit_log(None, 10).await.unwrap();
    assert_eq!(left.iter().map(|audited| audited.audit.what.as_str()).collect::<Vec<_>>(), ["resume"]);
}

/// The change number moves with everything that is committed.
pub async fn the_change_number_moves_with_every_commit(w: &World) {
    let mut before = w.store.change_number().await.unwrap();
    let id = w.enqueue("mail").await;
    let mut moved = async |what: &str| {
        let now = w.store.change_number().await.unwrap();
        assert_ne!(std::mem::replace(&mut before, now), now, "{what}");
    };
    moved("an enqueue").await;
    w.start(id).await;
    moved("a claim").await;
    w.store.cancel(id).await.unwrap();
    moved("a cancel").await;
    w.store.audit(&entry("cancel", 1)).await.unwrap();
    moved("an entry of the audit log").await;
}
