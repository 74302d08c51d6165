//! Keys as PEM and DER, and what can be said of them.

use openssl::nid::Nid;
use openssl::pkey::{HasPublic, Id, KeyType, PKey, PKeyRef};
use openssl::symm::Cipher;

use super::{NodeError, Result, cipher_info, der};
use crate::{CryptoError, CryptoKey};

/// How a private key is encrypted.
#[derive(Clone, Debug)]
pub struct Encryption {
    pub cipher: String,
    pub passphrase: Vec<u8>,
}

/// `asymmetricKeyDetails`: what the key does not have is none.
#[derive(Clone, Debug, Default)]
pub struct KeyDetails {
    pub modulus_bits: Option<u32>,
    /// Big endian.
    pub public_exponent: Option<Vec<u8>>,
    pub hash: Option<String>,
    pub mgf1_hash: Option<String>,
    pub salt_bytes: Option<u32>,
    pub divisor_bits: Option<u32>,
    pub curve: Option<String>,
}

const PROVIDED: [(KeyType, &str); 6] = [
    (KeyType::ML_DSA_44, "ml-dsa-44"),
    (KeyType::ML_DSA_65, "ml-dsa-65"),
    (KeyType::ML_DSA_87, "ml-dsa-87"),
    (KeyType::ML_KEM_512, "ml-kem-512"),
    (KeyType::ML_KEM_768, "ml-kem-768"),
    (KeyType::ML_KEM_1024, "ml-kem-1024"),
];

fn type_name<T: HasPublic>(key: &PKeyRef<T>) -> &'static str {
    match key.id() {
        Id::RSA => "rsa",
        Id::RSA_PSS => "rsa-pss",
        Id::DSA => "dsa",
        Id::DH | Id::DHX => "dh",
        Id::EC | Id::SM2 => "ec",
        Id::ED25519 => "ed25519",
        Id::ED448 => "ed448",
        Id::X25519 => "x25519",
        Id::X448 => "x448",
        _ => PROVIDED.into_iter().find(|(name, _)| key.is_a(*name)).map_or("", |(_, name)| name),
    }
}

/// `asymmetricKeyType`; empty for what Node has no name for.
pub fn key_type(key: &CryptoKey) -> Option<&'static str> {
    match key {
        CryptoKey::Secret(_) => None,
        CryptoKey::Public { key, .. } => Some(type_name(key)),
        CryptoKey::Private { key, .. } => Some(type_name(key)),
    }
}

pub fn details(key: &CryptoKey) -> std::result::Result<KeyDetails, CryptoError> {
    Ok(match key {
        CryptoKey::Secret(_) => KeyDetails::default(),
        CryptoKey::Public { key, .. } => details_of(key)?,
        CryptoKey::Private { key, .. } => details_of(key)?,
    })
}

fn details_of<T: HasPublic>(key: &PKey<T>) -> Result<KeyDetails> {
    let mut details = KeyDetails::default();
    match key.id() {
        Id::RSA | Id::RSA_PSS => {
            let rsa = key.rsa()?;
            details.modulus_bits = Some(rsa.n().num_bits() as u32);
            details.public_exponent = Some(rsa.e().to_vec());
            if key.id() == Id::RSA_PSS {
                pss_parameters(&key.public_key_to_der()?, &mut details);
            }
        }
        Id::DSA => {
            let dsa = key.dsa()?;
            details.modulus_bits = Some(dsa.p().num_bits() as u32);
            details.divisor_bits = Some(dsa.q().num_bits() as u32);
        }
        Id::EC => {
            let curve = key.ec_key()?.group().curve_name();
            details.curve = curve.and_then(|nid| nid.short_name().ok()).map(str::to_owned);
        }
        _ => {}
    }
    Ok(details)
}

/// The restrictions in the algorithm of an RSA-PSS key (RFC 8017, A.2.3); a key without them has none.
fn pss_parameters(spki: &[u8], details: &mut KeyDetails) -> Option<()> {
    let (spki, _) = der::expect(spki, der::SEQUENCE)?;
    let (algorithm, _) = der::expect(spki, der::SEQUENCE)?;
    let (_, parameters) = der::expect(algorithm, der::OBJECT)?;
    let (mut fields, _) = der::expect(parameters, der::SEQUENCE)?;
    details.hash = Some("sha1".to_owned());
    details.mgf1_hash = Some("sha1".to_owned());
    details.salt_bytes = Some(20);
    while let Some((tag, content, rest)) = der::element(fields) {
        fields = rest;
        match tag {
            0xa0 => details.hash = hash_name(content),
            0xa1 => {
                let (algorithm, _) = der::expect(content, der::SEQUENCE)?;
                let (_, parameters) = der::expect(algorithm, der::OBJECT)?;
                details.mgf1_hash = hash_name(parameters);
            }
            0xa2 => details.salt_bytes = der::largest_integer(content, 0).and_then(|bytes| u32::try_from(bytes).ok()),
            _ => {}
        }
    }
    Some(())
}

pub(super) const PSS_HASHES: [(&str, &[u8]); 8] = [
    ("sha1", &[0x2b, 0x0e, 0x03, 0x02, 0x1a]),
    ("sha224", &[0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, 0x04]),
    ("sha256", &[0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, 0x01]),
    ("sha384", &[0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, 0x02]),
    ("sha512", &[0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, 0x03]),
    ("sha512-224", &[0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, 0x05]),
    ("sha512-256", &[0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, 0x06]),
    ("sha3-256", &[0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, 0x08]),
];

fn hash_name(algorithm: &[u8]) -> Option<String> {
    let (algorithm, _) = der::expect(algorithm, der::SEQUENCE)?;
    let (oid, _) = der::expect(algorithm, der::OBJECT)?;
    PSS_HASHES.iter().find(|(_, known)| *known == oid).map(|(name, _)| (*name).to_owned())
}

pub fn equals(one: &CryptoKey, other: &CryptoKey) -> bool {
    match (one, other) {
        (CryptoKey::Secret(one), CryptoKey::Secret(other)) => crate::constant_time_eq(one, other),
        (CryptoKey::Public { key: one, .. }, CryptoKey::Public { key: other, .. }) => one.public_eq(other),
        (CryptoKey::Private { key: one, .. }, CryptoKey::Private { key: other, .. }) => one.public_eq(other),
        _ => false,
    }
}

/// `form` is `spki` or `pkcs1`.
pub fn write_public(key: &CryptoKey, pem: bool, form: &str) -> std::result::Result<Vec<u8>, CryptoError> {
    Ok(match key {
        CryptoKey::Public { key, .. } => public(key, pem, form)?,
        CryptoKey::Private { key, .. } => public(key, pem, form)?,
        CryptoKey::Secret(_) => return Err(CryptoError::operation("a secret has no public half")),
    })
}

fn public<T: HasPublic>(key: &PKeyRef<T>, pem: bool, form: &str) -> Result<Vec<u8>> {
    if form == "pkcs1" {
        let rsa = key.rsa().map_err(|_| only("pkcs1", "RSA"))?;
        return Ok(if pem { rsa.public_key_to_pem_pkcs1()? } else { rsa.public_key_to_der_pkcs1()? });
    }
    Ok(if pem { key.public_key_to_pem()? } else { key.public_key_to_der()? })
}

fn only(form: &str, kind: &str) -> NodeError {
    NodeError::coded(
        "ERR_CRYPTO_INCOMPATIBLE_KEY_OPTIONS",
        format_args!("The selected key encoding {form} can only be used for {kind} keys."),
    )
}

/// `form` is `pkcs8`, `pkcs1` or `sec1`.
pub fn write_private(
    key: &CryptoKey,
    pem: bool,
    form: &str,
    encryption: Option<&Encryption>,
) -> std::result::Result<Vec<u8>, CryptoError> {
    let CryptoKey::Private { key, .. } = key else {
        return Err(CryptoError::operation("the key is no private key"));
    };
    Ok(private(key, pem, form, encryption)?)
}

fn private(
    key: &PKeyRef<openssl::pkey::Private>,
    pem: bool,
    form: &str,
    encryption: Option<&Encryption>,
) -> Result<Vec<u8>> {
    let sealed =
        encryption.map(|encryption| Ok::<_, NodeError>((symmetric(&encryption.cipher)?, &encryption.passphrase[..])));
    let sealed = sealed.transpose()?;
    match form {
        "pkcs1" => {
            let rsa = if key.id() == Id::RSA { key.rsa()? } else { return Err(only("pkcs1", "RSA")) };
            Ok(match sealed {
                Some((cipher, passphrase)) => rsa.private_key_to_pem_passphrase(cipher, passphrase)?,
                None if pem => rsa.private_key_to_pem()?,
                None => rsa.private_key_to_der()?,
            })
        }
        "sec1" => {
            let ec = key.ec_key().map_err(|_| only("sec1", "EC"))?;
            Ok(match sealed {
                Some((cipher, passphrase)) => ec.private_key_to_pem_passphrase(cipher, passphrase)?,
                None if pem => ec.private_key_to_pem()?,
                None => ec.private_key_to_der()?,
            })
        }
        _ => Ok(match sealed {
            Some((cipher, passphrase)) if pem => key.private_key_to_pem_pkcs8_passphrase(cipher, passphrase)?,
            Some((cipher, passphrase)) => key.private_key_to_pkcs8_passphrase(cipher, passphrase)?,
            None if pem => key.private_key_to_pem_pkcs8()?,
            None => key.private_key_to_pkcs8()?,
        }),
    }
}

fn symmetric(name: &str) -> Result<Cipher> {
    let unknown = || NodeError::coded("ERR_CRYPTO_UNKNOWN_CIPHER", "Unknown cipher");
    let nid = cipher_info(name).ok_or_else(unknown)?.nid;
    Cipher::from_nid(Nid::from_raw(nid)).ok_or_else(unknown)
}
