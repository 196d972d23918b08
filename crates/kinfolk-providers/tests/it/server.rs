//! Servers that answer as they are told, and remember what they were asked.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use kinfolk_providers::{Config, Provider};
use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};

/// What was asked: the first line and the headers, and the body.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Asked {
    /// The value of a header.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| {
            let (key, value) = line.split_once(':')?;
            key.eq_ignore_ascii_case(name).then(|| value.trim())
        })
    }
}

/// How to answer one request.
#[derive(Clone, Debug)]
pub(crate) enum Script {
    /// With these bytes.
    Say(String),
    /// With these bytes, and then not at all.
    Stall(String),
}

/// An HTTP server.
pub(crate) struct Server {
    pub(crate) url: String,
    asked: Arc<Mutex<Vec<Asked>>>,
}

impl Server {
    /// A server that answers like this, one request after another.
    pub(crate) async fn new(scripts: Vec<Script>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let asked: Arc<Mutex<Vec<Asked>>> = Arc::default();
        let (kept, mut scripts) = (Arc::clone(&asked), VecDeque::from(scripts));
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let script = scripts.pop_front().expect("another request than those foreseen");
                tokio::spawn(serve(stream, script, Arc::clone(&kept)));
            }
        });
        Self { url, asked }
    }

    pub(crate) fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap().clone()
    }
}

async fn serve(stream: TcpStream, script: Script, kept: Arc<Mutex<Vec<Asked>>>) {
    let mut stream = BufReader::new(stream);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if stream.read_line(&mut head).await.unwrap_or(0) == 0 {
            return;
        }
    }
    let mut asked = Asked { head, body: String::new() };
    let length: usize = asked.header("content-length").map_or(0, |length| length.parse().unwrap());
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await.unwrap();
    asked.body = String::from_utf8(body).unwrap();
    kept.lock().unwrap().push(asked);
    match script {
        Script::Say(text) => stream.write_all(text.as_bytes()).await.unwrap(),
        Script::Stall(text) => {
            stream.write_all(text.as_bytes()).await.unwrap();
            std::future::pending::<()>().await;
        }
    }
}

/// An answer with this status, these headers and this body.
pub(crate) fn say(status: &str, headers: &str, body: &str) -> Script {
    Script::Say(format!("HTTP/1.1 {status}\r\n{headers}content-length: {}\r\n\r\n{body}", body.len()))
}

/// The provider of this kind in a configuration.
pub(crate) fn provider(kind: &str, config: &Value) -> Arc<dyn Provider> {
    let config: Config = serde_json::from_value(serde_json::json!({ kind: config })).unwrap();
    let providers = config.open().unwrap();
    [providers.email, providers.sms, providers.http].into_iter().flatten().next().unwrap()
}
