//! Signatures of all kinds of keys, over data or over a digest that is ready.

use openssl::bn::BigNum;
use openssl::ecdsa::EcdsaSig;
use openssl::md::Md;
use openssl::md_ctx::MdCtx;
use openssl::pkey::{HasPublic, Id, PKey};
use openssl::pkey_ctx::{PkeyCtx, PkeyCtxRef};
use openssl::rsa::Padding;
use openssl::sign::RsaPssSaltlen;

use super::{Digest, NodeError, Result};
use crate::CryptoKey;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signed<'a> {
    Data(&'a [u8]),
    /// The digest of the data.
    Digest(&'a [u8]),
}

#[derive(Clone, Debug, Default)]
pub struct SignatureOptions {
    pub digest: Option<Digest>,
    /// RSA: 1 is PKCS #1, 6 is PSS.
    pub padding: Option<i32>,
    /// RSA-PSS: bytes, or -1 (as the digest), -2 (as many as possible, or those that the signature has).
    pub salt_bytes: Option<i32>,
    /// DSA and ECDSA: the two numbers one behind the other, as in IEEE P1363; else DER.
    pub p1363: bool,
    /// Ed448, ML-DSA.
    pub context: Option<Vec<u8>>,
}

const PSS: i32 = 6;

pub(super) fn sign(key: &CryptoKey, options: &SignatureOptions, signed: Signed<'_>) -> Result<Vec<u8>> {
    let (_, key) = key.private_key()?;
    let signature = match (prehash(key, options, signed)?, signed) {
        (Some(digest), _) => {
            let mut context = PkeyCtx::new(key)?;
            context.sign_init()?;
            configure(&mut context, key.id(), options, digest.1)?;
            let mut signature = Vec::new();
            context.sign_to_vec(&digest.0, &mut signature)?;
            signature
        }
        (None, Signed::Data(data) | Signed::Digest(data)) => {
            let mut context = MdCtx::new()?;
            let pkey_context = context.digest_sign_init(None, key)?;
            if let Some(text) = &options.context {
                set_context(key.id(), pkey_context, text)?;
            }
            let mut signature = Vec::new();
            context.digest_sign_to_vec(data, &mut signature)?;
            signature
        }
    };
    if options.p1363 { to_p1363(key, &signature) } else { Ok(signature) }
}

pub(super) fn verify(
    key: &CryptoKey,
    options: &SignatureOptions,
    signed: Signed<'_>,
    signature: &[u8],
) -> Result<bool> {
    // A private key can verify, too: by its public half.
    let key = &key.to_public()?;
    let converted;
    let signature = if options.p1363 {
        match from_p1363(key, signature)? {
            Some(der) => {
                converted = der;
                &converted[..]
            }
            None => return Ok(false),
        }
    } else {
        signature
    };
    match (prehash(key, options, signed)?, signed) {
        (Some(digest), _) => {
            let mut context = PkeyCtx::new(key)?;
            context.verify_init()?;
            configure(&mut context, key.id(), options, digest.1)?;
            Ok(context.verify(&digest.0, signature).unwrap_or(false))
        }
        (None, Signed::Data(data) | Signed::Digest(data)) => {
            let mut context = MdCtx::new()?;
            let pkey_context = context.digest_verify_init(None, key)?;
            if let Some(text) = &options.context {
                set_context(key.id(), pkey_context, text)?;
            }
            Ok(context.digest_verify(data, signature).unwrap_or(false))
        }
    }
}

/// The digest of the data with the name of it, where the algorithm signs digests; none where it signs the data itself.
fn prehash<T: HasPublic>(
    key: &PKey<T>,
    options: &SignatureOptions,
    signed: Signed<'_>,
) -> Result<Option<(Vec<u8>, Digest)>> {
    if !matches!(key.id(), Id::RSA | Id::RSA_PSS | Id::DSA | Id::EC | Id::SM2) {
        let unsupported = options.digest.is_some() || matches!(signed, Signed::Digest(_));
        return if unsupported {
            Err(NodeError::coded("ERR_CRYPTO_UNSUPPORTED_OPERATION", "Unsupported crypto operation"))
        } else {
            Ok(None)
        };
    }
    if options.context.is_some() {
        return Err(NodeError::plain("Context parameter is unsupported"));
    }
    let digest = match options.digest {
        Some(digest) => digest,
        None => Digest::required("sha256")?,
    };
    Ok(Some(match signed {
        Signed::Data(data) => (digest.digest(data, None)?, digest),
        Signed::Digest(ready) => (ready.to_vec(), digest),
    }))
}

fn configure<T>(context: &mut PkeyCtxRef<T>, id: Id, options: &SignatureOptions, digest: Digest) -> Result<()> {
    let rsa = matches!(id, Id::RSA | Id::RSA_PSS);
    let padding = options.padding.unwrap_or(if id == Id::RSA_PSS { PSS } else { 1 });
    if rsa {
        context.set_rsa_padding(Padding::from_raw(padding))?;
    }
    let md = Md::from_nid(digest.0.type_()).ok_or_else(|| NodeError::plain("Invalid digest"))?;
    context.set_signature_md(md)?;
    if rsa && padding == PSS {
        // As many as possible where nothing is said, as Node does it.
        let default = if id == Id::RSA_PSS { None } else { Some(-2) };
        if let Some(bytes) = options.salt_bytes.or(default) {
            context.set_rsa_pss_saltlen(RsaPssSaltlen::custom(bytes))?;
        }
    }
    Ok(())
}

fn set_context<T>(id: Id, context: &mut PkeyCtxRef<T>, text: &[u8]) -> Result<()> {
    // The crate of OpenSSL cannot name the variant of Ed25519 that has contexts.
    if matches!(id, Id::ED25519) && !text.is_empty() {
        return Err(NodeError::plain("Context parameter is unsupported"));
    }
    if !text.is_empty() {
        context.set_context_string(text)?;
    }
    Ok(())
}

/// Of one of the two numbers.
fn number_bytes<T: HasPublic>(key: &PKey<T>) -> Result<Option<usize>> {
    let bits = match key.id() {
        Id::EC => key.ec_key()?.group().order_bits(),
        Id::DSA => key.dsa()?.q().num_bits() as u32,
        _ => return Ok(None),
    };
    Ok(Some(bits.div_ceil(8) as usize))
}

fn to_p1363<T: HasPublic>(key: &PKey<T>, signature: &[u8]) -> Result<Vec<u8>> {
    let Some(bytes) = number_bytes(key)? else { return Ok(signature.to_vec()) };
    // Both kinds of signatures are the same sequence of two numbers.
    let pair = EcdsaSig::from_der(signature)?;
    Ok([pair.r().to_vec_padded(bytes as i32)?, pair.s().to_vec_padded(bytes as i32)?].concat())
}

fn from_p1363<T: HasPublic>(key: &PKey<T>, signature: &[u8]) -> Result<Option<Vec<u8>>> {
    let Some(bytes) = number_bytes(key)? else { return Ok(Some(signature.to_vec())) };
    if signature.len() != 2 * bytes {
        return Ok(None);
    }
    let (r, s) = signature.split_at(bytes);
    Ok(Some(EcdsaSig::from_private_components(BigNum::from_slice(r)?, BigNum::from_slice(s)?)?.to_der()?))
}
