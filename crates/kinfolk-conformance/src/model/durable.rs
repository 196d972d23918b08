//! What a running handler records, takes and says of itself, and the signals that are sent to it.

use kinfolk_core::limits::{PAYLOAD_BYTES_MAX, SETTLE_BATCH_MAX, SIGNALS_KEPT_MAX, STEPS_MAX};
use kinfolk_core::store::Answer;
use kinfolk_core::{
    Checkpoint, InputError, Json, Key, Record, Recorded, Report, SignalName, Signalled, State, StepKind, StoreError,
    TakenSignal, TaskId, Token,
};

use super::{Bug, Engine};

impl Engine {
    pub(super) fn record(&mut self, records: &[Record]) -> Answer<Vec<Recorded>> {
        if records.len() > SETTLE_BATCH_MAX {
            return Err(InputError::Batch { what: "records", given: records.len(), max: SETTLE_BATCH_MAX }.into());
        }
        records.iter().try_for_each(Record::check)?;
        self.whole(|engine| records.iter().map(|record| engine.record_one(record)).collect())
    }

    fn record_one(&mut self, record: &Record) -> Answer<Recorded> {
        let stale = !self.runs_under(record.task, record.token);
        if stale && !(self.has(Bug::StaleRecordIsWritten) && self.tasks.contains_key(&record.task)) {
            return Ok(Recorded::Stale);
        }
        self.record_all(record.task, &record.checkpoints)?;
        Ok(Recorded::Written)
    }

    /// Writes checkpoints. One that stands there already was written by the same call before.
    pub(super) fn record_all(&mut self, id: TaskId, checkpoints: &[Checkpoint]) -> Answer<()> {
        for checkpoint in checkpoints {
            let twice = self.has(Bug::RepeatedRecordIsWrittenTwice);
            let now = self.now;
            let row = self.row_mut(id);
            match row.checkpoints.iter().find(|before| before.key == checkpoint.key) {
                Some(before) if before == checkpoint && !twice => {}
                Some(before) if before != checkpoint => return Err(already_recorded(id, &checkpoint.key)),
                _ => {
                    row.checkpoints.push(checkpoint.clone());
                    row.recorded_at.push(now);
                }
            }
        }
        let row = self.row_mut(id);
        let given = row.checkpoints.len();
        if given > STEPS_MAX {
            return Err(InputError::Batch { what: "checkpoints of one task", given, max: STEPS_MAX }.into());
        }
        row.task.steps = u32::try_from(given).expect("few enough");
        Ok(())
    }

    pub(super) fn take_signal(
        &mut self,
        id: TaskId,
        token: Token,
        key: &Key,
        name: &SignalName,
    ) -> Answer<TakenSignal> {
        let step = |value| Checkpoint { key: key.clone(), kind: StepKind::Signal, digest: String::new(), value };
        Record { task: id, token, checkpoints: vec![step(Json::null())] }.check()?;
        if !self.runs_under(id, token) {
            return Ok(TakenSignal::Stale);
        }
        let row = &self.tasks[&id];
        if let Some(before) = row.checkpoints.iter().find(|before| before.key == *key) {
            if before.kind != StepKind::Signal {
                return Err(already_recorded(id, key));
            }
            let taken: Vec<Json> = before.value.to()?;
            return Ok(taken.into_iter().next().map_or(TakenSignal::Nothing, TakenSignal::Signal));
        }
        let mut kept = row.kept.iter().enumerate().filter(|(_, (kept, _))| kept == name);
        let next = if self.has(Bug::LatestSignalComesFirst) { kept.next_back() } else { kept.next() };
        let Some((index, (_, value))) = next else { return Ok(TakenSignal::Nothing) };
        let value = value.clone();
        self.whole(|engine| engine.record_all(id, &[step(Json::of(&[&value])?)]))?;
        if !self.has(Bug::SignalIsTakenTwice) {
            self.row_mut(id).kept.remove(index);
        }
        Ok(TakenSignal::Signal(value))
    }

    pub(super) fn report(&mut self, id: TaskId, token: Token, report: &Report) -> Answer<bool> {
        report.check()?;
        let holds = self.runs_under(id, token);
        if holds {
            self.row_mut(id).task.report = Some(report.clone());
        }
        Ok(holds)
    }

    pub(super) fn signal(&mut self, id: TaskId, name: &SignalName, value: &Json) -> Answer<Signalled> {
        if value.bytes() > PAYLOAD_BYTES_MAX {
            let (bytes, max) = (value.bytes(), PAYLOAD_BYTES_MAX);
            return Err(InputError::TooLarge { what: "signal", bytes, max }.into());
        }
        let row = self.row(id)?;
        let (state, given) = (row.task.state, row.kept.len() + 1);
        if state.is_terminal() {
            let remedy = "a task that has ended gets no signals";
            return Err(StoreError::WrongState { task: id, state, remedy });
        }
        if given > SIGNALS_KEPT_MAX {
            let max = SIGNALS_KEPT_MAX;
            return Err(InputError::Batch { what: "signals kept for one task", given, max }.into());
        }
        self.row_mut(id).kept.push((name.clone(), value.clone()));
        let row = &self.tasks[&id];
        if row.is_suspended() && row.task.signals.contains(name) && !self.has(Bug::SignalDoesNotWake) {
            self.wake(id);
            return Ok(Signalled::Resumed);
        }
        Ok(Signalled::Kept)
    }

    /// Whether a task runs under this token.
    pub(super) fn runs_under(&self, id: TaskId, token: Token) -> bool {
        self.tasks.get(&id).is_some_and(|row| row.token == Some(token) && row.task.state == State::Running)
    }
}

fn already_recorded(id: TaskId, key: &Key) -> StoreError {
    InputError::Other(format!("task {id} has already recorded step {key}")).into()
}
