//! The server: it accepts connections, as many as it may, and stops when it is told.

mod patience;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use kinfolk_core::Store;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;

use crate::app::{App, Shared};
use crate::config::Config;

use self::patience::Patience;

/// Connections at once; more wait to be accepted.
const CONNECTIONS_MAX: usize = 2_048;
/// How long a client may take to send the head of a request.
const HEAD_WITHIN: Duration = Duration::from_secs(10);
/// How long a client may read nothing of an answer.
const READ_WITHIN: Duration = Duration::from_secs(30);
/// How long open requests may take when the server stops.
const STOP_WITHIN: Duration = Duration::from_secs(5);

/// The application on an address.
pub struct Server {
    listener: TcpListener,
    app: Shared,
    router: Router,
    connections: Arc<Semaphore>,
}

/// Why a server does not start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// Others could reach it, and it asks nobody who they are.
    #[error(
        "{0} can be reached by others, and no token is configured; listen on 127.0.0.1, or make a token with `kinfolk token new`"
    )]
    Unguarded(SocketAddr),
    /// The address can't be had.
    #[error("can't listen on {address}: {fault}")]
    Address {
        /// Which.
        address: SocketAddr,
        /// The system's own words.
        fault: io::Error,
    },
}

impl Server {
    /// Begins to listen. An address that others can reach is refused unless callers need a token.
    pub async fn bind(address: SocketAddr, store: Arc<dyn Store>, config: Config) -> Result<Self, Refusal> {
        Self::listen(address, crate::everything(), Arc::new(App::new(store, config))).await
    }

    /// The same with `/metrics`, `/healthz` and `/readyz` alone.
    pub async fn bind_probes(address: SocketAddr, store: Arc<dyn Store>, config: Config) -> Result<Self, Refusal> {
        Self::listen(address, crate::probes(), Arc::new(App::new(store, config))).await
    }

    async fn listen(address: SocketAddr, routes: Router<Shared>, app: Shared) -> Result<Self, Refusal> {
        if app.config.is_open() && !address.ip().is_loopback() {
            return Err(Refusal::Unguarded(address));
        }
        let listener = TcpListener::bind(address).await.map_err(|fault| Refusal::Address { address, fault })?;
        let connections = Arc::new(Semaphore::new(CONNECTIONS_MAX));
        Ok(Self { listener, router: crate::router_of(routes, Arc::clone(&app)), app, connections })
    }

    /// Where it listens.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Answers requests until `stop` is over, and then those that are open for a moment longer.
    pub async fn run(self, stop: impl Future<Output = ()>) {
        let open = GracefulShutdown::new();
        tokio::pin!(stop);
        loop {
            let accepted = async {
                let permit = Arc::clone(&self.connections).acquire_owned().await;
                (permit, self.listener.accept().await)
            };
            let (permit, accepted) = tokio::select! {
                accepted = accepted => accepted,
                () = &mut stop => break,
            };
            match accepted {
                Ok((stream, _)) => {
                    let connection = open.watch(self.connection(stream));
                    tokio::spawn(async move {
                        // A client that goes away in the middle is no news.
                        let _ = connection.await;
                        drop(permit);
                    });
                }
                // Out of file handles, say: those that are open must end first.
                Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
            }
        }
        self.app.stop.cancel();
        let _ = tokio::time::timeout(STOP_WITHIN, open.shutdown()).await;
    }

    fn connection(&self, stream: TcpStream) -> impl hyper_util::server::graceful::GracefulConnection + Send + 'static {
        // One protocol: a server that has to look which one a client speaks waits for its first bytes without a time limit.
        let mut builder = Builder::new(TokioExecutor::new()).http1_only();
        builder.http1().timer(TokioTimer::new()).header_read_timeout(HEAD_WITHIN).max_buf_size(64 * 1024);
        let service = TowerToHyperService::new(self.router.clone());
        builder.serve_connection(TokioIo::new(Patience::new(stream, READ_WITHIN)), service).into_owned()
    }
}
