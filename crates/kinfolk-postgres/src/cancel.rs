//! Asking a server to cancel the statement that a connection runs.
//!
//! The driver hangs up as soon as it has sent such a request, and a pooler drops a request whose sender is gone. So this waits
//! until the other side hangs up, which a server does when it has passed the request on. It never fails: a request that does not
//! arrive changes nothing, and the server also notices that its client has gone.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_postgres::CancelToken;
use tokio_postgres::tls::MakeTlsConnect;

use crate::connect::Target;
use crate::dial;

/// How long a request may take.
const CANCEL_TIMEOUT: Duration = Duration::from_secs(5);

/// Sends one request, and waits until the server has heard it. Where an address has several hosts, all are asked: only the one
/// that gave the token out knows it.
pub(crate) async fn cancel(token: CancelToken, target: Target) {
    let _ = tokio::time::timeout(CANCEL_TIMEOUT, ask(&token, &target)).await;
}

async fn ask(token: &CancelToken, target: &Target) {
    let hosts = dial::addresses(&target.config).await;
    if hosts.is_empty() {
        // A socket in the file system: no pooler that minds, as a rule.
        let _ = token.cancel_query(target.tls.clone()).await;
        return;
    }
    let asked = hosts.into_iter().map(|(name, address)| async move {
        let socket = TcpStream::connect(address).await.ok()?;
        let name = name.unwrap_or_else(|| address.ip().to_string());
        let tls = MakeTlsConnect::<Patient>::make_tls_connect(&mut target.tls.clone(), &name).ok()?;
        token.cancel_query_raw(Patient(socket), tls).await.ok()
    });
    futures_util::future::join_all(asked).await;
}

/// A connection that is closed by the other side first.
struct Patient(TcpStream);

impl AsyncRead for Patient {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(cx, buf)
    }
}

impl AsyncWrite for Patient {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        loop {
            let mut space = [0; 64];
            let mut read = ReadBuf::new(&mut space);
            match Pin::new(&mut self.0).poll_read(cx, &mut read) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(Ok(())) if !read.filled().is_empty() => {}
                Poll::Ready(_) => return Poll::Ready(Ok(())),
            }
        }
    }
}
