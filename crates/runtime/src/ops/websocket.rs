//! WebSockets: pairs of ends, outgoing connections, and their messages.

use bytes::Bytes;
use hearth_core::websocket::{Close, Message, Sent, SocketEvent, SocketFault, socket_pair};
use hearth_core::{Body, Headers, Method, RequestId, SocketEnd};
use hearth_egress::{FetchRequest, RedirectMode};

use super::convert::{buffer_value, bytes_of, id_of, string_bytes, string_of, strings_of, text_value};
use super::fetch::{count, gate, pass};
use super::{Arguments, Return};
use crate::context_state::{ContextState, OpValue};
use crate::op_error::OpError;
use crate::socket_table::{DetachedSocket, SocketId};

type Scope<'a, 's, 'i> = &'a mut v8::PinScope<'s, 'i>;

/// The kinds of events, as `deliverSocket` of `main.js` has them.
const TEXT: i32 = 0;
const BINARY: i32 = 1;
const CLOSE: i32 = 2;
const FAILED: i32 = 3;
const LOST: i32 = 4;
/// The code that apps see where a close message has none.
const NO_CODE: u16 = 1005;

/// What `op_websocket_send` returns instead of a number of bytes.
const CLOSED: f64 = -1.0;
const BUFFER_FULL: f64 = -2.0;

/// A connection that was made, on its way into the isolate.
#[derive(Debug)]
pub(crate) struct Opened {
    end: Box<SocketEnd>,
    protocol: String,
}

/// Registers an end for a request's JavaScript.
pub(crate) fn adopt(state: &ContextState, request: RequestId, end: Box<SocketEnd>) -> SocketId {
    let id = state.next_id();
    state.sockets.borrow_mut().insert(id, request, end, None);
    state.requests.borrow_mut().add_socket(request, id);
    id
}

/// Takes an end away from JavaScript.
pub(super) fn hand_over(state: &ContextState, id: SocketId) -> Result<DetachedSocket, OpError> {
    let request = state.sockets.borrow().request(id);
    if let Some(request) = request {
        state.requests.borrow_mut().forget_socket(request, id);
    }
    state
        .sockets
        .borrow_mut()
        .take(id)
        .ok_or_else(|| OpError::type_error("the WebSocket belongs to a request that is over"))
}

/// (request) -> [one end, the other]
pub(super) fn op_websocket_pair<'s>(
    scope: Scope<'_, 's, '_>,
    args: &Arguments<'s>,
    rv: &mut Return<'s>,
) -> Result<(), OpError> {
    let state = ContextState::current(scope);
    let request = RequestId::from_raw(id_of(args.get(0))?);
    let (first, second) = socket_pair(state.app.limits.stream_silence);
    let ids = [state.next_id(), state.next_id()];
    {
        let (mut sockets, mut requests) = (state.sockets.borrow_mut(), state.requests.borrow_mut());
        sockets.insert(ids[0], request, Box::new(first), Some(ids[1]));
        sockets.insert(ids[1], request, Box::new(second), Some(ids[0]));
        requests.add_socket(request, ids[0]);
        requests.add_socket(request, ids[1]);
    }
    let items = ids.map(|id| v8::Number::new(scope, id as f64).into());
    rv.set(v8::Array::new_with_elements(scope, &items).into());
    Ok(())
}

/// (socket): `deliverSocket` is called with its events from now on.
pub(super) fn op_websocket_accept<'s>(
    scope: Scope<'_, 's, '_>,
    args: &Arguments<'s>,
    _rv: &mut Return<'s>,
) -> Result<(), OpError> {
    let state = ContextState::current(scope);
    let id = id_of(args.get(0))?;
    let mut sockets = state.sockets.borrow_mut();
    if let Some(request) = sockets.request(id) {
        state.requests.borrow_mut().set_listener(request);
    }
    sockets.listen(id, state.worker.clone());
    Ok(())
}

/// (socket, message) -> bytes that wait, or why it was not sent
pub(super) fn op_websocket_send<'s>(
    scope: Scope<'_, 's, '_>,
    args: &Arguments<'s>,
    rv: &mut Return<'s>,
) -> Result<(), OpError> {
    let state = ContextState::current(scope);
    let id = id_of(args.get(0))?;
    let message = match v8::Local::<v8::String>::try_from(args.get(1)) {
        Ok(text) => {
            let bytes = string_bytes(scope, text);
            Message::Text(String::from_utf8(bytes).map_err(|_| OpError::type_error("internal: text was expected"))?)
        }
        Err(_) => Message::Binary(bytes_of(args.get(1))?),
    };
    let mut sockets = state.sockets.borrow_mut();
    rv.set_double(match sockets.send(id, message) {
        Sent::Yes => sockets.waiting(id) as f64,
        Sent::Full => BUFFER_FULL,
        Sent::Closed => CLOSED,
    });
    Ok(())
}

/// (socket) -> bytes that wait to be sent
pub(super) fn op_websocket_buffered<'s>(
    scope: Scope<'_, 's, '_>,
    args: &Arguments<'s>,
    rv: &mut Return<'s>,
) -> Result<(), OpError> {
    let waiting = ContextState::current(scope).sockets.borrow().waiting(id_of(args.get(0))?);
    rv.set_double(waiting as f64);
    Ok(())
}

/// (socket, code or 0, reason)
pub(super) fn op_websocket_close<'s>(
    scope: Scope<'_, 's, '_>,
    args: &Arguments<'s>,
    _rv: &mut Return<'s>,
) -> Result<(), OpError> {
    let code = args.get(1).uint32_value(scope).and_then(|code| u16::try_from(code).ok()).filter(|code| *code != 0);
    let close = Close { code, reason: string_of(scope, args.get(2))? };
    ContextState::current(scope).sockets.borrow().close(id_of(args.get(0))?, close);
    Ok(())
}

/// (socket): JavaScript has dropped it without listening.
pub(super) fn op_websocket_drop<'s>(
    scope: Scope<'_, 's, '_>,
    args: &Arguments<'s>,
    _rv: &mut Return<'s>,
) -> Result<(), OpError> {
    // An end that is dropped without a close message sends one.
    hand_over(&ContextState::current(scope), id_of(args.get(0))?).map(drop)
}

/// (request, url, subprotocols) -> [op, promise of [socket, subprotocol]]
pub(super) fn op_websocket_connect<'s>(
    scope: Scope<'_, 's, '_>,
    args: &Arguments<'s>,
    rv: &mut Return<'s>,
) -> Result<(), OpError> {
    let state = ContextState::current(scope);
    let request = RequestId::from_raw(id_of(args.get(0))?);
    let url = string_of(scope, args.get(1))?;
    let mut headers = Headers::new();
    headers.push(b"upgrade", b"websocket");
    let protocols = strings_of(scope, args.get(2))?;
    if !protocols.is_empty() {
        headers.push(b"sec-websocket-protocol", protocols.join(", ").as_bytes());
    }
    count(&state, request)?;
    let outgoing = FetchRequest { method: Method::Get, url, headers, body: Body::Empty, redirect: RedirectMode::Error };
    let (gate, client) = (gate(&state, request), state.app.egress.clone());
    let (op, promise) = state.start_op(scope, request, async move {
        let permit = pass(gate).await;
        let response = client.send(outgoing).await.map_err(|error| OpError::type_error(error.to_string()))?.response;
        let status = response.status;
        let mut end = response
            .websocket
            .ok_or_else(|| OpError::type_error(format!("the server answered with status {status}, not 101")))?;
        end.hold(permit);
        let protocol = response.headers.get("sec-websocket-protocol").map(String::from_utf8_lossy);
        let protocol = protocol.unwrap_or_default().into_owned();
        Ok(OpValue::Socket(Box::new(Opened { end, protocol })))
    })?;
    let items = [v8::Number::new(scope, op as f64).into(), promise.into()];
    rv.set(v8::Array::new_with_elements(scope, &items).into());
    Ok(())
}

/// (op of op_websocket_connect): its promise will not settle.
pub(super) fn op_websocket_cancel<'s>(
    scope: Scope<'_, 's, '_>,
    args: &Arguments<'s>,
    _rv: &mut Return<'s>,
) -> Result<(), OpError> {
    ContextState::current(scope).cancel_op(id_of(args.get(0))?);
    Ok(())
}

// === impl Opened ===

impl Opened {
    /// [socket, subprotocol]
    pub(crate) fn into_value<'s>(
        self,
        scope: &mut v8::PinScope<'s, '_>,
        state: &ContextState,
        request: RequestId,
    ) -> Result<v8::Local<'s, v8::Array>, OpError> {
        let id = adopt(state, request, self.end);
        let items = [v8::Number::new(scope, id as f64).into(), text_value(scope, &self.protocol)?.into()];
        Ok(v8::Array::new_with_elements(scope, &items))
    }
}

/// An event as `deliverSocket` takes it: [kind, data or code, reason].
pub(crate) fn event_arguments<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    event: SocketEvent,
) -> Result<[v8::Local<'s, v8::Value>; 3], OpError> {
    let undefined: v8::Local<v8::Value> = v8::undefined(scope).into();
    let (kind, data, reason) = match event {
        SocketEvent::Message(Message::Text(text)) => (TEXT, text_value(scope, &text)?.into(), undefined),
        SocketEvent::Message(Message::Binary(bytes)) => (BINARY, binary(scope, &bytes), undefined),
        SocketEvent::Close(Close { code, reason }) => {
            let code = v8::Integer::new(scope, i32::from(code.unwrap_or(NO_CODE))).into();
            (CLOSE, code, text_value(scope, &reason)?.into())
        }
        SocketEvent::Failed(SocketFault::Lost) => (LOST, undefined, undefined),
        SocketEvent::Failed(fault) => (FAILED, text_value(scope, &fault.to_string())?.into(), undefined),
    };
    Ok([v8::Integer::new(scope, kind).into(), data, reason])
}

fn binary<'s>(scope: &mut v8::PinScope<'s, '_>, bytes: &Bytes) -> v8::Local<'s, v8::Value> {
    buffer_value(scope, bytes).into()
}
