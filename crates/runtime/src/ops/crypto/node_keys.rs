//! Keys in the formats of Node's `crypto`; they are in the same table as those of Web Cryptography.

use hearth_crypto::node::{
    Encryption, KeyText, details, equals, from_jwk, key_type, read_private, read_public, to_jwk, write_private,
    write_public,
};
use hearth_crypto::{CryptoKey, JwkMembers};

use super::Scope;
use super::keys::Keys;
use super::values::Values;
use crate::op_error::OpError;
use crate::ops::convert::{buffer_value, bytes_value, id_of, string_of, strings_of, text_value};
use crate::ops::{Arguments, Return};

/// (private?, [data, pem?, form, passphrase]) -> handle
pub(in crate::ops) fn op_node_crypto_key_read<'s>(
    scope: Scope<'_, 's, '_>,
    args: &Arguments<'s>,
    rv: &mut Return<'s>,
) -> Result<(), OpError> {
    let v = &mut Values::new(scope, args.get(1))?;
    let text = KeyText { data: v.bytes()?, pem: v.truth()?, form: v.text()?, passphrase: v.maybe_bytes()? };
    let key = if args.get(0).is_true() { read_private(&text)? } else { read_public(&text)? };
    rv.set_double(Keys::of(scope).insert(key) as f64);
    Ok(())
}

/// (kty, crv, [name, value, ...]) -> handle
pub(in crate::ops) fn op_node_crypto_key_jwk<'s>(
    scope: Scope<'_, 's, '_>,
    args: &Arguments<'s>,
    rv: &mut Return<'s>,
) -> Result<(), OpError> {
    let (kty, crv) = (string_of(scope, args.get(0))?, string_of(scope, args.get(1))?);
    let members = strings_of(scope, args.get(2))?;
    let jwk = JwkMembers::from_pairs(members.chunks_exact(2).map(|pair| (pair[0].as_str(), pair[1].clone())));
    let key = from_jwk(&kty, &crv, &jwk)?;
    rv.set_double(Keys::of(scope).insert(key) as f64);
    Ok(())
}

/// (private?, [handle, pem?, form, cipher, passphrase]) -> bytes
pub(in crate::ops) fn op_node_crypto_key_write<'s>(
    scope: Scope<'_, 's, '_>,
    args: &Arguments<'s>,
    rv: &mut Return<'s>,
) -> Result<(), OpError> {
    let v = &mut Values::new(scope, args.get(1))?;
    let (key, pem, form) = (v.key()?, v.truth()?, v.text()?);
    let bytes = if args.get(0).is_true() {
        let encryption = match (v.maybe_text()?, v.maybe_bytes()?) {
            (Some(cipher), passphrase) => Some(Encryption { cipher, passphrase: passphrase.unwrap_or_default() }),
            (None, _) => None,
        };
        write_private(&key, pem, &form, encryption.as_ref())?
    } else {
        write_public(&key, pem, &form)?
    };
    let buffer = buffer_value(scope, &bytes);
    rv.set(buffer.into());
    Ok(())
}

/// (handle) -> [kty, crv, name, value, ...]
pub(in crate::ops) fn op_node_crypto_key_to_jwk<'s>(
    scope: Scope<'_, 's, '_>,
    args: &Arguments<'s>,
    rv: &mut Return<'s>,
) -> Result<(), OpError> {
    let (kty, crv, jwk) = to_jwk(&*Keys::of(scope).get(id_of(args.get(0))?)?)?;
    let mut values = Vec::new();
    for text in [kty, crv].into_iter().chain(jwk.iter().flat_map(|(name, value)| [name, value])) {
        values.push(text_value(scope, text)?.into());
    }
    let list = v8::Array::new_with_elements(scope, &values);
    rv.set(list.into());
    Ok(())
}

/// (handle) -> [type, asymmetric type, modulus, exponent, hash, MGF1 hash, salt, divisor, curve, bytes of a secret]
pub(in crate::ops) fn op_node_crypto_key_describe<'s>(
    scope: Scope<'_, 's, '_>,
    args: &Arguments<'s>,
    rv: &mut Return<'s>,
) -> Result<(), OpError> {
    let key = Keys::of(scope).get(id_of(args.get(0))?)?;
    let (kind, secret) = match &*key {
        CryptoKey::Secret(bytes) => ("secret", Some(bytes.len() as u32)),
        CryptoKey::Public { .. } => ("public", None),
        CryptoKey::Private { .. } => ("private", None),
    };
    let details = details(&key)?;
    let number = |scope: &mut v8::PinScope<'s, '_>, number: Option<u32>| -> v8::Local<'s, v8::Value> {
        match number {
            Some(number) => v8::Number::new(scope, f64::from(number)).into(),
            None => v8::undefined(scope).into(),
        }
    };
    let text = |scope: &mut v8::PinScope<'s, '_>, text: Option<&str>| -> Result<v8::Local<'s, v8::Value>, OpError> {
        Ok(match text {
            Some(text) => text_value(scope, text)?.into(),
            None => v8::undefined(scope).into(),
        })
    };
    let values = [
        text(scope, Some(kind))?,
        text(scope, key_type(&key))?,
        number(scope, details.modulus_bits),
        match &details.public_exponent {
            Some(exponent) => bytes_value(scope, exponent)?.into(),
            None => v8::undefined(scope).into(),
        },
        text(scope, details.hash.as_deref())?,
        text(scope, details.mgf1_hash.as_deref())?,
        number(scope, details.salt_bytes),
        number(scope, details.divisor_bits),
        text(scope, details.curve.as_deref())?,
        number(scope, secret),
    ];
    let list = v8::Array::new_with_elements(scope, &values);
    rv.set(list.into());
    Ok(())
}

/// (handle, handle)
pub(in crate::ops) fn op_node_crypto_key_equals<'s>(
    scope: Scope<'_, 's, '_>,
    args: &Arguments<'s>,
    rv: &mut Return<'s>,
) -> Result<(), OpError> {
    let keys = Keys::of(scope);
    let (one, other) = (keys.get(id_of(args.get(0))?)?, keys.get(id_of(args.get(1))?)?);
    rv.set_bool(equals(&one, &other));
    Ok(())
}

/// (handle) -> one more handle of the key, for another owner
pub(in crate::ops) fn op_node_crypto_key_share<'s>(
    scope: Scope<'_, 's, '_>,
    args: &Arguments<'s>,
    rv: &mut Return<'s>,
) -> Result<(), OpError> {
    let keys = Keys::of(scope);
    let key = keys.get(id_of(args.get(0))?)?;
    rv.set_double(keys.share(key) as f64);
    Ok(())
}
