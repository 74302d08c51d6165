//! A worker's first event: its modules are evaluated to the end of their top-level awaits, and their
//! handlers are found.

use std::time::Instant;

use hearth_core::failure::LoadFailure;
use hearth_core::{Failure, RequestId};
use tokio::sync::oneshot;

use super::inner::{Handlers, LiveState, WorkerFailure};
use super::turn::{describe, describe_at};
use crate::context_state::ContextState;
use crate::isolate::LockedIsolate;
use crate::modules::{Started, compile_entry, start_entry};
use crate::request_table::Phase;
use crate::scheduler::PendingReply;

/// Module evaluation under way.
pub(super) struct Loading {
    promise: v8::Global<v8::Promise>,
    module: Option<v8::Global<v8::Module>>,
    pub(super) reply: oneshot::Sender<Result<(), Failure>>,
}

impl LiveState {
    pub(super) fn load(
        &mut self,
        isolate: &mut LockedIsolate<'_>,
        deadline: Option<Instant>,
        reply: oneshot::Sender<Result<(), Failure>>,
    ) -> Result<(), Box<WorkerFailure>> {
        if let Some(entry) = self.state.requests.borrow_mut().get(RequestId::OUTSIDE) {
            entry.enter(Phase::Loading, deadline);
        }
        let started = self.turn(isolate, RequestId::OUTSIDE, |scope, state| {
            v8::tc_scope!(let scope, scope);
            match start_entry(scope, state) {
                Err(failure) => Err(failure),
                Ok(Some(Started { value, module })) => {
                    Ok((promise_of(scope, value), module.map(|module| v8::Global::new(scope, module))))
                }
                Ok(None) => {
                    let (exception, found) = (scope.exception(), scope.message());
                    let message = match exception {
                        Some(exception) => describe_at(scope, state, exception, found),
                        None => "the module could not be evaluated".to_owned(),
                    };
                    scope.reset();
                    Err(LoadFailure::Threw { message })
                }
            }
        });
        match started {
            Err(terminated) => {
                let failed = Box::<WorkerFailure>::from(terminated);
                drop(reply.send(Err(failed.failure.clone())));
                Err(failed)
            }
            Ok(Err(failure)) => {
                let failure = Failure::Load(failure);
                drop(reply.send(Err(failure.clone())));
                Err(Box::new(WorkerFailure { request: RequestId::OUTSIDE, failure: failure.clone(), others: failure }))
            }
            Ok(Ok((promise, module))) => {
                self.loading = Some(Loading { promise, module, reply });
                self.check_loading(isolate)
            }
        }
    }

    /// Compiles the modules, under the limits of their evaluation, and does not evaluate them.
    pub(super) fn compile(&mut self, isolate: &mut LockedIsolate<'_>) -> Result<(), Box<WorkerFailure>> {
        if let Some(entry) = self.state.requests.borrow_mut().get(RequestId::OUTSIDE) {
            entry.enter(Phase::Loading, None);
        }
        Ok(self.turn(isolate, RequestId::OUTSIDE, compile_entry)?)
    }

    /// Checks whether module evaluation has ended.
    pub(super) fn check_loading(&mut self, isolate: &mut LockedIsolate<'_>) -> Result<(), Box<WorkerFailure>> {
        let Some(loading) = &self.loading else { return Ok(()) };
        let promise = loading.promise.clone();
        let module = loading.module.clone();
        let outcome = self.turn(isolate, RequestId::OUTSIDE, |scope, state| {
            let promise = v8::Local::new(scope, &promise);
            match promise.state() {
                v8::PromiseState::Pending => None,
                v8::PromiseState::Rejected => {
                    let reason = promise.result(scope);
                    Some(Err(LoadFailure::Threw { message: describe(scope, state, reason) }))
                }
                v8::PromiseState::Fulfilled => Some(set_handlers(scope, state, module.as_ref())),
            }
        })?;
        let Some(outcome) = outcome else { return Ok(()) };
        let reply = self.loading.take().map(|loading| loading.reply);
        if let Some(entry) = self.state.requests.borrow_mut().get(RequestId::OUTSIDE) {
            entry.enter(Phase::Outside, None);
        }
        match outcome {
            Ok(handlers) => {
                self.handlers = handlers;
                self.state.worker.set_hooks(handlers.0);
                isolate.check_heap_at_start();
                if isolate.heap().wants_collection() {
                    self.collect_all(isolate)?;
                }
                if let Some(reply) = reply {
                    self.state.worker.replies().push(PendingReply::Loaded(reply));
                }
                Ok(())
            }
            Err(failure) => {
                let failure = Failure::Load(failure);
                if let Some(reply) = reply {
                    drop(reply.send(Err(failure.clone())));
                }
                Err(Box::new(WorkerFailure { request: RequestId::OUTSIDE, failure: failure.clone(), others: failure }))
            }
        }
    }
}

fn promise_of(scope: &mut v8::PinScope<'_, '_>, value: v8::Local<v8::Value>) -> v8::Global<v8::Promise> {
    if let Ok(promise) = v8::Local::<v8::Promise>::try_from(value) {
        // `check_loading` handles the rejection: it is not an uncaught one.
        if let Some(ignore) = v8::Function::new(scope, ignore) {
            promise.catch(scope, ignore);
        }
        return v8::Global::new(scope, promise);
    }
    // A script's value is not a promise: one that is fulfilled stands for it.
    let resolver = v8::PromiseResolver::new(scope).expect("a promise can be made outside of termination");
    let undefined = v8::undefined(scope).into();
    resolver.resolve(scope, undefined);
    let promise = resolver.get_promise(scope);
    v8::Global::new(scope, promise)
}

fn ignore<'s>(_: &mut v8::PinScope<'s, '_>, _: v8::FunctionCallbackArguments<'s>, _: v8::ReturnValue<'s>) {}

/// Fails when the default export's class cannot be constructed, or its routes are invalid.
fn set_handlers(
    scope: &mut v8::PinScope<'_, '_>,
    state: &ContextState,
    module: Option<&v8::Global<v8::Module>>,
) -> Result<Handlers, LoadFailure> {
    let set = v8::Local::new(scope, &state.entry_points().set_handlers);
    let undefined: v8::Local<v8::Value> = v8::undefined(scope).into();
    let namespace = match module {
        Some(module) => v8::Local::new(scope, module).get_module_namespace(),
        None => undefined,
    };
    v8::tc_scope!(let scope, scope);
    if let Some(bits) = set.call(scope, undefined, &[namespace]) {
        return Ok(Handlers(bits.uint32_value(scope).unwrap_or(0)));
    }
    let message = match scope.exception() {
        Some(exception) => describe(scope, state, exception),
        None => "the handlers could not be found".to_owned(),
    };
    Err(LoadFailure::Threw { message })
}
