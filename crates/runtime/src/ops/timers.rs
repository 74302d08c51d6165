//! Timers and clocks.

use std::time::Duration;

use hearth_core::RequestId;

use super::convert::id_of;
use super::{Arguments, Return};
use crate::context_state::ContextState;
use crate::op_error::OpError;
use crate::timers::Repeat;

type Scope<'a, 's, 'i> = &'a mut v8::PinScope<'s, 'i>;

pub(super) fn op_timer_start<'s>(
    scope: Scope<'_, 's, '_>,
    args: &Arguments<'s>,
    _rv: &mut Return<'s>,
) -> Result<(), OpError> {
    let state = ContextState::current(scope);
    let request = RequestId::from_raw(id_of(args.get(0))?);
    let id = id_of(args.get(1))?;
    let milliseconds = args.get(2).number_value(scope).unwrap_or(0.0);
    let delay = Duration::try_from_secs_f64(milliseconds / 1e3).unwrap_or(Duration::ZERO);
    let repeat = if args.get(3).is_true() { Repeat::Every } else { Repeat::Once };
    if !state.requests.borrow().contains(request) {
        // The request has ended: the timer would be cancelled at once.
        return Ok(());
    }
    state.timers.borrow_mut().start(id, request, delay, repeat);
    state.requests.borrow_mut().add_timer(request, id);
    Ok(())
}

pub(super) fn op_timer_cancel<'s>(
    scope: Scope<'_, 's, '_>,
    args: &Arguments<'s>,
    _rv: &mut Return<'s>,
) -> Result<(), OpError> {
    ContextState::current(scope).timers.borrow_mut().cancel(id_of(args.get(0))?);
    Ok(())
}

pub(super) fn op_now<'s>(scope: Scope<'_, 's, '_>, _args: &Arguments<'s>, rv: &mut Return<'s>) -> Result<(), OpError> {
    rv.set_double(ContextState::current(scope).now());
    Ok(())
}

pub(super) fn op_time_origin<'s>(
    scope: Scope<'_, 's, '_>,
    _args: &Arguments<'s>,
    rv: &mut Return<'s>,
) -> Result<(), OpError> {
    rv.set_double(ContextState::current(scope).origin());
    Ok(())
}
