//! The keys of an isolate. JavaScript names a key by its handle; the key goes when V8 has collected the object that owns it.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use hearth_crypto::{CryptoKey, Curve, JwkMembers, KeyFormat, KeyKind, OkpCurve};
use tokio::sync::Semaphore;

use super::Scope;
use crate::natives;
use crate::op_error::OpError;
use crate::ops::convert::{buffer_value, bytes_of, bytes_value, id_of, string_of, strings_of, text_value, with_bytes};
use crate::ops::{Arguments, Return};
use crate::request_table::ById;

/// Handles that no object owns yet, for as long as it takes to make one. A key whose import is refused later never gets one.
const MAX_UNOWNED: usize = 256;
/// Long computations of one isolate at once; further ones wait.
const MAX_LONG_JOBS: usize = 2;

/// Kept with the isolate.
pub(super) struct Keys {
    keys: HashMap<u64, Arc<CryptoKey>, ById>,
    unowned: VecDeque<u64>,
    next: u64,
    long_jobs: Arc<Semaphore>,
}

impl Default for Keys {
    fn default() -> Self {
        Self {
            keys: HashMap::default(),
            unowned: VecDeque::new(),
            next: 0,
            long_jobs: Arc::new(Semaphore::new(MAX_LONG_JOBS)),
        }
    }
}

impl Keys {
    pub(super) fn of(isolate: &mut v8::Isolate) -> &mut Self {
        if isolate.get_slot::<Self>().is_none() {
            isolate.set_slot(Self::default());
        }
        isolate.get_slot_mut().expect("the slot was filled above")
    }

    pub(super) fn insert(&mut self, key: CryptoKey) -> u64 {
        self.share(Arc::new(key))
    }

    /// One more handle of a key.
    pub(super) fn share(&mut self, key: Arc<CryptoKey>) -> u64 {
        self.next += 1;
        self.keys.insert(self.next, key);
        self.unowned.push_back(self.next);
        if self.unowned.len() > MAX_UNOWNED
            && let Some(oldest) = self.unowned.pop_front()
        {
            self.keys.remove(&oldest);
        }
        self.next
    }

    pub(super) fn get(&self, handle: u64) -> Result<Arc<CryptoKey>, OpError> {
        self.keys.get(&handle).cloned().ok_or_else(|| OpError::Dom {
            name: "OperationError",
            message: "the key is gone: too many were made at once".into(),
        })
    }

    pub(super) fn long_jobs(&self) -> Arc<Semaphore> {
        self.long_jobs.clone()
    }
}

pub(super) fn kind_of(name: &str) -> Result<KeyKind, OpError> {
    let ec = Curve::ALL.into_iter().find(|curve| curve.name() == name).map(KeyKind::Ec);
    let okp = OkpCurve::ALL.into_iter().find(|curve| curve.name() == name).map(KeyKind::Okp);
    let rsa = (name == "RSA").then_some(KeyKind::Rsa);
    ec.or(okp).or(rsa).ok_or_else(|| OpError::type_error("internal: a kind of key was expected"))
}

fn format_of(name: &str) -> Result<KeyFormat, OpError> {
    match name {
        "raw" => Ok(KeyFormat::Raw),
        "pkcs8" => Ok(KeyFormat::Pkcs8),
        "spki" => Ok(KeyFormat::Spki),
        _ => Err(OpError::type_error("internal: a key format was expected")),
    }
}

/// (object, handle): the key lives as long as the object.
pub(in crate::ops) fn op_crypto_key_own<'s>(
    scope: Scope<'_, 's, '_>,
    args: &Arguments<'s>,
    _rv: &mut Return<'s>,
) -> Result<(), OpError> {
    let object = v8::Local::<v8::Object>::try_from(args.get(0));
    let object = object.map_err(|_| OpError::type_error("internal: an object was expected"))?;
    let handle = id_of(args.get(1))?;
    let keys = Keys::of(scope);
    let price = keys.get(handle)?.memory() as u64;
    keys.unowned.retain(|unowned| *unowned != handle);
    natives::add_with(scope, object, price, move |isolate| {
        Keys::of(isolate).keys.remove(&handle);
    });
    Ok(())
}

pub(in crate::ops) fn op_crypto_key_secret<'s>(
    scope: Scope<'_, 's, '_>,
    args: &Arguments<'s>,
    rv: &mut Return<'s>,
) -> Result<(), OpError> {
    let bytes = bytes_of(args.get(0))?;
    let handle = Keys::of(scope).insert(CryptoKey::Secret(bytes.into()));
    rv.set_double(handle as f64);
    Ok(())
}

/// (kind, format, data)
pub(in crate::ops) fn op_crypto_key_import<'s>(
    scope: Scope<'_, 's, '_>,
    args: &Arguments<'s>,
    rv: &mut Return<'s>,
) -> Result<(), OpError> {
    let kind = kind_of(&string_of(scope, args.get(0))?)?;
    let format = format_of(&string_of(scope, args.get(1))?)?;
    let key = with_bytes(args.get(2), |data| CryptoKey::import(kind, format, data))??;
    rv.set_double(Keys::of(scope).insert(key) as f64);
    Ok(())
}

/// (kind or "oct", [name, value, ...])
pub(in crate::ops) fn op_crypto_key_import_jwk<'s>(
    scope: Scope<'_, 's, '_>,
    args: &Arguments<'s>,
    rv: &mut Return<'s>,
) -> Result<(), OpError> {
    let kind = string_of(scope, args.get(0))?;
    let members = strings_of(scope, args.get(1))?;
    let jwk = JwkMembers::from_pairs(members.chunks_exact(2).map(|pair| (pair[0].as_str(), pair[1].clone())));
    let key =
        if kind == "oct" { CryptoKey::import_jwk_secret(&jwk)? } else { CryptoKey::import_jwk(kind_of(&kind)?, &jwk)? };
    rv.set_double(Keys::of(scope).insert(key) as f64);
    Ok(())
}

/// (handle, format)
pub(in crate::ops) fn op_crypto_key_export<'s>(
    scope: Scope<'_, 's, '_>,
    args: &Arguments<'s>,
    rv: &mut Return<'s>,
) -> Result<(), OpError> {
    let key = Keys::of(scope).get(id_of(args.get(0))?)?;
    let format = format_of(&string_of(scope, args.get(1))?)?;
    let buffer = buffer_value(scope, &key.export(format)?);
    rv.set(buffer.into());
    Ok(())
}

/// (handle) -> [name, value, ...]
pub(in crate::ops) fn op_crypto_key_export_jwk<'s>(
    scope: Scope<'_, 's, '_>,
    args: &Arguments<'s>,
    rv: &mut Return<'s>,
) -> Result<(), OpError> {
    let jwk = Keys::of(scope).get(id_of(args.get(0))?)?.export_jwk()?;
    let mut members = Vec::new();
    for (name, value) in jwk.iter() {
        members.push(text_value(scope, name)?.into());
        members.push(text_value(scope, value)?.into());
    }
    let members = v8::Array::new_with_elements(scope, &members);
    rv.set(members.into());
    Ok(())
}

pub(in crate::ops) fn op_crypto_key_public<'s>(
    scope: Scope<'_, 's, '_>,
    args: &Arguments<'s>,
    rv: &mut Return<'s>,
) -> Result<(), OpError> {
    let public = Keys::of(scope).get(id_of(args.get(0))?)?.public_half()?;
    rv.set_double(Keys::of(scope).insert(public) as f64);
    Ok(())
}

/// (handle) -> [bits of the modulus, public exponent]
pub(in crate::ops) fn op_crypto_key_rsa<'s>(
    scope: Scope<'_, 's, '_>,
    args: &Arguments<'s>,
    rv: &mut Return<'s>,
) -> Result<(), OpError> {
    let parameters = Keys::of(scope).get(id_of(args.get(0))?)?.rsa_parameters()?;
    let bits = v8::Number::new(scope, f64::from(parameters.modulus_bits));
    let exponent = bytes_value(scope, &parameters.public_exponent)?;
    let both = v8::Array::new_with_elements(scope, &[bits.into(), exponent.into()]);
    rv.set(both.into());
    Ok(())
}
