//! Octet key pairs: Ed25519, Ed448 (signatures), X25519, X448 (agreement).

use openssl::derive::Deriver;
use openssl::pkey::{Id, PKey, Private, Public};
use openssl::sign::{Signer, Verifier};

use crate::key::{CryptoKey, KeyKind, KeyPair};
use crate::{CryptoError, JwkMembers};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OkpCurve {
    Ed25519,
    Ed448,
    X25519,
    X448,
}

impl OkpCurve {
    pub const ALL: [Self; 4] = [Self::Ed25519, Self::Ed448, Self::X25519, Self::X448];

    pub fn name(self) -> &'static str {
        match self {
            Self::Ed25519 => "Ed25519",
            Self::Ed448 => "Ed448",
            Self::X25519 => "X25519",
            Self::X448 => "X448",
        }
    }

    pub(crate) fn id(self) -> Id {
        match self {
            Self::Ed25519 => Id::ED25519,
            Self::Ed448 => Id::ED448,
            Self::X25519 => Id::X25519,
            Self::X448 => Id::X448,
        }
    }

    pub(crate) fn kind(self) -> KeyKind {
        KeyKind::Okp(self)
    }

    fn key_bytes(self) -> usize {
        match self {
            Self::Ed25519 | Self::X25519 => 32,
            Self::X448 => 56,
            Self::Ed448 => 57,
        }
    }

    pub(crate) fn generate(self) -> Result<KeyPair, CryptoError> {
        let private = match self {
            Self::Ed25519 => PKey::generate_ed25519()?,
            Self::Ed448 => PKey::generate_ed448()?,
            Self::X25519 => PKey::generate_x25519()?,
            Self::X448 => PKey::generate_x448()?,
        };
        KeyPair::from_private(self.kind(), private)
    }

    pub(crate) fn public_from_raw(self, bytes: &[u8]) -> Result<PKey<Public>, CryptoError> {
        if bytes.len() != self.key_bytes() {
            return Err(CryptoError::data(format!(
                "a public key of {} has {} bytes, not {}",
                self.name(),
                self.key_bytes(),
                bytes.len()
            )));
        }
        PKey::public_key_from_raw_bytes(bytes, self.id()).map_err(|_| CryptoError::data("this is no public key"))
    }

    pub(crate) fn private_from_raw(self, bytes: &[u8]) -> Result<PKey<Private>, CryptoError> {
        if bytes.len() != self.key_bytes() {
            return Err(CryptoError::data(format!(
                "a private key of {} has {} bytes, not {}",
                self.name(),
                self.key_bytes(),
                bytes.len()
            )));
        }
        PKey::private_key_from_raw_bytes(bytes, self.id()).map_err(|_| CryptoError::data("this is no private key"))
    }

    pub(crate) fn key_from_jwk(self, jwk: &JwkMembers) -> Result<CryptoKey, CryptoError> {
        let public = self.public_from_raw(&jwk.bytes("x")?)?;
        if !jwk.has("d") {
            return Ok(CryptoKey::public(self.kind(), public));
        }
        let private = self.private_from_raw(&jwk.bytes("d")?)?;
        if !private.public_eq(&public) {
            return Err(CryptoError::data("the key's members \"x\" and \"d\" do not belong together"));
        }
        Ok(CryptoKey::private(self.kind(), private))
    }
}

pub(crate) fn to_jwk(key: &CryptoKey) -> Result<JwkMembers, CryptoError> {
    let mut jwk = JwkMembers::default();
    match key {
        CryptoKey::Public { key, .. } => jwk.set("x", &key.raw_public_key()?),
        CryptoKey::Private { key, .. } => {
            jwk.set("x", &key.raw_public_key()?);
            jwk.set("d", &key.raw_private_key()?);
        }
        CryptoKey::Secret(_) => return Err(CryptoError::operation("a secret is no key pair")),
    }
    Ok(jwk)
}

pub(crate) fn sign(key: &PKey<Private>, data: &[u8]) -> Result<Vec<u8>, CryptoError> {
    Ok(Signer::new_without_digest(key)?.sign_oneshot_to_vec(data)?)
}

pub(crate) fn verify(key: &PKey<Public>, data: &[u8], signature: &[u8]) -> Result<bool, CryptoError> {
    // A signature of another length is an error for OpenSSL; for the standard it is one that does not hold.
    Ok(Verifier::new_without_digest(key)?.verify_oneshot(signature, data).unwrap_or(false))
}

/// The secret that both sides share. A public key of small order makes it zero, which is refused.
pub(crate) fn agree(private: &PKey<Private>, public: &PKey<Public>) -> Result<Vec<u8>, CryptoError> {
    let mut deriver = Deriver::new(private)?;
    deriver.set_peer(public)?;
    let secret = deriver.derive_to_vec()?;
    if secret.iter().fold(0, |all, byte| all | byte) == 0 {
        return Err(CryptoError::operation("the public key is of small order"));
    }
    Ok(secret)
}
