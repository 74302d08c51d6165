//! RSA: signatures (PKCS #1 v1.5, PSS), encryption (OAEP).

use openssl::bn::{BigNum, BigNumContext};
use openssl::encrypt::{Decrypter, Encrypter};
use openssl::pkey::{PKey, Private, Public};
use openssl::rsa::{Padding, Rsa, RsaPrivateKeyBuilder};
use openssl::sign::{RsaPssSaltlen, Signer, Verifier};

use crate::key::{CryptoKey, KeyKind, KeyPair};
use crate::{CryptoError, Hash, JwkMembers};

/// Smaller ones are refused by OpenSSL, larger ones take minutes.
const MODULUS_BITS: std::ops::RangeInclusive<u32> = 512..=16384;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RsaParameters {
    pub modulus_bits: u32,
    /// Big endian.
    pub public_exponent: Vec<u8>,
}

/// How a signature is padded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RsaPadding {
    Pkcs1,
    Pss { salt_bytes: u32 },
}

pub(crate) fn generate(parameters: &RsaParameters) -> Result<KeyPair, CryptoError> {
    let exponent = BigNum::from_slice(&parameters.public_exponent)?;
    let three = BigNum::from_u32(3)?;
    if exponent < three || !exponent.is_bit_set(0) || exponent.num_bits() > 64 {
        return Err(CryptoError::operation("the public exponent is an odd number from 3 to 2^64"));
    }
    if !MODULUS_BITS.contains(&parameters.modulus_bits) {
        return Err(CryptoError::operation(format!(
            "the modulus has {} to {} bits",
            MODULUS_BITS.start(),
            MODULUS_BITS.end()
        )));
    }
    let private = PKey::from_rsa(Rsa::generate_with_e(parameters.modulus_bits, &exponent)?)?;
    KeyPair::from_private(KeyKind::Rsa, private)
}

pub(crate) fn parameters(key: &CryptoKey) -> Result<RsaParameters, CryptoError> {
    let public = key.to_public()?.rsa()?;
    Ok(RsaParameters { modulus_bits: public.n().num_bits() as u32, public_exponent: public.e().to_vec() })
}

/// Whether the numbers can be those of a key: what OpenSSL would only find while it computes.
pub(crate) fn is_usable(n: &openssl::bn::BigNumRef, e: &openssl::bn::BigNumRef) -> bool {
    n.num_bits() > 0
        && n.num_bits() <= *MODULUS_BITS.end() as i32
        && n.is_bit_set(0)
        && e.is_bit_set(0)
        && e.num_bits() > 1
}

pub(crate) fn from_jwk(jwk: &JwkMembers) -> Result<CryptoKey, CryptoError> {
    let (n, e) = (jwk.number("n")?, jwk.number("e")?);
    if !is_usable(&n, &e) {
        return Err(CryptoError::data("the key's members \"n\" and \"e\" are no public key"));
    }
    if !jwk.has("d") {
        let key = Rsa::from_public_components(n, e)?;
        return Ok(CryptoKey::public(KeyKind::Rsa, PKey::from_rsa(key)?));
    }
    let (p, q) = (jwk.number("p")?, jwk.number("q")?);
    let mut product = BigNum::new()?;
    product.checked_mul(&p, &q, &mut *BigNumContext::new()?)?;
    if product != n {
        return Err(CryptoError::data("the key's member \"n\" is not the product of \"p\" and \"q\""));
    }
    let key = RsaPrivateKeyBuilder::new(n, e, jwk.number("d")?)?
        .set_factors(p, q)?
        .set_crt_params(jwk.number("dp")?, jwk.number("dq")?, jwk.number("qi")?)?
        .build();
    Ok(CryptoKey::private(KeyKind::Rsa, PKey::from_rsa(key)?))
}

pub(crate) fn to_jwk(key: &CryptoKey) -> Result<JwkMembers, CryptoError> {
    let mut jwk = JwkMembers::default();
    let public = key.to_public()?.rsa()?;
    jwk.set_number("n", public.n());
    jwk.set_number("e", public.e());
    if let CryptoKey::Private { key, .. } = key {
        let rsa = key.rsa()?;
        jwk.set_number("d", rsa.d());
        let numbers = [("p", rsa.p()), ("q", rsa.q()), ("dp", rsa.dmp1()), ("dq", rsa.dmq1()), ("qi", rsa.iqmp())];
        for (name, number) in numbers {
            jwk.set_number(name, number.ok_or_else(|| CryptoError::operation("the key has no factors"))?);
        }
    }
    Ok(jwk)
}

pub(crate) fn sign(padding: RsaPadding, hash: Hash, key: &PKey<Private>, data: &[u8]) -> Result<Vec<u8>, CryptoError> {
    let mut signer = Signer::new(hash.message_digest(), key)?;
    match padding {
        RsaPadding::Pkcs1 => signer.set_rsa_padding(Padding::PKCS1)?,
        RsaPadding::Pss { salt_bytes } => {
            signer.set_rsa_padding(Padding::PKCS1_PSS)?;
            signer.set_rsa_pss_saltlen(salt_length(salt_bytes)?)?;
            signer.set_rsa_mgf1_md(hash.message_digest())?;
        }
    }
    signer.update(data)?;
    Ok(signer.sign_to_vec()?)
}

pub(crate) fn verify(
    padding: RsaPadding,
    hash: Hash,
    key: &PKey<Public>,
    data: &[u8],
    signature: &[u8],
) -> Result<bool, CryptoError> {
    // OpenSSL takes a signature without its leading zeros, too.
    if signature.len() != key.size() {
        return Ok(false);
    }
    let mut verifier = Verifier::new(hash.message_digest(), key)?;
    match padding {
        RsaPadding::Pkcs1 => verifier.set_rsa_padding(Padding::PKCS1)?,
        RsaPadding::Pss { salt_bytes } => {
            verifier.set_rsa_padding(Padding::PKCS1_PSS)?;
            verifier.set_rsa_pss_saltlen(salt_length(salt_bytes)?)?;
            verifier.set_rsa_mgf1_md(hash.message_digest())?;
        }
    }
    verifier.update(data)?;
    Ok(verifier.verify(signature).unwrap_or(false))
}

fn salt_length(bytes: u32) -> Result<RsaPssSaltlen, CryptoError> {
    let bytes = i32::try_from(bytes).map_err(|_| CryptoError::operation("the salt is too long"))?;
    Ok(RsaPssSaltlen::custom(bytes))
}

pub(crate) fn encrypt(hash: Hash, label: &[u8], key: &PKey<Public>, data: &[u8]) -> Result<Vec<u8>, CryptoError> {
    let mut encrypter = Encrypter::new(key)?;
    encrypter.set_rsa_padding(Padding::PKCS1_OAEP)?;
    encrypter.set_rsa_oaep_md(hash.message_digest())?;
    encrypter.set_rsa_mgf1_md(hash.message_digest())?;
    if !label.is_empty() {
        encrypter.set_rsa_oaep_label(label)?;
    }
    let mut out = vec![0; encrypter.encrypt_len(data)?];
    let length = encrypter.encrypt(data, &mut out)?;
    out.truncate(length);
    Ok(out)
}

pub(crate) fn decrypt(hash: Hash, label: &[u8], key: &PKey<Private>, data: &[u8]) -> Result<Vec<u8>, CryptoError> {
    let mut decrypter = Decrypter::new(key)?;
    decrypter.set_rsa_padding(Padding::PKCS1_OAEP)?;
    decrypter.set_rsa_oaep_md(hash.message_digest())?;
    decrypter.set_rsa_mgf1_md(hash.message_digest())?;
    if !label.is_empty() {
        decrypter.set_rsa_oaep_label(label)?;
    }
    let mut out = vec![0; decrypter.decrypt_len(data)?];
    let length = decrypter.decrypt(data, &mut out)?;
    out.truncate(length);
    Ok(out)
}
