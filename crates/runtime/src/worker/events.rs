//! What a worker does when something happens: requests, scheduled events, tasks, timers.

use std::time::Instant;

use hearth_core::{Body, Failure, Headers, LimitExceeded, LimitKind, Request, RequestId, Response};
use tokio::sync::oneshot;

use super::Arrival;
use super::core::{Answer, Death, Handlers, Live};
use super::event::{EventResult, Scheduled, Task};
use super::life::{answer, fail, respond};
use super::turn::describe;
use crate::isolate::LockedIsolate;
use crate::op_error::OpError;
use crate::ops::text_value;
use crate::requests::{Head, Reply};

type EventReply = oneshot::Sender<Result<EventResult, Failure>>;

impl Live {
    pub(super) fn fetch(
        &mut self,
        isolate: &mut LockedIsolate<'_>,
        request: Request,
        arrival: Arrival,
        reply: Reply,
    ) -> Result<(), Box<Death>> {
        if !self.handlers.has(Handlers::FETCH) {
            let outbox = self.state.link.outbox();
            self.kept = answer(reply, Failure::NoHandler { event: "fetch" }, |letter| outbox.put(letter));
            return Ok(());
        }
        let Request { id, method, url, headers, body, .. } = request;
        {
            let mut requests = self.state.requests.borrow_mut();
            let entry = requests.begin(id, reply, arrival.deadline);
            entry.arrived = Some(arrival.now);
            self.state.link.account().begin();
            entry.head = Some(Head { method, url, headers });
            if !body.is_empty() {
                let body_id = self.state.next_id();
                self.state.bodies.borrow_mut().insert(body_id, id, body);
                entry.set_body(body_id);
            }
        }
        self.turn(isolate, id, |scope, state| {
            let dispatch = v8::Local::new(scope, &state.entry().dispatch_fetch);
            let undefined = v8::undefined(scope).into();
            let number = v8::Number::new(scope, id.raw() as f64).into();
            let result = dispatch.call(scope, undefined, &[number])?;
            let text = v8::Local::<v8::String>::try_from(result).ok()?;
            let text = crate::ops::string_bytes(scope, text);
            // Now, and not after the turn: microtasks come next, and may go on for long.
            match state.app.meters.memory.charge(bytes::Bytes::from(text)) {
                Ok(text) => respond(state, id, Response::new(200, Headers::TEXT, Body::from(text)), None),
                Err(full) => {
                    let exceeded = LimitExceeded::memory(LimitKind::Heap, full.held, full.limit);
                    fail(state, id, exceeded.into());
                }
            }
            Some(())
        })?;
        self.after(isolate, id)?;
        self.after_others(isolate)?;
        Ok(self.run_tasks(isolate)?)
    }

    /// What came of a request that was handled past the inbox: its answer, or where to wait for it.
    pub(super) fn take_answer(&mut self, id: RequestId) -> Answer {
        if let Some(answer) = self.kept.take() {
            return Answer::Now(answer);
        }
        let mut requests = self.state.requests.borrow_mut();
        if let Some(entry) = requests.get(id) {
            match std::mem::replace(&mut entry.reply, Reply::Done) {
                // Its stream or waitUntil goes on.
                Reply::Kept(Some(answer)) => return Answer::Now(answer),
                Reply::Kept(None) => {
                    let (reply, later) = oneshot::channel();
                    entry.reply = Reply::Fetch(reply);
                    return Answer::Later(later);
                }
                _ => {}
            }
        }
        Answer::Now(Err(Failure::Internal { message: "the request was dropped".into() }))
    }

    /// Events are counted like requests.
    fn begin_event(&mut self, id: RequestId, reply: EventReply, deadline: Option<Instant>) {
        self.state.requests.borrow_mut().begin(id, Reply::Event(reply), deadline).arrived = Some(Instant::now());
        self.state.link.account().begin();
    }

    pub(super) fn scheduled(
        &mut self,
        isolate: &mut LockedIsolate<'_>,
        id: RequestId,
        event: Scheduled,
        deadline: Option<Instant>,
        reply: EventReply,
    ) -> Result<(), Box<Death>> {
        if !self.handlers.has(Handlers::SCHEDULED) {
            drop(reply.send(Err(Failure::NoHandler { event: "scheduled" })));
            return Ok(());
        }
        self.begin_event(id, reply, deadline);
        self.turn(isolate, id, |scope, state| -> Result<(), OpError> {
            let dispatch = v8::Local::new(scope, &state.entry().dispatch_scheduled);
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
        self.after(isolate, id)
    }

    pub(super) fn task(
        &mut self,
        isolate: &mut LockedIsolate<'_>,
        id: RequestId,
        event: Task,
        deadline: Option<Instant>,
        reply: EventReply,
    ) -> Result<(), Box<Death>> {
        if !self.handlers.has(Handlers::TASK) {
            drop(reply.send(Err(Failure::NoHandler { event: "task" })));
            return Ok(());
        }
        self.begin_event(id, reply, deadline);
        self.turn(isolate, id, |scope, state| -> Result<(), OpError> {
            let dispatch = v8::Local::new(scope, &state.entry().dispatch_task);
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
        self.after(isolate, id)
    }

    pub(super) fn fire_timers(&mut self, isolate: &mut LockedIsolate<'_>) -> Result<(), Box<Death>> {
        let now = Instant::now();
        loop {
            let due = self.state.timers.borrow_mut().pop(now);
            let Some((timer, request)) = due else { return Ok(()) };
            self.turn(isolate, request, |scope, state| {
                let fire = v8::Local::new(scope, &state.entry().fire_timer);
                let undefined = v8::undefined(scope).into();
                let id = v8::Number::new(scope, timer as f64).into();
                v8::tc_scope!(let scope, scope);
                if fire.call(scope, undefined, &[id]).is_some() || scope.has_terminated() {
                    return;
                }
                if let Some(error) = scope.exception() {
                    let message = describe(scope, state, error);
                    super::uncaught(state, request, &message);
                }
            })?;
            self.after(isolate, request)?;
        }
    }
}
