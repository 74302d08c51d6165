//! What JavaScript passes as an array of values, one by one.

use std::sync::Arc;

use hearth_crypto::node::Digest;
use hearth_crypto::{CryptoKey, Hash, KeyKind};

use super::Scope;
use super::keys::{Keys, kind_of};
use crate::op_error::OpError;
use crate::ops::convert::{bytes_of, id_of, string_of};

/// Takes the values one by one.
pub(super) struct Values<'a, 's, 'i> {
    pub(super) scope: Scope<'a, 's, 'i>,
    values: v8::Local<'s, v8::Array>,
    next: u32,
}

impl<'a, 's, 'i> Values<'a, 's, 'i> {
    pub(super) fn new(scope: Scope<'a, 's, 'i>, values: v8::Local<'s, v8::Value>) -> Result<Self, OpError> {
        let values = values.try_into().map_err(|_| OpError::type_error("internal: an array was expected"))?;
        Ok(Self { scope, values, next: 0 })
    }

    pub(super) fn value(&mut self) -> Result<v8::Local<'s, v8::Value>, OpError> {
        let value = self.values.get_index(self.scope, self.next).ok_or(OpError::Pending)?;
        self.next += 1;
        Ok(value)
    }

    pub(super) fn key(&mut self) -> Result<Arc<CryptoKey>, OpError> {
        let handle = id_of(self.value()?)?;
        Keys::of(self.scope).get(handle)
    }

    pub(super) fn text(&mut self) -> Result<String, OpError> {
        let value = self.value()?;
        string_of(self.scope, value)
    }

    pub(super) fn hash(&mut self) -> Result<Hash, OpError> {
        Ok(Hash::from_name(&self.text()?)?)
    }

    pub(super) fn bytes(&mut self) -> Result<Vec<u8>, OpError> {
        Ok(bytes_of(self.value()?)?.into())
    }

    /// `undefined` is no bytes.
    pub(super) fn optional_bytes(&mut self) -> Result<Vec<u8>, OpError> {
        let value = self.value()?;
        if value.is_undefined() { Ok(Vec::new()) } else { Ok(bytes_of(value)?.into()) }
    }

    pub(super) fn number(&mut self) -> Result<u32, OpError> {
        u32_of(self.value()?)
    }

    pub(super) fn kind(&mut self) -> Result<KeyKind, OpError> {
        kind_of(&self.text()?)
    }

    /// `undefined` is none.
    fn optional<R>(
        &mut self,
        of: impl FnOnce(&mut Self, v8::Local<'s, v8::Value>) -> Result<R, OpError>,
    ) -> Result<Option<R>, OpError> {
        let value = self.value()?;
        if value.is_undefined() { Ok(None) } else { of(self, value).map(Some) }
    }

    pub(super) fn maybe_bytes(&mut self) -> Result<Option<Vec<u8>>, OpError> {
        self.optional(|_, value| Ok(bytes_of(value)?.into()))
    }

    pub(super) fn maybe_text(&mut self) -> Result<Option<String>, OpError> {
        self.optional(|this, value| string_of(this.scope, value))
    }

    pub(super) fn maybe_number(&mut self) -> Result<Option<u32>, OpError> {
        self.optional(|_, value| u32_of(value))
    }

    pub(super) fn maybe_integer(&mut self) -> Result<Option<i32>, OpError> {
        self.optional(|_, value| {
            let number = v8::Local::<v8::Number>::try_from(value);
            Ok(number.map_err(|_| OpError::type_error("internal: an integer was expected"))?.value() as i32)
        })
    }

    pub(super) fn large(&mut self) -> Result<u64, OpError> {
        id_of(self.value()?)
    }

    pub(super) fn truth(&mut self) -> Result<bool, OpError> {
        Ok(self.value()?.is_true())
    }

    pub(super) fn digest(&mut self) -> Result<Digest, OpError> {
        Ok(Digest::named(&self.text()?)?)
    }

    pub(super) fn maybe_digest(&mut self) -> Result<Option<Digest>, OpError> {
        Ok(self.maybe_text()?.map(|name| Digest::named(&name)).transpose()?)
    }
}

fn u32_of(value: v8::Local<v8::Value>) -> Result<u32, OpError> {
    u32::try_from(id_of(value)?).map_err(|_| OpError::Range("the number is too large".into()))
}
