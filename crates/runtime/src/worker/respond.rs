//! How requests get their replies. Called by natives while a turn runs; requests end after the turn
//! (`finish.rs`), when no JavaScript of theirs is on the stack.

use std::time::Instant;

use hearth_core::{Body, Failure, RequestId, Response};

use super::counters::ResponseClass;
use super::event::EventResult;
use super::response::ObservedBody;
use super::sockets::SocketGuard;
use crate::context_state::ContextState;
use crate::request_table::{ActiveSocket, Phase, Reply, RequestState};
use crate::scheduler::PendingReply;
use crate::socket_table::SocketId;

/// Replies with the handler's response. `app` is the app's end of its WebSocket, where the app has it.
pub(crate) fn respond(state: &ContextState, request: RequestId, mut response: Response, app: Option<SocketId>) {
    let mut requests = state.requests.borrow_mut();
    // A request that was cancelled has no receiver; its body is dropped here.
    let Some(entry) = requests.get(request) else { return };
    let reply = match std::mem::replace(&mut entry.reply, Reply::Done) {
        reply @ (Reply::Fetch(_) | Reply::Inline) => reply,
        // A second response is dropped.
        other => {
            entry.reply = other;
            return;
        }
    };
    state.record_progress(request);
    state.record_response(entry.arrived, if response.status < 500 { ResponseClass::Ok } else { ResponseClass::Error });
    match std::mem::take(&mut response.body) {
        _ if response.websocket.is_some() => {
            if let Some(socket) = &mut response.websocket {
                socket.charge_to(&state.app.meters.memory);
                socket.hold(SocketGuard { worker: state.worker.clone(), request });
            }
            entry.socket = Some(ActiveSocket { app, connected: true });
            entry.enter(Phase::Streaming, None);
        }
        Body::Stream(stream) => {
            let max_silence = state.app.limits.stream_silence;
            let observed = ObservedBody::new(stream, state.worker.clone(), request, max_silence);
            response.body = Body::Stream(Box::new(observed));
            entry.enter(Phase::Streaming, None);
        }
        body => {
            response.body = body;
            start_draining(state, entry);
        }
    }
    match reply {
        Reply::Fetch(reply) => {
            // Before the receiver gets the reply: a pool that waits for an idle worker looks at once.
            state.worker.set_active(requests.active());
            drop(requests);
            send_or_defer(state, request, PendingReply::Response(reply, Ok(response)));
        }
        _ => state.set_inline_reply(Ok(response)),
    }
}

/// The request failed before it had a response.
pub(crate) fn fail(state: &ContextState, request: RequestId, failure: Failure) {
    let mut requests = state.requests.borrow_mut();
    let active = requests.active();
    let Some(entry) = requests.get(request) else { return };
    let reply = std::mem::replace(&mut entry.reply, Reply::Done);
    state.record_progress(request);
    if reply.is_expected() {
        state.record_response(entry.arrived, ResponseClass::Error);
    }
    start_draining(state, entry);
    state.worker.set_active(active);
    if let Some(failed) = reply_failure(reply, failure, |reply| send_or_defer(state, request, reply)) {
        state.set_inline_reply(failed);
    }
}

pub(crate) fn finish_event(state: &ContextState, request: RequestId, result: EventResult) {
    let mut requests = state.requests.borrow_mut();
    let Some(entry) = requests.get(request) else { return };
    let Reply::Event(reply) = std::mem::replace(&mut entry.reply, Reply::Done) else { return };
    state.record_progress(request);
    state.record_response(entry.arrived, if result.success { ResponseClass::Ok } else { ResponseClass::Error });
    start_draining(state, entry);
    state.worker.set_active(requests.active());
    drop(requests);
    send_or_defer(state, request, PendingReply::Event(reply, Ok(result)));
}

/// A reply leaves when the turn of its request is over. A turn of another request may have a caller on
/// the stack that sends no deferred replies: then it leaves at once.
fn send_or_defer(state: &ContextState, request: RequestId, reply: PendingReply) {
    if state.running() == request { state.worker.replies().push(reply) } else { reply.send() }
}

/// Only `waitUntil` is left, under fresh limits.
pub(super) fn start_draining(state: &ContextState, entry: &mut RequestState) {
    let limit = state.app.limits.wait_until_wall;
    let wall = (entry.waiting > 0 && !limit.is_zero()).then(|| Instant::now() + limit);
    entry.enter(Phase::Draining, wall);
}

/// Gives the failure to the receiver, by `send`. Where the receiver is the caller on the stack, the
/// result is returned: the caller takes it when the turn is over.
pub(super) fn reply_failure(
    reply: Reply,
    failure: Failure,
    send: impl FnOnce(PendingReply),
) -> Option<Result<Response, Failure>> {
    match reply {
        Reply::Fetch(reply) => send(PendingReply::Response(reply, Err(failure))),
        Reply::Event(reply) => send(PendingReply::Event(reply, Err(failure))),
        Reply::Inline => return Some(Err(failure)),
        Reply::Done => {}
    }
    None
}

/// An error outside of any handler: it is logged, and the worker is replaced when its requests have
/// ended. Two kinds are only logged: errors of a WebSocket's listeners, which are to the socket what
/// handlers are to requests, and errors during the loading of modules that load all the same.
pub(crate) fn on_uncaught_error(state: &ContextState, request: RequestId, message: &str) {
    let text = format!("Uncaught {message}");
    state.log(request, crate::console::Level::Error, &text);
    let is_tolerated = state.requests.borrow_mut().get(request).is_some_and(|entry| {
        // What is rejected while the modules are evaluated would be rejected in every other worker, too.
        entry.has_listener || entry.phase == Phase::Loading
    });
    if !is_tolerated {
        state.worker.retire();
    }
}
