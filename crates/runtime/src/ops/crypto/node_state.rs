//! Hashes, HMACs and ciphers that Node's `crypto` feeds piece by piece, by handle. A state goes with the object that owns it.

use std::collections::HashMap;

use hearth_crypto::node::{
    CipherDirection, CipherState, DIGEST_NAMES, Digest, HashState, HmacState, cipher_info, cipher_names, curve_names,
    ecdh_convert, ecdh_public, modp_group,
};

use super::Scope;
use super::values::Values;
use crate::context_state::ContextState;
use crate::natives;
use crate::op_error::OpError;
use crate::ops::convert::{buffer_value, id_of, string_of, text_value, with_bytes};
use crate::ops::{Arguments, Return};
use crate::request_table::ById;

/// About what OpenSSL holds for one.
const STATE_BYTES: u64 = 2048;

enum State {
    Hash(HashState),
    Hmac(HmacState),
    Cipher(Box<CipherState>),
    /// It has given its result.
    Finished,
}

/// Kept with the isolate.
#[derive(Default)]
struct States {
    states: HashMap<u64, State, ById>,
    next: u64,
}

impl States {
    fn of(isolate: &mut v8::Isolate) -> &mut Self {
        if isolate.get_slot::<Self>().is_none() {
            isolate.set_slot(Self::default());
        }
        isolate.get_slot_mut().expect("the slot was filled above")
    }

    fn get(&mut self, handle: u64) -> Result<&mut State, OpError> {
        self.states.get_mut(&handle).ok_or_else(|| OpError::type_error("internal: no such state"))
    }
}

/// (owner, kind, values) -> handle
pub(in crate::ops) fn op_node_crypto_state_new<'s>(
    scope: Scope<'_, 's, '_>,
    args: &Arguments<'s>,
    rv: &mut Return<'s>,
) -> Result<(), OpError> {
    let object = v8::Local::<v8::Object>::try_from(args.get(0));
    let object = object.map_err(|_| OpError::type_error("internal: an object was expected"))?;
    let kind = string_of(scope, args.get(1))?;
    let state = new_state(&kind, &mut Values::new(scope, args.get(2))?)?;
    if let State::Hash(hash) = &state
        && hash.output_bytes() as u64 > ContextState::current(scope).app.limits.heap.bytes()
    {
        return Err(OpError::Range("the output is larger than the app's memory limit".into()));
    }
    let states = States::of(scope);
    states.next += 1;
    let handle = states.next;
    states.states.insert(handle, state);
    natives::add_with(scope, object, STATE_BYTES, move |isolate| {
        States::of(isolate).states.remove(&handle);
    });
    rv.set_double(handle as f64);
    Ok(())
}

fn new_state(kind: &str, v: &mut Values<'_, '_, '_>) -> Result<State, OpError> {
    Ok(match kind {
        "hash" => State::Hash(HashState::new(v.digest()?, v.maybe_number()?.map(|bytes| bytes as usize))?),
        "hash-copy" => {
            let (handle, bytes) = (v.large()?, v.maybe_number()?.map(|bytes| bytes as usize));
            match States::of(v.scope).get(handle)? {
                State::Hash(hash) => State::Hash(hash.fork(bytes)?),
                _ => return Err(OpError::type_error("internal: a hash was expected")),
            }
        }
        "hmac" => {
            let (digest, key) = (v.digest()?, v.key()?);
            State::Hmac(HmacState::new(digest, key.secret_bytes()?)?)
        }
        "cipher" => {
            let (name, encrypts, key) = (v.text()?, v.truth()?, v.key()?);
            let (iv, tag) = (v.maybe_bytes()?, v.maybe_number()?.map(|bytes| bytes as usize));
            let direction = if encrypts { CipherDirection::Encrypt } else { CipherDirection::Decrypt };
            State::Cipher(Box::new(CipherState::new(&name, direction, key.secret_bytes()?, iv.as_deref(), tag)?))
        }
        _ => return Err(OpError::type_error("internal: no such kind of state")),
    })
}

/// (handle, data) -> bytes of a cipher
pub(in crate::ops) fn op_node_crypto_state_update<'s>(
    scope: Scope<'_, 's, '_>,
    args: &Arguments<'s>,
    rv: &mut Return<'s>,
) -> Result<(), OpError> {
    let handle = id_of(args.get(0))?;
    let state = States::of(scope).get(handle)?;
    let out = with_bytes(args.get(1), |data| match state {
        State::Hash(hash) => hash.update(data).map(|()| None).map_err(OpError::from),
        State::Hmac(hmac) => hmac.update(data).map(|()| None).map_err(OpError::from),
        State::Cipher(cipher) => cipher.update(data).map(Some).map_err(OpError::from),
        State::Finished => Err(OpError::type_error("internal: the state is finished")),
    })??;
    if let Some(out) = out {
        let buffer = buffer_value(scope, &out);
        rv.set(buffer.into());
    }
    Ok(())
}

/// (handle, method, values)
pub(in crate::ops) fn op_node_crypto_state_call<'s>(
    scope: Scope<'_, 's, '_>,
    args: &Arguments<'s>,
    rv: &mut Return<'s>,
) -> Result<(), OpError> {
    let handle = id_of(args.get(0))?;
    let method = string_of(scope, args.get(1))?;
    if method == "finish" {
        let taken = std::mem::replace(States::of(scope).get(handle)?, State::Finished);
        let out = match taken {
            State::Hash(hash) => hash.finish()?,
            State::Hmac(hmac) => hmac.finish()?,
            State::Cipher(mut cipher) => {
                let out = cipher.finish();
                // Its tag is asked for afterwards.
                *States::of(scope).get(handle)? = State::Cipher(cipher);
                out?
            }
            State::Finished => return Err(OpError::type_error("internal: the state is finished")),
        };
        let buffer = buffer_value(scope, &out);
        rv.set(buffer.into());
        return Ok(());
    }
    let v = &mut Values::new(scope, args.get(2))?;
    let (bytes, number) = match method.as_str() {
        "aad" => (v.bytes()?, v.maybe_number()?),
        "set-tag" => (v.bytes()?, None),
        "padding" => (Vec::new(), Some(u32::from(v.truth()?))),
        _ => (Vec::new(), None),
    };
    let State::Cipher(cipher) = States::of(scope).get(handle)? else {
        return Err(OpError::type_error("internal: a cipher was expected"));
    };
    match method.as_str() {
        "aad" => rv.set_bool(cipher.set_additional_data(&bytes, number.map(|bytes| bytes as usize))?),
        "set-tag" => rv.set_bool(cipher.set_tag(&bytes)?),
        "padding" => cipher.set_padding(number == Some(1)),
        "tag" => {
            if let Some(tag) = cipher.tag().map(<[u8]>::to_vec) {
                let buffer = buffer_value(scope, &tag);
                rv.set(buffer.into());
            }
        }
        _ => return Err(OpError::type_error("internal: no such method")),
    }
    Ok(())
}

/// (what, values): names, and what is known of a name; undefined where it is not known.
pub(in crate::ops) fn op_node_crypto_info<'s>(
    scope: Scope<'_, 's, '_>,
    args: &Arguments<'s>,
    rv: &mut Return<'s>,
) -> Result<(), OpError> {
    let what = string_of(scope, args.get(0))?;
    let v = &mut Values::new(scope, args.get(1))?;
    let mut values: Vec<v8::Local<v8::Value>> = Vec::new();
    match what.as_str() {
        "hashes" | "ciphers" | "curves" => {
            let names: Vec<&str> = match what.as_str() {
                "hashes" => DIGEST_NAMES.iter().copied().filter(|name| Digest::from_name(name).is_some()).collect(),
                "ciphers" => cipher_names().collect(),
                _ => curve_names().collect(),
            };
            for name in names {
                values.push(text_value(v.scope, name)?.into());
            }
        }
        "digest" => {
            if let Some(digest) = Digest::from_name(&v.text()?) {
                rv.set_double(digest.bytes() as f64);
            }
            return Ok(());
        }
        "cipher" => {
            let Some(info) = cipher_info(&v.text()?) else { return Ok(()) };
            values.push(text_value(v.scope, info.mode)?.into());
            for number in [info.nid as f64, info.block_bytes as f64, info.iv_bytes as f64, info.key_bytes as f64] {
                values.push(v8::Number::new(v.scope, number).into());
            }
            values.push(text_value(v.scope, &info.name)?.into());
        }
        "group" => {
            let Some(group) = modp_group(&v.text()?) else { return Ok(()) };
            values.push(buffer_value(v.scope, &group.prime).into());
            values.push(buffer_value(v.scope, &group.generator).into());
        }
        "ecdh-convert" | "ecdh-public" => {
            let (curve, data, form) = (v.text()?, v.bytes()?, v.text()?);
            let point = if what == "ecdh-public" { ecdh_public(&curve, &data)? } else { data };
            let point = ecdh_convert(&curve, &point, &form)?;
            let buffer = buffer_value(v.scope, &point);
            rv.set(buffer.into());
            return Ok(());
        }
        _ => return Err(OpError::type_error("internal: nothing is known of this")),
    }
    let list = v8::Array::new_with_elements(v.scope, &values);
    rv.set(list.into());
    Ok(())
}
