//! Waiting for a word from outside: an approval, a callback, a person.

use std::time::Duration;

use kinfolk_core::{Checkpoint, Json, Key, SignalName, StepKind, TakenSignal, Timestamp};
use serde::de::DeserializeOwned;

use super::book::Wait;
use crate::ctx::Ctx;
use crate::task_error::TaskError;

impl Ctx {
    /// Waits without a worker for a signal of this name (`Kinfolk::signal`, `kinfolk signal`), for this long at most, by
    /// the store's clock; `None` when none has come by then. Signals that came before are kept, and taken in the order in
    /// which they came.
    pub async fn wait_signal<T: DeserializeOwned>(
        &self,
        name: impl AsRef<str>,
        timeout: Option<Duration>,
    ) -> Result<Option<T>, TaskError> {
        let name = SignalName::new(name.as_ref()).map_err(|fault| TaskError::from(fault).do_not_retry())?;
        let (op, recorded) = self.begin(&format!("signal {name}"), StepKind::Signal, String::new())?;
        let wait = format!("wait {name}");
        if let Some(value) = recorded {
            // The wait that came before it is over as well.
            self.with_book(|book| book.see(&Key { name: wait, ..op.key.clone() }));
            let [signal]: [Json; 1] = match op.read::<Vec<Json>>(&value)?.try_into() {
                Ok(signal) => signal,
                Err(_) => return Ok(None),
            };
            return self.read_signal(&name, &signal).map(Some);
        }
        op.stop_if_dry().await?;
        // Whatever led here must not be drawn anew once the signal is taken.
        self.flush().await?;
        let (task, token) = (self.task(), self.token());
        match self.ask("take_signal", |store| store.take_signal(task, token, &op.key, &name)).await? {
            TakenSignal::Signal(signal) => return self.read_signal(&name, &signal).map(Some),
            TakenSignal::Stale => return Err(self.lost().await),
            TakenSignal::Nothing => {}
        }
        let (key, begun) = op.find_beside(&wait, StepKind::Wait)?;
        let until: Option<Timestamp> = match begun {
            Some(until) => op.read(&until)?,
            None => {
                let until = match timeout {
                    Some(span) => Some(self.clock().await?.plus(span)),
                    None => None,
                };
                let value = Json::of(&until)?;
                self.with_book(|book| {
                    book.keep(Checkpoint { key, kind: StepKind::Wait, digest: String::new(), value });
                });
                until
            }
        };
        if let Some(until) = until
            && self.has_passed(until).await?
        {
            // Given up: so it stays, even if a signal comes later.
            op.record(Json::of(&[(); 0])?).await?;
            return Ok(None);
        }
        Err(op.wait(Wait::Signal(name, until)).await)
    }

    /// The value of a signal may not fit. The sender made a mistake then; the code has not changed.
    fn read_signal<T: DeserializeOwned>(&self, name: &SignalName, signal: &Json) -> Result<T, TaskError> {
        signal.to().map_err(|fault| {
            TaskError::validation(format!(
                "task {}: signal {name} was sent with a value that its handler can't read: {fault}; send what it expects, \
                 or take it as `Json` and judge it in the handler",
                self.task(),
            ))
        })
    }
}
