//! TLS over a connection that an app has already: as an app sets it up, with its own authorities, certificate and protocols.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use hearth_core::Charge;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use tokio_rustls::rustls::version::{TLS12, TLS13};
use tokio_rustls::rustls::{ClientConfig, Error, ProtocolVersion, RootCertStore, SupportedProtocolVersion};

use crate::certificate_check::{CertificateCheck, Findings, Strictness};
use crate::client::Client;

/// A connection of any kind.
pub trait IoStream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<S: AsyncRead + AsyncWrite + Send + Unpin> IoStream for S {}

/// How an app wants the connection to be secured.
#[derive(Default)]
pub struct TlsSettings {
    /// What the server is asked for, and what its certificate must be for: a name or an address.
    pub server_name: String,
    /// PEM or DER. Where there is one, no other authorities are trusted.
    pub authorities: Vec<Vec<u8>>,
    /// The app's own certificate and its key, PEM or DER.
    pub identity: Option<(Vec<u8>, Vec<u8>)>,
    pub protocols: Vec<Vec<u8>>,
    pub versions: TlsVersions,
    /// A chain that is not trusted ends the handshake.
    pub check_chain: bool,
    /// So does a certificate for another name.
    pub check_name: bool,
    /// What the settings hold of an app's memory; returned when the connection has ended.
    pub charge: Option<Charge>,
}

/// Settings that were read, and can be used.
pub struct TlsSetup {
    config: Arc<ClientConfig>,
    name: ServerName<'static>,
    findings: Arc<Mutex<Findings>>,
    server_name: String,
    check_chain: bool,
    check_name: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TlsVersions {
    #[default]
    All,
    Only12,
    Only13,
}

/// A secured connection, and what is known of its peer.
pub struct Secured {
    pub stream: Box<dyn IoStream>,
    pub protocol: Option<Vec<u8>>,
    pub version: &'static str,
    pub cipher: &'static str,
    /// As DER, the peer's own first.
    pub certificates: Vec<Vec<u8>>,
    /// Why the chain is not trusted, by OpenSSL's names.
    pub chain_fault: Option<&'static str>,
    pub wrong_name: bool,
}

/// Why there is no secure connection.
#[derive(Debug, thiserror::Error)]
pub enum TlsFault {
    #[error("{what} cannot be used: {reason}")]
    Setting { what: &'static str, reason: String },
    #[error("the certificate of {name} is not trusted: {code}")]
    Chain { name: String, code: &'static str },
    #[error("the certificate is not for {name}")]
    Name { name: String },
    #[error("the handshake took too long")]
    TimedOut,
    #[error("{0}")]
    Handshake(#[source] io::Error),
}

impl Client {
    /// Reads settings. With many certificates, or with a key, that takes milliseconds.
    pub fn set_up_tls(&self, mut settings: TlsSettings) -> Result<TlsSetup, TlsFault> {
        let findings = Arc::new(Mutex::new(Findings::default()));
        let config = config(&mut settings, &self.connector().shared.tls.roots, findings.clone())?;
        let TlsSettings { server_name, check_chain, check_name, .. } = settings;
        let name = ServerName::try_from(server_name.clone())
            .map_err(|error| TlsFault::Setting { what: "the server name", reason: error.to_string() })?;
        Ok(TlsSetup { config: Arc::new(config), name, findings, server_name, check_chain, check_name })
    }

    /// Secures a connection to a server.
    pub async fn secure(&self, stream: Box<dyn IoStream>, setup: TlsSetup) -> Result<Secured, TlsFault> {
        let TlsSetup { config, name, findings, server_name, check_chain, check_name } = setup;
        let handshake = TlsConnector::from(config).connect(name, stream);
        let limit = self.connector().shared.config.connect_timeout;
        let done = timeout(limit, handshake).await.map_err(|_| TlsFault::TimedOut)?;
        let Findings { chain, wrong_name } = *findings.lock().unwrap_or_else(PoisonError::into_inner);
        // The findings are there where the peer has shown its certificates.
        let stream = done.map_err(|error| match chain {
            Some(code) if check_chain => TlsFault::Chain { name: server_name, code },
            None if wrong_name && check_name => TlsFault::Name { name: server_name },
            _ => TlsFault::Handshake(error),
        })?;
        let session = stream.get_ref().1;
        let cipher = session.negotiated_cipher_suite().and_then(|suite| suite.suite().as_str());
        let certificates = session.peer_certificates().unwrap_or_default();
        Ok(Secured {
            protocol: session.alpn_protocol().map(<[u8]>::to_vec),
            version: match session.protocol_version() {
                Some(ProtocolVersion::TLSv1_2) => "TLSv1.2",
                _ => "TLSv1.3",
            },
            cipher: cipher.unwrap_or_default(),
            certificates: certificates.iter().map(|certificate| certificate.to_vec()).collect(),
            chain_fault: chain,
            wrong_name,
            stream: Box::new(stream),
        })
    }
}

fn config(
    settings: &mut TlsSettings,
    built_in: &Arc<RootCertStore>,
    findings: Arc<Mutex<Findings>>,
) -> Result<ClientConfig, TlsFault> {
    let wrong = |what| move |error: Error| TlsFault::Setting { what, reason: error.to_string() };
    let provider = Arc::new(ring::default_provider());
    let mut pinned = Vec::new();
    for text in &settings.authorities {
        pinned
            .extend(certificates(text).map_err(|reason| TlsFault::Setting { what: "a certificate of `ca`", reason })?);
    }
    let roots = if settings.authorities.is_empty() {
        built_in.clone()
    } else {
        let mut roots = RootCertStore::empty();
        // Those that are no authorities are trusted as they are.
        roots.add_parsable_certificates(pinned.iter().cloned());
        Arc::new(roots)
    };
    let strictness = match (settings.check_chain, settings.check_name) {
        (true, true) => Strictness::ChainAndName,
        (true, false) => Strictness::Chain,
        (false, _) => Strictness::Nothing,
    };
    let check = CertificateCheck {
        roots,
        pinned,
        strictness,
        provider: provider.clone(),
        findings,
        _charge: settings.charge.take(),
    };
    let versions: &[&'static SupportedProtocolVersion] = match settings.versions {
        TlsVersions::All => &[&TLS13, &TLS12],
        TlsVersions::Only12 => &[&TLS12],
        TlsVersions::Only13 => &[&TLS13],
    };
    let builder = ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(versions)
        .map_err(wrong("the TLS version"))?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(check));
    let mut config = match &settings.identity {
        None => builder.with_no_client_auth(),
        Some((certificate, key)) => {
            let chain = certificates(certificate).map_err(|reason| TlsFault::Setting { what: "`cert`", reason })?;
            let key = private_key(key).map_err(|reason| TlsFault::Setting { what: "`key`", reason })?;
            builder.with_client_auth_cert(chain, key).map_err(wrong("`cert` with `key`"))?
        }
    };
    config.alpn_protocols = std::mem::take(&mut settings.protocols);
    Ok(config)
}

fn is_pem(bytes: &[u8]) -> bool {
    bytes.windows(11).any(|window| window == b"-----BEGIN ")
}

fn certificates(bytes: &[u8]) -> Result<Vec<CertificateDer<'static>>, String> {
    if !is_pem(bytes) {
        return Ok(vec![CertificateDer::from(bytes.to_vec())]);
    }
    let all =
        CertificateDer::pem_slice_iter(bytes).collect::<Result<Vec<_>, _>>().map_err(|error| error.to_string())?;
    if all.is_empty() { Err("the text has no certificate".to_owned()) } else { Ok(all) }
}

fn private_key(bytes: &[u8]) -> Result<PrivateKeyDer<'static>, String> {
    if is_pem(bytes) {
        PrivateKeyDer::from_pem_slice(bytes).map_err(|error| format!("{error}; encrypted keys are not supported"))
    } else {
        PrivateKeyDer::try_from(bytes.to_vec()).map_err(str::to_owned)
    }
}
