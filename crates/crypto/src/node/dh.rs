//! Diffie-Hellman: groups, agreement, and the points of elliptic curves.

use openssl::asn1::Asn1Object;
use openssl::bn::{BigNum, BigNumContext, BigNumRef};
use openssl::derive::Deriver;
use openssl::dh::Dh;
use openssl::ec::{EcGroup, EcPoint, PointConversionForm};
use openssl::nid::Nid;
use openssl::pkey::Params;

use super::{NodeError, Result};
use crate::{CryptoError, CryptoKey};

/// Numbers, big endian.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DhGroup {
    pub prime: Vec<u8>,
    pub generator: Vec<u8>,
}

/// What OpenSSL computes with.
const MAX_PRIME_BITS: i32 = 10_000;

/// The groups of RFC 2409 and RFC 3526, by their names in Node.
pub fn modp_group(name: &str) -> Option<DhGroup> {
    let prime = match name {
        "modp1" => BigNum::get_rfc2409_prime_768(),
        "modp2" => BigNum::get_rfc2409_prime_1024(),
        "modp5" => BigNum::get_rfc3526_prime_1536(),
        "modp14" => BigNum::get_rfc3526_prime_2048(),
        "modp15" => BigNum::get_rfc3526_prime_3072(),
        "modp16" => BigNum::get_rfc3526_prime_4096(),
        "modp17" => BigNum::get_rfc3526_prime_6144(),
        "modp18" => BigNum::get_rfc3526_prime_8192(),
        _ => return None,
    };
    Some(DhGroup { prime: prime.ok()?.to_vec(), generator: vec![2] })
}

/// What OpenSSL takes to compute: nothing may be longer than the prime, whose length says the cost.
fn check_lengths(prime: &BigNumRef, generator: Option<&BigNumRef>, private: Option<&BigNumRef>) -> Result<()> {
    if prime.num_bits() > MAX_PRIME_BITS {
        return Err(NodeError::plain("error:02800067:Diffie-Hellman routines::modulus too large"));
    }
    if generator.is_some_and(|generator| generator.num_bits() > prime.num_bits()) {
        return Err(NodeError::plain("error:02800065:Diffie-Hellman routines::bad generator"));
    }
    if private.is_some_and(|private| private.num_bits() > prime.num_bits()) {
        return Err(NodeError::coded("ERR_CRYPTO_INVALID_KEYLEN", "Private key is longer than the prime"));
    }
    Ok(())
}

pub(super) fn parameters(group: &DhGroup) -> Result<Dh<Params>> {
    let (prime, generator) = (BigNum::from_slice(&group.prime)?, BigNum::from_slice(&group.generator)?);
    check_lengths(&prime, Some(&generator), None)?;
    Ok(Dh::from_pqg(prime, None, generator)?)
}

/// [private, public]; the private key is the given one, or a new one.
pub(super) fn generate(group: &DhGroup, private: Option<&[u8]>) -> Result<Vec<Vec<u8>>> {
    let Some(private) = private else {
        let key = parameters(group)?.generate_key()?;
        return Ok(vec![key.private_key().to_vec(), key.public_key().to_vec()]);
    };
    let (prime, generator) = (BigNum::from_slice(&group.prime)?, BigNum::from_slice(&group.generator)?);
    let mut exponent = BigNum::from_slice(private)?;
    check_lengths(&prime, Some(&generator), Some(&exponent))?;
    let mut public = BigNum::new()?;
    exponent.set_const_time();
    public.mod_exp(&generator, &exponent, &prime, &mut *BigNumContext::new()?)?;
    Ok(vec![private.to_vec(), public.to_vec()])
}

/// The shared secret, as long as the prime.
pub(super) fn compute(group: &DhGroup, private: &[u8], public: &[u8]) -> Result<Vec<u8>> {
    let public = BigNum::from_slice(public)?;
    let (one, prime) = (BigNum::from_u32(1)?, BigNum::from_slice(&group.prime)?);
    let too_small = NodeError::coded("ERR_CRYPTO_INVALID_KEYLEN", "Supplied key is too small");
    if public <= one {
        return Err(too_small);
    }
    if public >= &prime - &one {
        return Err(NodeError::coded("ERR_CRYPTO_INVALID_KEYLEN", "Supplied key is too large"));
    }
    let mut exponent = BigNum::from_slice(private)?;
    check_lengths(&prime, None, Some(&exponent))?;
    exponent.set_const_time();
    let mut secret = BigNum::new()?;
    secret.mod_exp(&public, &exponent, &prime, &mut *BigNumContext::new()?)?;
    Ok(secret.to_vec_padded(prime.num_bytes())?)
}

/// `diffieHellman`: of keys of any kind that agree.
pub(super) fn agree(private: &CryptoKey, public: &CryptoKey) -> Result<Vec<u8>> {
    let (_, private) = private.private_key()?;
    let public = public.to_public()?;
    let mut deriver = Deriver::new(private)?;
    deriver.set_peer(&public)?;
    let secret = deriver.derive_to_vec()?;
    // For Diffie-Hellman proper Node gives as many bytes as the prime has.
    let bytes = private.dh().map_or(0, |dh| dh.prime_p().num_bytes() as usize);
    Ok([vec![0; bytes.saturating_sub(secret.len())], secret].concat())
}

// ---- Elliptic curves

const CURVES: &[&str] = &[
    "Oakley-EC2N-3",
    "Oakley-EC2N-4",
    "SM2",
    "brainpoolP160r1",
    "brainpoolP160t1",
    "brainpoolP192r1",
    "brainpoolP192t1",
    "brainpoolP224r1",
    "brainpoolP224t1",
    "brainpoolP256r1",
    "brainpoolP256t1",
    "brainpoolP320r1",
    "brainpoolP320t1",
    "brainpoolP384r1",
    "brainpoolP384t1",
    "brainpoolP512r1",
    "brainpoolP512t1",
    "c2pnb163v1",
    "c2pnb163v2",
    "c2pnb163v3",
    "c2pnb176v1",
    "c2pnb208w1",
    "c2pnb272w1",
    "c2pnb304w1",
    "c2pnb368w1",
    "c2tnb191v1",
    "c2tnb191v2",
    "c2tnb191v3",
    "c2tnb239v1",
    "c2tnb239v2",
    "c2tnb239v3",
    "c2tnb359v1",
    "c2tnb431r1",
    "prime192v1",
    "prime192v2",
    "prime192v3",
    "prime239v1",
    "prime239v2",
    "prime239v3",
    "prime256v1",
    "secp112r1",
    "secp112r2",
    "secp128r1",
    "secp128r2",
    "secp160k1",
    "secp160r1",
    "secp160r2",
    "secp192k1",
    "secp224k1",
    "secp224r1",
    "secp256k1",
    "secp384r1",
    "secp521r1",
    "sect113r1",
    "sect113r2",
    "sect131r1",
    "sect131r2",
    "sect163k1",
    "sect163r1",
    "sect163r2",
    "sect193r1",
    "sect193r2",
    "sect233k1",
    "sect233r1",
    "sect239k1",
    "sect283k1",
    "sect283r1",
    "sect409k1",
    "sect409r1",
    "sect571k1",
    "sect571r1",
    "wap-wsg-idm-ecid-wtls1",
    "wap-wsg-idm-ecid-wtls10",
    "wap-wsg-idm-ecid-wtls11",
    "wap-wsg-idm-ecid-wtls12",
    "wap-wsg-idm-ecid-wtls3",
    "wap-wsg-idm-ecid-wtls4",
    "wap-wsg-idm-ecid-wtls5",
    "wap-wsg-idm-ecid-wtls6",
    "wap-wsg-idm-ecid-wtls7",
    "wap-wsg-idm-ecid-wtls8",
    "wap-wsg-idm-ecid-wtls9",
];

pub fn curve_names() -> impl Iterator<Item = &'static str> {
    CURVES.iter().copied().filter(|name| curve_nid(name).is_some())
}

pub(super) fn curve_nid(name: &str) -> Option<Nid> {
    let nid = match name {
        "P-256" => Nid::X9_62_PRIME256V1,
        "P-384" => Nid::SECP384R1,
        "P-521" => Nid::SECP521R1,
        _ => Asn1Object::from_str(name).ok()?.nid(),
    };
    EcGroup::from_curve_name(nid).is_ok().then_some(nid)
}

fn group(curve: &str) -> Result<EcGroup> {
    let nid = curve_nid(curve).ok_or_else(|| NodeError::coded("ERR_CRYPTO_INVALID_CURVE", "Invalid EC curve name"))?;
    Ok(EcGroup::from_curve_name(nid)?)
}

fn form(name: &str) -> PointConversionForm {
    match name {
        "compressed" => PointConversionForm::COMPRESSED,
        "hybrid" => PointConversionForm::HYBRID,
        _ => PointConversionForm::UNCOMPRESSED,
    }
}

/// A point in another form.
pub fn ecdh_convert(curve: &str, point: &[u8], form_name: &str) -> std::result::Result<Vec<u8>, CryptoError> {
    let convert = || {
        let group = group(curve)?;
        let mut context = BigNumContext::new()?;
        let point = EcPoint::from_bytes(&group, point, &mut context)
            .map_err(|_| NodeError::plain("Failed to convert Buffer to EC_POINT"))?;
        Ok::<_, NodeError>(point.to_bytes(&group, form(form_name), &mut context)?)
    };
    Ok(convert()?)
}

/// The public point of a private key.
pub fn ecdh_public(curve: &str, private: &[u8]) -> std::result::Result<Vec<u8>, CryptoError> {
    Ok(public_point(curve, private)?)
}

fn public_point(curve: &str, private: &[u8]) -> Result<Vec<u8>> {
    let group = group(curve)?;
    let mut context = BigNumContext::new()?;
    let mut exponent = BigNum::from_slice(private)?;
    let mut order = BigNum::new()?;
    group.order(&mut order, &mut context)?;
    if exponent.num_bits() == 0 || exponent >= order {
        return Err(NodeError::coded("ERR_CRYPTO_INVALID_KEYTYPE", "Private key is not valid for specified curve."));
    }
    exponent.set_const_time();
    let mut point = EcPoint::new(&group)?;
    point.mul_generator2(&group, &exponent, &mut context)?;
    Ok(point.to_bytes(&group, PointConversionForm::UNCOMPRESSED, &mut context)?)
}

/// [private, public point]
pub(super) fn ecdh_generate(curve: &str) -> Result<Vec<Vec<u8>>> {
    let group = group(curve)?;
    let key = openssl::ec::EcKey::generate(&group)?;
    let mut context = BigNumContext::new()?;
    let point = key.public_key().to_bytes(&group, PointConversionForm::UNCOMPRESSED, &mut context)?;
    Ok(vec![key.private_key().to_vec(), point])
}

/// The x-coordinate of the point that both sides come to.
pub(super) fn ecdh_compute(curve: &str, private: &[u8], public: &[u8]) -> Result<Vec<u8>> {
    let invalid =
        || NodeError::coded("ERR_CRYPTO_ECDH_INVALID_PUBLIC_KEY", "Public key is not valid for specified curve");
    let group = group(curve)?;
    let mut context = BigNumContext::new()?;
    let theirs = EcPoint::from_bytes(&group, public, &mut context).map_err(|_| invalid())?;
    let theirs = openssl::ec::EcKey::from_public_key(&group, &theirs)?;
    theirs.check_key().map_err(|_| invalid())?;
    let own = EcPoint::from_bytes(&group, &public_point(curve, private)?, &mut context)?;
    let number = BigNum::from_slice(private)?;
    let own = openssl::ec::EcKey::from_private_components(&group, &number, &own)?;
    let (own, theirs) = (openssl::pkey::PKey::from_ec_key(own)?, openssl::pkey::PKey::from_ec_key(theirs)?);
    let mut deriver = Deriver::new(&own)?;
    deriver.set_peer(&theirs)?;
    Ok(deriver.derive_to_vec()?)
}
