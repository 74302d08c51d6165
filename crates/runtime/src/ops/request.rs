//! The request that an app handles: its properties, and its response.

use hearth_core::{Failure, Headers, RequestId, Response};

use super::body::body_argument;
use super::convert::{byte_string, header_value, id_of, string_of, text_of, text_value};
use super::websocket::hand_over;
use super::{Arguments, Return};
use crate::context_state::ContextState;
use crate::op_error::OpError;
use crate::worker::EventResult;

type Scope<'a, 's, 'i> = &'a mut v8::PinScope<'s, 'i>;

const HEADERS_TEXT: i32 = 1;
const HEADERS_JSON: i32 = 2;
const HEADERS_LIST: i32 = 3;

fn over() -> OpError {
    OpError::type_error("the request is over: what belongs to it cannot be used any more")
}

fn request_of(args: &Arguments<'_>) -> Result<RequestId, OpError> {
    Ok(RequestId::from_raw(id_of(args.get(0))?))
}

pub(super) fn op_request_method<'s>(
    scope: Scope<'_, 's, '_>,
    args: &Arguments<'s>,
    rv: &mut Return<'s>,
) -> Result<(), OpError> {
    let state = ContextState::current(scope);
    let mut requests = state.requests.borrow_mut();
    let head = requests.get(request_of(args)?).and_then(|entry| entry.head.as_ref()).ok_or_else(over)?;
    let method = text_value(scope, head.method.as_str())?;
    rv.set(method.into());
    Ok(())
}

pub(super) fn op_request_url<'s>(
    scope: Scope<'_, 's, '_>,
    args: &Arguments<'s>,
    rv: &mut Return<'s>,
) -> Result<(), OpError> {
    let state = ContextState::current(scope);
    let mut requests = state.requests.borrow_mut();
    let head = requests.get(request_of(args)?).and_then(|entry| entry.head.as_ref()).ok_or_else(over)?;
    let url = text_value(scope, &head.url)?;
    rv.set(url.into());
    Ok(())
}

pub(super) fn op_request_headers<'s>(
    scope: Scope<'_, 's, '_>,
    args: &Arguments<'s>,
    rv: &mut Return<'s>,
) -> Result<(), OpError> {
    let state = ContextState::current(scope);
    let mut requests = state.requests.borrow_mut();
    let head = requests.get(request_of(args)?).and_then(|entry| entry.head.as_ref()).ok_or_else(over)?;
    let mut list: Vec<v8::Local<v8::Value>> = Vec::with_capacity(head.headers.len() * 2);
    for (name, value) in head.headers.iter() {
        list.push(header_value(scope, name)?.into());
        list.push(header_value(scope, value)?.into());
    }
    let list = v8::Array::new_with_elements(scope, &list);
    rv.set(list.into());
    Ok(())
}

pub(super) fn op_request_body<'s>(
    scope: Scope<'_, 's, '_>,
    args: &Arguments<'s>,
    rv: &mut Return<'s>,
) -> Result<(), OpError> {
    let state = ContextState::current(scope);
    let body = state.requests.borrow_mut().get(request_of(args)?).ok_or_else(over)?.body;
    rv.set_double(body.unwrap_or(0) as f64);
    Ok(())
}

/// (request, status, statusText, headersKind, headers, bodyKind, body, socket or 0)
pub(super) fn op_respond<'s>(
    scope: Scope<'_, 's, '_>,
    args: &Arguments<'s>,
    _rv: &mut Return<'s>,
) -> Result<(), OpError> {
    let state = ContextState::current(scope);
    let request = request_of(args)?;
    let status = args.get(1).uint32_value(scope).unwrap_or(500);
    let reason = text_of(args.get(2))?;
    let reason = (reason.length() > 0).then(|| reason.to_rust_string_lossy(scope).into_boxed_str());
    let headers = match args.get(3).int32_value(scope).unwrap_or(0) {
        HEADERS_TEXT => Headers::TEXT,
        HEADERS_JSON => Headers::JSON,
        HEADERS_LIST => header_list(scope, args.get(4))?,
        _ => Headers::new(),
    };
    let body = match body_argument(scope, &state, request, args.get(5), args.get(6)) {
        Ok(body) => body,
        Err(OpError::Memory(exceeded)) => {
            crate::worker::fail(&state, request, exceeded.into());
            return Ok(());
        }
        Err(error) => return Err(error),
    };
    let status = u16::try_from(status).unwrap_or(500);
    let mut response = Response { status, reason, headers, body, websocket: None };
    let mut app = None;
    if args.get(7).is_number() {
        let handed = hand_over(&state, id_of(args.get(7))?)?;
        response.websocket = Some(handed.end);
        app = handed.peer;
    }
    crate::worker::respond(&state, request, response, app);
    Ok(())
}

fn header_list(scope: &mut v8::PinScope<'_, '_>, list: v8::Local<v8::Value>) -> Result<Headers, OpError> {
    let list: v8::Local<v8::Array> =
        list.try_into().map_err(|_| OpError::type_error("internal: an array was expected"))?;
    let bytes = |scope: &mut v8::PinScope<'_, '_>, index| -> Result<Vec<u8>, OpError> {
        let text = list.get_index(scope, index).ok_or(OpError::Pending)?;
        let text = text_of(text)?;
        // Names and values are byte strings, which `js/fetch/headers.js` has checked.
        Ok(byte_string(scope, text))
    };
    let mut headers = Headers::new();
    for index in (0..list.length()).step_by(2) {
        let name = bytes(scope, index)?;
        let value = bytes(scope, index + 1)?;
        headers.push(&name, &value);
    }
    Ok(headers)
}

/// The handler threw, rejected, or gave no response: (request, message).
pub(super) fn op_request_fail<'s>(
    scope: Scope<'_, 's, '_>,
    args: &Arguments<'s>,
    _rv: &mut Return<'s>,
) -> Result<(), OpError> {
    let state = ContextState::current(scope);
    let message = string_of(scope, args.get(1))?;
    crate::worker::fail(&state, request_of(args)?, Failure::App { message });
    Ok(())
}

/// A scheduled event or a task has ended: (request, ok, JSON of its data or nothing, error or
/// nothing).
pub(super) fn op_event_done<'s>(
    scope: Scope<'_, 's, '_>,
    args: &Arguments<'s>,
    _rv: &mut Return<'s>,
) -> Result<(), OpError> {
    let state = ContextState::current(scope);
    let optional = |scope: &mut v8::PinScope<'_, '_>, value: v8::Local<v8::Value>| {
        if value.is_string() { string_of(scope, value).map(Some) } else { Ok(None) }
    };
    let result = EventResult {
        success: args.get(1).is_true(),
        data: optional(scope, args.get(2))?,
        error: optional(scope, args.get(3))?,
    };
    crate::worker::finish_event(&state, request_of(args)?, result);
    Ok(())
}

pub(super) fn op_wait_until<'s>(
    scope: Scope<'_, 's, '_>,
    args: &Arguments<'s>,
    _rv: &mut Return<'s>,
) -> Result<(), OpError> {
    let state = ContextState::current(scope);
    let change = args.get(1).int32_value(scope).unwrap_or(0);
    let request = request_of(args)?;
    if let Some(entry) = state.requests.borrow_mut().get(request) {
        entry.waiting = entry.waiting.saturating_add_signed(change);
        state.record_progress(request);
    }
    Ok(())
}

/// An error outside of any handler: (request, message).
pub(super) fn op_background_error<'s>(
    scope: Scope<'_, 's, '_>,
    args: &Arguments<'s>,
    _rv: &mut Return<'s>,
) -> Result<(), OpError> {
    let state = ContextState::current(scope);
    let message = string_of(scope, args.get(1))?;
    crate::worker::on_uncaught_error(&state, request_of(args)?, &message);
    Ok(())
}
