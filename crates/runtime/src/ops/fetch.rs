//! `fetch()`: outgoing requests under the app's egress policy and the request's limits. A
//! subrequest counts as open until its response body has ended.

use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use hearth_core::{Body, BodyError, ByteStream, Headers, Method, Request, RequestId, SocketEnd};
use hearth_egress::{FetchRequest, FetchResponse, RedirectMode};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::body::body_argument;
use super::convert::{header_value, id_of, string_of, strings_of, text_value};
use super::websocket::adopt;
use super::{Arguments, Return};
use crate::assets::AssetRequest;
use crate::body_table::BodyId;
use crate::context_state::{ContextState, OpValue};
use crate::op_error::OpError;
use crate::operations::{Fetched, Network, Operations};

type Scope<'a, 's, 'i> = &'a mut v8::PinScope<'s, 'i>;

/// An outgoing request: `Prepared -> Sent -> Answered`.
pub(crate) enum FetchState {
    Prepared { request: RequestId, outgoing: Box<FetchRequest>, target: Target },
    Sent { op: u64 },
    Answered { body: BodyId },
}

/// What answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    Network,
    /// The files of an assets binding.
    Assets,
}

/// A response's head, and its body still to be read.
#[derive(Debug)]
pub(crate) struct Head {
    fetch: u64,
    status: u16,
    reason: String,
    headers: Headers,
    url: String,
    redirected: bool,
    body: Body,
    websocket: Option<Box<SocketEnd>>,
}

pub(super) fn op_fetch_start<'s>(
    scope: Scope<'_, 's, '_>,
    args: &Arguments<'s>,
    rv: &mut Return<'s>,
) -> Result<(), OpError> {
    let state = ContextState::current(scope);
    let request = RequestId::from_raw(id_of(args.get(0))?);
    let method = Method::parse(&string_of(scope, args.get(1))?);
    let url = string_of(scope, args.get(2))?;
    let mut headers = Headers::new();
    let list = strings_of(scope, args.get(3))?;
    for pair in list.chunks_exact(2) {
        headers.push(pair[0].as_bytes(), &latin1(&pair[1]));
    }
    let (redirect, target) = match string_of(scope, args.get(6))?.as_str() {
        "error" => (RedirectMode::Error, Target::Network),
        "manual" => (RedirectMode::Manual, Target::Network),
        "exact" => (RedirectMode::Exact, Target::Network),
        "assets" => (RedirectMode::Manual, Target::Assets),
        _ => (RedirectMode::Follow, Target::Network),
    };
    count(&state, request)?;
    let body = body_argument(scope, &state, request, args.get(4), args.get(5))?;
    let id = state.next_id();
    let outgoing = Box::new(FetchRequest { method, url, headers, body, redirect });
    state.fetches.borrow_mut().insert(id, FetchState::Prepared { request, outgoing, target });
    state.requests.borrow_mut().add_fetch(request, id);
    rv.set_double(id as f64);
    Ok(())
}

/// Header values are byte strings: one byte per unit.
fn latin1(text: &str) -> Vec<u8> {
    text.chars().map(|unit| u8::try_from(u32::from(unit)).unwrap_or(b'?')).collect()
}

pub(super) fn count(state: &ContextState, request: RequestId) -> Result<(), OpError> {
    let limit = state.app.limits.subrequests;
    let mut requests = state.requests.borrow_mut();
    let Some(entry) = requests.get(request) else { return Ok(()) };
    entry.subrequests += 1;
    if limit != 0 && entry.subrequests > limit {
        return Err(OpError::Range(format!(
            "subrequest limit exceeded: this request has made {limit} outgoing requests; raise it with `subrequests`"
        )));
    }
    Ok(())
}

pub(super) fn op_fetch_head<'s>(
    scope: Scope<'_, 's, '_>,
    args: &Arguments<'s>,
    rv: &mut Return<'s>,
) -> Result<(), OpError> {
    let state = ContextState::current(scope);
    let fetch = id_of(args.get(0))?;
    let taken = state.fetches.borrow_mut().remove(&fetch);
    let Some(FetchState::Prepared { request, outgoing, target }) = taken else {
        return Err(OpError::type_error("internal: the request was sent already"));
    };
    let gate = gate(&state, request);
    let (client, operations) = (state.app.egress.clone(), state.app.operations.clone());
    let assets = state.app.assets.clone().filter(|_| target == Target::Assets);
    if target == Target::Assets && assets.is_none() {
        return Err(OpError::type_error("internal: the app has no assets"));
    }
    let (op, promise) = state.start_op(scope, request, async move {
        let permit = pass(gate).await;
        let answer = match (assets, operations) {
            (Some(assets), _) => {
                let FetchRequest { method, url, headers, .. } = *outgoing;
                let response = assets.source.fetch(AssetRequest { method, url: url.clone(), headers }).await;
                FetchResponse { response, url, redirected: false }
            }
            (None, None) => client.send(*outgoing).await.map_err(|error| OpError::type_error(error.to_string()))?,
            (None, Some(operations)) => send_by(&*operations, *outgoing, client).await?,
        };
        let mut response = answer.response;
        let body = match (response.body, &mut response.websocket) {
            (Body::Stream(stream), _) => Body::Stream(Box::new(PermitBody { stream, _permit: permit })),
            (body, Some(socket)) => {
                socket.hold(permit);
                body
            }
            (body, None) => body,
        };
        Ok(OpValue::FetchHead(Box::new(Head {
            fetch,
            status: response.status,
            reason: response.reason.map(String::from).unwrap_or_default(),
            headers: response.headers,
            url: answer.url,
            redirected: answer.redirected,
            body,
            websocket: response.websocket,
        })))
    })?;
    state.fetches.borrow_mut().insert(fetch, FetchState::Sent { op });
    rv.set(promise.into());
    Ok(())
}

/// Sends a request by the embedding program's operation.
async fn send_by(
    operations: &dyn Operations,
    outgoing: FetchRequest,
    client: Arc<hearth_egress::Client>,
) -> Result<FetchResponse, OpError> {
    let FetchRequest { method, url, headers, body, redirect } = outgoing;
    let request = Request { method, headers, body, ..Request::get(url.clone()) };
    let fetched = operations.fetch(request, Network::new(client, redirect)).await;
    let Fetched { response, url: last, redirected } =
        fetched.map_err(|error| OpError::type_error(error.to_string()))?;
    Ok(FetchResponse { response, url: if last.is_empty() { url } else { last }, redirected })
}

/// The gate that limits the open subrequests of a request.
pub(super) fn gate(state: &ContextState, request: RequestId) -> Option<Arc<Semaphore>> {
    let at_once = state.app.limits.subrequests_at_once;
    let mut requests = state.requests.borrow_mut();
    let entry = requests.get(request)?;
    (at_once != 0).then(|| entry.gate.get_or_insert_with(|| Arc::new(Semaphore::new(at_once as usize))).clone())
}

/// Waits at the gate, where there is one.
pub(super) async fn pass(gate: Option<Arc<Semaphore>>) -> Option<OwnedSemaphorePermit> {
    // The gate is never closed.
    gate?.acquire_owned().await.ok()
}

pub(super) fn op_fetch_abort<'s>(
    scope: Scope<'_, 's, '_>,
    args: &Arguments<'s>,
    _rv: &mut Return<'s>,
) -> Result<(), OpError> {
    let state = ContextState::current(scope);
    let taken = state.fetches.borrow_mut().remove(&id_of(args.get(0))?);
    match taken {
        Some(FetchState::Sent { op }) => state.cancel_op(op),
        Some(FetchState::Answered { body }) => state.bodies.borrow_mut().remove(body),
        Some(FetchState::Prepared { .. }) | None => {}
    }
    Ok(())
}

/// A body that keeps the subrequest's permit until it ends.
struct PermitBody {
    stream: Box<dyn ByteStream>,
    _permit: Option<OwnedSemaphorePermit>,
}

impl ByteStream for PermitBody {
    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, BodyError>>> {
        self.stream.poll_next(cx)
    }

    fn remaining(&self) -> Option<u64> {
        self.stream.remaining()
    }
}

// === impl Head ===

impl Head {
    /// [status, statusText, headers, url, redirected, body, socket]
    pub(crate) fn into_value<'s>(
        self,
        scope: &mut v8::PinScope<'s, '_>,
        state: &ContextState,
        request: RequestId,
    ) -> Result<v8::Local<'s, v8::Array>, OpError> {
        let mut list: Vec<v8::Local<v8::Value>> = Vec::with_capacity(self.headers.len() * 2);
        for (name, value) in self.headers.iter() {
            list.push(header_value(scope, name)?.into());
            list.push(header_value(scope, value)?.into());
        }
        let headers = v8::Array::new_with_elements(scope, &list);
        let body = if self.body.is_empty() {
            state.fetches.borrow_mut().remove(&self.fetch);
            0
        } else {
            let id = state.next_id();
            state.bodies.borrow_mut().insert(id, request, self.body);
            state.requests.borrow_mut().add_body(request, id);
            state.fetches.borrow_mut().insert(self.fetch, FetchState::Answered { body: id });
            id
        };
        let socket = self.websocket.map_or(0, |end| adopt(state, request, end));
        let items: [v8::Local<v8::Value>; 7] = [
            v8::Integer::new(scope, i32::from(self.status)).into(),
            text_value(scope, &self.reason)?.into(),
            headers.into(),
            text_value(scope, &self.url)?.into(),
            v8::Boolean::new(scope, self.redirected).into(),
            v8::Number::new(scope, body as f64).into(),
            v8::Number::new(scope, socket as f64).into(),
        ];
        Ok(v8::Array::new_with_elements(scope, &items))
    }
}
