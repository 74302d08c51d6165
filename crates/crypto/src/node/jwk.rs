//! JSON Web Keys of the kinds that Web Cryptography does not have: secp256k1. Others are those of `crate::key`.

use openssl::bn::{BigNum, BigNumContext};
use openssl::ec::{Asn1Flag, EcGroup, EcKey, EcPoint, PointConversionForm};
use openssl::nid::Nid;
use openssl::pkey::PKey;

use super::{NodeError, Result};
use crate::key::{CryptoKey, KeyKind};
use crate::{CryptoError, Curve, JwkMembers, OkpCurve};

const SECP256K1_BYTES: usize = 32;

/// `kty` and `crv` as the key has them.
pub fn from_jwk(kty: &str, crv: &str, jwk: &JwkMembers) -> std::result::Result<CryptoKey, CryptoError> {
    let ec = || Curve::ALL.into_iter().find(|curve| curve.name() == crv).map(KeyKind::Ec);
    let okp = || OkpCurve::ALL.into_iter().find(|curve| curve.name() == crv).map(KeyKind::Okp);
    let kind = match kty {
        "RSA" => Some(KeyKind::Rsa),
        "EC" if crv == "secp256k1" => return Ok(secp256k1(jwk)?),
        "EC" => ec(),
        "OKP" => okp(),
        _ => None,
    };
    let kind = kind.ok_or_else(|| CryptoError::data("no such kind of key"))?;
    CryptoKey::import_jwk(kind, jwk)
}

fn group() -> Result<EcGroup> {
    let mut group = EcGroup::from_curve_name(Nid::SECP256K1)?;
    group.set_asn1_flag(Asn1Flag::NAMED_CURVE);
    Ok(group)
}

fn secp256k1(jwk: &JwkMembers) -> Result<CryptoKey> {
    let (x, y) = (jwk.bytes("x")?, jwk.bytes("y")?);
    if x.len() != SECP256K1_BYTES || y.len() != SECP256K1_BYTES {
        return Err(CryptoError::data("a coordinate of secp256k1 has 32 bytes").into());
    }
    let group = group()?;
    let mut context = BigNumContext::new()?;
    let point = EcPoint::from_bytes(&group, &[&[4], &x[..], &y[..]].concat(), &mut context)?;
    let public = EcKey::from_public_key(&group, &point)?;
    public.check_key()?;
    if !jwk.has("d") {
        return Ok(CryptoKey::public(KeyKind::Other, PKey::from_ec_key(public)?));
    }
    let d = BigNum::from_slice(&jwk.bytes("d")?)?;
    let key = EcKey::from_private_components(&group, &d, &point)?;
    key.check_key()?;
    Ok(CryptoKey::private(KeyKind::Other, PKey::from_ec_key(key)?))
}

/// [kty, crv] and the members; `crv` is empty where the kind has none.
pub fn to_jwk(key: &CryptoKey) -> std::result::Result<(&'static str, &'static str, JwkMembers), CryptoError> {
    let kind = match key {
        CryptoKey::Secret(_) => return Ok(("oct", "", key.export_jwk()?)),
        CryptoKey::Public { kind, .. } | CryptoKey::Private { kind, .. } => *kind,
    };
    Ok(match kind {
        KeyKind::Rsa => ("RSA", "", key.export_jwk()?),
        KeyKind::Ec(curve) => ("EC", curve.name(), key.export_jwk()?),
        KeyKind::Okp(curve) => ("OKP", curve.name(), key.export_jwk()?),
        KeyKind::Other => ("EC", "secp256k1", write_secp256k1(key)?),
    })
}

fn write_secp256k1(key: &CryptoKey) -> Result<JwkMembers> {
    let no_jwk = || NodeError::coded("ERR_CRYPTO_JWK_UNSUPPORTED_KEY_TYPE", "Unsupported JWK Key Type.");
    let public = key.to_public()?.ec_key().map_err(|_| no_jwk())?;
    if public.group().curve_name() != Some(Nid::SECP256K1) {
        let name = public.group().curve_name().and_then(|nid| nid.short_name().ok()).unwrap_or("");
        return Err(NodeError::coded(
            "ERR_CRYPTO_JWK_UNSUPPORTED_CURVE",
            format_args!("Unsupported JWK EC curve: {name}."),
        ));
    }
    let mut context = BigNumContext::new()?;
    let point = public.public_key().to_bytes(&*group()?, PointConversionForm::UNCOMPRESSED, &mut context)?;
    let mut jwk = JwkMembers::default();
    jwk.set("x", &point[1..=SECP256K1_BYTES]);
    jwk.set("y", &point[1 + SECP256K1_BYTES..]);
    if let CryptoKey::Private { key, .. } = key {
        jwk.set("d", &key.ec_key()?.private_key().to_vec_padded(SECP256K1_BYTES as i32)?);
    }
    Ok(jwk)
}
