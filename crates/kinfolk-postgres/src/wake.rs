//! Wake-ups by LISTEN on a connection of their own, drained at once and always.
//!
//! Wake-ups are kept as a set, so a worker that is slow to look never makes it grow, and PostgreSQL's queue of
//! notifications never waits for it. A lost connection is made anew, patiently, and then everything is looked at.

use std::collections::BTreeSet;
use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use futures_util::future::poll_fn;
use kinfolk_core::store::Answer;
use kinfolk_core::{QueueName, StoreError, Wake, WakeSource, WorkerId};
use tokio::sync::Notify;
use tokio_postgres::{AsyncMessage, Client};

use crate::connect::Target;
use crate::dial::Connection;
use crate::error::store_error;
use crate::store::PgStore;

const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// The wake-ups of one worker.
pub(crate) struct Listener {
    seen: Arc<Seen>,
    task: tokio::task::JoinHandle<()>,
}

#[derive(Default)]
struct Seen {
    news: Mutex<News>,
    bell: Notify,
}

#[derive(Default)]
struct News {
    all: bool,
    cancel: bool,
    queues: BTreeSet<QueueName>,
}

impl Listener {
    /// Listens from now on: a notification after this returns is not missed, unless the connection breaks.
    pub(crate) async fn start(store: &PgStore, worker: WorkerId, queues: &[QueueName]) -> Answer<Self> {
        let seen = Arc::new(Seen::default());
        let ear = Ear {
            target: store.target.clone(),
            seen: Arc::clone(&seen),
            queues: queues.to_vec(),
            cancel: format!("c:{worker}"),
            limit: store.options.answer_timeout,
        };
        let connection = ear.connect().await?;
        let task = tokio::spawn(ear.listen(connection));
        Ok(Self { seen, task })
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.task.abort();
    }
}

#[async_trait]
impl WakeSource for Listener {
    async fn next(&mut self) -> Wake {
        loop {
            if let Some(wake) = self.seen.take() {
                return wake;
            }
            self.seen.bell.notified().await;
        }
    }
}

impl Seen {
    fn take(&self) -> Option<Wake> {
        let mut news = self.news.lock().unwrap_or_else(PoisonError::into_inner);
        if std::mem::take(&mut news.all) {
            *news = News::default();
            return Some(Wake::All);
        }
        if std::mem::take(&mut news.cancel) {
            return Some(Wake::Cancel);
        }
        news.queues.pop_first().map(Wake::Queue)
    }

    fn put(&self, change: impl FnOnce(&mut News)) {
        change(&mut self.news.lock().unwrap_or_else(PoisonError::into_inner));
        self.bell.notify_one();
    }
}

struct Ear {
    target: Target,
    seen: Arc<Seen>,
    queues: Vec<QueueName>,
    cancel: String,
    /// How long the server may stay without an answer, and how long nothing may be heard before it is asked.
    limit: Duration,
}

/// A connection that listens.
struct Listening {
    client: Client,
    connection: Connection,
}

impl Ear {
    async fn connect(&self) -> Answer<Listening> {
        let (client, connection) = self.target.dial().await.map_err(|fault| store_error(&fault))?;
        let mut line = Listening { client, connection };
        self.ask(&mut line, "listen kinfolk").await?;
        Ok(line)
    }

    /// Says something to the server, and hears while it waits for the answer.
    async fn ask(&self, line: &mut Listening, sql: &str) -> Answer<()> {
        let Listening { client, connection } = line;
        let asked = async {
            let mut asked = pin!(client.batch_execute(sql));
            loop {
                // The connection only moves while it is polled: by us, until the server has answered.
                tokio::select! {
                    done = &mut asked => return done.map_err(|fault| store_error(&fault)),
                    message = poll_fn(|cx| connection.poll_message(cx)) => match message {
                        Some(Ok(message)) => self.hear(&message),
                        Some(Err(fault)) => return Err(store_error(&fault)),
                        None => return Err(StoreError::Unavailable { detail: "closed".to_owned() }),
                    },
                }
            }
        };
        let silent = || StoreError::Unavailable { detail: format!("no answer within {:?}", self.limit) };
        tokio::time::timeout(self.limit, asked).await.unwrap_or_else(|_| Err(silent()))
    }

    async fn listen(self, first: Listening) {
        let mut line = Some(first);
        let mut pause = FIRST_PAUSE;
        loop {
            match line.take() {
                Some(mut line) => {
                    pause = FIRST_PAUSE;
                    self.hear_out(&mut line).await;
                    tracing::warn!("the connection for wake-ups broke; workers poll until it is back");
                }
                None => {
                    tokio::time::sleep(pause).await;
                    pause = (pause * 2).min(LONGEST_PAUSE);
                    if let Ok(again) = self.connect().await {
                        line = Some(again);
                        self.seen.put(|news| news.all = true);
                    }
                }
            }
        }
    }

    /// Hears until the connection breaks. A silent one is asked whether it is still there: nothing else would ever be
    /// sent on it, so that a path which has lost it would go unnoticed for good.
    async fn hear_out(&self, line: &mut Listening) {
        loop {
            let next = poll_fn(|cx| line.connection.poll_message(cx));
            match tokio::time::timeout(self.limit, next).await {
                Ok(Some(Ok(message))) => self.hear(&message),
                Ok(_) => return,
                Err(_) => {
                    if self.ask(line, "").await.is_err() {
                        return;
                    }
                }
            }
        }
    }

    fn hear(&self, message: &AsyncMessage) {
        let AsyncMessage::Notification(note) = message else { return };
        if note.payload() == self.cancel {
            self.seen.put(|news| news.cancel = true);
        } else if let Some(queue) =
            note.payload().strip_prefix("q:").and_then(|name| self.queues.iter().find(|queue| queue.as_str() == name))
        {
            self.seen.put(|news| {
                news.queues.insert(queue.clone());
            });
        }
    }
}
