//! The readers of the pages: a server in this process, and clients that ask it over real connections.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use kinfolk_core::Store;
use kinfolk_web::{Config, Server};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::sync::Notify;
use tokio::task::{JoinHandle, JoinSet};

/// Streams that are open at once.
const STREAMS: usize = 200;
/// What each stream looks at, in turn.
const SUBJECTS: [&str; 5] = ["overview", "tasks", "tasks/{completed}", "families/{root}", "active?commands={command}"];
/// The pages that a browser has open. Each is read again when something has changed, as the script of the pages does: at most once in
/// as long as the events take, and it rests for twenty times as long as it read.
const OPEN: [&str; 4] = ["/", "/tasks", "/families/{root}", "/queues"];
const AGAIN: Duration = Duration::from_secs(1);
const REST: u32 = 20;
const REST_MAX: Duration = Duration::from_secs(10);

/// A server, and the words that stand in the addresses that it is asked for.
pub(super) struct Looker {
    address: SocketAddr,
    stop: Arc<Notify>,
    serving: JoinHandle<()>,
    words: Vec<(&'static str, String)>,
}

impl Looker {
    /// Serves a store.
    pub(super) async fn serve(store: &Arc<dyn Store>, words: Vec<(&'static str, String)>) -> anyhow::Result<Self> {
        let address = SocketAddr::from(([127, 0, 0, 1], 0));
        let server = Server::bind(address, Arc::clone(store), Config::for_this_machine()).await?;
        let (address, stop) = (server.address()?, Arc::new(Notify::new()));
        let stopped = Arc::clone(&stop);
        let serving = tokio::spawn(async move { server.run(stopped.notified()).await });
        Ok(Self { address, stop, serving, words })
    }

    /// The body of the answer to a request, and how long that took.
    pub(super) async fn ask(&self, path: &str) -> anyhow::Result<(Duration, String)> {
        let path = self.filled(path);
        let begun = Instant::now();
        let answer = ask(self.address, &path).await?;
        let took = begun.elapsed();
        let status = answer.lines().next().unwrap_or_default();
        anyhow::ensure!([" 200 ", " 302 ", " 303 "].iter().any(|fine| status.contains(fine)), "GET {path}: {status}");
        let (_, body) = answer.split_once("\r\n\r\n").context("an answer has a body")?;
        Ok((took, body.to_owned()))
    }

    /// An address with what its words stand for.
    fn filled(&self, path: &str) -> String {
        self.words.iter().fold(path.to_owned(), |path, (word, meant)| path.replace(word, meant))
    }

    /// Opens streams and pages, which are looked at until this is dropped.
    pub(super) async fn look(&self) -> anyhow::Result<JoinSet<anyhow::Result<()>>> {
        let (mut looking, address) = (JoinSet::new(), self.address);
        for n in 0..STREAMS {
            let path = self.filled(&format!("/api/v1/live/{}", SUBJECTS[n % SUBJECTS.len()]));
            let mut stream = send(address, &path).await?;
            let mut bytes = [0; 4_096];
            anyhow::ensure!(stream.read(&mut bytes).await? > 0, "{path} ends before its first event");
            looking.spawn(async move {
                while stream.read(&mut bytes).await? > 0 {}
                Ok(())
            });
        }
        for path in OPEN.map(|path| self.filled(path)) {
            looking.spawn(async move {
                loop {
                    let begun = Instant::now();
                    ask(address, &path).await?;
                    tokio::time::sleep((begun.elapsed() * REST).clamp(AGAIN, REST_MAX)).await;
                }
            });
        }
        Ok(looking)
    }

    pub(super) async fn stop(self) -> anyhow::Result<()> {
        self.stop.notify_one();
        Ok(self.serving.await?)
    }
}

async fn send(address: SocketAddr, path: &str) -> anyhow::Result<TcpStream> {
    let mut stream = TcpStream::connect(address).await?;
    let head = format!("GET {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n");
    stream.write_all(head.as_bytes()).await?;
    Ok(stream)
}

async fn ask(address: SocketAddr, path: &str) -> anyhow::Result<String> {
    let mut text = String::new();
    send(address, path).await?.read_to_string(&mut text).await?;
    Ok(text)
}
