//! Generation of key pairs of all kinds.

use openssl::dh::Dh;
use openssl::dsa::Dsa;
use openssl::ec::{Asn1Flag, EcGroup, EcKey};
use openssl::pkey::{KeyType, PKey, Private};

use super::dh::{DhGroup, curve_nid, parameters};
use super::write::PSS_HASHES;
use super::{NodeError, Result, der, read};
use crate::key::{CryptoKey, KeyPair};
use crate::{OkpCurve, RsaParameters, rsa};

#[derive(Clone, Debug)]
pub enum PairSpec {
    Rsa(RsaParameters),
    RsaPss {
        rsa: RsaParameters,
        hash: Option<String>,
        mgf1_hash: Option<String>,
        salt_bytes: Option<u32>,
    },
    Dsa {
        modulus_bits: u32,
    },
    Ec {
        curve: String,
        explicit: bool,
    },
    Okp(OkpCurve),
    Dh(DhGroup),
    /// A generator and the bits of a prime that is to be found.
    DhPrime {
        bits: u32,
        generator: u32,
    },
    MlDsa(u32),
    MlKem(u32),
}

pub(super) fn generate(spec: &PairSpec) -> Result<KeyPair> {
    let key = match spec {
        PairSpec::Rsa(parameters) => return Ok(rsa::generate(parameters)?),
        PairSpec::Okp(curve) => return Ok(curve.generate()?),
        PairSpec::RsaPss { rsa, hash, mgf1_hash, salt_bytes } => {
            let CryptoKey::Private { key, .. } = rsa::generate(rsa)?.private else {
                return Err(NodeError::plain("internal: a private key was expected"));
            };
            restricted(&key, hash.as_deref(), mgf1_hash.as_deref(), *salt_bytes)?
        }
        PairSpec::Dsa { modulus_bits } => PKey::from_dsa(Dsa::generate(*modulus_bits)?)?,
        PairSpec::Ec { curve, explicit } => {
            let nid = curve_nid(curve)
                .ok_or_else(|| NodeError::coded("ERR_CRYPTO_INVALID_CURVE", "Invalid EC curve name"))?;
            let mut group = EcGroup::from_curve_name(nid)?;
            group.set_asn1_flag(if *explicit { Asn1Flag::EXPLICIT_CURVE } else { Asn1Flag::NAMED_CURVE });
            PKey::from_ec_key(EcKey::generate(&group)?)?
        }
        PairSpec::Dh(group) => PKey::from_dh(parameters(group)?.generate_key()?)?,
        PairSpec::DhPrime { bits, generator } => {
            PKey::from_dh(Dh::generate_params(*bits, *generator)?.generate_key()?)?
        }
        PairSpec::MlDsa(level) => from_seed(
            match level {
                44 => KeyType::ML_DSA_44,
                65 => KeyType::ML_DSA_65,
                _ => KeyType::ML_DSA_87,
            },
            32,
        )?,
        PairSpec::MlKem(level) => from_seed(
            match level {
                512 => KeyType::ML_KEM_512,
                768 => KeyType::ML_KEM_768,
                _ => KeyType::ML_KEM_1024,
            },
            64,
        )?,
    };
    let kind = read::kind_of(&key);
    let public = CryptoKey::public(kind, read::public_half(&key)?);
    Ok(KeyPair { public, private: CryptoKey::private(kind, key) })
}

fn from_seed(kind: KeyType, bytes: usize) -> Result<PKey<Private>> {
    let mut seed = vec![0; bytes];
    openssl::rand::rand_priv_bytes(&mut seed)?;
    Ok(PKey::private_key_from_seed(None, kind, None, &seed)?)
}

const RSA_PSS_OID: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x0a];
const MGF1_OID: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x08];

/// The same key as an RSA-PSS one: its PKCS #8 with another algorithm (RFC 8017, A.2.3).
fn restricted(
    key: &PKey<Private>,
    hash: Option<&str>,
    mgf1_hash: Option<&str>,
    salt_bytes: Option<u32>,
) -> Result<PKey<Private>> {
    let mut fields = Vec::new();
    if hash.is_some() || mgf1_hash.is_some() || salt_bytes.is_some() {
        let main = hash.unwrap_or("sha1");
        let mgf1 = mgf1_hash.unwrap_or(main);
        let sha1 = |name: &str| name.eq_ignore_ascii_case("sha1");
        if !sha1(main) {
            fields.push(der::build(0xa0, &[&hash_algorithm(main)?]));
        }
        if !sha1(mgf1) {
            let oid = der::build(der::OBJECT, &[MGF1_OID]);
            let algorithm = der::build(der::SEQUENCE, &[&oid, &hash_algorithm(mgf1)?]);
            fields.push(der::build(0xa1, &[&algorithm]));
        }
        if let Some(bytes) = salt_bytes.filter(|bytes| *bytes != 20) {
            let bytes = bytes.to_be_bytes();
            let first = bytes.iter().position(|byte| *byte != 0).unwrap_or(3);
            let digits = &bytes[first..];
            let zero: &[u8] = if digits[0] >= 0x80 { &[0] } else { &[] };
            fields.push(der::build(0xa2, &[&der::build(der::INTEGER, &[zero, digits])]));
        }
    }
    let fields: Vec<&[u8]> = fields.iter().map(Vec::as_slice).collect();
    let oid = der::build(der::OBJECT, &[RSA_PSS_OID]);
    let none = hash.is_none() && mgf1_hash.is_none() && salt_bytes.is_none();
    let parameters = if none { Vec::new() } else { der::build(der::SEQUENCE, &fields) };
    let algorithm = der::build(der::SEQUENCE, &[&oid, &parameters]);
    let inner = der::build(der::OCTET_STRING, &[&key.rsa()?.private_key_to_der()?]);
    let pkcs8 = der::build(der::SEQUENCE, &[&[der::INTEGER, 1, 0], &algorithm, &inner]);
    Ok(PKey::private_key_from_pkcs8(&pkcs8)?)
}

fn hash_algorithm(name: &str) -> Result<Vec<u8>> {
    let known = PSS_HASHES.iter().find(|(known, _)| {
        known.eq_ignore_ascii_case(name) || name.eq_ignore_ascii_case(&known.replace("sha", "sha-"))
    });
    let (_, oid) =
        known.ok_or_else(|| NodeError::coded("ERR_CRYPTO_INVALID_DIGEST", format_args!("Invalid digest: {name}")))?;
    Ok(der::build(der::SEQUENCE, &[&der::build(der::OBJECT, &[oid]), &[5, 0]]))
}
