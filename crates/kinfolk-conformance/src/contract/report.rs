//! How far a task has come, in its handler's own words.

use kinfolk_core::limits::PROGRESS_NOTE_BYTES_MAX;
use kinfolk_core::{Outcome, Report, StoreError};

use crate::flow::sleeping;
use crate::world::{World, secs};

fn report(done: u64) -> Report {
    Report { done, total: Some(10), note: Some("ünder way".to_owned()) }
}

/// The latest report is shown with the task, from the first on, and stays when the task has ended.
pub async fn the_latest_is_shown_and_stays(w: &World) {
    let task = w.running().await;
    assert_eq!(w.get(task.id).await.report, None);
    let reports = [report(1), report(2), Report { done: u64::try_from(i64::MAX).unwrap(), total: None, note: None }];
    for report in &reports {
        assert!(w.store.report(task.id, task.token, report).await.unwrap());
        assert_eq!(w.get(task.id).await.report.as_ref(), Some(report));
    }
    w.suspend_and_wait(sleeping(&task, w.now().plus(secs(5)))).await;
    assert_eq!(w.get(task.id).await.report.as_ref(), Some(&reports[2]));
    w.advance(5).await;
    w.work(task.id, Outcome::Done(None)).await;
    assert_eq!(w.get(task.id).await.report.as_ref(), Some(&reports[2]));
}

/// A token that no longer holds says nothing.
pub async fn a_stale_report_is_not_written(w: &World) {
    let task = w.running().await;
    w.settle(&task, Outcome::Release).await;
    assert!(!w.store.report(task.id, task.token, &report(1)).await.unwrap());
    let new = w.start(task.id).await;
    assert!(!w.store.report(task.id, task.token, &report(1)).await.unwrap());
    assert_eq!(w.get(task.id).await.report, None);
    w.done(&new).await;
    assert!(!w.store.report(new.id, new.token, &report(1)).await.unwrap());
}

/// What no store would keep is refused.
pub async fn what_no_store_would_keep_is_refused(w: &World) {
    let task = w.running().await;
    let long = Report { note: Some("x".repeat(PROGRESS_NOTE_BYTES_MAX + 1)), ..report(1) };
    let nul = Report { note: Some("a\0b".to_owned()), ..report(1) };
    let many = Report { done: u64::MAX, ..report(1) };
    for refused in [long, nul, many] {
        let answer = w.store.report(task.id, task.token, &refused).await;
        assert!(matches!(answer, Err(StoreError::Input(_))), "{answer:?}");
    }
    assert_eq!(w.get(task.id).await.report, None);
}
