//! Keys, and the formats that all kinds of key pairs share (PKCS #8, SubjectPublicKeyInfo).

use openssl::pkey::{Id, PKey, Private, Public};

use crate::node::der::bounded_key;
use crate::{CryptoError, Curve, JwkMembers, OkpCurve, RsaParameters, ec, okp, rsa};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyKind {
    Rsa,
    Ec(Curve),
    Okp(OkpCurve),
    /// What Web Cryptography has no name for: DSA, Diffie-Hellman, RSA-PSS with parameters, other curves.
    Other,
}

/// How a key is written as bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyFormat {
    /// A secret, a point, or an octet string.
    Raw,
    /// PrivateKeyInfo of RFC 5208.
    Pkcs8,
    /// SubjectPublicKeyInfo of RFC 5280.
    Spki,
}

#[derive(Clone, Debug)]
pub enum CryptoKey {
    Secret(Vec<u8>),
    Public { kind: KeyKind, key: PKey<Public> },
    Private { kind: KeyKind, key: PKey<Private> },
}

#[derive(Clone, Debug)]
pub struct KeyPair {
    pub public: CryptoKey,
    pub private: CryptoKey,
}

impl KeyPair {
    pub(crate) fn from_private(kind: KeyKind, key: PKey<Private>) -> Result<Self, CryptoError> {
        let private = CryptoKey::private(kind, key);
        Ok(Self { public: CryptoKey::public(kind, private.to_public()?), private })
    }
}

impl CryptoKey {
    pub(crate) fn public(kind: KeyKind, key: PKey<Public>) -> Self {
        Self::Public { kind, key }
    }

    pub(crate) fn private(kind: KeyKind, key: PKey<Private>) -> Self {
        Self::Private { kind, key }
    }

    /// A key of a pair from bytes.
    pub fn import(kind: KeyKind, format: KeyFormat, data: &[u8]) -> Result<Self, CryptoError> {
        let invalid = |_| CryptoError::data("the key cannot be read");
        match format {
            KeyFormat::Raw => Ok(Self::public(
                kind,
                match kind {
                    KeyKind::Ec(curve) => curve.public_from_raw(data)?,
                    KeyKind::Okp(curve) => curve.public_from_raw(data)?,
                    KeyKind::Rsa | KeyKind::Other => {
                        return Err(CryptoError::NotSupported("keys of this kind have no raw format".into()));
                    }
                },
            )),
            KeyFormat::Spki => {
                let key = PKey::public_key_from_der(whole_der(data)?).map_err(invalid)?;
                check_kind(&key, kind)?;
                Ok(Self::public(kind, key))
            }
            KeyFormat::Pkcs8 => {
                let key = PKey::private_key_from_pkcs8(whole_der(data)?).map_err(invalid)?;
                check_kind(&key, kind)?;
                Ok(Self::private(kind, key))
            }
        }
    }

    pub fn import_jwk(kind: KeyKind, jwk: &JwkMembers) -> Result<Self, CryptoError> {
        match kind {
            KeyKind::Rsa => rsa::from_jwk(jwk),
            KeyKind::Ec(curve) => curve.key_from_jwk(jwk),
            KeyKind::Okp(curve) => curve.key_from_jwk(jwk),
            KeyKind::Other => Err(CryptoError::NotSupported("keys of this kind are no JSON Web Keys".into())),
        }
    }

    /// The secret of a JSON Web CryptoKey of type "oct".
    pub fn import_jwk_secret(jwk: &JwkMembers) -> Result<Self, CryptoError> {
        Ok(Self::Secret(jwk.bytes("k")?))
    }

    pub fn export(&self, format: KeyFormat) -> Result<Vec<u8>, CryptoError> {
        match (self, format) {
            (Self::Secret(bytes), KeyFormat::Raw) => Ok(bytes.clone()),
            (Self::Public { key, .. }, KeyFormat::Spki) => Ok(key.public_key_to_der()?),
            (Self::Private { key, .. }, KeyFormat::Pkcs8) => Ok(key.private_key_to_pkcs8()?),
            (Self::Public { kind: KeyKind::Ec(curve), key }, KeyFormat::Raw) => ec::to_raw(*curve, key),
            (Self::Public { kind: KeyKind::Okp(_), key }, KeyFormat::Raw) => Ok(key.raw_public_key()?),
            _ => Err(CryptoError::NotSupported("the key has no such format".into())),
        }
    }

    pub fn export_jwk(&self) -> Result<JwkMembers, CryptoError> {
        match self {
            Self::Secret(bytes) => {
                let mut jwk = JwkMembers::default();
                jwk.set("k", bytes);
                Ok(jwk)
            }
            Self::Public { kind, .. } | Self::Private { kind, .. } => match kind {
                KeyKind::Rsa => rsa::to_jwk(self),
                KeyKind::Ec(curve) => ec::to_jwk(*curve, self),
                KeyKind::Okp(_) => okp::to_jwk(self),
                KeyKind::Other => Err(CryptoError::NotSupported("keys of this kind are no JSON Web Keys".into())),
            },
        }
    }

    /// Modulus and exponent of an RSA key.
    pub fn rsa_parameters(&self) -> Result<RsaParameters, CryptoError> {
        rsa::parameters(self)
    }

    /// The public half.
    pub(crate) fn to_public(&self) -> Result<PKey<Public>, CryptoError> {
        match self {
            Self::Public { key, .. } => Ok(key.clone()),
            Self::Private { key, .. } => Ok(PKey::public_key_from_der(&key.public_key_to_der()?)?),
            Self::Secret(_) => Err(CryptoError::operation("a secret has no public half")),
        }
    }

    /// The public half as a key of its own.
    pub fn public_half(&self) -> Result<Self, CryptoError> {
        match self {
            Self::Public { kind, .. } | Self::Private { kind, .. } => Ok(Self::public(*kind, self.to_public()?)),
            Self::Secret(_) => Err(CryptoError::operation("a secret has no public half")),
        }
    }

    /// The bytes of a secret.
    pub fn secret_bytes(&self) -> Result<&[u8], CryptoError> {
        self.secret()
    }

    pub(crate) fn secret(&self) -> Result<&[u8], CryptoError> {
        match self {
            Self::Secret(bytes) => Ok(bytes),
            _ => Err(CryptoError::operation("the key is no secret")),
        }
    }

    pub(crate) fn public_key(&self) -> Result<(KeyKind, &PKey<Public>), CryptoError> {
        match self {
            Self::Public { kind, key } => Ok((*kind, key)),
            _ => Err(CryptoError::operation("the key is no public key")),
        }
    }

    pub(crate) fn private_key(&self) -> Result<(KeyKind, &PKey<Private>), CryptoError> {
        match self {
            Self::Private { kind, key } => Ok((*kind, key)),
            _ => Err(CryptoError::operation("the key is no private key")),
        }
    }

    /// About how many bytes it holds.
    pub fn memory(&self) -> usize {
        match self {
            Self::Secret(bytes) => bytes.len(),
            Self::Public { key, .. } => key.size() * 4,
            Self::Private { key, .. } => key.size() * 16,
        }
    }
}

fn check_kind<T: openssl::pkey::HasPublic>(key: &PKey<T>, kind: KeyKind) -> Result<(), CryptoError> {
    let fits = match kind {
        KeyKind::Rsa => key.id() == Id::RSA && key.rsa().is_ok_and(|key| rsa::is_usable(key.n(), key.e())),
        KeyKind::Ec(curve) => key.id() == Id::EC && ec::is_on(key, curve),
        KeyKind::Okp(curve) => key.id() == curve.id(),
        KeyKind::Other => false,
    };
    if fits { Ok(()) } else { Err(CryptoError::data("the key is of another kind than the algorithm's")) }
}

/// Refuses bytes behind the first element, which OpenSSL does not look at, and numbers that it would compute with for long.
fn whole_der(data: &[u8]) -> Result<&[u8], CryptoError> {
    let invalid = || CryptoError::data("the key is not written in DER");
    let key = bounded_key(data).ok_or_else(invalid)?;
    if key.len() == data.len() { Ok(data) } else { Err(invalid()) }
}
