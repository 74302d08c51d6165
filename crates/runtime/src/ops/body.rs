//! Native byte streams: reading them from JavaScript, and pipes that JavaScript writes to.

use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use hearth_core::memory::Charge;
use hearth_core::pipe::{self, Room};
use hearth_core::{Body, BodyError, ByteSize, LimitExceeded, LimitKind, RequestId};

use super::convert::{bytes_of, bytes_value, id_of, string_bytes, string_of, text_of};
use super::{Arguments, Return};
use crate::body_table::BodyId;
use crate::context_state::{ContextState, OpOutcome, OpValue};
use crate::op_error::OpError;

type Scope<'a, 's, 'i> = &'a mut v8::PinScope<'s, 'i>;

/// Kinds of bodies, as `js/types/ops.d.ts` has them; 0 is none.
const BODY_BYTES: i32 = 1;
const BODY_TEXT: i32 = 2;
const BODY_NATIVE: i32 = 3;

/// The most that a turn takes of a body that comes in pieces.
const MAX_IN_TURN: usize = 256 * 1024;
/// The most that is collected outside of a turn before other tasks have their turn.
const MAX_AT_ONCE: usize = 256 * 1024;

fn gone() -> OpError {
    OpError::type_error("the body cannot be read any more")
}

/// The next chunk. A chunk that has arrived already needs no task.
pub(super) fn op_body_read<'s>(
    scope: Scope<'_, 's, '_>,
    args: &Arguments<'s>,
    rv: &mut Return<'s>,
) -> Result<(), OpError> {
    let state = ContextState::current(scope);
    let id = id_of(args.get(0))?;
    let mut body = state.bodies.borrow_mut().take_to_read(id).ok_or_else(gone)?;
    match body.poll_next(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(next) => {
            state.bodies.borrow_mut().put_back(id, body);
            let resolver = v8::PromiseResolver::new(scope).ok_or(OpError::Pending)?;
            match next.transpose() {
                Ok(Some(chunk)) => {
                    let chunk = bytes_value(scope, &chunk)?;
                    resolver.resolve(scope, chunk.into());
                }
                Ok(None) => {
                    let undefined = v8::undefined(scope);
                    resolver.resolve(scope, undefined.into());
                }
                Err(error) => {
                    if let Some(error) = OpError::from(error).to_value(scope) {
                        resolver.reject(scope, error);
                    }
                }
            }
            rv.set(resolver.get_promise(scope).into());
        }
        Poll::Pending => {
            let promise = start_read(scope, &state, id, async move {
                let chunk = body.next().await.transpose()?;
                Ok(OpValue::Chunk { body: id, rest: body, chunk })
            })?;
            rv.set(promise.into());
        }
    }
    Ok(())
}

/// Waits for more of a body. A read of the request's own body is registered: it fails when the
/// client disconnects.
fn start_read<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    state: &ContextState,
    id: BodyId,
    work: impl Future<Output = OpOutcome> + Send + 'static,
) -> Result<v8::Local<'s, v8::Promise>, OpError> {
    let request = state.bodies.borrow().request(id);
    let (op, promise) = state.start_op(scope, request, work)?;
    state.requests.borrow_mut().set_read(request, id, op);
    Ok(promise)
}

/// A whole body.
pub(super) enum Everything {
    /// The body has ended and needs no cancelling.
    Now(RequestId, Bytes),
    Later(Body),
}

/// The whole body: at once where all of it has arrived and is not large. A decoded body may be far
/// larger than what arrived, so that beyond a bounded size it is collected outside of the turn,
/// under the app's limit.
pub(super) fn take_all(state: &ContextState, id: BodyId) -> Result<Everything, OpError> {
    let whole = state.bodies.borrow_mut().take_whole(id);
    if let Some((request, bytes)) = whole {
        state.requests.borrow_mut().remove_body(request, id);
        return Ok(Everything::Now(request, bytes));
    }
    let mut body = state.bodies.borrow_mut().take_to_read(id).ok_or_else(gone)?;
    let mut pieces: Vec<Bytes> = Vec::new();
    let mut size = 0;
    loop {
        if size >= MAX_IN_TURN {
            return Ok(Everything::Later(Body::Stream(Box::new(Prefixed { first: Some(join(pieces)), rest: body }))));
        }
        match body.poll_next(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(Some(Ok(piece))) => {
                size += piece.len();
                pieces.push(piece);
            }
            Poll::Ready(Some(Err(error))) => return Err(error.into()),
            Poll::Ready(None) => break,
            Poll::Pending => {
                return Ok(Everything::Later(if pieces.is_empty() {
                    body
                } else {
                    Body::Stream(Box::new(Prefixed { first: Some(join(pieces)), rest: body }))
                }));
            }
        }
    }
    let request = state.bodies.borrow().request(id);
    state.bodies.borrow_mut().remove(id);
    state.requests.borrow_mut().remove_body(request, id);
    Ok(Everything::Now(request, join(pieces)))
}

fn join(mut pieces: Vec<Bytes>) -> Bytes {
    match pieces.len() {
        0 => Bytes::new(),
        1 => pieces.remove(0),
        _ => pieces.concat().into(),
    }
}

/// What was read already, then the rest.
struct Prefixed {
    first: Option<Bytes>,
    rest: Body,
}

impl hearth_core::ByteStream for Prefixed {
    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, BodyError>>> {
        match self.first.take() {
            Some(first) => Poll::Ready(Some(Ok(first))),
            None => self.rest.poll_next(cx),
        }
    }
}

pub(super) fn op_body_bytes<'s>(
    scope: Scope<'_, 's, '_>,
    args: &Arguments<'s>,
    rv: &mut Return<'s>,
) -> Result<(), OpError> {
    read_all(scope, args, rv, OpValue::Bytes)
}

pub(super) fn op_body_text<'s>(
    scope: Scope<'_, 's, '_>,
    args: &Arguments<'s>,
    rv: &mut Return<'s>,
) -> Result<(), OpError> {
    read_all(scope, args, rv, OpValue::Text)
}

/// Returns the whole body, wrapped: at once, or by a promise.
fn read_all<'s>(
    scope: Scope<'_, 's, '_>,
    args: &Arguments<'s>,
    rv: &mut Return<'s>,
    wrap: fn(Bytes) -> OpValue,
) -> Result<(), OpError> {
    let state = ContextState::current(scope);
    let id = id_of(args.get(0))?;
    match take_all(&state, id)? {
        Everything::Now(request, bytes) => {
            let value = state.op_value(scope, request, wrap(bytes))?;
            rv.set(value);
        }
        Everything::Later(body) => {
            let promise = collect_later(scope, &state, id, body, wrap)?;
            rv.set(promise.into());
        }
    }
    Ok(())
}

/// The promise of the rest of a body, wrapped.
pub(super) fn collect_later<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    state: &ContextState,
    id: BodyId,
    body: Body,
    wrap: fn(Bytes) -> OpValue,
) -> Result<v8::Local<'s, v8::Promise>, OpError> {
    let work = collect(body, state.app.limits.heap, state.app.meters.memory.open(), wrap);
    start_read(scope, state, id, work)
}

/// An outgoing body, as JavaScript passes it: its kind and its value.
pub(super) fn body_argument<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    state: &ContextState,
    request: RequestId,
    kind: v8::Local<'s, v8::Value>,
    value: v8::Local<'s, v8::Value>,
) -> Result<Body, OpError> {
    let account = &state.app.meters.memory;
    Ok(match kind.int32_value(scope).unwrap_or(0) {
        BODY_BYTES => account.charge(bytes_of(value)?)?.into(),
        BODY_TEXT => {
            let text = text_of(value)?;
            account.charge(Bytes::from(string_bytes(scope, text)))?.into()
        }
        BODY_NATIVE => {
            let id = id_of(value)?;
            if let Some(entry) = state.requests.borrow_mut().get(request) {
                entry.forget_body(id);
            }
            let taken = state.bodies.borrow_mut().take(id);
            taken.ok_or_else(|| OpError::type_error("the body cannot be sent: it is being read"))?
        }
        _ => Body::Empty,
    })
}

/// Collects outside of the isolate, at most as much as the isolate may hold, and all bodies of the
/// app together within its account.
async fn collect(
    mut body: Body,
    limit: ByteSize,
    mut charge: Charge,
    wrap: fn(Bytes) -> OpValue,
) -> Result<OpValue, OpError> {
    let mut pieces = Vec::new();
    let (mut size, mut since_yield) = (0u64, 0);
    while let Some(piece) = body.next().await {
        let piece = piece?;
        size += piece.len() as u64;
        if limit.bytes() != 0 && size > limit.bytes() {
            return Err(OpError::Memory(LimitExceeded::memory(LimitKind::Heap, ByteSize(size), limit)));
        }
        charge.try_set(size)?;
        since_yield += piece.len();
        pieces.push(piece);
        // A decoder has the next piece at once as long as it has input.
        if since_yield >= MAX_AT_ONCE {
            since_yield = 0;
            tokio::task::yield_now().await;
        }
    }
    Ok(wrap(join(pieces)))
}

pub(super) fn op_body_cancel<'s>(
    scope: Scope<'_, 's, '_>,
    args: &Arguments<'s>,
    _rv: &mut Return<'s>,
) -> Result<(), OpError> {
    ContextState::current(scope).bodies.borrow_mut().take(id_of(args.get(0))?);
    Ok(())
}

pub(super) fn op_body_length<'s>(
    scope: Scope<'_, 's, '_>,
    args: &Arguments<'s>,
    rv: &mut Return<'s>,
) -> Result<(), OpError> {
    let length = ContextState::current(scope).bodies.borrow().length(id_of(args.get(0))?);
    rv.set_double(length.map_or(-1.0, |length| length as f64));
    Ok(())
}

pub(super) fn op_pipe_new<'s>(
    scope: Scope<'_, 's, '_>,
    args: &Arguments<'s>,
    rv: &mut Return<'s>,
) -> Result<(), OpError> {
    let state = ContextState::current(scope);
    let request = RequestId::from_raw(id_of(args.get(0))?);
    let length = args.get(1).number_value(scope).filter(|length| *length >= 0.0).map(|length| length as u64);
    let (writer, reader) = pipe::pipe(pipe::DEFAULT_CAPACITY, length);
    let id = state.next_id();
    state.bodies.borrow_mut().insert_pipe(id, request, Arc::new(writer), Body::Stream(Box::new(reader)));
    state.requests.borrow_mut().add_body(request, id);
    rv.set_double(id as f64);
    Ok(())
}

pub(super) fn op_pipe_write<'s>(
    scope: Scope<'_, 's, '_>,
    args: &Arguments<'s>,
    rv: &mut Return<'s>,
) -> Result<(), OpError> {
    let state = ContextState::current(scope);
    let id = id_of(args.get(0))?;
    let chunk = args.get(1);
    let chunk = match v8::Local::<v8::String>::try_from(chunk) {
        Ok(text) => Bytes::from(string_bytes(scope, text)),
        Err(_) => bytes_of(chunk)?,
    };
    let writer = state.bodies.borrow().writer(id);
    let room = match (writer, state.app.meters.memory.charge(chunk)) {
        (None, _) => Room::Gone,
        (Some(writer), Ok(chunk)) => writer.write(chunk),
        (Some(writer), Err(full)) => {
            writer.fail(BodyError::Failed(full.to_string()));
            Room::Gone
        }
    };
    rv.set_int32(match room {
        Room::Yes => 1,
        Room::Full => 0,
        Room::Gone => -1,
    });
    Ok(())
}

pub(super) fn op_pipe_ready<'s>(
    scope: Scope<'_, 's, '_>,
    args: &Arguments<'s>,
    rv: &mut Return<'s>,
) -> Result<(), OpError> {
    let state = ContextState::current(scope);
    let id = id_of(args.get(0))?;
    let writer = state.bodies.borrow().writer(id);
    let request = state.bodies.borrow().request(id);
    let (_, promise) = state.start_op(scope, request, async move {
        Ok(OpValue::Bool(match writer {
            Some(writer) => writer.ready().await == Room::Yes,
            None => false,
        }))
    })?;
    rv.set(promise.into());
    Ok(())
}

pub(super) fn op_pipe_close<'s>(
    scope: Scope<'_, 's, '_>,
    args: &Arguments<'s>,
    _rv: &mut Return<'s>,
) -> Result<(), OpError> {
    if let Some(writer) = ContextState::current(scope).bodies.borrow_mut().finish_writer(id_of(args.get(0))?) {
        writer.close();
    }
    Ok(())
}

pub(super) fn op_pipe_fail<'s>(
    scope: Scope<'_, 's, '_>,
    args: &Arguments<'s>,
    _rv: &mut Return<'s>,
) -> Result<(), OpError> {
    let message = string_of(scope, args.get(1))?;
    if let Some(writer) = ContextState::current(scope).bodies.borrow_mut().finish_writer(id_of(args.get(0))?) {
        writer.fail(BodyError::Failed(message));
    }
    Ok(())
}
