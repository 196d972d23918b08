//! A proxy between a client and PostgreSQL that loses the answer to a commit.
//!
//! It reads both directions of the protocol just far enough to know which call an answer belongs to. Armed with a piece of
//! SQL such as `kinfolk.settle(`, it waits for a statement that holds it, lets the server carry it out and commit, throws
//! the answer away and cuts the connection. To the client it is a connection that broke during the call; to the database
//! the call has happened. It can also fall silent, with or without the connections that are made from then on.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// A running proxy; gone when dropped.
#[derive(Debug)]
pub struct Proxy {
    address: SocketAddr,
    order: Arc<Mutex<Order>>,
    acceptor: JoinHandle<()>,
}

/// What the proxy has been told to do, and what it has done.
#[derive(Debug, Default)]
struct Order {
    /// Lose the answer to the n-th statement that holds this text.
    lose: Option<(String, u32)>,
    lost: u32,
    /// How many connections were made so far, and up to which of them nothing passes any more.
    made: u64,
    silent: u64,
    /// Go mute as soon as a statement holds this text.
    mute_at: Option<String>,
}

/// Above the number of every connection, so that nothing passes on new ones either.
const ALL: u64 = u64::MAX;

impl Proxy {
    /// Starts a proxy to the server at this port of the loopback interface.
    pub async fn start(server_port: u16) -> Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let address = listener.local_addr()?;
        let order = Arc::new(Mutex::new(Order::default()));
        let shared = Arc::clone(&order);
        let acceptor = tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                tokio::spawn(carry(client, server_port, Arc::clone(&shared)));
            }
        });
        Ok(Self { address, order, acceptor })
    }

    /// The port to connect to.
    pub fn port(&self) -> u16 {
        self.address.port()
    }

    /// Loses the answer to the `nth` statement from now on whose SQL holds this text (1 is the next one).
    pub fn lose_answer(&self, text: &str, nth: u32) {
        self.order().lose = Some((text.to_owned(), nth));
    }

    /// Lets nothing pass on the connections there are, in either direction, without closing them: what a network does that
    /// drops every packet. New connections are fine. Returns how many there were, ever.
    pub fn silence(&self) -> u64 {
        let mut order = self.order();
        order.silent = order.made;
        order.silent
    }

    /// As [`Proxy::silence`], and new connections are swallowed too: accepted, and never answered.
    pub fn mute(&self) {
        self.order().silent = ALL;
    }

    /// Goes mute when the next statement with this text comes, before the server sees it.
    pub fn mute_at(&self, text: &str) {
        self.order().mute_at = Some(text.to_owned());
    }

    /// Whether it is mute now.
    pub fn is_mute(&self) -> bool {
        self.order().silent == ALL
    }

    /// The path is healthy again: new connections are fine. Those of the time before stay as they are, open and silent.
    /// Returns how many there were, ever.
    pub fn heal(&self) -> u64 {
        self.silence()
    }

    /// How many answers were lost so far.
    pub fn lost(&self) -> u32 {
        self.order().lost
    }

    /// Waits until as many answers as this were lost.
    pub async fn wait_lost(&self, answers: u32, limit: Duration) -> Result<()> {
        let waiting = async {
            while self.lost() < answers {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        let order = || format!("{:?}", self.order());
        tokio::time::timeout(limit, waiting)
            .await
            .with_context(|| format!("the proxy lost fewer than {answers} answers within {limit:?}: {}", order()))
    }

    fn order(&self) -> std::sync::MutexGuard<'_, Order> {
        self.order.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.acceptor.abort();
    }
}

/// Carries one connection until either side closes it or its answer is lost.
async fn carry(client: TcpStream, server_port: u16, order: Arc<Mutex<Order>>) {
    let Ok(server) = TcpStream::connect(("127.0.0.1", server_port)).await else { return };
    let _ = (client.set_nodelay(true), server.set_nodelay(true));
    let (from_client, to_client) = client.into_split();
    let (from_server, to_server) = server.into_split();
    let number = {
        let mut order = lock(&order);
        order.made += 1;
        order.made
    };
    let watch = Arc::new(Mutex::new(Watch { number, ..Watch::default() }));
    // Whichever direction ends first, the other is dropped with it, and both sockets close.
    tokio::select! {
        _ = forward(from_client, to_server, Arc::clone(&watch), Arc::clone(&order)) => {}
        _ = back(from_server, to_client, watch, order) => {}
    }
}

/// What is known of one connection.
#[derive(Debug, Default)]
struct Watch {
    /// The how-many-eth connection this is.
    number: u64,
    /// Questions asked so far: each is answered by one ReadyForQuery. The start of the connection is the first.
    asked: u64,
    /// The number of the question whose answer is to be lost.
    doomed: Option<u64>,
}

type Shared<T> = Arc<Mutex<T>>;

fn lock<T>(shared: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// Client to server: notes which statement is which, and which question holds the doomed one.
async fn forward(
    mut client: OwnedReadHalf,
    mut server: OwnedWriteHalf,
    watch: Shared<Watch>,
    order: Shared<Order>,
) -> Result<()> {
    // The first packet has no type.
    let length = client.read_u32().await?;
    let mut packet = vec![0; usize::try_from(length)?.checked_sub(4).context("short packet")?];
    client.read_exact(&mut packet).await?;
    unless_silent(&watch, &order).await;
    if packet.starts_with(&80_877_103_u32.to_be_bytes()) {
        bail!("the client asked for TLS: put sslmode=disable into its address");
    }
    lock(&watch).asked = 1;
    server.write_u32(length).await?;
    server.write_all(&packet).await?;

    let mut statements: HashMap<Vec<u8>, String> = HashMap::new();
    loop {
        let (kind, body) = message(&mut client).await?;
        unless_silent(&watch, &order).await;
        let mut parts = body.split(|byte| *byte == 0);
        let (first, second) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
        let runs = match kind {
            b'P' => {
                statements.insert(first.to_vec(), String::from_utf8_lossy(second).into_owned());
                None
            }
            b'B' => statements.get(second).cloned(),
            b'Q' => Some(String::from_utf8_lossy(first).into_owned()),
            _ => None,
        };
        if let Some(sql) = runs {
            go_mute(&order, &sql);
            unless_silent(&watch, &order).await;
            if take_order(&order, &sql) {
                let mut watch = lock(&watch);
                watch.doomed = Some(watch.asked + 1);
            }
        }
        if matches!(kind, b'S' | b'Q') {
            lock(&watch).asked += 1;
        }
        send(&mut server, kind, &body).await?;
    }
}

/// Goes mute if this is the statement for it.
fn go_mute(order: &Mutex<Order>, sql: &str) {
    let mut order = lock(order);
    if order.mute_at.as_ref().is_some_and(|text| sql.contains(text)) {
        order.mute_at = None;
        order.silent = ALL;
    }
}

/// Whether this statement is the one whose answer is to be lost.
fn take_order(order: &Mutex<Order>, sql: &str) -> bool {
    let mut order = lock(order);
    let Some((text, left)) = &mut order.lose else { return false };
    if !sql.contains(text.as_str()) {
        return false;
    }
    *left -= 1;
    let now = *left == 0;
    if now {
        order.lose = None;
    }
    now
}

/// Server to client: holds the answer to the doomed question back until its transaction is over, then drops it.
async fn back(
    mut server: OwnedReadHalf,
    mut client: OwnedWriteHalf,
    watch: Shared<Watch>,
    order: Shared<Order>,
) -> Result<()> {
    let mut answered = 0;
    let mut held: Vec<(u8, Vec<u8>)> = Vec::new();
    loop {
        let (kind, body) = message(&mut server).await?;
        unless_silent(&watch, &order).await;
        let doomed = lock(&watch).doomed.is_some_and(|doomed| answered + 1 >= doomed);
        if !doomed {
            send(&mut client, kind, &body).await?;
            answered += u64::from(kind == b'Z');
            continue;
        }
        let ready = kind == b'Z';
        let committed = ready && body == b"I";
        held.push((kind, body));
        if committed {
            if held.iter().any(|(kind, _)| *kind == b'E') {
                bail!("the call failed: there is no commit whose answer could be lost");
            }
            lock(&order).lost += 1;
            return Ok(());
        }
        if ready {
            // Still inside the client's own transaction: this part of the answer goes through.
            for (kind, body) in held.drain(..) {
                send(&mut client, kind, &body).await?;
            }
            answered += 1;
        }
    }
}

/// Goes on at once, or never, if the connection is to be silent.
async fn unless_silent(watch: &Mutex<Watch>, order: &Mutex<Order>) {
    let number = lock(watch).number;
    let silent = lock(order).silent;
    if number <= silent {
        std::future::pending::<()>().await;
    }
}

async fn message(from: &mut OwnedReadHalf) -> Result<(u8, Vec<u8>)> {
    let kind = from.read_u8().await?;
    let length = usize::try_from(from.read_u32().await?)?;
    let mut body = vec![0; length.checked_sub(4).context("short message")?];
    from.read_exact(&mut body).await?;
    Ok((kind, body))
}

async fn send(to: &mut OwnedWriteHalf, kind: u8, body: &[u8]) -> Result<()> {
    let mut packet = Vec::with_capacity(body.len() + 5);
    packet.push(kind);
    packet.extend(u32::try_from(body.len() + 4)?.to_be_bytes());
    packet.extend(body);
    to.write_all(&packet).await?;
    Ok(())
}
