//! Calls of bindings: objects in `env` that the embedding program implements.

use hearth_core::RequestId;

use super::convert::{id_of, string_of};
use super::fetch::{count, gate, pass};
use super::{Arguments, Return};
use crate::context_state::{ContextState, OpValue};
use crate::op_error::OpError;
use crate::operations::BindingCall;

pub(super) fn op_binding_call<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    args: &Arguments<'s>,
    rv: &mut Return<'s>,
) -> Result<(), OpError> {
    let state = ContextState::current(scope);
    let request = RequestId::from_raw(id_of(args.get(0))?);
    let Some(operations) = state.app.operations.clone() else {
        return Err(OpError::type_error("internal: an app without operations has no bindings"));
    };
    let call = BindingCall {
        request,
        binding: string_of(scope, args.get(1))?,
        method: string_of(scope, args.get(2))?,
        arguments: string_of(scope, args.get(3))?,
    };
    count(&state, request)?;
    let gate = gate(&state, request);
    let (_, promise) = state.start_op(scope, request, async move {
        let _permit = pass(gate).await;
        let answer = operations.call(call).await.map_err(|error| OpError::type_error(error.to_string()))?;
        // The empty text, which is not JSON, stands for `undefined`.
        Ok(OpValue::Text(answer.unwrap_or_default().into()))
    })?;
    rv.set(promise.into());
    Ok(())
}
