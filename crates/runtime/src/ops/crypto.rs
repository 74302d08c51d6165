//! Randomness and digests.

use sha2::Digest;

use super::convert::{buffer_value, string_of, text_value, with_bytes};
use super::{Arguments, Return};
use crate::op_error::OpError;

type Scope<'a, 's, 'i> = &'a mut v8::PinScope<'s, 'i>;

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

pub(super) fn op_crypto_digest<'s>(
    scope: Scope<'_, 's, '_>,
    args: &Arguments<'s>,
    rv: &mut Return<'s>,
) -> Result<(), OpError> {
    let algorithm = string_of(scope, args.get(0))?;
    let digest = with_bytes(args.get(1), |data| match algorithm.as_str() {
        "SHA-1" => Some(sha1::Sha1::digest(data).to_vec()),
        "SHA-256" => Some(sha2::Sha256::digest(data).to_vec()),
        "SHA-384" => Some(sha2::Sha384::digest(data).to_vec()),
        "SHA-512" => Some(sha2::Sha512::digest(data).to_vec()),
        _ => None,
    })?;
    let digest = digest
        .ok_or_else(|| OpError::Dom { name: "NotSupportedError", message: format!("{algorithm} is not supported") })?;
    let buffer = buffer_value(scope, &digest);
    rv.set(buffer.into());
    Ok(())
}
