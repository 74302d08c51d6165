//! How requests end: answered and drained, expired, or left by their client. What they leave behind is cancelled.

use std::time::Instant;

use hearth_core::{Failure, LimitExceeded, LimitKind, RequestId};

use super::account::Answered;
use super::core::{Death, Live};
use super::event::Event;
use super::life::{answer, drain};
use super::outbox::Letter;
use crate::code_cache::{CodeCache, Tried};
use crate::console::Level;
use crate::isolate::LockedIsolate;
use crate::modules::Uncached;
use crate::op_error::OpError;
use crate::ops::text_value;
use crate::requests::{Phase, Reply};
use crate::state::LeftBehind;

impl Live {
    /// A request's time is up: tell its code, answer for it, and cancel what it has under way.
    pub(super) fn expire(
        &mut self,
        isolate: &mut LockedIsolate<'_>,
        request: RequestId,
        exceeded: LimitExceeded,
    ) -> Result<(), Box<Death>> {
        {
            let mut requests = self.state.requests.borrow_mut();
            let Some(entry) = requests.get(request) else { return Ok(()) };
            if let Reply::Fetch(_) | Reply::Event(_) | Reply::Kept(None) = entry.reply {
                self.state.note_answer(entry.arrived, Answered::Badly);
            }
            // Its code hears of it under fresh limits: those that it had are used up.
            entry.enter(Phase::Draining, None);
        }
        self.state.log(request, Level::Warn, &exceeded.to_string());
        // What it left unfinished may have left the app's own state unfinished too. A stream that fell silent has had its
        // response, and may be no more than a client that listens for what never comes.
        if exceeded.kind != LimitKind::StreamSilence {
            self.state.link.retire();
        }
        self.abort(isolate, request, &exceeded.to_string())?;
        self.end(isolate, request, Some(exceeded.into()))
    }

    pub(super) fn disconnect(&mut self, isolate: &mut LockedIsolate<'_>, request: RequestId) -> Result<(), Box<Death>> {
        let streaming = {
            let mut requests = self.state.requests.borrow_mut();
            let Some(entry) = requests.get(request) else { return Ok(()) };
            if entry.phase == Phase::Draining {
                // The client has all it wanted; waitUntil goes on.
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
            drain(&self.state, entry);
            entry.waiting > 0
        };
        if waiting || streaming {
            // The stream's cancellation runs as microtasks of the abort's turn; what is left is looked at now.
            return self.after(isolate, request);
        }
        self.end(isolate, request, None)
    }

    /// Aborts `request.signal`, and fails the read of the request's body.
    pub(super) fn abort(
        &mut self,
        isolate: &mut LockedIsolate<'_>,
        request: RequestId,
        message: &str,
    ) -> Result<(), Box<Death>> {
        self.turn(isolate, request, |scope, state| -> Result<(), OpError> {
            let abort = v8::Local::new(scope, &state.entry().abort_request);
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

    /// After a turn of a request: ends it if nothing is left to wait for, and arms the alarm of its last phase.
    pub(super) fn after(&mut self, isolate: &mut LockedIsolate<'_>, request: RequestId) -> Result<(), Box<Death>> {
        if request == RequestId::OUTSIDE {
            return Ok(());
        }
        {
            let mut requests = self.state.requests.borrow_mut();
            let active = requests.active();
            let Some(entry) = requests.get(request) else { return Ok(()) };
            if entry.phase != Phase::Draining {
                self.state.link.set_active(active);
                return Ok(());
            }
            if entry.waiting > 0 {
                if entry.alarm.is_none() && !self.state.app.limits.wait_until_wall.is_zero() {
                    let limit = self.state.app.limits.wait_until_wall;
                    let exceeded = LimitExceeded::time(LimitKind::WaitUntilWall, limit, limit);
                    let event = Event::Expired { request, exceeded };
                    entry.alarm = Some(self.state.link.post_at(Instant::now() + limit, event));
                }
                self.state.link.set_active(active);
                return Ok(());
            }
        }
        self.end(isolate, request, None)
    }

    /// The same for requests that got further in a turn that was not theirs.
    pub(super) fn after_others(&mut self, isolate: &mut LockedIsolate<'_>) -> Result<(), Box<Death>> {
        while let Some(request) = self.state.take_other() {
            self.after(isolate, request)?;
        }
        self.leave_sockets();
        Ok(())
    }

    /// The request is over: what it left behind is cancelled.
    pub(super) fn end(
        &mut self,
        isolate: &mut LockedIsolate<'_>,
        request: RequestId,
        failure: Option<Failure>,
    ) -> Result<(), Box<Death>> {
        let removed = self.state.requests.borrow_mut().remove(request);
        let Some(mut over) = removed else { return Ok(()) };
        match (std::mem::replace(&mut over.reply, Reply::Done), failure) {
            (Reply::Kept(Some(answer)), _) => self.kept = Some(answer),
            (reply, Some(failure)) => self.kept = answer(reply, failure, Letter::send),
            (_, None) => {}
        }
        let left = (!over.left.is_nothing()).then(|| std::mem::take(&mut over.left));
        self.state.requests.borrow_mut().recycle(over);
        if left.map(|left| self.state.cancel(left)) == Some(LeftBehind::Something) {
            self.turn(isolate, RequestId::OUTSIDE, |scope, state| {
                let forget = v8::Local::new(scope, &state.entry().drop_request);
                let undefined = v8::undefined(scope).into();
                let id = v8::Number::new(scope, request.raw() as f64).into();
                forget.call(scope, undefined, &[id]);
            })?;
        }
        self.served += 1;
        if self.served == 1 && self.state.modules.borrow().has_uncached() {
            self.state.link.keep_code_later();
        }
        self.state.link.set_active(self.state.requests.borrow().active());
        Ok(())
    }

    /// After the first request functions that it compiled lazily are in the kept code too.
    pub(super) fn keep_code(&mut self, isolate: &mut LockedIsolate<'_>) -> Result<(), Box<Death>> {
        let uncached = self.state.modules.borrow_mut().take_uncached();
        let cache = self.state.app.code_cache.clone();
        let tried = if self.served > 0 { Tried::Yes } else { Tried::No };
        self.turn(isolate, RequestId::OUTSIDE, |scope, _| {
            for code in uncached {
                keep(scope, &cache, code, tried);
            }
        })?;
        Ok(())
    }
}

fn keep(scope: &mut v8::PinScope<'_, '_>, cache: &CodeCache, code: Uncached, tried: Tried) {
    let (key, made) = match code {
        Uncached::Module(key, module) => {
            let module = v8::Local::new(scope, &module);
            (key, module.get_unbound_module_script(scope).create_code_cache())
        }
        Uncached::Script(key, script) => (key, v8::Local::new(scope, &script).create_code_cache()),
        Uncached::Function(key, function) => (key, v8::Local::new(scope, &function).create_code_cache()),
    };
    if let Some(made) = made {
        cache.put(key, &made, tried);
    }
}
