//! TLS for clients: rustls with `ring`, TLS 1.2 and 1.3, HTTP/2 preferred.
//!
//! A server has one or more certificates, each valid for its subject alternative names. A client that names a server (SNI) gets
//! the certificate with that name, or one with a matching wildcard; any other client gets the first. Certificates can be replaced
//! while the server runs: later handshakes use the new ones.

use std::collections::HashMap;
use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use rustix::fs::{Mode, OFlags, open};
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::crypto::{CryptoProvider, ring};
use tokio_rustls::rustls::pki_types::pem::{self, PemObject};
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::server::{ClientHello, ResolvesServerCert};
use tokio_rustls::rustls::sign::CertifiedKey;
use tokio_rustls::rustls::{Error, ServerConfig};

use crate::stream::ClientStream;

/// Enough for hundreds of certificates.
const MAX_PEM_BYTES: u64 = 1024 * 1024;

/// Why certificates cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    #[error("cannot read {}: {source}", path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error("{} is no valid PEM: {reason}", path.display())]
    Pem { path: PathBuf, reason: String },
    #[error("{} has no certificate: it needs a -----BEGIN CERTIFICATE----- block, the server's own first", path.display())]
    NoCertificate { path: PathBuf },
    #[error("{} has no private key: it needs an unencrypted -----BEGIN PRIVATE KEY----- block", path.display())]
    NoKey { path: PathBuf },
    #[error("the private key in {} cannot be used: {source}", path.display())]
    Key { path: PathBuf, source: Error },
    #[error("the certificate in {} cannot be used: {reason}", path.display())]
    Certificate { path: PathBuf, reason: String },
    #[error("the private key in {} does not belong to the certificate in {}", key.display(), certificate.display())]
    Mismatch { certificate: PathBuf, key: PathBuf },
    #[error("TLS needs at least one certificate")]
    None,
    #[error("TLS cannot be set up: {0}")]
    SetUp(#[source] Error),
}

/// A PEM file and its text: read where it is allowed, and passed to where it is used.
#[derive(Clone)]
pub struct PemFile {
    /// For error messages.
    pub path: PathBuf,
    pub text: Vec<u8>,
}

/// A certificate chain and its private key. Both may be in the same file.
#[derive(Clone, Debug)]
pub struct PemPair {
    pub certificate: PemFile,
    pub key: PemFile,
}

/// The certificates of a listener.
pub struct Certificates {
    acceptor: TlsAcceptor,
    names: Arc<Names>,
}

/// A TLS handshake that was not yet done.
pub struct Handshake {
    acceptor: TlsAcceptor,
    tcp: TcpStream,
}

/// What the client chose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    Http1,
    Http2,
}

struct Names {
    provider: Arc<CryptoProvider>,
    table: RwLock<Arc<Table>>,
}

struct Table {
    /// In lower case; wildcards as `*.example.com`.
    by_name: HashMap<Box<str>, Arc<CertifiedKey>>,
    default: Arc<CertifiedKey>,
}

// === impl PemFile, PemPair ===

impl PemFile {
    pub fn read(path: impl Into<PathBuf>) -> Result<Self, TlsError> {
        let path = path.into();
        match read_pem(&path) {
            Ok(text) => Ok(Self { path, text: text.into_bytes() }),
            Err(source) => Err(TlsError::Read { path, source }),
        }
    }
}

/// The text of a file with certificates or a key: a regular file of up to 1 MB, so that a name for something else (a device, a
/// pipe) is an error and not a wait.
pub fn read_pem(path: &Path) -> io::Result<String> {
    let invalid = |message: &str| io::Error::new(io::ErrorKind::InvalidData, message);
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOCTTY;
    let file = File::from(open(path, flags, Mode::empty())?);
    if !file.metadata()?.is_file() {
        return Err(invalid("it is no regular file"));
    }
    let mut text = String::new();
    file.take(MAX_PEM_BYTES + 1).read_to_string(&mut text)?;
    if text.len() as u64 > MAX_PEM_BYTES { Err(invalid("it is larger than 1 MB")) } else { Ok(text) }
}

impl fmt::Debug for PemFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Its text may be a secret.
        write!(f, "PemFile({})", self.path.display())
    }
}

impl PemPair {
    pub fn read(certificate: &Path, key: &Path) -> Result<Self, TlsError> {
        Ok(Self { certificate: PemFile::read(certificate)?, key: PemFile::read(key)? })
    }
}

// === impl Certificates ===

impl Certificates {
    /// The first pair is for clients that name no server, or one that no certificate has. Where several certificates have a name, the
    /// first is used.
    pub fn new(pairs: &[PemPair]) -> Result<Self, TlsError> {
        // Named, so that another crate's choice of provider features has no effect here.
        let provider = Arc::new(ring::default_provider());
        let table = RwLock::new(Arc::new(Table::new(pairs, &provider)?));
        let names = Arc::new(Names { provider: provider.clone(), table });
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(TlsError::SetUp)?
            .with_no_client_auth()
            .with_cert_resolver(names.clone());
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Ok(Self { acceptor: TlsAcceptor::from(Arc::new(config)), names })
    }

    /// Replaces the certificates for later handshakes. After an error the old ones stay.
    pub fn replace(&self, pairs: &[PemPair]) -> Result<(), TlsError> {
        let table = Arc::new(Table::new(pairs, &self.names.provider)?);
        *self.names.table.write().unwrap_or_else(PoisonError::into_inner) = table;
        Ok(())
    }

    pub(crate) fn handshake(&self, tcp: TcpStream) -> Handshake {
        Handshake { acceptor: self.acceptor.clone(), tcp }
    }
}

impl fmt::Debug for Certificates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Certificates").field(&self.names).finish()
    }
}

// === impl Handshake ===

impl Handshake {
    /// None where the handshake fails or takes longer than `limit`.
    pub async fn finish(self, limit: Duration) -> Option<(ClientStream, Protocol)> {
        let accept = self.acceptor.accept(self.tcp);
        let result = if limit.is_zero() {
            accept.await
        } else {
            tokio::time::timeout(limit, accept).await.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
        };
        match result {
            Ok(stream) => {
                let http2 = stream.get_ref().1.alpn_protocol() == Some(b"h2");
                let protocol = if http2 { Protocol::Http2 } else { Protocol::Http1 };
                Some((ClientStream::Tls(Box::new(stream)), protocol))
            }
            Err(error) => {
                tracing::debug!(%error, "TLS handshake failed");
                None
            }
        }
    }
}

// === impl Names, Table ===

impl ResolvesServerCert for Names {
    fn resolve(&self, hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        let table = self.table.read().unwrap_or_else(PoisonError::into_inner).clone();
        Some(table.find(hello.server_name()))
    }
}

impl fmt::Debug for Names {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let table = self.table.read().unwrap_or_else(PoisonError::into_inner);
        f.debug_list().entries(table.by_name.keys()).finish()
    }
}

impl Table {
    fn new(pairs: &[PemPair], provider: &CryptoProvider) -> Result<Self, TlsError> {
        let (mut by_name, mut default) = (HashMap::new(), None);
        for pair in pairs {
            let key = Arc::new(load(pair, provider)?);
            for name in names(pair, &key)? {
                by_name.entry(name).or_insert_with(|| key.clone());
            }
            default.get_or_insert(key);
        }
        Ok(Self { by_name, default: default.ok_or(TlsError::None)? })
    }

    fn find(&self, name: Option<&str>) -> Arc<CertifiedKey> {
        let Some(name) = name.map(str::to_ascii_lowercase) else { return self.default.clone() };
        // A wildcard stands for one label.
        let wildcard = || self.by_name.get(format!("*.{}", name.split_once('.')?.1).as_str());
        self.by_name.get(name.as_str()).or_else(wildcard).unwrap_or(&self.default).clone()
    }
}

fn load(pair: &PemPair, provider: &CryptoProvider) -> Result<CertifiedKey, TlsError> {
    let PemPair { certificate, key } = pair;
    let broken =
        |file: &PemFile, error: pem::Error| TlsError::Pem { path: file.path.clone(), reason: error.to_string() };
    let chain = CertificateDer::pem_slice_iter(&certificate.text)
        .collect::<Result<Vec<_>, _>>()
        .map_err(|error| broken(certificate, error))?;
    if chain.is_empty() {
        return Err(TlsError::NoCertificate { path: certificate.path.clone() });
    }
    let private = PrivateKeyDer::from_pem_slice(&key.text).map_err(|error| match error {
        pem::Error::NoItemsFound => TlsError::NoKey { path: key.path.clone() },
        error => broken(key, error),
    })?;
    CertifiedKey::from_der(chain, private, provider).map_err(|error| match error {
        Error::InconsistentKeys(_) => {
            TlsError::Mismatch { certificate: certificate.path.clone(), key: key.path.clone() }
        }
        Error::InvalidCertificate(reason) => {
            TlsError::Certificate { path: certificate.path.clone(), reason: format!("{reason:?}") }
        }
        source => TlsError::Key { path: key.path.clone(), source },
    })
}

/// The names that a certificate is good for.
fn names(pair: &PemPair, key: &CertifiedKey) -> Result<Vec<Box<str>>, TlsError> {
    let unusable = |reason: String| TlsError::Certificate { path: pair.certificate.path.clone(), reason };
    let own = key.end_entity_cert().map_err(|error| unusable(error.to_string()))?;
    let own = webpki::EndEntityCert::try_from(own).map_err(|error| unusable(error.to_string()))?;
    Ok(own.valid_dns_names().map(|name| name.to_ascii_lowercase().into()).collect())
}
