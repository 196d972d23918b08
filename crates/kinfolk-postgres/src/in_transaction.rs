//! Enqueueing, recording and settling inside a transaction of the caller's own.

use kinfolk_core::store::Answer;
use kinfolk_core::{Enqueued, NewTask, Record, Recorded, Settle, Settled, Task, TaskId};
use tokio_postgres::GenericClient;
use tokio_postgres::types::Type;

use crate::durable::record_by;
use crate::error::store_error;
use crate::inspect::TASK;
use crate::produce::{self, Columns, ENQUEUE, TAKE_IDS};
use crate::rows;
use crate::settle::settle_by;

/// Enqueues tasks in the caller's transaction: they exist if, and only if, it commits. Works under every isolation
/// level. Workers are woken by the commit. A task whose command, queue or group is not there is an error,
/// [`kinfolk_core::StoreError::Rejected`], and the transaction can only be rolled back then: see [`try_enqueue_in`].
pub async fn enqueue_in(client: &impl GenericClient, tasks: &[NewTask]) -> Answer<Vec<Enqueued>> {
    enqueue_or(client, tasks, true).await
}

/// As [`enqueue_in`], but one that can't be made is answered [`Enqueued::Rejected`], and the others are made.
pub async fn try_enqueue_in(client: &impl GenericClient, tasks: &[NewTask]) -> Answer<Vec<Enqueued>> {
    enqueue_or(client, tasks, false).await
}

async fn enqueue_or(client: &impl GenericClient, tasks: &[NewTask], strict: bool) -> Answer<Vec<Enqueued>> {
    produce::check(tasks)?;
    let many = tasks.len() as i32;
    let taken = client.query_typed_one(TAKE_IDS, &[(&many, Type::INT4)]).await;
    let ids: Vec<i64> = taken.map_err(|fault| store_error(&fault))?.get(0);
    let columns = Columns::of(tasks)?;
    let rows = client.query_typed(ENQUEUE, &columns.params(&ids.as_slice(), &true, &strict)).await;
    rows::enqueued(&ids, tasks, &rows.map_err(|fault| store_error(&fault))?)
}

/// Settles tasks in the caller's transaction, so that their effects and their end are one: exactly once. It must be the
/// last act before the commit, done by one call (it takes locks that others wait for, in an order that a second call would
/// break), the isolation level must be `read committed`, and
/// a caller commits only what is answered `Recorded` as it was meant: of an attempt that is done, [`Settled::Recorded`] with
/// `Completed` or `Waiting`. Everything else (stale, repeated, recorded as cancelled or as pending) must be rolled back.
pub async fn settle_in(client: &impl GenericClient, settles: &[Settle]) -> Answer<Vec<Settled>> {
    settle_by(client, settles).await
}

/// Writes checkpoints in the caller's transaction, so that a step's effects and its record are one: exactly once. It should be
/// the last act before the commit (the task's row is locked by it), the isolation level must be `read committed`, and a caller
/// that is answered [`Recorded::Stale`] must roll back. Not in one transaction with a settle of the same task.
pub async fn record_in(client: &impl GenericClient, records: &[Record]) -> Answer<Vec<Recorded>> {
    record_by(client, records).await
}

/// One task as the caller's transaction sees it, such as after a settle that was not recorded as it was meant.
pub async fn task_in(client: &impl GenericClient, id: TaskId) -> Answer<Option<Task>> {
    let rows = client.query_typed(TASK, &[(&id.0, Type::INT8)]).await.map_err(|fault| store_error(&fault))?;
    rows.first().map(rows::task).transpose()
}
