//! What JavaScript asks for: a name and an array of values (`js/crypto/{secrets,pairs,subtle}.js`), as an operation.

use hearth_crypto::{Aead, Cipher, KeyKind, Operation, RsaPadding, RsaParameters};

use super::Scope;
use super::node_operation::computation;
use super::values::Values;
use crate::op_error::OpError;

pub(super) fn operation<'s>(
    scope: Scope<'_, 's, '_>,
    name: &str,
    values: v8::Local<'s, v8::Value>,
) -> Result<Operation, OpError> {
    let v = &mut Values::new(scope, values)?;
    if let Some(computation) = computation(name, v)? {
        return Ok(Operation::Node(Box::new(computation)));
    }
    if let Some(operation) = cipher_operation(name, v)? {
        return Ok(operation);
    }
    Ok(match name {
        "digest" => Operation::Digest { hash: v.hash()?, data: v.bytes()? },
        "hmac" => Operation::Hmac { key: v.key()?, hash: v.hash()?, data: v.bytes()? },
        "hmac-verify" => {
            Operation::VerifyHmac { key: v.key()?, hash: v.hash()?, data: v.bytes()?, signature: v.bytes()? }
        }
        "rsa-pkcs1-sign" => {
            Operation::RsaSign { padding: RsaPadding::Pkcs1, key: v.key()?, hash: v.hash()?, data: v.bytes()? }
        }
        "rsa-pkcs1-verify" => Operation::RsaVerify {
            padding: RsaPadding::Pkcs1,
            key: v.key()?,
            hash: v.hash()?,
            data: v.bytes()?,
            signature: v.bytes()?,
        },
        "rsa-pss-sign" => {
            let (key, hash, data) = (v.key()?, v.hash()?, v.bytes()?);
            Operation::RsaSign { padding: RsaPadding::Pss { salt_bytes: v.number()? }, key, hash, data }
        }
        "rsa-pss-verify" => {
            let (key, hash, data, signature) = (v.key()?, v.hash()?, v.bytes()?, v.bytes()?);
            Operation::RsaVerify { padding: RsaPadding::Pss { salt_bytes: v.number()? }, key, hash, data, signature }
        }
        "rsa-encrypt" => {
            Operation::RsaEncrypt { key: v.key()?, hash: v.hash()?, data: v.bytes()?, label: v.optional_bytes()? }
        }
        "rsa-decrypt" => {
            Operation::RsaDecrypt { key: v.key()?, hash: v.hash()?, data: v.bytes()?, label: v.optional_bytes()? }
        }
        "ecdsa-sign" => Operation::EcdsaSign { key: v.key()?, hash: v.hash()?, data: v.bytes()? },
        "ecdsa-verify" => {
            Operation::EcdsaVerify { key: v.key()?, hash: v.hash()?, data: v.bytes()?, signature: v.bytes()? }
        }
        "eddsa-sign" => Operation::EddsaSign { key: v.key()?, data: v.bytes()? },
        "eddsa-verify" => Operation::EddsaVerify { key: v.key()?, data: v.bytes()?, signature: v.bytes()? },
        "agree" => Operation::Agree { private: v.key()?, public: v.key()? },
        "hkdf" => Operation::Hkdf {
            key: v.key()?,
            hash: v.hash()?,
            salt: v.bytes()?,
            info: v.bytes()?,
            bytes: v.number()? as usize,
        },
        "pbkdf2" => Operation::Pbkdf2 {
            key: v.key()?,
            hash: v.hash()?,
            salt: v.bytes()?,
            iterations: v.number()?,
            bytes: v.number()? as usize,
        },
        "wrap" => Operation::Wrap { key: v.key()?, data: v.bytes()? },
        "unwrap" => Operation::Unwrap { key: v.key()?, data: v.bytes()? },
        "generate-rsa" => {
            Operation::GenerateRsa(RsaParameters { modulus_bits: v.number()?, public_exponent: v.bytes()? })
        }
        "generate-pair" => match v.kind()? {
            KeyKind::Ec(curve) => Operation::GenerateEc(curve),
            KeyKind::Okp(curve) => Operation::GenerateOkp(curve),
            KeyKind::Rsa | KeyKind::Other => return Err(OpError::type_error("internal: the kind has parameters")),
        },
        _ => return Err(OpError::type_error("internal: no such operation")),
    })
}

/// Encryption and decryption: key, data, and the cipher's parameters.
fn cipher_operation(name: &str, v: &mut Values<'_, '_, '_>) -> Result<Option<Operation>, OpError> {
    let (name, decrypts) = match (name.strip_suffix("-encrypt"), name.strip_suffix("-decrypt")) {
        (Some(name), _) => (name, false),
        (_, Some(name)) => (name, true),
        _ => (name, false),
    };
    if !matches!(name, "cbc" | "ctr" | "gcm" | "ocb" | "chacha20-poly1305") {
        return Ok(None);
    }
    let (key, data, iv) = (v.key()?, v.bytes()?, v.bytes()?);
    let cipher = match name {
        "cbc" => Cipher::Cbc { iv },
        "ctr" => Cipher::Ctr { counter: iv, length: v.number()? },
        _ => {
            let aead = Aead { iv, tag_bytes: v.number()? as usize, additional_data: v.optional_bytes()? };
            match name {
                "gcm" => Cipher::Gcm(aead),
                "ocb" => Cipher::Ocb(aead),
                _ => Cipher::ChaCha20Poly1305(aead),
            }
        }
    };
    Ok(Some(if decrypts { Operation::Decrypt { cipher, key, data } } else { Operation::Encrypt { cipher, key, data } }))
}
