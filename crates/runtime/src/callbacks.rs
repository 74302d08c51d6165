//! V8's callbacks to its embedder: rejections, dynamic imports, `import.meta`, stack traces.
//!
//! V8's frames are below each of these, and no panic may pass them: a panic condemns the worker
//! (`guarded`), as in natives.

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::context_state::ContextState;
use crate::modules;

pub(crate) fn install(isolate: &mut v8::Isolate) {
    isolate.set_promise_reject_callback(on_rejection);
    isolate.set_host_import_module_dynamically_callback(modules::import_dynamically);
    isolate.set_host_initialize_import_meta_object_callback(modules::initialize_import_meta);
    isolate.set_prepare_stack_trace_callback(prepare_stack_trace);
}

/// Runs `answer`, which answers V8 for the worker. A panic leaves something half-done: the worker
/// is condemned, and V8 gets the default.
pub(crate) fn guarded<R: Default>(state: &ContextState, answer: impl FnOnce() -> R) -> R {
    catch_unwind(AssertUnwindSafe(answer)).unwrap_or_else(|_| {
        state.poison();
        R::default()
    })
}

unsafe extern "C" fn on_rejection(message: v8::PromiseRejectMessage<'_>) {
    v8::callback_scope!(unsafe scope, &message);
    let Some(state) = ContextState::try_current(scope) else { return };
    guarded(&state, || record_rejection(scope, &state, &message));
}

fn record_rejection(scope: &mut v8::PinScope<'_, '_>, state: &ContextState, message: &v8::PromiseRejectMessage<'_>) {
    let promise = v8::Global::new(scope, message.get_promise());
    match message.get_event() {
        v8::PromiseRejectEvent::PromiseRejectWithNoHandler => {
            let reason = message.get_value().unwrap_or_else(|| v8::undefined(scope).into());
            let reason = v8::Global::new(scope, reason);
            state.rejections.borrow_mut().add(promise, reason);
        }
        v8::PromiseRejectEvent::PromiseHandlerAddedAfterReject => state.rejections.borrow_mut().remove(promise),
        // Settling a promise twice is not an error.
        v8::PromiseRejectEvent::PromiseRejectAfterResolved | v8::PromiseRejectEvent::PromiseResolveAfterResolved => {}
    }
}

fn prepare_stack_trace<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    error: v8::Local<'s, v8::Value>,
    sites: v8::Local<'s, v8::Array>,
) -> v8::Local<'s, v8::Value> {
    let fallback = v8::undefined(scope).into();
    // While the snapshot is made there is no state, and no trace is read.
    let Some(state) = ContextState::try_current(scope) else { return fallback };
    let prepare = v8::Local::new(scope, &state.entry_points().prepare_stack_trace);
    let undefined = v8::undefined(scope).into();
    guarded(&state, || prepare.call(scope, undefined, &[error, sites.into()])).unwrap_or(fallback)
}
