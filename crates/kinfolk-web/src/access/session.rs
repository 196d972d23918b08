//! Log-ins of browsers: a cookie that says whose token was shown and until when that counts, signed by this server.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use axum::http::HeaderMap;
use axum::http::header::COOKIE;
use sha2::{Digest as _, Sha256};

use super::token::{Hash, from_hex, hex};

/// The name of the cookie.
const NAME: &str = "kinfolk_session";
/// How long a log-in counts.
const LASTS: Duration = Duration::from_secs(12 * 3600);

/// The key that log-ins are signed with.
#[derive(Clone)]
pub(crate) struct SessionKey(Hash);

impl SessionKey {
    pub(crate) fn new(key: Hash) -> Self {
        Self(key)
    }

    /// The cookie for someone who has shown the token of this hash. Only this application gets it, and no script.
    pub(crate) fn cookie(&self, token: &Hash, path: &str, secure: bool) -> String {
        let until = seconds_now().saturating_add(LASTS.as_secs());
        let said = format!("{}.{until}", hex(token));
        let secure = if secure { "; Secure" } else { "" };
        format!(
            "{NAME}={said}.{}; Path={path}; Max-Age={}; HttpOnly; SameSite=Strict{secure}",
            hex(&self.sign(&said)),
            LASTS.as_secs()
        )
    }

    /// The cookie that ends a log-in.
    pub(crate) fn none(path: &str) -> String {
        format!("{NAME}=; Path={path}; Max-Age=0; HttpOnly; SameSite=Strict")
    }

    /// The hash of the token that was shown, if the cookie of a request says so, was signed here and still counts.
    pub(crate) fn read(&self, headers: &HeaderMap) -> Option<Hash> {
        let cookies = headers.get_all(COOKIE).iter().filter_map(|cookie| cookie.to_str().ok());
        let mut pairs = cookies.flat_map(|cookies| cookies.split(';')).map(str::trim);
        pairs.find_map(|pair| self.check(pair.strip_prefix(NAME)?.strip_prefix('=')?))
    }

    fn check(&self, cookie: &str) -> Option<Hash> {
        let (said, signature) = cookie.rsplit_once('.')?;
        if !same(&from_hex(signature)?, &self.sign(said)) {
            return None;
        }
        let (token, until) = said.split_once('.')?;
        (until.parse::<u64>().ok()? > seconds_now()).then(|| from_hex(token))?
    }

    /// HMAC-SHA-256.
    fn sign(&self, said: &str) -> Hash {
        let pad = |with: u8| {
            let mut block = [with; 64];
            for (byte, key) in block.iter_mut().zip(self.0) {
                *byte ^= key;
            }
            block
        };
        let inner = Sha256::new().chain_update(pad(0x36)).chain_update(said.as_bytes()).finalize();
        Sha256::new().chain_update(pad(0x5c)).chain_update(inner).finalize().into()
    }
}

/// Whether two are equal, in a time that does not depend on where they differ.
fn same(one: &Hash, other: &Hash) -> bool {
    one.iter().zip(other).fold(0, |differ, (a, b)| differ | (a ^ b)) == 0
}

fn seconds_now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

impl std::fmt::Debug for SessionKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SessionKey(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::HeaderValue;

    fn with(cookie: &str) -> HeaderMap {
        let pair = cookie.split(';').next().unwrap();
        HeaderMap::from_iter([(COOKIE, HeaderValue::from_str(&format!("other=1; {pair}")).unwrap())])
    }

    #[test]
    fn the_signature_is_the_one_of_the_standard() {
        // RFC 4231, test case 2, with the key padded by zeros as HMAC does.
        let mut key = Hash::default();
        key[..4].copy_from_slice(b"Jefe");
        let signed = SessionKey(key).sign("what do ya want for nothing?");
        assert_eq!(hex(&signed), "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
    }

    #[test]
    fn only_a_cookie_of_this_server_counts_and_only_for_a_while() {
        let (key, token) = (SessionKey([7; 32]), [9; 32]);
        let cookie = key.cookie(&token, "/", true);
        assert!(cookie.ends_with("; HttpOnly; SameSite=Strict; Secure"), "{cookie}");
        assert_eq!(key.read(&with(&cookie)), Some(token));
        assert_eq!(SessionKey([8; 32]).read(&with(&cookie)), None, "signed by another");
        assert_eq!(key.read(&with(&cookie.replacen("09", "08", 1))), None, "changed");
        let said = format!("{}.{}", hex(&token), seconds_now() - 1);
        let old = format!("{NAME}={said}.{}", hex(&key.sign(&said)));
        assert_eq!(key.read(&with(&old)), None, "too old");
        assert_eq!(key.read(&with("kinfolk_session=x.y.z")), None);
    }
}
