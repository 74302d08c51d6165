//! How requests end: replied to and drained, expired, or abandoned by their client. Their pending work is
//! cancelled.

use std::time::Instant;

use hearth_core::{Failure, LimitExceeded, LimitKind, RequestId};

use super::counters::ResponseClass;
use super::event::Event;
use super::inner::{LiveState, WorkerFailure};
use super::respond::{reply_failure, start_draining};
use crate::code_cache::{CodeCache, Exercised};
use crate::console::Level;
use crate::context_state::CancelOutcome;
use crate::isolate::LockedIsolate;
use crate::modules::Uncached;
use crate::op_error::OpError;
use crate::ops::text_value;
use crate::request_table::{Phase, Reply};
use crate::scheduler::PendingReply;

impl LiveState {
    /// A request exceeded a time limit: its code is told, its receiver gets the failure, and its pending
    /// work is cancelled.
    pub(super) fn expire(
        &mut self,
        isolate: &mut LockedIsolate<'_>,
        request: RequestId,
        exceeded: LimitExceeded,
    ) -> Result<(), Box<WorkerFailure>> {
        {
            let mut requests = self.state.requests.borrow_mut();
            let Some(entry) = requests.get(request) else { return Ok(()) };
            if entry.reply.is_expected() {
                self.state.record_response(entry.arrived, ResponseClass::Error);
            }
            // Its code is told under fresh limits: those that it had are used up.
            entry.enter(Phase::Draining, None);
        }
        self.state.log(request, Level::Warn, &exceeded.to_string());
        // The interrupted code may have left the app's state unfinished. A stream that fell silent has had its
        // response, and may be a client that listens for events that never come.
        if exceeded.kind != LimitKind::StreamSilence {
            self.state.worker.retire();
        }
        self.abort(isolate, request, &exceeded.to_string())?;
        self.end(isolate, request, Some(exceeded.into()))
    }

    pub(super) fn disconnect(
        &mut self,
        isolate: &mut LockedIsolate<'_>,
        request: RequestId,
    ) -> Result<(), Box<WorkerFailure>> {
        let streaming = {
            let mut requests = self.state.requests.borrow_mut();
            let Some(entry) = requests.get(request) else { return Ok(()) };
            if entry.phase == Phase::Draining {
                // The client has the whole response; waitUntil goes on.
                return Ok(());
            }
            entry.phase == Phase::Streaming
        };
        self.abort(isolate, request, "the client went away")?;
        // What waitUntil was given goes on after a disconnect, within its own limits.
        let waiting = {
            let mut requests = self.state.requests.borrow_mut();
            let Some(entry) = requests.get(request) else { return Ok(()) };
            entry.reply = Reply::Done;
            start_draining(&self.state, entry);
            entry.waiting > 0
        };
        if waiting || streaming {
            // The stream's cancellation ran as microtasks of the abort's turn.
            return self.after_turn(isolate, request);
        }
        self.end(isolate, request, None)
    }

    /// Aborts `request.signal`, and fails the read of the request's body.
    pub(super) fn abort(
        &mut self,
        isolate: &mut LockedIsolate<'_>,
        request: RequestId,
        message: &str,
    ) -> Result<(), Box<WorkerFailure>> {
        self.turn(isolate, request, |scope, state| -> Result<(), OpError> {
            let abort = v8::Local::new(scope, &state.entry_points().abort_request);
            let undefined = v8::undefined(scope).into();
            let id = v8::Number::new(scope, request.raw() as f64).into();
            let text = text_value(scope, message)?.into();
            abort.call(scope, undefined, &[id, text]);
            state.fail_read(scope, request, message);
            Ok(())
        })?
        .unwrap_or_default();
        Ok(())
    }

    /// After a turn of a request: ends the request if nothing is left to wait for, and arms the alarm of its
    /// last phase.
    pub(super) fn after_turn(
        &mut self,
        isolate: &mut LockedIsolate<'_>,
        request: RequestId,
    ) -> Result<(), Box<WorkerFailure>> {
        if request == RequestId::OUTSIDE {
            return Ok(());
        }
        {
            let mut requests = self.state.requests.borrow_mut();
            let active = requests.active();
            let Some(entry) = requests.get(request) else { return Ok(()) };
            if entry.phase != Phase::Draining {
                self.state.worker.set_active(active);
                return Ok(());
            }
            if entry.waiting > 0 {
                if entry.alarm.is_none() && !self.state.app.limits.wait_until_wall.is_zero() {
                    let limit = self.state.app.limits.wait_until_wall;
                    let exceeded = LimitExceeded::time(LimitKind::WaitUntilWall, limit, limit);
                    let event = Event::Expired { request, exceeded };
                    entry.alarm = Some(self.state.worker.post_at(Instant::now() + limit, event));
                }
                self.state.worker.set_active(active);
                return Ok(());
            }
        }
        self.end(isolate, request, None)
    }

    /// The same for requests that made progress in a turn of another request.
    pub(super) fn after_other_turns(&mut self, isolate: &mut LockedIsolate<'_>) -> Result<(), Box<WorkerFailure>> {
        while let Some(request) = self.state.take_other() {
            self.after_turn(isolate, request)?;
        }
        self.close_sockets_if_draining();
        Ok(())
    }

    /// Ends the request and cancels its pending work.
    pub(super) fn end(
        &mut self,
        isolate: &mut LockedIsolate<'_>,
        request: RequestId,
        failure: Option<Failure>,
    ) -> Result<(), Box<WorkerFailure>> {
        let removed = self.state.requests.borrow_mut().remove(request);
        let Some(mut ended) = removed else { return Ok(()) };
        let reply = std::mem::replace(&mut ended.reply, Reply::Done);
        if let Some(failed) = failure.and_then(|failure| reply_failure(reply, failure, PendingReply::send)) {
            self.state.set_inline_reply(failed);
        }
        let pending = (!ended.pending.is_empty()).then(|| std::mem::take(&mut ended.pending));
        self.state.requests.borrow_mut().recycle(ended);
        if pending.map(|pending| self.state.cancel(pending)) == Some(CancelOutcome::KnownToJs) {
            self.turn(isolate, RequestId::OUTSIDE, |scope, state| {
                let forget = v8::Local::new(scope, &state.entry_points().drop_request);
                let undefined = v8::undefined(scope).into();
                let id = v8::Number::new(scope, request.raw() as f64).into();
                forget.call(scope, undefined, &[id]);
            })?;
        }
        self.served += 1;
        if self.served == 1 && self.state.modules.borrow().has_uncached() {
            self.state.worker.cache_code_later();
        }
        self.state.worker.set_active(self.state.requests.borrow().active());
        Ok(())
    }

    /// Stores the code of the app's modules. After the first request it contains the functions that the
    /// request compiled lazily.
    pub(super) fn cache_code(&mut self, isolate: &mut LockedIsolate<'_>) -> Result<(), Box<WorkerFailure>> {
        let uncached = self.state.modules.borrow_mut().take_uncached();
        let cache = self.state.app.code_cache.clone();
        let exercised = if self.served > 0 { Exercised::Yes } else { Exercised::No };
        self.turn(isolate, RequestId::OUTSIDE, |scope, _| {
            for code in uncached {
                store(scope, &cache, code, exercised);
            }
        })?;
        Ok(())
    }
}

fn store(scope: &mut v8::PinScope<'_, '_>, cache: &CodeCache, code: Uncached, exercised: Exercised) {
    let (key, made) = match code {
        Uncached::Module(key, module) => {
            let module = v8::Local::new(scope, &module);
            (key, module.get_unbound_module_script(scope).create_code_cache())
        }
        Uncached::Script(key, script) => (key, v8::Local::new(scope, &script).create_code_cache()),
        Uncached::Function(key, function) => (key, v8::Local::new(scope, &function).create_code_cache()),
    };
    if let Some(made) = made {
        cache.put(key, &made, exercised);
    }
}
