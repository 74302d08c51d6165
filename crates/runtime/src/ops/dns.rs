//! Look-ups of names for apps, under their egress policy.

use super::convert::{id_of, string_of};
use super::fetch::{count, gate, pass};
use super::net::{NetOutcome, fault, live_request};
use super::{Arguments, Return};
use crate::context_state::{ContextState, OpValue};
use crate::op_error::OpError;

type Scope<'a, 's, 'i> = &'a mut v8::PinScope<'s, 'i>;

/// (request, host) -> promise of addresses, or of a fault. A look-up is a subrequest.
pub(super) fn op_dns_lookup<'s>(
    scope: Scope<'_, 's, '_>,
    args: &Arguments<'s>,
    rv: &mut Return<'s>,
) -> Result<(), OpError> {
    let state = ContextState::current(scope);
    let request = live_request(&state, id_of(args.get(0))?);
    let host = string_of(scope, args.get(1))?;
    count(&state, request)?;
    let gate = gate(&state, request);
    let client = state.app.egress.clone();
    let refused = state.app.operations.as_ref().and_then(|operations| operations.look_up(&host).err());
    let promise = state.start_worker_op(scope, request, None, async move {
        if let Some(refused) = refused {
            return Ok(fault(refused.into()));
        }
        let _permit = pass(gate).await;
        Ok(match client.look_up(&host).await {
            Ok(found) => {
                let addresses = found.iter().map(ToString::to_string).collect();
                OpValue::Net(Box::new(NetOutcome::Addresses(addresses)))
            }
            Err(error) => fault(error.into()),
        })
    })?;
    rv.set(promise.into());
    Ok(())
}
