//! Clients that mean no good, or know no better: the server stays up, and its memory flat.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use kinfolk_core::{Command, CommandName, Json, NewTask, Produce as _};
use kinfolk_sqlite::SqliteStore;
use kinfolk_web::{Config, Server};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::sync::Notify;

/// How long anything here may take, on a machine that is busy with other tests.
const PATIENCE: Duration = Duration::from_secs(180);

/// A server on a store with a few tasks.
async fn server() -> (SocketAddr, Arc<Notify>, tokio::task::JoinHandle<()>) {
    let store = SqliteStore::open(":memory:").unwrap();
    let name = CommandName::new("greet").unwrap();
    store.register(&[Command::new(name.clone())]).await.unwrap();
    let task = NewTask::new(name, Json::object());
    store.enqueue(&vec![task; 20]).await.unwrap();
    let config = Config::for_this_machine();
    let server = Server::bind("127.0.0.1:0".parse().unwrap(), Arc::new(store), config).await.unwrap();
    let (address, stop) = (server.address().unwrap(), Arc::new(Notify::new()));
    let stopped = Arc::clone(&stop);
    (address, stop, tokio::spawn(async move { server.run(stopped.notified()).await }))
}

async fn ask(address: SocketAddr, path: &str) -> String {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let head = format!("GET {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n");
    stream.write_all(head.as_bytes()).await.unwrap();
    let mut text = String::new();
    tokio::time::timeout(PATIENCE, stream.read_to_string(&mut text)).await.expect("an answer in time").unwrap();
    text
}

/// The same by someone who reads a few bytes at a time.
async fn ask_slowly(address: SocketAddr, path: &str) -> String {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let head = format!("GET {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n");
    stream.write_all(head.as_bytes()).await.unwrap();
    let (mut bytes, mut few) = (Vec::new(), [0; 61]);
    loop {
        let read = tokio::time::timeout(PATIENCE, stream.read(&mut few)).await.expect("it goes on").unwrap();
        if read == 0 {
            return String::from_utf8(bytes).unwrap();
        }
        bytes.extend_from_slice(&few[..read]);
        tokio::task::yield_now().await;
    }
}

/// A thousand that connect and leave, each in another state.
async fn connect_and_leave(address: SocketAddr) {
    for n in 0..1_000 {
        let mut stream = TcpStream::connect(address).await.unwrap();
        let head: &[u8] = match n % 4 {
            0 => b"",
            1 => b"GET /api/v1/stats HTTP/1.1\r\nhost: loc",
            2 => b"GET /api/v1/stats HTTP/1.1\r\nhost: localhost\r\n\r\n",
            _ => b"GET /api/v1/live/overview HTTP/1.1\r\nhost: localhost\r\n\r\n",
        };
        stream.write_all(head).await.unwrap();
    }
}

/// What this process has in memory, in bytes.
fn memory() -> u64 {
    let pages = std::fs::read_to_string("/proc/self/statm").unwrap();
    pages.split(' ').nth(1).unwrap().parse::<u64>().unwrap() * 4096
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn clients_that_leave_linger_or_never_end_do_no_harm() {
    let (address, stop, running) = server().await;
    assert!(ask(address, "/api/v1/stats").await.starts_with("HTTP/1.1 200"));
    // The first thousand may warm up what is kept for the next ones; after them nothing grows.
    connect_and_leave(address).await;
    let before = memory();
    for _ in 0..3 {
        connect_and_leave(address).await;
    }
    let grown = memory().saturating_sub(before);
    assert!(grown < 16 << 20, "memory grew by {grown} bytes with 3,000 connections that were left");

    // Those that ask for a stream, or for a large answer, and never read.
    let mut lingering = Vec::new();
    for n in 0..100 {
        let mut stream = TcpStream::connect(address).await.unwrap();
        let path = if n % 2 == 0 { "/api/v1/live/overview" } else { "/api/v1/openapi.json" };
        let head = format!("GET {path} HTTP/1.1\r\nhost: localhost\r\n\r\n");
        stream.write_all(head.repeat(if n % 2 == 0 { 1 } else { 20 }).as_bytes()).await.unwrap();
        lingering.push(stream);
    }
    // Those that begin a request and never end its head.
    let mut silent = TcpStream::connect(address).await.unwrap();
    silent.write_all(b"GET / HTTP/1.1\r\nhost: lo").await.unwrap();

    // A body that never ends is cut off.
    let mut endless = TcpStream::connect(address).await.unwrap();
    let head = "POST /api/v1/tasks HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n\
                transfer-encoding: chunked\r\n\r\n";
    endless.write_all(head.as_bytes()).await.unwrap();
    let chunk = format!("10000\r\n{}\r\n", "x".repeat(0x10000));
    let mut sent = 0_u64;
    let deadline = Instant::now() + PATIENCE;
    while endless.write_all(chunk.as_bytes()).await.is_ok() {
        sent += 0x10000;
        assert!(Instant::now() < deadline && sent < 1 << 30, "it is cut off; {sent} bytes were taken");
    }

    let refused = tokio::time::timeout(PATIENCE, silent.read_to_end(&mut Vec::new())).await;
    assert!(refused.is_ok(), "a head that never ends is given up");
    assert!(ask_slowly(address, "/api/v1/openapi.json").await.ends_with('}'), "a slow reader gets all");
    assert!(ask(address, "/api/v1/stats").await.starts_with("HTTP/1.1 200"));
    let grown = memory().saturating_sub(before);
    assert!(grown < 128 << 20, "memory grew by {grown} bytes");

    stop.notify_one();
    tokio::time::timeout(PATIENCE, running).await.expect("it stops, whoever lingers").unwrap();
    drop(lingering);
}

#[tokio::test]
async fn a_server_that_stops_ends_its_streams_and_hangs_up() {
    let (address, stop, running) = server().await;
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(b"GET /api/v1/live/overview HTTP/1.1\r\nhost: localhost\r\n\r\n").await.unwrap();
    let mut first = [0; 17];
    stream.read_exact(&mut first).await.unwrap();
    assert_eq!(&first, b"HTTP/1.1 200 OK\r\n");
    stop.notify_one();
    tokio::time::timeout(PATIENCE, stream.read_to_end(&mut Vec::new())).await.expect("the stream ends").unwrap();
    tokio::time::timeout(PATIENCE, running).await.expect("the server ends").unwrap();
}
