//! An HTTP server that answers as it is told, and remembers what it was asked: what a provider speaks to.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use kinfolk_providers::{Config, Providers};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};

/// How one request is answered.
#[derive(Clone, Debug)]
pub(crate) enum Answer {
    /// With this status line, and these headers.
    Status(&'static str, &'static str),
    /// Not at all, until the client hangs up.
    Nothing,
}

pub(crate) const FINE: Answer = Answer::Status("200 OK", "");
pub(crate) const BROKEN: Answer = Answer::Status("500 Internal Server Error", "");

pub(crate) struct Site {
    url: String,
    /// The idempotency key and the body of each request, in order.
    asked: Arc<Mutex<Vec<(String, Value)>>>,
    _key: tempfile::NamedTempFile,
    key_path: String,
}

impl Site {
    /// A site that answers like this, one request after another, and well after that.
    pub(crate) async fn new(answers: &[Answer]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let asked: Arc<Mutex<Vec<(String, Value)>>> = Arc::default();
        let (kept, mut answers) = (Arc::clone(&asked), VecDeque::from(answers.to_vec()));
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let answer = answers.pop_front().unwrap_or(FINE);
                tokio::spawn(serve(stream, answer, Arc::clone(&kept)));
            }
        });
        let key = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(key.path(), "re_secret").unwrap();
        let key_path = key.path().display().to_string();
        Self { url, asked, _key: key, key_path }
    }

    pub(crate) fn asked(&self) -> Vec<(String, Value)> {
        self.asked.lock().unwrap().clone()
    }

    /// Resend, as far as the worker can tell.
    pub(crate) fn providers(&self) -> Providers {
        let email = json!({"kind": "resend", "base": self.url, "key": {"file": self.key_path}, "from": "shop@example.org",
            "allow_private": true});
        serde_json::from_value::<Config>(json!({ "email": email })).unwrap().open().unwrap()
    }
}

async fn serve(stream: TcpStream, answer: Answer, kept: Arc<Mutex<Vec<(String, Value)>>>) {
    let mut stream = BufReader::new(stream);
    let (mut length, mut key) = (0, String::new());
    loop {
        let mut line = String::new();
        if stream.read_line(&mut line).await.unwrap_or(0) == 0 {
            return;
        }
        match line.trim_end().split_once(": ") {
            Some(("content-length", value)) => length = value.parse().unwrap(),
            Some(("idempotency-key", value)) => value.clone_into(&mut key),
            _ if line == "\r\n" => break,
            _ => {}
        }
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await.unwrap();
    kept.lock().unwrap().push((key, serde_json::from_slice(&body).unwrap()));
    let said = match answer {
        Answer::Status(status, headers) => {
            let body = r#"{"id": "m1"}"#;
            format!("HTTP/1.1 {status}\r\n{headers}content-length: {}\r\n\r\n{body}", body.len())
        }
        Answer::Nothing => {
            // Ends when the client is gone.
            let _ = stream.read(&mut [0]).await;
            return;
        }
    };
    // A client that has hung up hears nothing.
    let _ = stream.write_all(said.as_bytes()).await;
}
