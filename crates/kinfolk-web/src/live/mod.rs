//! Live: server-sent events for a list, a task, a family, the overview or a status.
//!
//! One watcher asks the store at most once a second whether anything may have changed, and only while someone looks. When it may,
//! each subject is read once, for all who look at it, and an event is sent if what it shows differs. What takes long is read rarely:
//! the watcher rests for [`REST`] times as long as it read. Events may be skipped, never
//! the last one: a stream that was cut begins with how things are, unless the client has seen exactly that.

mod stream;
mod subject;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};

use kinfolk_core::QueueName;
use sha2::{Digest as _, Sha256};
use tokio::sync::watch;

use crate::access::Caller;
use crate::app::{App, Shared};
use crate::problem::Problem;

pub(crate) use self::stream::routes;
use self::subject::Subject;

/// How often the store is asked whether anything may have changed.
const LOOK: Duration = Duration::from_secs(1);
/// How much longer the watcher rests than it reads, and how long at most.
const REST: u32 = 20;
const REST_MAX: Duration = Duration::from_secs(10);
/// Streams at once, in one process.
const STREAMS_MAX: usize = 1_000;

/// What is watched in this process.
#[derive(Default)]
pub(crate) struct Live {
    watched: Mutex<HashMap<Key, Arc<Watched>>>,
}

/// What is watched, with the queues that those who look may see.
type Key = (Subject, Option<Vec<QueueName>>);

struct Watched {
    caller: Caller,
    said: watch::Sender<Option<Said>>,
}

/// What was last said of a subject.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Said {
    /// change, gone or trouble.
    event: &'static str,
    /// A digest of the data: the same data has the same one, on every server.
    id: String,
    data: Arc<str>,
}

impl Said {
    fn new(event: &'static str, data: String) -> Self {
        let digest = Sha256::digest(data.as_bytes());
        let id = digest.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
        Self { event, id, data: data.into() }
    }
}

impl Live {
    /// Begins to watch for one more stream. What it gets first is how things are now.
    pub(crate) async fn watch(
        app: &Shared,
        subject: Subject,
        caller: &Caller,
    ) -> Result<watch::Receiver<Option<Said>>, Problem> {
        // Read for this caller first: what they may not see is refused, and not watched.
        let first = subject.read(app, caller).await?;
        let mut watched = app.live.watched.lock().unwrap_or_else(PoisonError::into_inner);
        if watched.values().map(|one| one.said.receiver_count()).sum::<usize>() >= STREAMS_MAX {
            return Err(Problem::unavailable(format!("{STREAMS_MAX} streams are open; close one, or try again later")));
        }
        if watched.is_empty() {
            tokio::spawn(keep_looking(Arc::downgrade(app)));
        }
        let entry = watched
            .entry((subject, caller.queues.clone()))
            .or_insert_with(|| Arc::new(Watched { caller: caller.clone(), said: watch::Sender::new(None) }));
        let stream = entry.said.subscribe();
        entry.said.send_if_modified(|said| replace(said, Said::new("change", first)));
        Ok(stream)
    }

    /// What someone looks at; what nobody looks at any more is forgotten.
    fn still_watched(&self) -> Vec<(Key, Arc<Watched>)> {
        let mut watched = self.watched.lock().unwrap_or_else(PoisonError::into_inner);
        watched.retain(|_, one| one.said.receiver_count() > 0);
        watched.iter().map(|(key, one)| (key.clone(), Arc::clone(one))).collect()
    }
}

/// Looks until nobody does.
async fn keep_looking(app: Weak<App>) {
    let (mut number, mut took) = (None, Duration::ZERO);
    loop {
        tokio::time::sleep((took * REST).clamp(LOOK, REST_MAX)).await;
        let Some(app) = app.upgrade() else { return };
        let watched = app.live.still_watched();
        if watched.is_empty() {
            return;
        }
        let now = match app.store.change_number().await {
            Ok(now) => now,
            Err(fault) => {
                number = None;
                let trouble = Said::new("trouble", json(&Problem::from(fault)));
                watched.iter().for_each(|(_, one)| say(one, trouble.clone()));
                continue;
            }
        };
        if number.replace(now) == Some(now) {
            continue;
        }
        let begun = Instant::now();
        for ((subject, _), one) in watched {
            match subject.read(&app, &one.caller).await {
                Ok(data) => say(&one, Said::new("change", data)),
                Err(problem) if problem.status == 404 => say(&one, Said::new("gone", json(&problem))),
                Err(problem) => {
                    // It is read again at the next look.
                    number = None;
                    say(&one, Said::new("trouble", json(&problem)));
                }
            }
        }
        took = begun.elapsed();
    }
}

fn say(one: &Watched, new: Said) {
    one.said.send_if_modified(|said| replace(said, new));
}

/// Whether this is news.
fn replace(said: &mut Option<Said>, new: Said) -> bool {
    let news = said.as_ref() != Some(&new);
    *said = Some(new);
    news
}

fn json(problem: &Problem) -> String {
    serde_json::to_string(problem).unwrap_or_default()
}
