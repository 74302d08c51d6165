//! V8 objects that hold memory outside of V8's heap.

use std::sync::Arc;

use super::{Arguments, Return};
use crate::heap::HeapGuard;
use crate::natives;
use crate::op_error::OpError;

type Scope<'a, 's, 'i> = &'a mut v8::PinScope<'s, 'i>;

/// (object, kilobytes)
pub(super) fn op_native_made<'s>(
    scope: Scope<'_, 's, '_>,
    args: &Arguments<'s>,
    _rv: &mut Return<'s>,
) -> Result<(), OpError> {
    let object = v8::Local::<v8::Object>::try_from(args.get(0));
    let kilobytes = args.get(1).uint32_value(scope).unwrap_or(0);
    if let Ok(object) = object {
        natives::add(scope, object, u64::from(kilobytes) << 10);
        if let Some(heap) = scope.get_slot::<Arc<HeapGuard>>().cloned() {
            heap.check_natives(scope);
        }
    }
    Ok(())
}
