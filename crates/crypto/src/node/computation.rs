//! What may take long, as data: its cost and its memory can be asked before it is run, on whatever thread.

use std::sync::Arc;
use std::time::Duration;

use openssl::kdf::HkdfMode;
use openssl::md::Md;

use super::{
    DhGroup, Digest, HmacState, NodeError, PairSpec, Result, RsaCipher, RsaUse, SignatureOptions, Signed, dh, pairs,
    primes, rsa_cipher, signature,
};
use crate::operation::{Output, rsa_private};
use crate::{CryptoError, CryptoKey};

/// What keys are derived from.
#[derive(Clone, Debug)]
pub struct KdfInput {
    pub password: Vec<u8>,
    pub salt: Vec<u8>,
    pub bytes: usize,
}

#[derive(Clone, Debug)]
pub struct Argon2 {
    /// `argon2d`, `argon2i` or `argon2id`.
    pub variant: String,
    pub secret: Vec<u8>,
    pub additional_data: Vec<u8>,
    pub passes: u32,
    pub lanes: u32,
    /// In KiB.
    pub memory: u32,
}

#[derive(Clone, Debug)]
pub enum Computation {
    Hash {
        digest: Digest,
        data: Vec<u8>,
        bytes: Option<usize>,
    },
    Scrypt {
        input: KdfInput,
        n: u64,
        r: u64,
        p: u64,
        max_memory: u64,
    },
    Pbkdf2 {
        input: KdfInput,
        digest: Digest,
        iterations: u32,
    },
    /// The password is the key.
    Hkdf {
        input: KdfInput,
        digest: Digest,
        info: Vec<u8>,
    },
    Argon2 {
        input: KdfInput,
        argon2: Argon2,
    },
    Sign {
        key: Arc<CryptoKey>,
        options: SignatureOptions,
        data: Vec<u8>,
        is_digest: bool,
    },
    Verify {
        key: Arc<CryptoKey>,
        options: SignatureOptions,
        data: Vec<u8>,
        is_digest: bool,
        signature: Vec<u8>,
    },
    Rsa {
        cipher: RsaCipher,
        key: Arc<CryptoKey>,
        data: Vec<u8>,
    },
    Pair(PairSpec),
    Prime {
        bits: u32,
        safe: bool,
        add: Option<Vec<u8>>,
        rem: Option<Vec<u8>>,
    },
    CheckPrime {
        candidate: Vec<u8>,
        checks: u32,
    },
    /// [prime, generator]
    DhParameters {
        bits: u32,
        generator: u32,
    },
    /// [private, public]
    DhKeys {
        group: DhGroup,
        private: Option<Vec<u8>>,
    },
    DhSecret {
        group: DhGroup,
        private: Vec<u8>,
        public: Vec<u8>,
    },
    Agree {
        private: Arc<CryptoKey>,
        public: Arc<CryptoKey>,
    },
    /// [private, public]
    EcdhKeys {
        curve: String,
    },
    EcdhSecret {
        curve: String,
        private: Vec<u8>,
        public: Vec<u8>,
    },
}

/// OpenSSL counts in an `int`.
const MAX_COUNT: usize = i32::MAX as usize;

impl Computation {
    pub(crate) fn run(self) -> std::result::Result<Output, CryptoError> {
        Ok(self.output()?)
    }

    fn output(self) -> Result<Output> {
        Ok(match self {
            Self::Hash { digest, data, bytes } => Output::Bytes(digest.digest(&data, bytes)?),
            Self::Scrypt { input, n, r, p, max_memory } => Output::Bytes(scrypt(&input, n, r, p, max_memory)?),
            Self::Pbkdf2 { input, digest, iterations } => Output::Bytes(pbkdf2(&input, digest, iterations)?),
            Self::Hkdf { input, digest, info } => Output::Bytes(hkdf(&input, digest, &info)?),
            Self::Argon2 { input, argon2 } => Output::Bytes(run_argon2(&input, &argon2)?),
            Self::Sign { key, options, data, is_digest } => {
                Output::Bytes(signature::sign(&key, &options, signed(&data, is_digest))?)
            }
            Self::Verify { key, options, data, is_digest, signature } => {
                Output::Verdict(signature::verify(&key, &options, signed(&data, is_digest), &signature)?)
            }
            Self::Rsa { cipher, key, data } => Output::Bytes(rsa_cipher::run(&cipher, &key, &data)?),
            Self::Pair(spec) => Output::Pair(pairs::generate(&spec)?),
            Self::Prime { bits, safe, add, rem } => {
                Output::Bytes(primes::generate(bits, safe, add.as_deref(), rem.as_deref())?)
            }
            Self::CheckPrime { candidate, checks } => Output::Verdict(primes::check(&candidate, checks)?),
            Self::DhParameters { bits, generator } => {
                let made = openssl::dh::Dh::generate_params(bits, generator)?;
                Output::Parts(vec![made.prime_p().to_vec(), made.generator().to_vec()])
            }
            Self::DhKeys { group, private } => Output::Parts(dh::generate(&group, private.as_deref())?),
            Self::DhSecret { group, private, public } => Output::Bytes(dh::compute(&group, &private, &public)?),
            Self::Agree { private, public } => Output::Bytes(dh::agree(&private, &public)?),
            Self::EcdhKeys { curve } => Output::Parts(dh::ecdh_generate(&curve)?),
            Self::EcdhSecret { curve, private, public } => Output::Bytes(dh::ecdh_compute(&curve, &private, &public)?),
        })
    }

    /// About how much CPU time it takes, rather too much than too little.
    pub(crate) fn estimated_cost(&self) -> Duration {
        let data = |bytes: usize| Duration::from_nanos(bytes as u64 * 4);
        let micros = Duration::from_micros;
        match self {
            Self::Hash { data: hashed, bytes, .. } => data(hashed.len() + bytes.unwrap_or(0)),
            Self::Scrypt { n, r, p, input, .. } => {
                let blocks = n.saturating_mul(*r).saturating_mul(*p);
                Duration::from_nanos(blocks.saturating_mul(400).saturating_add(input.bytes as u64 * 50))
            }
            Self::Pbkdf2 { input, iterations, .. } => Duration::from_nanos(
                (input.bytes as u64 / 16 + 1).saturating_mul(u64::from(*iterations)).saturating_mul(500),
            ),
            Self::Hkdf { input, info, .. } => {
                data(input.password.len()) + data((input.bytes / 16 + 1).saturating_mul(info.len() + 200))
            }
            Self::Argon2 { argon2, input } => {
                let blocks = u64::from(argon2.memory.max(8)).saturating_mul(u64::from(argon2.passes));
                Duration::from_nanos(blocks.saturating_mul(1_000).saturating_add(input.bytes as u64 * 50))
            }
            Self::Sign { key, data: signed, .. } => data(signed.len()) + rsa_private(key) + other_private(key),
            Self::Verify { key, data: signed, .. } => data(signed.len()) + rsa_private(key) / 16 + other_private(key),
            Self::Rsa { cipher, key, .. } => match cipher.usage {
                RsaUse::PrivateDecrypt | RsaUse::PrivateEncrypt => rsa_private(key),
                RsaUse::PublicDecrypt | RsaUse::PublicEncrypt => rsa_private(key) / 16,
            },
            Self::Pair(spec) => pair_cost(spec),
            Self::Prime { bits, safe, add: Some(_), .. } => {
                // Small numbers divide most candidates, and of safe ones both halves.
                let tries = primes::max_candidates(*bits, *safe) / if *safe { 64 } else { 8 };
                exponentiation(u64::from(*bits)).saturating_mul(u32::try_from(tries).unwrap_or(u32::MAX))
            }
            Self::Prime { bits, safe, add: None, .. } => prime_cost(*bits, *safe),
            Self::CheckPrime { candidate, checks } => {
                exponentiation(candidate.len() as u64 * 8).saturating_mul((*checks).max(64).saturating_add(1))
            }
            Self::DhParameters { bits, .. } => prime_cost(*bits, true),
            Self::DhKeys { group, .. } | Self::DhSecret { group, .. } => {
                exponentiation(group.prime.len() as u64 * 8) * 2
            }
            Self::Agree { private, .. } => other_private(private) + rsa_private(private),
            Self::EcdhKeys { .. } | Self::EcdhSecret { .. } => micros(2_000),
        }
    }

    /// How many bytes it holds while it runs, beside what it was given.
    pub(crate) fn memory(&self) -> u64 {
        match self {
            Self::Scrypt { n, r, p, input, .. } => {
                let blocks = n.saturating_add(*p).saturating_add(2);
                blocks.saturating_mul(*r).saturating_mul(128).saturating_add(input.bytes as u64)
            }
            Self::Argon2 { argon2, input } => u64::from(argon2.memory) * 1024 + input.bytes as u64,
            Self::Pbkdf2 { input, .. } | Self::Hkdf { input, .. } => input.bytes as u64,
            Self::Hash { bytes, .. } => bytes.unwrap_or(0) as u64,
            _ => 0,
        }
    }
}

fn signed(data: &[u8], is_digest: bool) -> Signed<'_> {
    if is_digest { Signed::Digest(data) } else { Signed::Data(data) }
}

/// One exponentiation with numbers of so many bits.
fn exponentiation(bits: u64) -> Duration {
    Duration::from_nanos((bits / 64 + 1).saturating_pow(3).saturating_mul(25))
}

/// Primes are every so many bits; safe ones are some hundred times rarer.
fn prime_cost(bits: u32, safe: bool) -> Duration {
    let tries = if safe { bits.saturating_mul(4) } else { bits / 10 + 1 };
    exponentiation(u64::from(bits)).saturating_mul(tries)
}

/// Of keys that are not RSA: the size of their field says it.
fn other_private(key: &CryptoKey) -> Duration {
    let bits = match key {
        CryptoKey::Public { key, .. } => key.bits(),
        CryptoKey::Private { key, .. } => key.bits(),
        CryptoKey::Secret(_) => 0,
    };
    if bits > 1000 { exponentiation(u64::from(bits)) * 2 } else { Duration::from_micros(200) }
}

fn pair_cost(spec: &PairSpec) -> Duration {
    match spec {
        PairSpec::Rsa(rsa) | PairSpec::RsaPss { rsa, .. } => {
            Duration::from_millis(50).saturating_mul((rsa.modulus_bits / 2048 + 1).saturating_pow(3))
        }
        PairSpec::Dsa { modulus_bits } => prime_cost(*modulus_bits, false) * 2,
        PairSpec::Dh(group) => exponentiation(group.prime.len() as u64 * 8) * 2,
        PairSpec::DhPrime { bits, .. } => prime_cost(*bits, true),
        PairSpec::Ec { .. } => Duration::from_millis(1),
        PairSpec::Okp(_) => Duration::from_micros(100),
        PairSpec::MlDsa(_) | PairSpec::MlKem(_) => Duration::from_micros(300),
    }
}

fn scrypt(input: &KdfInput, n: u64, r: u64, p: u64, max_memory: u64) -> Result<Vec<u8>> {
    let mut out = vec![0; input.bytes];
    if !out.is_empty() {
        openssl::pkcs5::scrypt(&input.password, &input.salt, n, r, p, max_memory, &mut out)?;
    }
    Ok(out)
}

fn pbkdf2(input: &KdfInput, digest: Digest, iterations: u32) -> Result<Vec<u8>> {
    let counts = [input.password.len(), input.salt.len(), input.bytes, iterations as usize];
    if iterations == 0 || counts.into_iter().any(|count| count > MAX_COUNT) {
        return Err(NodeError::plain("a parameter of PBKDF2 is too large"));
    }
    let mut out = vec![0; input.bytes];
    if !out.is_empty() {
        openssl::pkcs5::pbkdf2_hmac(&input.password, &input.salt, iterations as usize, digest.0, &mut out)?;
    }
    Ok(out)
}

fn hkdf(input: &KdfInput, digest: Digest, info: &[u8]) -> Result<Vec<u8>> {
    if input.bytes > 255 * digest.bytes() {
        return Err(NodeError::coded("ERR_CRYPTO_INVALID_KEYLEN", "Invalid key length"));
    }
    let mut out = vec![0; input.bytes];
    if !out.is_empty() {
        let md = Md::from_nid(digest.0.type_()).ok_or_else(|| NodeError::plain("Invalid digest"))?;
        // The first step is an HMAC, since OpenSSL's own takes no empty key. No salt is one of zeros.
        let mut extract = HmacState::new(digest, &input.salt)?;
        extract.update(&input.password)?;
        let key = extract.finish()?;
        openssl::kdf::hkdf(md, &key, None, Some(info), HkdfMode::ExpandOnly, None, &mut out)?;
    }
    Ok(out)
}

fn run_argon2(input: &KdfInput, argon2: &Argon2) -> Result<Vec<u8>> {
    let function = match argon2.variant.as_str() {
        "argon2d" => openssl::kdf::argon2d,
        "argon2i" => openssl::kdf::argon2i,
        _ => openssl::kdf::argon2id,
    };
    let optional = |bytes: &'_ [u8]| (!bytes.is_empty()).then(|| bytes.to_vec());
    let (data, secret) = (optional(&argon2.additional_data), optional(&argon2.secret));
    let mut out = vec![0; input.bytes];
    function(
        None,
        &input.password,
        &input.salt,
        data.as_deref(),
        secret.as_deref(),
        argon2.passes,
        argon2.lanes,
        argon2.memory,
        &mut out,
    )?;
    Ok(out)
}
