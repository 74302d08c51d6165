//! Checks a server's certificates for an app that may decide for itself: the chain is checked in the handshake, the result is kept, and
//! the handshake fails only where the app wants it to. Signatures of the handshake are always checked.
//!
//! Codes are OpenSSL's, as Node reports them.

use std::sync::{Arc, Mutex, PoisonError};

use hearth_core::Charge;
use tokio_rustls::rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use tokio_rustls::rustls::client::{verify_server_cert_signed_by_trust_anchor, verify_server_name};
use tokio_rustls::rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use tokio_rustls::rustls::server::ParsedCertificate;
use tokio_rustls::rustls::{CertificateError, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};
use webpki::EndEntityCert;

/// What was found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Findings {
    /// Why the chain is not trusted.
    pub(crate) chain: Option<&'static str>,
    /// The certificate is not for the server's name.
    pub(crate) wrong_name: bool,
}

/// What of the findings ends the handshake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Strictness {
    Nothing,
    Chain,
    ChainAndName,
}

#[derive(Debug)]
pub(crate) struct CertificateCheck {
    pub(crate) roots: Arc<RootCertStore>,
    /// Certificates that are trusted as they are, also where they are no authorities.
    pub(crate) pinned: Vec<CertificateDer<'static>>,
    pub(crate) strictness: Strictness,
    pub(crate) provider: Arc<CryptoProvider>,
    pub(crate) findings: Arc<Mutex<Findings>>,
    /// Of `roots` and `pinned`, where they are an app's.
    pub(crate) _charge: Option<Charge>,
}

impl CertificateCheck {
    fn chain(&self, leaf: &CertificateDer<'_>, rest: &[CertificateDer<'_>], now: UnixTime) -> Option<&'static str> {
        let parsed = match ParsedCertificate::try_from(leaf) {
            Ok(parsed) => parsed,
            Err(_) => return Some("CERT_REJECTED"),
        };
        let algorithms = self.provider.signature_verification_algorithms.all;
        let error = verify_server_cert_signed_by_trust_anchor(&parsed, &self.roots, rest, now, algorithms).err()?;
        match error {
            Error::InvalidCertificate(error) => match error {
                CertificateError::Expired | CertificateError::ExpiredContext { .. } => Some("CERT_HAS_EXPIRED"),
                CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
                    Some("CERT_NOT_YET_VALID")
                }
                CertificateError::BadSignature => Some("CERT_SIGNATURE_FAILURE"),
                CertificateError::InvalidPurpose | CertificateError::InvalidPurposeContext { .. } => {
                    Some("INVALID_PURPOSE")
                }
                // Its times were checked before.
                _ if self.pinned.contains(leaf) => None,
                _ => Some(unknown_issuer(leaf, rest)),
            },
            _ => Some("UNABLE_TO_VERIFY_LEAF_SIGNATURE"),
        }
    }
}

/// Which kind of chain has no root that is known.
fn unknown_issuer(leaf: &CertificateDer<'_>, rest: &[CertificateDer<'_>]) -> &'static str {
    if is_self_signed(leaf) {
        "DEPTH_ZERO_SELF_SIGNED_CERT"
    } else if rest.iter().any(is_self_signed) {
        "SELF_SIGNED_CERT_IN_CHAIN"
    } else if rest.is_empty() {
        "UNABLE_TO_VERIFY_LEAF_SIGNATURE"
    } else {
        "UNABLE_TO_GET_ISSUER_CERT_LOCALLY"
    }
}

fn is_self_signed(certificate: &CertificateDer<'_>) -> bool {
    EndEntityCert::try_from(certificate).is_ok_and(|parsed| parsed.issuer() == parsed.subject())
}

impl ServerCertVerifier for CertificateCheck {
    fn verify_server_cert(
        &self,
        leaf: &CertificateDer<'_>,
        rest: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        _ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let chain = self.chain(leaf, rest, now);
        let wrong_name =
            ParsedCertificate::try_from(leaf).and_then(|parsed| verify_server_name(&parsed, name)).is_err();
        *self.findings.lock().unwrap_or_else(PoisonError::into_inner) = Findings { chain, wrong_name };
        let fails = match self.strictness {
            Strictness::Nothing => false,
            Strictness::Chain => chain.is_some(),
            Strictness::ChainAndName => chain.is_some() || wrong_name,
        };
        if fails {
            let error =
                if chain.is_some() { CertificateError::UnknownIssuer } else { CertificateError::NotValidForName };
            return Err(Error::InvalidCertificate(error));
        }
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, certificate, signature, &self.provider.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, certificate, signature, &self.provider.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}
