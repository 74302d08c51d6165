//! The handlers of requests, scheduled events, tasks and timers.

use std::time::Instant;

use hearth_core::{Body, Failure, Headers, LimitExceeded, LimitKind, MaybeReady, Request, RequestId, Response};
use tokio::sync::oneshot;

use super::RequestTiming;
use super::event::{EventResult, Scheduled, Task};
use super::inner::{Handlers, InlineReply, LiveState, WorkerFailure};
use super::respond::{fail, reply_failure, respond};
use super::turn::describe;
use crate::isolate::LockedIsolate;
use crate::op_error::OpError;
use crate::ops::text_value;
use crate::request_table::{Head, Reply};

type EventReply = oneshot::Sender<Result<EventResult, Failure>>;

impl LiveState {
    pub(super) fn fetch(
        &mut self,
        isolate: &mut LockedIsolate<'_>,
        request: Request,
        timing: RequestTiming,
        reply: Reply,
    ) -> Result<(), Box<WorkerFailure>> {
        if !self.handlers.has(Handlers::FETCH) {
            let failure = Failure::NoHandler { event: "fetch" };
            if let Some(failed) = reply_failure(reply, failure, |reply| self.state.worker.replies().push(reply)) {
                self.state.set_inline_reply(failed);
            }
            return Ok(());
        }
        let Request { id, method, url, headers, body, .. } = request;
        {
            let mut requests = self.state.requests.borrow_mut();
            let entry = requests.begin(id, reply, timing.deadline);
            entry.arrived = Some(timing.now);
            self.state.worker.counters().record_request();
            entry.head = Some(Head { method, url, headers });
            if !body.is_empty() {
                let body_id = self.state.next_id();
                self.state.bodies.borrow_mut().insert(body_id, id, body);
                entry.set_body(body_id);
            }
        }
        self.turn(isolate, id, |scope, state| {
            let dispatch = v8::Local::new(scope, &state.entry_points().dispatch_fetch);
            let undefined = v8::undefined(scope).into();
            let number = v8::Number::new(scope, id.raw() as f64).into();
            let result = dispatch.call(scope, undefined, &[number])?;
            let text = v8::Local::<v8::String>::try_from(result).ok()?;
            let text = crate::ops::string_bytes(scope, text);
            // Now, and not after the turn: microtasks come next and may run for long.
            match state.app.meters.memory.charge(bytes::Bytes::from(text)) {
                Ok(text) => respond(state, id, Response::new(200, Headers::TEXT, Body::from(text)), None),
                Err(full) => {
                    let exceeded = LimitExceeded::memory(LimitKind::Heap, full.held, full.limit);
                    fail(state, id, exceeded.into());
                }
            }
            Some(())
        })?;
        self.after_turn(isolate, id)?;
        self.after_other_turns(isolate)?;
        Ok(self.run_tasks(isolate)?)
    }

    /// The reply of a request that was handled within the call, or where to wait for it.
    pub(super) fn take_inline_reply(&mut self, id: RequestId) -> MaybeReady<Result<Response, Failure>, InlineReply> {
        if let Some(result) = self.state.take_inline_reply() {
            return MaybeReady::Ready(result);
        }
        let mut requests = self.state.requests.borrow_mut();
        match requests.get(id) {
            Some(entry) if matches!(entry.reply, Reply::Inline) => {
                let (sender, reply) = oneshot::channel();
                entry.reply = Reply::Fetch(sender);
                MaybeReady::Pending(reply)
            }
            _ => MaybeReady::Ready(Err(Failure::Internal { message: "the request was dropped".into() })),
        }
    }

    /// Events are counted like requests.
    fn begin_event(&mut self, id: RequestId, reply: EventReply, deadline: Option<Instant>) {
        self.state.requests.borrow_mut().begin(id, Reply::Event(reply), deadline).arrived = Some(Instant::now());
        self.state.worker.counters().record_request();
    }

    pub(super) fn scheduled(
        &mut self,
        isolate: &mut LockedIsolate<'_>,
        id: RequestId,
        event: Scheduled,
        deadline: Option<Instant>,
        reply: EventReply,
    ) -> Result<(), Box<WorkerFailure>> {
        if !self.handlers.has(Handlers::SCHEDULED) {
            drop(reply.send(Err(Failure::NoHandler { event: "scheduled" })));
            return Ok(());
        }
        self.begin_event(id, reply, deadline);
        self.turn(isolate, id, |scope, state| -> Result<(), OpError> {
            let dispatch = v8::Local::new(scope, &state.entry_points().dispatch_scheduled);
            let undefined = v8::undefined(scope).into();
            let arguments = [
                v8::Number::new(scope, id.raw() as f64).into(),
                v8::Number::new(scope, event.scheduled_time).into(),
                text_value(scope, &event.cron)?.into(),
            ];
            dispatch.call(scope, undefined, &arguments);
            Ok(())
        })?
        .unwrap_or_default();
        self.after_turn(isolate, id)
    }

    pub(super) fn task(
        &mut self,
        isolate: &mut LockedIsolate<'_>,
        id: RequestId,
        event: Task,
        deadline: Option<Instant>,
        reply: EventReply,
    ) -> Result<(), Box<WorkerFailure>> {
        if !self.handlers.has(Handlers::TASK) {
            drop(reply.send(Err(Failure::NoHandler { event: "task" })));
            return Ok(());
        }
        self.begin_event(id, reply, deadline);
        self.turn(isolate, id, |scope, state| -> Result<(), OpError> {
            let dispatch = v8::Local::new(scope, &state.entry_points().dispatch_task);
            let undefined: v8::Local<v8::Value> = v8::undefined(scope).into();
            let payload = match &event.payload {
                Some(json) => text_value(scope, json)?.into(),
                None => undefined,
            };
            let time = match event.scheduled_time {
                Some(time) => v8::Number::new(scope, time).into(),
                None => undefined,
            };
            let arguments = [
                v8::Number::new(scope, id.raw() as f64).into(),
                text_value(scope, &event.id)?.into(),
                payload,
                v8::Number::new(scope, f64::from(event.attempt)).into(),
                time,
            ];
            dispatch.call(scope, undefined, &arguments);
            Ok(())
        })?
        .unwrap_or_default();
        self.after_turn(isolate, id)
    }

    pub(super) fn fire_timers(&mut self, isolate: &mut LockedIsolate<'_>) -> Result<(), Box<WorkerFailure>> {
        let now = Instant::now();
        loop {
            let due = self.state.timers.borrow_mut().pop(now);
            let Some((timer, request)) = due else { return Ok(()) };
            self.turn(isolate, request, |scope, state| {
                let fire = v8::Local::new(scope, &state.entry_points().fire_timer);
                let undefined = v8::undefined(scope).into();
                let id = v8::Number::new(scope, timer as f64).into();
                v8::tc_scope!(let scope, scope);
                if fire.call(scope, undefined, &[id]).is_some() || scope.has_terminated() {
                    return;
                }
                if let Some(error) = scope.exception() {
                    let message = describe(scope, state, error);
                    super::on_uncaught_error(state, request, &message);
                }
            })?;
            self.after_turn(isolate, request)?;
        }
    }
}
