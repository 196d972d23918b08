//! The pages beside the demo, on the first port that is free.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use kinfolk::Store;
use kinfolk_web::{Config, Refusal, Server};

use crate::cmd::replay;
use crate::cmd::serve::Serving;
use crate::fault::Fault;

/// Where the search for a free port begins, and how many are tried.
const FIRST_PORT: u16 = 8_080;
const PORTS: u16 = 100;

/// Serves the pages on this machine.
pub(super) async fn start(store: &Arc<dyn Store>) -> Result<Serving, Fault> {
    let mut port = FIRST_PORT;
    loop {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let handlers = Arc::clone(store);
        let config = Config::for_this_machine().replays(move |id| replay::for_server(Arc::clone(&handlers), id));
        match Server::bind(address, Arc::clone(store), config).await {
            Err(Refusal::Address { .. }) if port < FIRST_PORT + PORTS => port += 1,
            bound => return Serving::start(bound?),
        }
    }
}
