//! Sub-tasks that a test ends by hand, in place of handlers.

use std::time::Duration;

use kinfolk_core::limits::{CLAIM_BATCH_MAX, LEASE_MAX};
use kinfolk_core::{
    Claim, Failure, FailureKind, InputError, Json, Outcome, Retry, Settle, StoreError, TaskId, Token, WorkerId,
    WorkerSpec,
};
use serde::Serialize;
use uuid::Uuid;

use super::TestKit;

impl TestKit {
    /// Completes a pending task with this result, as if a handler had run it. The kit's worker should have no handler for
    /// its command. Under a rate, all open tasks of its command count as started by this.
    pub async fn complete_sub_task<T: Serialize + ?Sized>(&self, id: TaskId, result: &T) -> Result<(), StoreError> {
        let result = Some(Json::of(result)?).filter(|result| *result != Json::null());
        self.settle_by_hand(id, Outcome::Done(result)).await
    }

    /// Fails a pending task for good, as if its handler had returned this error.
    pub async fn fail_sub_task(&self, id: TaskId, error: impl Into<String>) -> Result<(), StoreError> {
        let failure = Failure::new(FailureKind::Error, error);
        self.settle_by_hand(id, Outcome::Failed { failure, retry: Retry::Never }).await
    }

    /// Claims everything of the task's command, gives back what is not meant, and settles the one.
    async fn settle_by_hand(&self, id: TaskId, outcome: Outcome) -> Result<(), StoreError> {
        let (store, task) = (self.kinfolk().store(), self.kinfolk().task(id).await?);
        let worker = WorkerId(Uuid::now_v7());
        let (queue, commands) = (task.queue.clone(), vec![task.command.clone()]);
        let lease = LEASE_MAX.min(Duration::from_secs(60));
        let (name, queues) = ("by hand".to_owned(), vec![queue.clone()]);
        store
            .register_worker(&WorkerSpec {
                id: worker,
                name,
                version: String::new(),
                queues,
                commands: commands.clone(),
                lease,
            })
            .await?;
        let token = Token(Uuid::new_v4());
        let claim = Claim { worker, token, queue, commands, limit: CLAIM_BATCH_MAX, repeated: false };
        let claimed = store.claim(&claim).await?;
        let found = claimed.tasks.iter().any(|task| task.id == id);
        if found {
            store.settle(&[Settle::new(id, token, outcome)]).await?;
        }
        // Everything else goes back as it was.
        store.leave(worker).await?;
        if found {
            return Ok(());
        }
        let (state, why) = (self.kinfolk().task(id).await?.state, self.why(id).await);
        let words = format!(
            "task {id} ({}) can't be ended by hand; is there a handler for it? It is {state}: {why}",
            task.command
        );
        Err(InputError::Other(words).into())
    }
}
