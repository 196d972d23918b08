//! Providers that speak to servers on this machine.

use kinfolk_providers::{Config, Providers};
use serde_json::{Value, json};

/// What stands in the place of a key at a provider, to be looked for where it must not be.
pub(crate) const SECRET: &str = "re_secret";

/// Resend, as far as the worker can tell.
pub(crate) fn resend(url: &str) -> Providers {
    with_secret(|at| {
        json!({"email": {"kind": "resend", "base": url, "key": at, "from": "shop@example.org", "allow_private": true,
            "timeout_secs": 1}})
    })
}

/// Twilio, as far as the worker can tell.
pub(crate) fn twilio(url: &str) -> Providers {
    with_secret(|at| {
        json!({"sms": {"kind": "twilio", "base": url, "account": "AC1", "token": at, "from": "+1", "allow_private": true,
            "timeout_secs": 1}})
    })
}

/// A mail server on this machine.
pub(crate) fn smtp(port: u16) -> Providers {
    open(json!({"email": {"kind": "smtp", "host": "127.0.0.1", "port": port, "tls": "none", "from": "shop@example.org",
        "timeout_secs": 1}}))
}

/// Any endpoint.
pub(crate) fn http() -> Providers {
    open(json!({"http": {"kind": "http", "allow_private": true, "timeout_secs": 1}}))
}

fn with_secret(config: impl FnOnce(Value) -> Value) -> Providers {
    // It is read when the providers are opened.
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), SECRET).unwrap();
    open(config(json!({"file": file.path()})))
}

fn open(config: Value) -> Providers {
    serde_json::from_value::<Config>(config).unwrap().open().unwrap()
}
