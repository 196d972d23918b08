//! The output of a program, kept within limits. Everything is read, so that the program never waits for us; only a part
//! is kept.

use std::collections::VecDeque;
use std::io;

use tokio::io::{AsyncRead, AsyncReadExt as _};

/// Reads to the end and keeps the first bytes. Whether some were left out comes second.
pub(super) async fn head(mut source: impl AsyncRead + Unpin, keep: usize) -> io::Result<(Vec<u8>, bool)> {
    let mut kept = Vec::new();
    let mut cut = false;
    let mut buffer = vec![0; 8 * 1024];
    loop {
        let bytes = source.read(&mut buffer).await?;
        if bytes == 0 {
            return Ok((kept, cut));
        }
        let room = keep - kept.len();
        kept.extend_from_slice(&buffer[..bytes.min(room)]);
        cut |= bytes > room;
    }
}

/// Reads to the end and keeps the last bytes.
pub(super) async fn tail(mut source: impl AsyncRead + Unpin, keep: usize) -> io::Result<Vec<u8>> {
    let mut kept = VecDeque::new();
    let mut buffer = vec![0; 8 * 1024];
    loop {
        let bytes = source.read(&mut buffer).await?;
        if bytes == 0 {
            return Ok(kept.into());
        }
        kept.extend(&buffer[..bytes]);
        let excess = kept.len().saturating_sub(keep);
        kept.drain(..excess);
    }
}

/// The bytes as text that fits into `limit` bytes of JSON. What is no text, or can't be stored, is replaced.
pub(super) fn text(bytes: &[u8], limit: usize) -> (String, bool) {
    let mut written = 0;
    let mut text = String::new();
    for c in String::from_utf8_lossy(bytes).chars() {
        let c = if c == '\0' { '\u{fffd}' } else { c };
        written += match c {
            '"' | '\\' | '\n' | '\r' | '\t' => 2,
            c if c.is_control() => 6,
            c => c.len_utf8(),
        };
        if written > limit {
            return (text, true);
        }
        text.push(c);
    }
    (text, false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_head_and_the_tail_are_kept_and_the_rest_is_read() {
        let source = vec![b'a'; 20_000];
        assert_eq!(head(&source[..], 3).await.unwrap(), (b"aaa".to_vec(), true));
        assert_eq!(head(&b"ab"[..], 3).await.unwrap(), (b"ab".to_vec(), false));
        assert_eq!(tail(&b"abcdef"[..], 2).await.unwrap(), b"ef");
    }

    #[test]
    fn text_fits_its_limit_as_json() {
        assert_eq!(text(b"a\nb\0", 100), ("a\nb\u{fffd}".to_owned(), false));
        let (kept, cut) = text(&[1; 100], 60);
        assert!(cut);
        assert_eq!(kept.len(), 10);
    }
}
