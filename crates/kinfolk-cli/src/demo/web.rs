//! The pages beside the demo, on the first port that is free.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use kinfolk::Store;
use kinfolk_web::{Config, Refusal, Server};
use tokio::sync::Notify;
use tokio::task::JoinHandle;

use crate::fault::Fault;

/// Where the search for a free port begins, and how many are tried.
const FIRST_PORT: u16 = 8_080;
const PORTS: u16 = 100;

/// The server, until it is told to stop.
pub(super) struct Web {
    pub(super) address: SocketAddr,
    stop: Arc<Notify>,
    serving: JoinHandle<()>,
}

impl Web {
    /// Serves the pages on this machine.
    pub(super) async fn start(store: Arc<dyn Store>) -> Result<Self, Fault> {
        let server = bind(store).await?;
        let address = server.address()?;
        let stop = Arc::new(Notify::new());
        let told = Arc::clone(&stop);
        let serving = tokio::spawn(async move { server.run(told.notified()).await });
        Ok(Self { address, stop, serving })
    }

    /// Stops when open requests are answered.
    pub(super) async fn stop(self) {
        self.stop.notify_one();
        // A server that fell over has nothing left to stop.
        let _ = self.serving.await;
    }
}

async fn bind(store: Arc<dyn Store>) -> Result<Server, Fault> {
    let mut port = FIRST_PORT;
    loop {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        match Server::bind(address, Arc::clone(&store), Config::for_this_machine()).await {
            Err(Refusal::Address { .. }) if port < FIRST_PORT + PORTS => port += 1,
            bound => return Ok(bound?),
        }
    }
}
