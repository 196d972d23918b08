//! Migrations: run once, safe to run again, at most one at a time.

use futures_util::future::join_all;
use kinfolk_core::StoreError;

use crate::world::World;

/// A store that is up to date has nothing to migrate and says so.
pub async fn an_up_to_date_store_has_nothing_to_migrate(w: &World) {
    assert_eq!(w.store.pending_migrations().await.unwrap(), []);
    let migrated = w.store.migrate().await.unwrap();
    assert_eq!(migrated.from, migrated.to);
    assert!(migrated.to > 0);
}

/// Migrating again leaves everything as it was.
pub async fn migrating_again_changes_nothing(w: &World) {
    w.failed().await;
    w.running().await;
    let before = w.everything().await;
    w.store.migrate().await.unwrap();
    w.another().await.migrate().await.unwrap();
    assert_eq!(w.everything().await, before);
}

/// Several that migrate at once all end well or are told that someone else is at it.
pub async fn migrating_at_once_is_told_busy_at_worst(w: &World) {
    let mut handles = Vec::new();
    for _ in 0..4 {
        handles.push(w.another().await);
    }
    for answer in join_all(handles.iter().map(|handle| handle.migrate())).await {
        assert!(matches!(answer, Ok(_) | Err(StoreError::Busy { .. })), "{answer:?}");
    }
    assert_eq!(w.store.pending_migrations().await.unwrap(), []);
}
