//! Elliptic curves of NIST: ECDSA and ECDH.

use openssl::bn::{BigNum, BigNumContext};
use openssl::derive::Deriver;
use openssl::ec::{Asn1Flag, EcGroup, EcKey, EcPoint, PointConversionForm};
use openssl::ecdsa::EcdsaSig;
use openssl::nid::Nid;
use openssl::pkey::{PKey, Private, Public};

use crate::key::{CryptoKey, KeyKind, KeyPair};
use crate::{CryptoError, Hash, JwkMembers};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Curve {
    P256,
    P384,
    P521,
}

impl Curve {
    pub const ALL: [Self; 3] = [Self::P256, Self::P384, Self::P521];

    pub fn name(self) -> &'static str {
        match self {
            Self::P256 => "P-256",
            Self::P384 => "P-384",
            Self::P521 => "P-521",
        }
    }

    pub(crate) fn nid(self) -> Nid {
        match self {
            Self::P256 => Nid::X9_62_PRIME256V1,
            Self::P384 => Nid::SECP384R1,
            Self::P521 => Nid::SECP521R1,
        }
    }

    pub(crate) fn kind(self) -> KeyKind {
        KeyKind::Ec(self)
    }

    /// How many bytes a coordinate has.
    fn bytes(self) -> usize {
        match self {
            Self::P256 => 32,
            Self::P384 => 48,
            Self::P521 => 66,
        }
    }

    fn group(self) -> Result<EcGroup, CryptoError> {
        let mut group = EcGroup::from_curve_name(self.nid())?;
        group.set_asn1_flag(Asn1Flag::NAMED_CURVE);
        Ok(group)
    }

    pub(crate) fn generate(self) -> Result<KeyPair, CryptoError> {
        let private = PKey::from_ec_key(EcKey::generate(&*self.group()?)?)?;
        KeyPair::from_private(self.kind(), private)
    }

    /// A point as SEC 1 has it, compressed or not.
    pub(crate) fn public_from_raw(self, bytes: &[u8]) -> Result<PKey<Public>, CryptoError> {
        let invalid = |_| CryptoError::data(format!("this is no point of {}", self.name()));
        if !matches!(bytes.first(), Some(2..=4)) {
            return Err(CryptoError::data(format!("this is no point of {}", self.name())));
        }
        let group = self.group()?;
        let mut context = BigNumContext::new()?;
        let point = EcPoint::from_bytes(&group, bytes, &mut context).map_err(invalid)?;
        let key = EcKey::from_public_key(&group, &point).map_err(invalid)?;
        key.check_key().map_err(invalid)?;
        Ok(PKey::from_ec_key(key)?)
    }

    pub(crate) fn key_from_jwk(self, jwk: &JwkMembers) -> Result<CryptoKey, CryptoError> {
        let (x, y) = (jwk.bytes("x")?, jwk.bytes("y")?);
        if x.len() != self.bytes() || y.len() != self.bytes() {
            return Err(CryptoError::data(format!("a coordinate of {} has {} bytes", self.name(), self.bytes())));
        }
        let point = [&[4], &x[..], &y[..]].concat();
        let public = self.public_from_raw(&point)?;
        if !jwk.has("d") {
            return Ok(CryptoKey::public(self.kind(), public));
        }
        let d = jwk.bytes("d")?;
        if d.len() != self.bytes() {
            return Err(CryptoError::data(format!("a private key of {} has {} bytes", self.name(), self.bytes())));
        }
        let d = BigNum::from_slice(&d)?;
        let group = self.group()?;
        let public = public.ec_key()?;
        let key = EcKey::from_private_components(&group, &d, public.public_key())?;
        key.check_key()
            .map_err(|_| CryptoError::data("the key's members \"x\", \"y\" and \"d\" do not belong together"))?;
        Ok(CryptoKey::private(self.kind(), PKey::from_ec_key(key)?))
    }
}

/// The curve of a key that was read, if it is one of ours, by its name.
pub(crate) fn is_on<T: openssl::pkey::HasPublic>(key: &PKey<T>, curve: Curve) -> bool {
    key.ec_key().is_ok_and(|key| key.group().curve_name() == Some(curve.nid()) && key.check_key().is_ok())
}

pub(crate) fn to_raw(curve: Curve, key: &PKey<Public>) -> Result<Vec<u8>, CryptoError> {
    let mut context = BigNumContext::new()?;
    let group = curve.group()?;
    Ok(key.ec_key()?.public_key().to_bytes(&group, PointConversionForm::UNCOMPRESSED, &mut context)?)
}

pub(crate) fn to_jwk(curve: Curve, key: &CryptoKey) -> Result<JwkMembers, CryptoError> {
    let point = to_raw(curve, &key.to_public()?)?;
    let mut jwk = JwkMembers::default();
    jwk.set("x", &point[1..1 + curve.bytes()]);
    jwk.set("y", &point[1 + curve.bytes()..]);
    if let CryptoKey::Private { key, .. } = key {
        jwk.set("d", &key.ec_key()?.private_key().to_vec_padded(curve.bytes() as i32)?);
    }
    Ok(jwk)
}

/// The two numbers of the signature one behind the other, each as long as a coordinate.
pub(crate) fn sign(curve: Curve, hash: Hash, key: &PKey<Private>, data: &[u8]) -> Result<Vec<u8>, CryptoError> {
    let signature = EcdsaSig::sign(&hash.digest(data)?, &*key.ec_key()?)?;
    let bytes = curve.bytes() as i32;
    Ok([signature.r().to_vec_padded(bytes)?, signature.s().to_vec_padded(bytes)?].concat())
}

pub(crate) fn verify(
    curve: Curve,
    hash: Hash,
    key: &PKey<Public>,
    data: &[u8],
    signature: &[u8],
) -> Result<bool, CryptoError> {
    if signature.len() != 2 * curve.bytes() {
        return Ok(false);
    }
    let (r, s) = signature.split_at(curve.bytes());
    let signature = EcdsaSig::from_private_components(BigNum::from_slice(r)?, BigNum::from_slice(s)?)?;
    // Numbers out of range are an error for OpenSSL; for the standard the signature does not hold.
    Ok(signature.verify(&hash.digest(data)?, &*key.ec_key()?).unwrap_or(false))
}

pub(crate) fn agree(private: &PKey<Private>, public: &PKey<Public>) -> Result<Vec<u8>, CryptoError> {
    let mut deriver = Deriver::new(private)?;
    deriver.set_peer(public)?;
    Ok(deriver.derive_to_vec()?)
}
