//! A small HTTP client: one request on a connection of its own, no redirects, limits on time and size, and no address that is not
//! public unless that is allowed. The address is looked at after the name was resolved, and it is the one that is connected to.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::Bytes;
use hyper::header::{HOST, HeaderMap, HeaderName, HeaderValue, RETRY_AFTER};
use hyper::{Method, Request, StatusCode, Uri};
use hyper_util::rt::TokioIo;
use jiff::Timestamp;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use crate::address::is_public;
use crate::config::ConfigError;
use crate::fault::{SendError, Then};

/// The longest pause that a provider is granted.
const PAUSE_MAX: Duration = Duration::from_secs(3600);
/// The pause when it asks for one, and does not say how long.
const PAUSE: Duration = Duration::from_secs(30);

/// An HTTP client with its limits.
#[derive(Clone)]
pub(crate) struct Client {
    tls: Arc<rustls::ClientConfig>,
    pub(crate) allow_private: bool,
    pub(crate) timeout: Duration,
    pub(crate) answer_bytes_max: usize,
}

impl std::fmt::Debug for Client {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Client").field("allow_private", &self.allow_private).finish_non_exhaustive()
    }
}

/// A request.
#[derive(Clone, Debug)]
pub(crate) struct Ask {
    pub(crate) method: Method,
    pub(crate) url: String,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

/// An answer.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    headers: HeaderMap,
    pub(crate) body: Bytes,
}

impl Client {
    /// A client that trusts the authorities that this machine trusts.
    pub(crate) fn new(allow_private: bool, timeout: Duration) -> Result<Self, ConfigError> {
        let mut roots = rustls::RootCertStore::empty();
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let tls = rustls::ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|fault| ConfigError(format!("TLS can't be set up: {fault}")))?
            .with_root_certificates(roots)
            .with_no_client_auth();
        Ok(Self { tls: Arc::new(tls), allow_private, timeout, answer_bytes_max: 64 * 1024 })
    }

    /// Asks, within the time allowed. An answer of any status is an answer.
    pub(crate) async fn ask(&self, ask: Ask) -> Result<Answer, SendError> {
        let (host, timeout) = (host_of(&ask.url)?, self.timeout);
        match tokio::time::timeout(timeout, self.exchange(ask, &host)).await {
            Ok(answer) => answer,
            Err(_) => Err(SendError::passing(format!("{} did not answer within {timeout:?}", host.name))),
        }
    }

    async fn exchange(&self, ask: Ask, host: &Host) -> Result<Answer, SendError> {
        let stream = self.connect(host).await?;
        if !host.is_secure {
            return self.talk(stream, ask, host).await;
        }
        let name = ServerName::try_from(host.bare().to_owned())
            .map_err(|_| SendError::for_good(format!("{} is no name that TLS knows", host.name)))?;
        let stream = TlsConnector::from(Arc::clone(&self.tls)).connect(name, stream).await;
        self.talk(stream.map_err(|fault| host.passing(&fault))?, ask, host).await
    }

    /// Connects to the first address of the host that is allowed.
    async fn connect(&self, host: &Host) -> Result<TcpStream, SendError> {
        let found = tokio::net::lookup_host((host.bare(), host.port)).await.map_err(|fault| host.passing(&fault))?;
        let allowed: Vec<SocketAddr> = found.filter(|address| self.allow_private || is_public(address.ip())).collect();
        if allowed.is_empty() {
            let message =
                format!("{} is not an address of the public internet; allow_private would allow it", host.name);
            return Err(SendError::for_good(message));
        }
        TcpStream::connect(&allowed[..]).await.map_err(|fault| host.passing(&fault))
    }

    async fn talk<S>(&self, stream: S, ask: Ask, host: &Host) -> Result<Answer, SendError>
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let (mut sender, connection) =
            hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.map_err(|fault| host.passing(&fault))?;
        let request = request(ask, host)?;
        let answer = async {
            let answer = sender.send_request(request).await.map_err(|fault| host.passing(&fault))?;
            let (head, body) = answer.into_parts();
            let body = Limited::new(body, self.answer_bytes_max).collect().await.map_err(|fault| {
                SendError::passing(format!("the answer of {} broke off or is too large: {fault}", host.name))
            })?;
            Ok(Answer { status: head.status, headers: head.headers, body: body.to_bytes() })
        };
        // The connection is driven here, so that nothing of it is left when the attempt is dropped.
        tokio::pin!(connection, answer);
        tokio::select! {
            answer = &mut answer => answer,
            _ = &mut connection => answer.await,
        }
    }
}

impl Answer {
    /// The answer if it is a good one. A failure says how the provider put it, cut.
    pub(crate) fn good(self, who: &str) -> Result<Self, SendError> {
        let status = self.status;
        if status.is_success() {
            return Ok(self);
        }
        let words: String = String::from_utf8_lossy(&self.body).chars().filter(|c| !c.is_control()).take(300).collect();
        let message = format!("{who} answered {status}: {words}");
        let then = match status.as_u16() {
            429 => Then::SlowDown(self.pause().unwrap_or(PAUSE)),
            503 => self.pause().map_or(Then::Retry, Then::SlowDown),
            408 | 409 | 425 | 500..=599 => Then::Retry,
            _ => Then::GiveUp,
        };
        Err(SendError { message, then })
    }

    /// How long the provider asks to wait.
    fn pause(&self) -> Option<Duration> {
        let told = self.headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
        let pause = match told.parse() {
            Ok(secs) => Duration::from_secs(secs),
            Err(_) => {
                let until = jiff::fmt::rfc2822::parse(told).ok()?.timestamp();
                Duration::try_from(until.duration_since(Timestamp::now())).ok()?
            }
        };
        Some(pause.min(PAUSE_MAX))
    }
}

/// Whom to connect to.
#[derive(Clone, Debug)]
struct Host {
    name: String,
    port: u16,
    is_secure: bool,
}

impl Host {
    /// Without the brackets around an address of the new form.
    fn bare(&self) -> &str {
        self.name.trim_start_matches('[').trim_end_matches(']')
    }

    fn passing(&self, fault: &dyn std::fmt::Display) -> SendError {
        SendError::passing(format!("{} can't be reached: {fault}", self.name))
    }
}

fn host_of(url: &str) -> Result<Host, SendError> {
    let wrong = |why: &str| SendError::for_good(format!("this is no address to ask: {why}; write https://host/path"));
    let uri: Uri = url.parse().map_err(|_| wrong("it can't be read"))?;
    let is_secure = match uri.scheme_str() {
        Some("https") => true,
        Some("http") => false,
        _ => return Err(wrong("it begins with neither https:// nor http://")),
    };
    let authority = uri.authority().ok_or_else(|| wrong("it has no host"))?;
    if authority.as_str().contains('@') {
        return Err(wrong("it has a user or a password"));
    }
    let port = authority.port_u16().unwrap_or(if is_secure { 443 } else { 80 });
    Ok(Host { name: authority.host().to_owned(), port, is_secure })
}

fn request(ask: Ask, host: &Host) -> Result<Request<Full<Bytes>>, SendError> {
    let wrong = |fault: &dyn std::fmt::Display| SendError::for_good(format!("the request can't be made: {fault}"));
    let uri: Uri = ask.url.parse().map_err(|fault| wrong(&fault))?;
    let path = uri.path_and_query().map_or("/", |path| path.as_str());
    let mut request = Request::new(Full::new(ask.body));
    *request.method_mut() = ask.method;
    *request.uri_mut() = path.parse().map_err(|fault| wrong(&fault))?;
    *request.headers_mut() = ask.headers;
    let named = match host.port {
        443 if host.is_secure => host.name.clone(),
        80 if !host.is_secure => host.name.clone(),
        port => format!("{}:{port}", host.name),
    };
    request.headers_mut().insert(HOST, HeaderValue::from_str(&named).map_err(|fault| wrong(&fault))?);
    Ok(request)
}

/// Headers from names and values; what can't be one is an error that does not show the value.
pub(crate) fn headers<'a>(given: impl IntoIterator<Item = (&'a str, String)>) -> Result<HeaderMap, SendError> {
    let mut headers = HeaderMap::new();
    for (name, value) in given {
        let wrong = || SendError::for_good(format!("the header {name:?} can't be sent as it is"));
        let value = HeaderValue::from_str(&value).map_err(|_| wrong())?;
        headers.insert(HeaderName::from_bytes(name.as_bytes()).map_err(|_| wrong())?, value);
    }
    Ok(headers)
}
