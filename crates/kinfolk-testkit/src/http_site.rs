//! An HTTP server that answers as it is told, and remembers what it was asked: what a provider speaks to.
//!
//! One request a connection. It lives as long as the process of its test.

use std::collections::VecDeque;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use anyhow::{Context as _, Result};

/// What was asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asked {
    /// The first line and the headers.
    pub head: String,
    /// The body.
    pub body: String,
}

impl Asked {
    /// The value of a header.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| {
            let (key, value) = line.split_once(':')?;
            key.eq_ignore_ascii_case(name).then(|| value.trim())
        })
    }

    /// Its idempotency key; empty if there is none.
    pub fn key(&self) -> &str {
        self.header("idempotency-key").unwrap_or_default()
    }
}

/// How one request is answered.
#[derive(Clone, Debug)]
pub enum Reply {
    /// With these bytes, and the end of the connection.
    Say(String),
    /// With these bytes, and then not at all, until the client hangs up.
    Stall(String),
}

impl Reply {
    /// An answer with this status, these headers, each with its line end, and this body.
    pub fn status(status: &str, headers: &str, body: &str) -> Self {
        Self::Say(format!("HTTP/1.1 {status}\r\n{headers}content-length: {}\r\n\r\n{body}", body.len()))
    }

    /// It went well.
    pub fn fine() -> Self {
        Self::status("200 OK", "", r#"{"id": "m1", "sid": "m1"}"#)
    }

    /// It went badly.
    pub fn broken() -> Self {
        Self::status("500 Internal Server Error", "", "oh")
    }
}

/// The server.
#[derive(Debug)]
pub struct HttpSite {
    url: String,
    asked: Arc<Mutex<Vec<Asked>>>,
}

impl HttpSite {
    /// A server that answers like this, one request after another, and well after that.
    pub fn new(replies: Vec<Reply>) -> Result<Self> {
        let mut replies = VecDeque::from(replies);
        Self::by(move |_| replies.pop_front().unwrap_or_else(Reply::fine))
    }

    /// A server that decides by what it was asked.
    pub fn by(mut judge: impl FnMut(&Asked) -> Reply + Send + 'static) -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").context("no free port")?;
        let url = format!("http://{}", listener.local_addr()?);
        let asked: Arc<Mutex<Vec<Asked>>> = Arc::default();
        let kept = Arc::clone(&asked);
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                // A client that hangs up before it has asked is none of our business.
                let Ok((request, stream)) = read(stream) else { continue };
                let reply = judge(&request);
                kept.lock().unwrap_or_else(PoisonError::into_inner).push(request);
                thread::spawn(move || answer(stream, &reply));
            }
        });
        Ok(Self { url, asked })
    }

    /// Where it is.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// What it was asked so far.
    pub fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

fn read(stream: TcpStream) -> Result<(Asked, TcpStream)> {
    let mut stream = BufReader::new(stream);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        anyhow::ensure!(stream.read_line(&mut head)? > 0, "it hung up");
    }
    let mut asked = Asked { head, body: String::new() };
    let length: usize = asked.header("content-length").map_or(Ok(0), str::parse)?;
    let mut body = vec![0; length];
    stream.read_exact(&mut body)?;
    asked.body = String::from_utf8(body)?;
    Ok((asked, stream.into_inner()))
}

fn answer(mut stream: TcpStream, reply: &Reply) {
    // A client that has hung up hears nothing.
    match reply {
        Reply::Say(text) => drop(stream.write_all(text.as_bytes())),
        Reply::Stall(text) => {
            let _ = stream.write_all(text.as_bytes());
            // Ends when the client is gone.
            let _ = stream.read(&mut [0]);
        }
    }
}
