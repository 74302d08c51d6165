//! TLS for outgoing connections: rustls with `ring`, TLS 1.2 and 1.3.
//!
//! The roots are Mozilla's, compiled in (`webpki-roots`), not the machine's: the process that runs apps is jailed and may see no
//! `/etc/ssl` at all, and the same build must trust the same servers everywhere. The cost is that roots age with the
//! build, and that a private CA has to be given in [`Config::extra_roots`](crate::Config::extra_roots).
//!
//! Only `http/1.1` is offered to servers. Certificates are checked against the host of the URL, also where that is an address.

use std::io;
use std::sync::Arc;

use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, Error, RootCertStore};

use crate::target::Host;

/// A root certificate that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum RootError {
    #[error("extra root certificate {number} cannot be used: {source}")]
    Unusable { number: usize, source: Error },
    #[error("the file has no PEM certificate")]
    Empty,
    #[error("the PEM text is broken: {0}")]
    Pem(String),
    #[error("TLS cannot be set up: {0}")]
    SetUp(#[source] Error),
}

/// The certificates of a PEM file, for [`Config::extra_roots`](crate::Config::extra_roots).
pub fn certificates_from_pem(pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, RootError> {
    let all = CertificateDer::pem_slice_iter(pem).collect::<Result<Vec<_>, _>>();
    match all {
        Ok(all) if all.is_empty() => Err(RootError::Empty),
        Ok(all) => Ok(all),
        Err(error) => Err(RootError::Pem(error.to_string())),
    }
}

#[derive(Clone)]
pub(crate) struct Tls {
    connector: TlsConnector,
    /// Mozilla's, and the extra ones.
    pub(crate) roots: Arc<RootCertStore>,
}

impl Tls {
    pub(crate) fn new(extra_roots: &[CertificateDer<'static>]) -> Result<Self, RootError> {
        let mut roots = RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
        for (at, root) in extra_roots.iter().enumerate() {
            roots.add(root.clone()).map_err(|source| RootError::Unusable { number: at + 1, source })?;
        }
        let roots = Arc::new(roots);
        // Named, so that another crate's choice of provider features has no effect here.
        let mut config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(RootError::SetUp)?
            .with_root_certificates(roots.clone())
            .with_no_client_auth();
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Self { connector: TlsConnector::from(Arc::new(config)), roots })
    }

    pub(crate) async fn connect(&self, host: &Host, stream: TcpStream) -> io::Result<TlsStream<TcpStream>> {
        self.connector.connect(server_name(host)?, stream).await
    }
}

fn server_name(host: &Host) -> io::Result<ServerName<'static>> {
    match host {
        Host::Address(address) => Ok(ServerName::IpAddress((*address).into())),
        Host::Name(name) => {
            let name = name.strip_suffix('.').unwrap_or(name).to_owned();
            let wrong = |_| io::Error::new(io::ErrorKind::InvalidInput, "no certificate can be for such a host name");
            ServerName::try_from(name).map_err(wrong)
        }
    }
}
