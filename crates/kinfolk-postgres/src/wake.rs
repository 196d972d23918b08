//! Wake-ups by LISTEN on a connection of their own, drained at once and always.
//!
//! What comes in is kept as a set, so a worker that is slow to look never makes it grow, and PostgreSQL's queue of
//! notifications never waits for it. A lost connection is made anew, patiently, and then everything is looked at.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use futures_util::future::poll_fn;
use kinfolk_core::store::Answer;
use kinfolk_core::{QueueName, Wake, WakeSource, WorkerId};
use tokio::sync::Notify;
use tokio_postgres::AsyncMessage;

use crate::connect::Target;
use crate::error::store_error;

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
    /// Listens from now on: what is notified after this returns is not missed, unless the connection breaks.
    pub(crate) async fn start(target: Target, worker: WorkerId, queues: &[QueueName]) -> Answer<Self> {
        let seen = Arc::new(Seen::default());
        let ear = Ear { target, seen: Arc::clone(&seen), queues: queues.to_vec(), cancel: format!("c:{worker}") };
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

type Connection = tokio_postgres::Connection<
    tokio_postgres::Socket,
    <tokio_postgres_rustls::MakeRustlsConnect as tokio_postgres::tls::MakeTlsConnect<tokio_postgres::Socket>>::Stream,
>;

struct Ear {
    target: Target,
    seen: Arc<Seen>,
    queues: Vec<QueueName>,
    cancel: String,
}

impl Ear {
    async fn connect(&self) -> Answer<(tokio_postgres::Client, Connection)> {
        let (client, mut connection) =
            self.target.config.connect(self.target.tls.clone()).await.map_err(|fault| store_error(&fault))?;
        {
            // The connection only moves while it is polled: by us, until the server has answered.
            let listen = client.batch_execute("listen kinfolk");
            tokio::pin!(listen);
            loop {
                tokio::select! {
                    done = &mut listen => break done.map_err(|fault| store_error(&fault))?,
                    message = poll_fn(|cx| connection.poll_message(cx)) => match message {
                        Some(Ok(message)) => self.hear(&message),
                        Some(Err(fault)) => return Err(store_error(&fault)),
                        None => return Err(kinfolk_core::StoreError::Unavailable { detail: "closed".to_owned() }),
                    },
                }
            }
        }
        Ok((client, connection))
    }

    async fn listen(self, first: (tokio_postgres::Client, Connection)) {
        let mut line = Some(first);
        let mut pause = FIRST_PAUSE;
        loop {
            match line.take() {
                Some((_client, mut connection)) => {
                    pause = FIRST_PAUSE;
                    while let Some(Ok(message)) = poll_fn(|cx| connection.poll_message(cx)).await {
                        self.hear(&message);
                    }
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
