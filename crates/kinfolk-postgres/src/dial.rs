//! Making one connection: address by address, each within a limit that covers all of it, so that a server which accepts a
//! connection and never answers holds no caller, and does not keep the next one of several hosts from being tried.
//!
//! The driver's own limit is for the TCP handshake alone.

use std::hash::{BuildHasher as _, RandomState};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use deadpool_postgres::Connect;
use futures_util::future::BoxFuture;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::task::JoinHandle;
use tokio_postgres::config::{Host, LoadBalanceHosts};
use tokio_postgres::tls::MakeTlsConnect;
use tokio_postgres::{Client, Config, Error, NoTls, Socket};
use tokio_postgres_rustls::MakeRustlsConnect;

/// The half of a connection that has to be polled.
pub(crate) type Connection = tokio_postgres::Connection<Socket, <MakeRustlsConnect as MakeTlsConnect<Socket>>::Stream>;

/// Connects to the first address that will have us. Each gets as long as the address or the options say; it is the last
/// one's error that is told.
pub(crate) async fn dial(config: &Config, tls: &MakeRustlsConnect) -> Result<(Client, Connection), Error> {
    let limit = config.get_connect_timeout().copied().unwrap_or(Duration::MAX);
    let mut fault = None;
    for one in each_host(config) {
        let addresses = match tokio::time::timeout(limit, each_address(&one)).await {
            Ok(addresses) => addresses,
            Err(_) => {
                fault = Some(timed_out(limit).await);
                continue;
            }
        };
        for address in addresses {
            match tokio::time::timeout(limit, address.connect(tls.clone())).await {
                Ok(Ok(connected)) => return Ok(connected),
                Ok(Err(refused)) => fault = Some(refused),
                Err(_) => fault = Some(timed_out(limit).await),
            }
        }
    }
    match fault {
        Some(fault) => Err(fault),
        // Hosts and ports that make no sense: the driver says why.
        None => config.connect(tls.clone()).await,
    }
}

/// Every address on the network that a connection may have been made to, with the name of its host if it has one.
pub(crate) async fn addresses(config: &Config) -> Vec<(Option<String>, SocketAddr)> {
    let mut found = Vec::new();
    for one in each_host(config) {
        for address in each_address(&one).await {
            let name = address.get_hosts().iter().find_map(|host| match host {
                Host::Tcp(name) => Some(name.clone()),
                #[cfg(unix)]
                Host::Unix(_) => None,
            });
            let port = address.get_ports().first().copied().unwrap_or(5432);
            found.extend(address.get_hostaddrs().iter().map(|ip| (name.clone(), SocketAddr::new(*ip, port))));
        }
    }
    found
}

/// How the pool makes its connections.
pub(crate) struct Dial(pub(crate) MakeRustlsConnect);

impl Connect for Dial {
    fn connect(&self, config: &Config) -> BoxFuture<'_, Result<(Client, JoinHandle<()>), Error>> {
        let config = config.clone();
        Box::pin(async move {
            let (client, connection) = dial(&config, &self.0).await?;
            let carried = tokio::spawn(async move {
                if let Err(fault) = connection.await {
                    tracing::debug!(%fault, "a connection broke");
                }
            });
            Ok((client, carried))
        })
    }
}

/// The same for every single host, in the order in which they are tried. None if their numbers do not agree.
fn each_host(config: &Config) -> Vec<Config> {
    let (hosts, addresses, ports) = (config.get_hosts(), config.get_hostaddrs(), config.get_ports());
    let count = hosts.len().max(addresses.len());
    let fits = |given: usize, least: usize| given == count || given <= least;
    if !fits(hosts.len(), 0) || !fits(addresses.len(), 0) || !fits(ports.len(), 1) {
        return Vec::new();
    }
    let mut order: Vec<usize> = (0..count).collect();
    shuffle(config, &mut order);
    let one = |at: usize| {
        let mut one = without_hosts(config);
        one.port(ports.get(at).or(ports.first()).copied().unwrap_or(5432));
        match hosts.get(at) {
            Some(Host::Tcp(name)) => {
                one.host(name);
            }
            #[cfg(unix)]
            Some(Host::Unix(path)) => {
                one.host_path(path);
            }
            None => {}
        }
        if let Some(address) = addresses.get(at) {
            one.hostaddr(*address);
        }
        one
    };
    order.into_iter().map(one).collect()
}

/// The same for every address of its host. A name that can't be resolved is left to the driver, which says so.
async fn each_address(config: &Config) -> Vec<Config> {
    let name = match (config.get_hosts(), config.get_hostaddrs()) {
        ([Host::Tcp(name)], []) => name,
        _ => return vec![config.clone()],
    };
    let port = config.get_ports().first().copied().unwrap_or(5432);
    let mut found: Vec<IpAddr> = match tokio::net::lookup_host((name.as_str(), port)).await {
        Ok(found) => found.map(|address| address.ip()).collect(),
        Err(_) => Vec::new(),
    };
    if found.is_empty() {
        return vec![config.clone()];
    }
    shuffle(config, &mut found);
    let at = |address: IpAddr| {
        let mut one = config.clone();
        one.hostaddr(address);
        one
    };
    found.into_iter().map(at).collect()
}

fn shuffle<T: std::hash::Hash>(config: &Config, choices: &mut [T]) {
    if config.get_load_balance_hosts() == LoadBalanceHosts::Random {
        let chance = RandomState::new();
        choices.sort_by_cached_key(|choice| chance.hash_one(choice));
    }
}

/// All that an address says but for where it is. The driver has no way to take hosts away.
fn without_hosts(config: &Config) -> Config {
    let mut one = Config::new();
    if let Some(user) = config.get_user() {
        one.user(user);
    }
    if let Some(password) = config.get_password() {
        one.password(password);
    }
    if let Some(dbname) = config.get_dbname() {
        one.dbname(dbname);
    }
    if let Some(options) = config.get_options() {
        one.options(options);
    }
    if let Some(name) = config.get_application_name() {
        one.application_name(name);
    }
    if let Some(limit) = config.get_connect_timeout() {
        one.connect_timeout(*limit);
    }
    if let Some(limit) = config.get_tcp_user_timeout() {
        one.tcp_user_timeout(*limit);
    }
    if let Some(interval) = config.get_keepalives_interval() {
        one.keepalives_interval(interval);
    }
    if let Some(retries) = config.get_keepalives_retries() {
        one.keepalives_retries(retries);
    }
    one.ssl_mode(config.get_ssl_mode())
        .ssl_negotiation(config.get_ssl_negotiation())
        .keepalives(config.get_keepalives())
        .keepalives_idle(config.get_keepalives_idle())
        .target_session_attrs(config.get_target_session_attrs())
        .channel_binding(config.get_channel_binding())
        .load_balance_hosts(config.get_load_balance_hosts());
    one
}

/// The driver's error for a connection that was not made in time. It has none for that, other than what a socket says.
async fn timed_out(limit: Duration) -> Error {
    let config = Config::new().user("").clone();
    match config.connect_raw(Mute(limit), NoTls).await {
        Ok(_) => unreachable!("nothing can be written to it"),
        Err(fault) => fault,
    }
}

/// A socket that says no more than that its time is over.
struct Mute(Duration);

impl Mute {
    fn fault<T>(&self) -> Poll<io::Result<T>> {
        let text = format!("the connection was not made within {:?}", self.0);
        Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, text)))
    }
}

impl AsyncRead for Mute {
    fn poll_read(self: Pin<&mut Self>, _: &mut Context<'_>, _: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        self.fault()
    }
}

impl AsyncWrite for Mute {
    fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, _: &[u8]) -> Poll<io::Result<usize>> {
        self.fault()
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.fault()
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.fault()
    }
}

#[cfg(test)]
mod tests {
    use std::str::FromStr as _;

    use super::*;

    fn hosts(address: &str) -> Vec<Config> {
        each_host(&Config::from_str(address).unwrap())
    }

    #[test]
    fn every_host_keeps_all_that_the_address_says() {
        let address = "host=a,b port=1,2 user=u password=p dbname=d options=o application_name=n sslmode=require \
            connect_timeout=3 tcp_user_timeout=4 keepalives=1 keepalives_idle=5 keepalives_interval=6 \
            keepalives_retries=7 target_session_attrs=read-write channel_binding=disable load_balance_hosts=disable";
        let one =
            |host: &str, port: &str| Config::from_str(&address.replace("a,b", host).replace("1,2", port)).unwrap();
        assert_eq!(hosts(address), [one("a", "1"), one("b", "2")]);
    }

    #[test]
    fn one_port_is_for_all_hosts_and_numbers_that_do_not_agree_are_left_to_the_driver() {
        let ports: Vec<u16> = hosts("host=a,b port=7").iter().flat_map(|one| one.get_ports().to_vec()).collect();
        assert_eq!(ports, [7, 7]);
        assert!(hosts("host=a,b,c port=1,2").is_empty());
        assert!(hosts("host=a,b hostaddr=127.0.0.1").is_empty());
    }

    #[tokio::test]
    async fn the_second_host_is_tried_when_the_first_accepts_and_never_answers() {
        let mute = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = closed.local_addr().unwrap().port();
        drop(closed);
        let mut config = Config::from_str("host=127.0.0.1,127.0.0.1 user=u sslmode=disable").unwrap();
        config.port(mute.local_addr().unwrap().port()).port(port).connect_timeout(Duration::from_millis(50));
        let tls = crate::tls::connector(&crate::tls::Trust::default()).unwrap();
        let fault = dial(&config, &tls).await.err().unwrap();
        assert!(format!("{:?}", crate::error::store_error(&fault)).contains("refused"), "{fault:?}");
        assert!(mute.accept().is_ok(), "the first one was never asked");
    }
}
