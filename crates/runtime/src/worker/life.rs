//! How requests get their answers and how they end. Called by natives while a turn runs; the ends themselves come after
//! the turn (`core.rs`), when no JavaScript of the request is on the stack.

use std::time::Instant;

use hearth_core::{Body, Failure, RequestId, Response};

use super::account::Answered;
use super::event::EventResult;
use super::outbox::Letter;
use super::response::Watched;
use super::sockets::Watch;
use crate::requests::{Phase, Reply, RequestState, Serving};
use crate::sockets::SocketId;
use crate::state::State;

/// The handler's response: its head goes out now. `app` is the other end of its WebSocket, where the app has that.
pub(crate) fn respond(state: &State, request: RequestId, mut response: Response, app: Option<SocketId>) {
    let mut requests = state.requests.borrow_mut();
    // A request that was cancelled has nobody to answer; its body is dropped here.
    let Some(entry) = requests.get(request) else { return };
    let reply = match std::mem::replace(&mut entry.reply, Reply::Done) {
        reply @ (Reply::Fetch(_) | Reply::Kept(None)) => reply,
        // Answered already: this one is dropped.
        other => {
            entry.reply = other;
            return;
        }
    };
    state.note_progress(request);
    state.note_answer(entry.arrived, if response.status < 500 { Answered::Well } else { Answered::Badly });
    match std::mem::take(&mut response.body) {
        _ if response.websocket.is_some() => {
            if let Some(socket) = &mut response.websocket {
                socket.charge_to(&state.app.meters.memory);
                socket.hold(Watch { link: state.link.clone(), request });
            }
            entry.serving = Some(Serving { app, connected: true });
            entry.enter(Phase::Streaming, None);
        }
        Body::Stream(stream) => {
            let silence = state.app.limits.stream_silence;
            let watched = Watched::new(stream, state.link.clone(), request, silence);
            response.body = Body::Stream(Box::new(watched));
            entry.enter(Phase::Streaming, None);
        }
        body => {
            response.body = body;
            drain(state, entry);
        }
    }
    match reply {
        Reply::Fetch(reply) => {
            // Before anybody can hear of it: who keeps the worker until it is at rest looks at once.
            state.link.set_active(requests.active());
            drop(requests);
            post(state, request, Letter::Response(reply, Ok(response)));
        }
        _ => entry.reply = Reply::Kept(Some(Ok(response))),
    }
}

/// The request failed before it had a response.
pub(crate) fn fail(state: &State, request: RequestId, failure: Failure) {
    let mut requests = state.requests.borrow_mut();
    let active = requests.active();
    let Some(entry) = requests.get(request) else { return };
    let reply = std::mem::replace(&mut entry.reply, Reply::Done);
    state.note_progress(request);
    if let Reply::Fetch(_) | Reply::Event(_) | Reply::Kept(None) = reply {
        state.note_answer(entry.arrived, Answered::Badly);
    }
    drain(state, entry);
    state.link.set_active(active);
    if let Some(kept) = answer(reply, failure, |letter| post(state, request, letter)) {
        entry.reply = Reply::Kept(Some(kept));
    }
}

pub(crate) fn finish_event(state: &State, request: RequestId, result: EventResult) {
    let mut requests = state.requests.borrow_mut();
    let Some(entry) = requests.get(request) else { return };
    let Reply::Event(reply) = std::mem::replace(&mut entry.reply, Reply::Done) else { return };
    state.note_progress(request);
    state.note_answer(entry.arrived, if result.success { Answered::Well } else { Answered::Badly });
    drain(state, entry);
    state.link.set_active(requests.active());
    drop(requests);
    post(state, request, Letter::Event(reply, Ok(result)));
}

/// An answer leaves when the turn of its request is over. Whose turn it is not may have a caller on the stack, who hands
/// nothing out: then it leaves at once.
fn post(state: &State, request: RequestId, letter: Letter) {
    if state.running() == request { state.link.outbox().put(letter) } else { letter.send() }
}

/// Only `waitUntil` is left, under fresh limits.
pub(super) fn drain(state: &State, entry: &mut RequestState) {
    let limit = state.app.limits.wait_until_wall;
    let wall = (entry.waiting > 0 && !limit.is_zero()).then(|| Instant::now() + limit);
    entry.enter(Phase::Draining, wall);
}

/// Tells whoever waits, by `post`. Where that is the caller on the stack, the answer comes back to be kept for it.
pub(super) fn answer(reply: Reply, failure: Failure, post: impl FnOnce(Letter)) -> Option<Result<Response, Failure>> {
    match reply {
        Reply::Fetch(reply) => post(Letter::Response(reply, Err(failure))),
        Reply::Event(reply) => post(Letter::Event(reply, Err(failure))),
        Reply::Kept(None) => return Some(Err(failure)),
        Reply::Kept(answered) => return answered,
        Reply::Done => {}
    }
    None
}

/// An error that no handler answers for: logged, and the worker is replaced when it has finished what it has. What listeners
/// of a WebSocket leave uncaught is logged, and the socket goes on: they are what handlers are to requests. So does a worker whose
/// modules leave something uncaught and load all the same.
pub(crate) fn uncaught(state: &State, request: RequestId, message: &str) {
    let text = format!("Uncaught {message}");
    state.log(request, crate::console::Level::Error, &text);
    let stays = state.requests.borrow_mut().get(request).is_some_and(|entry| {
        // What is rejected while the modules are evaluated would be rejected in every other worker, too.
        entry.listens || entry.phase == Phase::Loading
    });
    if !stays {
        state.link.retire();
    }
}
