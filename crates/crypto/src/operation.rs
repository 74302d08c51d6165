//! Everything that can be computed, as data: what it costs can be asked before it is run, on whatever thread.

use std::sync::Arc;
use std::time::Duration;

use crate::key::{CryptoKey, KeyKind, KeyPair};
use crate::{Cipher, CryptoError, Curve, Hash, OkpCurve, RsaPadding, RsaParameters};
use crate::{cipher, derive, ec, mac, node, okp, rsa};

#[derive(Clone, Debug)]
pub enum Operation {
    Digest {
        hash: Hash,
        data: Vec<u8>,
    },
    Hmac {
        hash: Hash,
        key: Arc<CryptoKey>,
        data: Vec<u8>,
    },
    VerifyHmac {
        hash: Hash,
        key: Arc<CryptoKey>,
        data: Vec<u8>,
        signature: Vec<u8>,
    },
    RsaSign {
        padding: RsaPadding,
        hash: Hash,
        key: Arc<CryptoKey>,
        data: Vec<u8>,
    },
    RsaVerify {
        padding: RsaPadding,
        hash: Hash,
        key: Arc<CryptoKey>,
        data: Vec<u8>,
        signature: Vec<u8>,
    },
    RsaEncrypt {
        hash: Hash,
        label: Vec<u8>,
        key: Arc<CryptoKey>,
        data: Vec<u8>,
    },
    RsaDecrypt {
        hash: Hash,
        label: Vec<u8>,
        key: Arc<CryptoKey>,
        data: Vec<u8>,
    },
    EcdsaSign {
        hash: Hash,
        key: Arc<CryptoKey>,
        data: Vec<u8>,
    },
    EcdsaVerify {
        hash: Hash,
        key: Arc<CryptoKey>,
        data: Vec<u8>,
        signature: Vec<u8>,
    },
    EddsaSign {
        key: Arc<CryptoKey>,
        data: Vec<u8>,
    },
    EddsaVerify {
        key: Arc<CryptoKey>,
        data: Vec<u8>,
        signature: Vec<u8>,
    },
    /// ECDH, X25519, X448.
    Agree {
        private: Arc<CryptoKey>,
        public: Arc<CryptoKey>,
    },
    Hkdf {
        hash: Hash,
        key: Arc<CryptoKey>,
        salt: Vec<u8>,
        info: Vec<u8>,
        bytes: usize,
    },
    Pbkdf2 {
        hash: Hash,
        key: Arc<CryptoKey>,
        salt: Vec<u8>,
        iterations: u32,
        bytes: usize,
    },
    Encrypt {
        cipher: Cipher,
        key: Arc<CryptoKey>,
        data: Vec<u8>,
    },
    Decrypt {
        cipher: Cipher,
        key: Arc<CryptoKey>,
        data: Vec<u8>,
    },
    /// AES-KW.
    Wrap {
        key: Arc<CryptoKey>,
        data: Vec<u8>,
    },
    Unwrap {
        key: Arc<CryptoKey>,
        data: Vec<u8>,
    },
    GenerateRsa(RsaParameters),
    GenerateEc(Curve),
    GenerateOkp(OkpCurve),
    /// What Node's `crypto` computes.
    Node(Box<node::Computation>),
}

#[derive(Clone, Debug)]
pub enum Output {
    Bytes(Vec<u8>),
    Verdict(bool),
    Pair(KeyPair),
    Parts(Vec<Vec<u8>>),
}

impl Operation {
    pub fn run(self) -> Result<Output, CryptoError> {
        use Operation as Op;
        Ok(match self {
            Op::Digest { hash, data } => Output::Bytes(hash.digest(&data)?),
            Op::Hmac { hash, key, data } => Output::Bytes(mac::hmac(hash, key.secret()?, &data)?),
            Op::VerifyHmac { hash, key, data, signature } => {
                Output::Verdict(mac::verify_hmac(hash, key.secret()?, &data, &signature)?)
            }
            Op::RsaSign { padding, hash, key, data } => {
                Output::Bytes(rsa::sign(padding, hash, key.private_key()?.1, &data)?)
            }
            Op::RsaVerify { padding, hash, key, data, signature } => {
                Output::Verdict(rsa::verify(padding, hash, key.public_key()?.1, &data, &signature)?)
            }
            Op::RsaEncrypt { hash, label, key, data } => {
                Output::Bytes(rsa::encrypt(hash, &label, key.public_key()?.1, &data)?)
            }
            Op::RsaDecrypt { hash, label, key, data } => {
                Output::Bytes(rsa::decrypt(hash, &label, key.private_key()?.1, &data)?)
            }
            Op::EcdsaSign { hash, key, data } => {
                let (kind, key) = key.private_key()?;
                Output::Bytes(ec::sign(curve_of(kind)?, hash, key, &data)?)
            }
            Op::EcdsaVerify { hash, key, data, signature } => {
                let (kind, key) = key.public_key()?;
                Output::Verdict(ec::verify(curve_of(kind)?, hash, key, &data, &signature)?)
            }
            Op::EddsaSign { key, data } => Output::Bytes(okp::sign(key.private_key()?.1, &data)?),
            Op::EddsaVerify { key, data, signature } => {
                Output::Verdict(okp::verify(key.public_key()?.1, &data, &signature)?)
            }
            Op::Agree { private, public } => Output::Bytes(agree(&private, &public)?),
            Op::Hkdf { hash, key, salt, info, bytes } => {
                Output::Bytes(derive::hkdf(hash, key.secret()?, &salt, &info, bytes)?)
            }
            Op::Pbkdf2 { hash, key, salt, iterations, bytes } => {
                Output::Bytes(derive::pbkdf2(hash, key.secret()?, &salt, iterations, bytes)?)
            }
            Op::Encrypt { cipher, key, data } => Output::Bytes(cipher.encrypt(key.secret()?, &data)?),
            Op::Decrypt { cipher, key, data } => Output::Bytes(cipher.decrypt(key.secret()?, &data)?),
            Op::Wrap { key, data } => Output::Bytes(cipher::wrap(key.secret()?, &data)?),
            Op::Unwrap { key, data } => Output::Bytes(cipher::unwrap(key.secret()?, &data)?),
            Op::GenerateRsa(parameters) => Output::Pair(rsa::generate(&parameters)?),
            Op::GenerateEc(curve) => Output::Pair(curve.generate()?),
            Op::GenerateOkp(curve) => Output::Pair(curve.generate()?),
            Op::Node(computation) => computation.run()?,
        })
    }

    /// About how much CPU time it takes, rather too much than too little: by it the caller decides where it runs.
    pub fn estimated_cost(&self) -> Duration {
        use Operation as Op;
        // About 250 MB/s for the slowest digest, 1 GB/s for ciphers.
        let bytes = |data: &[u8], per_kib: u64| Duration::from_nanos(data.len() as u64 * per_kib / 1024);
        match self {
            Op::Digest { data, .. } | Op::Hmac { data, .. } | Op::VerifyHmac { data, .. } => bytes(data, 4_000),
            Op::Encrypt { data, .. } | Op::Decrypt { data, .. } => bytes(data, 1_500),
            Op::Wrap { data, .. } | Op::Unwrap { data, .. } => bytes(data, 10_000),
            Op::RsaSign { key, data, .. } | Op::RsaDecrypt { key, data, .. } => bytes(data, 4_000) + rsa_private(key),
            Op::RsaVerify { key, data, .. } | Op::RsaEncrypt { key, data, .. } => {
                bytes(data, 4_000) + rsa_private(key) / 16
            }
            Op::EcdsaSign { data, .. }
            | Op::EcdsaVerify { data, .. }
            | Op::EddsaSign { data, .. }
            | Op::EddsaVerify { data, .. } => bytes(data, 4_000) + Duration::from_micros(100),
            Op::Agree { .. } | Op::GenerateEc(_) | Op::GenerateOkp(_) => Duration::from_micros(100),
            Op::Hkdf { info, bytes, .. } => {
                Duration::from_nanos(2_000 + (*bytes as u64 / 20 + 1) * (1_000 + info.len() as u64 * 4))
            }
            Op::Pbkdf2 { iterations, bytes, .. } => Duration::from_nanos(
                (*bytes as u64 / 20 + 1).saturating_mul(u64::from(*iterations)).saturating_mul(500),
            ),
            Op::GenerateRsa(parameters) => Duration::from_millis(50) * (parameters.modulus_bits / 2048 + 1).pow(3),
            Op::Node(computation) => computation.estimated_cost(),
        }
    }

    /// How many bytes it holds while it runs, beside what it was given.
    pub fn memory(&self) -> u64 {
        match self {
            Self::Node(computation) => computation.memory(),
            Self::Hkdf { bytes, .. } | Self::Pbkdf2 { bytes, .. } => *bytes as u64,
            _ => 0,
        }
    }
}

/// A computation with the private key; it grows with the third power of the modulus.
pub(crate) fn rsa_private(key: &CryptoKey) -> Duration {
    let bits = match key {
        CryptoKey::Public { key, .. } => key.bits(),
        CryptoKey::Private { key, .. } => key.bits(),
        CryptoKey::Secret(_) => 0,
    };
    Duration::from_nanos(u64::from(bits / 64).pow(3) * 25)
}

fn curve_of(kind: KeyKind) -> Result<Curve, CryptoError> {
    match kind {
        KeyKind::Ec(curve) => Ok(curve),
        _ => Err(CryptoError::operation("the key is of no curve that ECDSA uses")),
    }
}

fn agree(private: &CryptoKey, public: &CryptoKey) -> Result<Vec<u8>, CryptoError> {
    let (own, private) = private.private_key()?;
    let (other, public) = public.public_key()?;
    match (own, other) {
        (KeyKind::Ec(one), KeyKind::Ec(two)) if one == two => ec::agree(private, public),
        (KeyKind::Okp(one), KeyKind::Okp(two)) if one == two => okp::agree(private, public),
        _ => Err(CryptoError::operation("the two keys are of different curves")),
    }
}
