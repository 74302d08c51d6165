//! What Node's `crypto` asks for (`js/node/crypto.js`): a name and an array of values, as a computation of `hearth-crypto`.

use hearth_crypto::node::{Argon2, Computation, DhGroup, KdfInput, PairSpec, RsaCipher, RsaUse, SignatureOptions};
use hearth_crypto::{KeyKind, RsaParameters};

use super::values::Values;
use crate::op_error::OpError;

pub(super) fn computation(name: &str, v: &mut Values<'_, '_, '_>) -> Result<Option<Computation>, OpError> {
    let Some(name) = name.strip_prefix("node-") else { return Ok(None) };
    Ok(Some(match name {
        "hash" => {
            Computation::Hash { digest: v.digest()?, data: v.bytes()?, bytes: v.maybe_number()?.map(|n| n as usize) }
        }
        "scrypt" => {
            Computation::Scrypt { input: kdf(v)?, n: v.large()?, r: v.large()?, p: v.large()?, max_memory: v.large()? }
        }
        "pbkdf2" => Computation::Pbkdf2 { input: kdf(v)?, digest: v.digest()?, iterations: v.number()? },
        "hkdf" => Computation::Hkdf { input: kdf(v)?, digest: v.digest()?, info: v.bytes()? },
        "argon2" => Computation::Argon2 {
            input: kdf(v)?,
            argon2: Argon2 {
                variant: v.text()?,
                secret: v.optional_bytes()?,
                additional_data: v.optional_bytes()?,
                passes: v.number()?,
                lanes: v.number()?,
                memory: v.number()?,
            },
        },
        "sign" => Computation::Sign { key: v.key()?, options: signature(v)?, data: v.bytes()?, is_digest: v.truth()? },
        "verify" => Computation::Verify {
            key: v.key()?,
            options: signature(v)?,
            data: v.bytes()?,
            is_digest: v.truth()?,
            signature: v.bytes()?,
        },
        "rsa" => Computation::Rsa { key: v.key()?, cipher: rsa(v)?, data: v.bytes()? },
        "pair" => Computation::Pair(pair(v)?),
        "prime" => {
            Computation::Prime { bits: v.number()?, safe: v.truth()?, add: v.maybe_bytes()?, rem: v.maybe_bytes()? }
        }
        "check-prime" => Computation::CheckPrime { candidate: v.bytes()?, checks: v.number()? },
        "dh-parameters" => Computation::DhParameters { bits: v.number()?, generator: v.number()? },
        "dh-keys" => Computation::DhKeys { group: group(v)?, private: v.maybe_bytes()? },
        "dh-secret" => Computation::DhSecret { group: group(v)?, private: v.bytes()?, public: v.bytes()? },
        "agree" => Computation::Agree { private: v.key()?, public: v.key()? },
        "ecdh-keys" => Computation::EcdhKeys { curve: v.text()? },
        "ecdh-secret" => Computation::EcdhSecret { curve: v.text()?, private: v.bytes()?, public: v.bytes()? },
        _ => return Err(OpError::type_error("internal: no such operation")),
    }))
}

fn kdf(v: &mut Values<'_, '_, '_>) -> Result<KdfInput, OpError> {
    Ok(KdfInput { password: v.bytes()?, salt: v.bytes()?, bytes: v.number()? as usize })
}

fn group(v: &mut Values<'_, '_, '_>) -> Result<DhGroup, OpError> {
    Ok(DhGroup { prime: v.bytes()?, generator: v.bytes()? })
}

fn signature(v: &mut Values<'_, '_, '_>) -> Result<SignatureOptions, OpError> {
    Ok(SignatureOptions {
        digest: v.maybe_digest()?,
        padding: v.maybe_integer()?,
        salt_bytes: v.maybe_integer()?,
        p1363: v.truth()?,
        context: v.maybe_bytes()?,
    })
}

fn rsa(v: &mut Values<'_, '_, '_>) -> Result<RsaCipher, OpError> {
    let usage = match v.number()? {
        0 => RsaUse::PublicEncrypt,
        1 => RsaUse::PrivateDecrypt,
        2 => RsaUse::PrivateEncrypt,
        _ => RsaUse::PublicDecrypt,
    };
    let padding = v.maybe_integer()?.unwrap_or(1);
    Ok(RsaCipher { usage, padding, oaep_digest: v.maybe_digest()?, oaep_label: v.maybe_bytes()? })
}

fn pair(v: &mut Values<'_, '_, '_>) -> Result<PairSpec, OpError> {
    let kind = v.text()?;
    Ok(match kind.as_str() {
        "rsa" => PairSpec::Rsa(rsa_parameters(v)?),
        "rsa-pss" => PairSpec::RsaPss {
            rsa: rsa_parameters(v)?,
            hash: v.maybe_text()?,
            mgf1_hash: v.maybe_text()?,
            salt_bytes: v.maybe_number()?,
        },
        "dsa" => PairSpec::Dsa { modulus_bits: v.number()? },
        "ec" => PairSpec::Ec { curve: v.text()?, explicit: v.truth()? },
        "dh" => PairSpec::Dh(group(v)?),
        "dh-prime" => PairSpec::DhPrime { bits: v.number()?, generator: v.number()? },
        "ml-dsa" => PairSpec::MlDsa(v.number()?),
        "ml-kem" => PairSpec::MlKem(v.number()?),
        "okp" => match v.kind()? {
            KeyKind::Okp(curve) => PairSpec::Okp(curve),
            _ => return Err(OpError::type_error("internal: a kind of octet key pair was expected")),
        },
        _ => return Err(OpError::type_error("internal: no such kind of pair")),
    })
}

fn rsa_parameters(v: &mut Values<'_, '_, '_>) -> Result<RsaParameters, OpError> {
    Ok(RsaParameters { modulus_bits: v.number()?, public_exponent: v.bytes()? })
}
