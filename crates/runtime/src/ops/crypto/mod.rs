//! Randomness, digests, and Web Cryptography over `hearth-crypto`.
//!
//! | file | content |
//! |---|---|
//! | `keys.rs` | the isolate's keys, by handle; import and export |
//! | `operation.rs` | what JavaScript asks for, as an operation of `hearth-crypto` |
//! | `run.rs` | computing here or on another thread |

use hearth_core::hex;
use hearth_crypto::{CryptoError, Hash};

use super::convert::{buffer_value, string_of, text_value, with_bytes};
use super::{Arguments, Return};
use crate::op_error::OpError;

mod keys;
mod operation;
mod run;

pub(super) use keys::{
    op_crypto_key_export, op_crypto_key_export_jwk, op_crypto_key_import, op_crypto_key_import_jwk, op_crypto_key_own,
    op_crypto_key_public, op_crypto_key_rsa, op_crypto_key_secret,
};
pub(crate) use run::Computed;
pub(super) use run::op_crypto_run;

type Scope<'a, 's, 'i> = &'a mut v8::PinScope<'s, 'i>;

impl From<CryptoError> for OpError {
    fn from(error: CryptoError) -> Self {
        Self::Dom { name: error.name(), message: error.to_string() }
    }
}

fn random(into: &mut [u8]) -> Result<(), OpError> {
    getrandom::fill(into)
        .map_err(|error| OpError::Dom { name: "OperationError", message: format!("no randomness: {error}") })
}

pub(super) fn op_crypto_random<'s>(
    _scope: Scope<'_, 's, '_>,
    args: &Arguments<'s>,
    _rv: &mut Return<'s>,
) -> Result<(), OpError> {
    with_bytes(args.get(0), random)?
}

pub(super) fn op_crypto_uuid<'s>(
    scope: Scope<'_, 's, '_>,
    _args: &Arguments<'s>,
    rv: &mut Return<'s>,
) -> Result<(), OpError> {
    let mut bytes = [0u8; 16];
    random(&mut bytes)?;
    // RFC 9562: version 4, variant 10.
    bytes[6] = (bytes[6] & 0x0f) | 0x40;
    bytes[8] = (bytes[8] & 0x3f) | 0x80;
    let hex = hex::encode(&bytes);
    let uuid = format!("{}-{}-{}-{}-{}", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]);
    let value = text_value(scope, &uuid)?;
    rv.set(value.into());
    Ok(())
}

/// (algorithm, data): computed at once, without a copy.
pub(super) fn op_crypto_digest<'s>(
    scope: Scope<'_, 's, '_>,
    args: &Arguments<'s>,
    rv: &mut Return<'s>,
) -> Result<(), OpError> {
    let hash = Hash::from_name(&string_of(scope, args.get(0))?)?;
    let digest = with_bytes(args.get(1), |data| hash.digest(data))??;
    let buffer = buffer_value(scope, &digest);
    rv.set(buffer.into());
    Ok(())
}
