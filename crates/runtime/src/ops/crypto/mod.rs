//! Randomness, digests, and Web Cryptography over `hearth-crypto`.
//!
//! | file | content |
//! |---|---|
//! | `keys.rs` | the isolate's keys, by handle; import and export |
//! | `operation.rs` | what JavaScript asks for, as an operation of `hearth-crypto` |
//! | `values.rs` | the values that JavaScript passes, one by one |
//! | `node_operation.rs` | what Node's `crypto` asks for |
//! | `node_state.rs` | its hashes and ciphers that are fed piece by piece |
//! | `node_keys.rs`, `node_certificate.rs` | its formats of keys, its certificates |
//! | `run.rs` | computing here or on another thread |

use hearth_crypto::{CryptoError, Hash};

use super::convert::{buffer_value, bytes_of, string_of, text_value, with_bytes};
use super::{Arguments, Return};
use crate::op_error::OpError;

mod keys;
mod node_certificate;
mod node_keys;
mod node_operation;
mod node_state;
mod operation;
mod run;
mod values;

pub(super) use keys::{
    op_crypto_key_export, op_crypto_key_export_jwk, op_crypto_key_import, op_crypto_key_import_jwk, op_crypto_key_own,
    op_crypto_key_public, op_crypto_key_rsa, op_crypto_key_secret,
};
pub(super) use node_certificate::op_node_crypto_certificate;
pub(super) use node_keys::{
    op_node_crypto_key_describe, op_node_crypto_key_equals, op_node_crypto_key_jwk, op_node_crypto_key_read,
    op_node_crypto_key_share, op_node_crypto_key_to_jwk, op_node_crypto_key_write,
};
pub(super) use node_state::{
    op_node_crypto_info, op_node_crypto_state_call, op_node_crypto_state_new, op_node_crypto_state_update,
};
pub(crate) use run::Computed;
pub(super) use run::{LongJobs, long_jobs, op_crypto_run, op_crypto_run_sync};

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
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
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

/// (one, other): whether they are the same bytes, in a time that depends on their lengths alone.
pub(super) fn op_crypto_equal<'s>(
    _scope: Scope<'_, 's, '_>,
    args: &Arguments<'s>,
    rv: &mut Return<'s>,
) -> Result<(), OpError> {
    let other = bytes_of(args.get(1))?;
    let equal = with_bytes(args.get(0), |one| hearth_crypto::constant_time_eq(one, &other))?;
    rv.set_bool(equal);
    Ok(())
}
