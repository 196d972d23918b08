//! A connection whose other side must go on reading: one that takes nothing for a while is given up. Otherwise clients that ask
//! and never read would hold all connections there are, for good.

use std::future::Future as _;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};

/// A stream that gives up when nothing of what is written to it is taken for so long.
pub(super) struct Patience<S> {
    stream: S,
    within: Duration,
    /// Runs while the other side takes nothing.
    stalled: Option<Pin<Box<Sleep>>>,
}

impl<S> Patience<S> {
    pub(super) fn new(stream: S, within: Duration) -> Self {
        Self { stream, within, stalled: None }
    }

    /// The answer of a write; or an error, when it has been pending for too long.
    fn judge<T>(&mut self, written: Poll<io::Result<T>>, context: &mut Context<'_>) -> Poll<io::Result<T>> {
        if written.is_ready() {
            self.stalled = None;
            return written;
        }
        let within = self.within;
        let stalled = self.stalled.get_or_insert_with(|| Box::pin(sleep(within)));
        ready!(stalled.as_mut().poll(context));
        Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, "the other side does not read")))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Patience<S> {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, into)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Patience<S> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.judge(written, context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, bytes);
        self.judge(written, context)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.stream).poll_flush(context);
        self.judge(flushed, context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let shut = Pin::new(&mut self.stream).poll_shutdown(context);
        self.judge(shut, context)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    #[tokio::test]
    async fn one_that_reads_little_by_little_gets_all() {
        let (mut there, here) = tokio::io::duplex(4);
        let mut here = Patience::new(here, Duration::from_secs(600));
        let reader = tokio::spawn(async move {
            for _ in 0..100 {
                tokio::task::yield_now().await;
                there.read_u8().await.unwrap();
            }
        });
        here.write_all(&[7; 100]).await.unwrap();
        reader.await.unwrap();
    }

    #[tokio::test]
    async fn one_that_never_reads_is_given_up() {
        let (_there, here) = tokio::io::duplex(4);
        let mut here = Patience::new(here, Duration::from_millis(20));
        here.write_all(&[7; 4]).await.unwrap();
        let fault = here.write_all(&[7; 4]).await.unwrap_err();
        assert_eq!(fault.kind(), io::ErrorKind::TimedOut);
    }
}
