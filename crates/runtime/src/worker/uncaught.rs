//! Rejections that are unhandled at the end of a turn: the app's listeners for `unhandledrejection` get them, and
//! what they leave is an uncaught error. <https://html.spec.whatwg.org/#unhandled-promise-rejections>

use hearth_core::RequestId;

use super::turn::describe;
use crate::context_state::ContextState;

/// Listeners may leave rejections of their own. After so many rounds the rest is left to the next turn, so that this
/// one ends.
const MAX_ROUNDS: usize = 32;

/// What `offerRejection` takes and answers: `main.js` has the same.
const UNHANDLED: i32 = 0;
const HANDLED: i32 = 1;
const HAS_LISTENER: i32 = 1;
const PREVENTED: i32 = 2;

/// Reports rejections that are unhandled at the end of the turn.
pub(super) fn report_rejections(scope: &mut v8::PinScope<'_, '_>, state: &ContextState, request: RequestId) {
    for _ in 0..MAX_ROUNDS {
        if state.rejections.borrow().is_empty() {
            return;
        }
        let handled = state.rejections.borrow_mut().take_handled();
        for promise in handled {
            let promise = v8::Local::new(scope, promise);
            if promise.state() == v8::PromiseState::Rejected {
                let reason = promise.result(scope);
                offer(scope, state, request, promise, reason, HANDLED);
            }
        }
        let unhandled = state.rejections.borrow_mut().take();
        for rejection in unhandled {
            let promise = v8::Local::new(scope, rejection.promise);
            let reason = v8::Local::new(scope, rejection.reason);
            let answer = offer(scope, state, request, promise, reason, UNHANDLED);
            if answer & HAS_LISTENER != 0 {
                state.rejections.borrow_mut().set_listener();
            }
            if answer & PREVENTED == 0 {
                let message = describe(scope, state, reason);
                super::on_uncaught_error(state, request, &format!("(in promise) {message}"));
            }
        }
        if scope.is_execution_terminating() {
            return;
        }
        // What the listeners have set going.
        scope.perform_microtask_checkpoint();
    }
}

/// Offers a rejection to the app's listeners; the answer has bits.
fn offer(
    scope: &mut v8::PinScope<'_, '_>,
    state: &ContextState,
    request: RequestId,
    promise: v8::Local<v8::Promise>,
    reason: v8::Local<v8::Value>,
    event: i32,
) -> i32 {
    let function = v8::Local::new(scope, &state.entry_points().offer_rejection);
    let undefined = v8::undefined(scope).into();
    let request = v8::Number::new(scope, request.raw() as f64).into();
    let event = v8::Integer::new(scope, event).into();
    v8::tc_scope!(let scope, scope);
    let answer = function.call(scope, undefined, &[request, promise.into(), reason, event]);
    answer.and_then(|answer| answer.int32_value(scope)).unwrap_or(0)
}
