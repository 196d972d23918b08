//! TLS by rustls, with libpq's meaning of `sslmode` and `sslrootcert`.
//!
//! `verify-ca` and `verify-full` check the server's certificate and name against `sslrootcert`, or the system's roots
//! when there is none. `prefer` and `require` encrypt, and check only when `sslrootcert` is given, as libpq does.

use std::sync::Arc;

use kinfolk_core::{InputError, StoreError};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};
use tokio_postgres_rustls::MakeRustlsConnect;

/// How the server is to be trusted.
#[derive(Clone, Debug, Default)]
pub(crate) struct Trust {
    /// Check the server's certificate even without `root_cert`.
    pub(crate) verify: bool,
    /// A file of certificates to trust instead of the system's.
    pub(crate) root_cert: Option<String>,
}

pub(crate) fn connector(trust: &Trust) -> Result<MakeRustlsConnect, StoreError> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(|fault| StoreError::Unavailable { detail: fault.to_string() })?;
    let config = if trust.verify || trust.root_cert.is_some() {
        builder.with_root_certificates(roots(trust)?).with_no_client_auth()
    } else {
        builder.dangerous().with_custom_certificate_verifier(Arc::new(Unverified(provider))).with_no_client_auth()
    };
    Ok(MakeRustlsConnect::new(config))
}

fn roots(trust: &Trust) -> Result<RootCertStore, StoreError> {
    let mut store = RootCertStore::empty();
    let Some(path) = &trust.root_cert else {
        store.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        return Ok(store);
    };
    let bad = |why: String| StoreError::Input(InputError::Other(format!("sslrootcert {path:?} can't be used: {why}")));
    for cert in CertificateDer::pem_file_iter(path).map_err(|fault| bad(fault.to_string()))? {
        let cert = cert.map_err(|fault| bad(fault.to_string()))?;
        store.add(cert).map_err(|fault| bad(fault.to_string()))?;
    }
    if store.is_empty() {
        return Err(bad("it holds no certificate".to_owned()));
    }
    Ok(store)
}

/// Takes any certificate, as libpq does for `prefer` and `require`: the line is encrypted, the server is not proven.
#[derive(Debug)]
struct Unverified(Arc<CryptoProvider>);

impl ServerCertVerifier for Unverified {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        rustls::crypto::verify_tls12_signature(message, cert, signed, &self.0.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        rustls::crypto::verify_tls13_signature(message, cert, signed, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
