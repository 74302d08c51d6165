//! Apps' TCP sockets, below `js/node/net.js`. A socket is named by a number; what happens to it is reported by a code of
//! Node's (`ECONNREFUSED`) and a text.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use hearth_core::{AccountFull, RequestId};
use hearth_egress::{FetchError, IoStream, Secured, TlsFault};
use tokio::io::duplex;

use super::convert::{bytes_of, bytes_value, id_of, string_of, text_value};
use super::fetch::count;
use super::{Arguments, Return};
use crate::context_state::{ContextState, OpValue};
use crate::net_table::{NetSide, NetSocket, NetUse, Reservation};
use crate::op_error::OpError;
use crate::operations::OperationError;

type Scope<'a, 's, 'i> = &'a mut v8::PinScope<'s, 'i>;

/// What a pair of sockets in memory holds on its way, in each direction.
const PAIR_BYTES: usize = 64 * 1024;

/// The result of an operation on a socket.
pub(crate) enum NetOutcome {
    /// Address and port of the peer, and of this end.
    Connected {
        stream: Box<dyn IoStream>,
        addresses: [(String, u16); 2],
        _reservation: Reservation,
    },
    Read(Bytes),
    Done,
    Secured(Box<Secured>),
    /// A result that another thread had a part in.
    Computed {
        cpu: Duration,
        outcome: Box<NetOutcome>,
    },
    Addresses(Vec<String>),
    Fault(NetFault),
}

/// Why an operation failed.
#[derive(Debug)]
pub(crate) struct NetFault {
    pub(crate) code: &'static str,
    pub(crate) message: String,
    /// The address that did not answer.
    pub(crate) address: String,
}

/// (request, host, port) -> promise of [socket, address, port, own address, own port], or of a fault
pub(super) fn op_net_connect<'s>(
    scope: Scope<'_, 's, '_>,
    args: &Arguments<'s>,
    rv: &mut Return<'s>,
) -> Result<(), OpError> {
    let state = ContextState::current(scope);
    let request = live_request(&state, id_of(args.get(0))?);
    let host = string_of(scope, args.get(1))?;
    let port = args.get(2).uint32_value(scope).and_then(|port| u16::try_from(port).ok()).unwrap_or(0);
    let reservation = count_socket(&state, request)?;
    let client = state.app.egress.clone();
    let refused = state.app.operations.as_ref().and_then(|operations| operations.connect(&host, port).err());
    let promise = state.start_worker_op(scope, request, None, async move {
        if let Some(refused) = refused {
            return Ok(fault(refused.into()));
        }
        let outcome = match client.connect(&host, port).await {
            Ok(stream) => match (stream.peer_addr(), stream.local_addr()) {
                (Ok(peer), Ok(own)) => NetOutcome::Connected {
                    addresses: [peer, own].map(|address| (address.ip().to_string(), address.port())),
                    stream: Box::new(stream),
                    _reservation: reservation,
                },
                (Err(error), _) | (_, Err(error)) => NetOutcome::Fault(error.into()),
            },
            Err(error) => NetOutcome::Fault(error.into()),
        };
        Ok(OpValue::Net(Box::new(outcome)))
    })?;
    rv.set(promise.into());
    Ok(())
}

/// () -> [one end, the other] of a connection in memory
pub(super) fn op_net_pair<'s>(
    scope: Scope<'_, 's, '_>,
    _args: &Arguments<'s>,
    rv: &mut Return<'s>,
) -> Result<(), OpError> {
    let state = ContextState::current(scope);
    let (one, other) = duplex(PAIR_BYTES);
    let mut ids = [0; 2];
    for (id, end) in ids.iter_mut().zip([one, other]) {
        let _reservation = state.net.borrow_mut().reserve(state.app.limits.stream_silence)?;
        *id = adopt(&state, Box::new(end))?;
    }
    let items = ids.map(|id| v8::Number::new(scope, id as f64).into());
    rv.set(v8::Array::new_with_elements(scope, &items).into());
    Ok(())
}

/// (request, socket) -> promise of bytes, of undefined at the end, or of a fault
pub(super) fn op_net_read<'s>(
    scope: Scope<'_, 's, '_>,
    args: &Arguments<'s>,
    rv: &mut Return<'s>,
) -> Result<(), OpError> {
    let state = ContextState::current(scope);
    let request = live_request(&state, id_of(args.get(0))?);
    let id = id_of(args.get(1))?;
    let socket = state.net.borrow().get(id);
    let busy = begin(socket.as_ref(), NetSide::Read)?;
    let (silence, account) = (state.app.limits.stream_silence, state.app.meters.memory.clone());
    let promise = state.start_worker_op(scope, request, Some(id), async move {
        let _busy = busy;
        let Some(socket) = socket else { return Ok(fault(closed())) };
        Ok(match socket.read(silence).await {
            Ok(bytes) => match account.charge(bytes) {
                Ok(bytes) => OpValue::Net(Box::new(NetOutcome::Read(bytes))),
                Err(full) => fault(full.into()),
            },
            // Not every peer says that it ends TLS.
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                OpValue::Net(Box::new(NetOutcome::Read(Bytes::new())))
            }
            Err(error) => fault(error.into()),
        })
    })?;
    rv.set(promise.into());
    Ok(())
}

/// (request, socket, bytes) -> true when all was written, else a promise of undefined or of a fault
pub(super) fn op_net_write<'s>(
    scope: Scope<'_, 's, '_>,
    args: &Arguments<'s>,
    rv: &mut Return<'s>,
) -> Result<(), OpError> {
    let state = ContextState::current(scope);
    let request = live_request(&state, id_of(args.get(0))?);
    let id = id_of(args.get(1))?;
    let socket = state.net.borrow_mut().use_for(id, request);
    let busy = begin(socket.as_ref(), NetSide::Write)?;
    let mut bytes = bytes_of(args.get(2))?;
    let written = match &socket {
        Some(socket) => socket.write_now(&mut bytes),
        None => Err(io::ErrorKind::BrokenPipe.into()),
    };
    if let Ok(true) = written {
        rv.set_bool(true);
        return Ok(());
    }
    let bytes = state.app.meters.memory.charge(bytes)?;
    let promise = state.start_worker_op(scope, request, Some(id), async move {
        let _busy = busy;
        let written = match (written, socket) {
            (Ok(_), Some(socket)) => socket.write_all(bytes).await,
            (Ok(_), None) => Err(io::ErrorKind::BrokenPipe.into()),
            (Err(error), _) => Err(error),
        };
        Ok(done(written))
    })?;
    rv.set(promise.into());
    Ok(())
}

/// (request, socket) -> promise of undefined or of a fault: nothing more will be written
pub(super) fn op_net_shutdown<'s>(
    scope: Scope<'_, 's, '_>,
    args: &Arguments<'s>,
    rv: &mut Return<'s>,
) -> Result<(), OpError> {
    let state = ContextState::current(scope);
    let request = live_request(&state, id_of(args.get(0))?);
    let id = id_of(args.get(1))?;
    let socket = state.net.borrow_mut().use_for(id, request);
    let busy = begin(socket.as_ref(), NetSide::Write)?;
    let promise = state.start_worker_op(scope, request, Some(id), async move {
        let _busy = busy;
        Ok(match socket {
            Some(socket) => done(socket.shutdown().await),
            None => fault(closed()),
        })
    })?;
    rv.set(promise.into());
    Ok(())
}

/// (socket): what waits for it fails.
pub(super) fn op_net_close<'s>(
    scope: Scope<'_, 's, '_>,
    args: &Arguments<'s>,
    _rv: &mut Return<'s>,
) -> Result<(), OpError> {
    ContextState::current(scope).net.borrow_mut().close(id_of(args.get(0))?);
    Ok(())
}

/// () -> the request whose turn this is, 0 for none
pub(super) fn op_net_running<'s>(
    scope: Scope<'_, 's, '_>,
    _args: &Arguments<'s>,
    rv: &mut Return<'s>,
) -> Result<(), OpError> {
    rv.set_double(ContextState::current(scope).running().raw() as f64);
    Ok(())
}

/// The request if it has not ended, or none.
pub(super) fn live_request(state: &ContextState, id: u64) -> RequestId {
    let request = RequestId::from_raw(id);
    if state.requests.borrow().contains(request) { request } else { RequestId::OUTSIDE }
}

/// A socket is a subrequest, and one of the worker's sockets.
fn count_socket(state: &ContextState, request: RequestId) -> Result<Reservation, OpError> {
    match request {
        RequestId::OUTSIDE => state.net.borrow_mut().count_outside()?,
        request => count(state, request)?,
    }
    state.net.borrow_mut().reserve(state.app.limits.stream_silence)
}

fn begin(socket: Option<&Arc<NetSocket>>, side: NetSide) -> Result<Option<NetUse>, OpError> {
    let Some(socket) = socket else { return Ok(None) };
    let begun = socket.begin(side);
    begun.map(Some).ok_or_else(|| OpError::type_error("an operation of this kind is under way on the socket"))
}

/// Puts a stream into the table, for which room was made.
fn adopt(state: &ContextState, stream: Box<dyn IoStream>) -> Result<u64, OpError> {
    let id = state.next_id();
    state.net.borrow_mut().insert(id, stream, state.app.meters.memory.open())?;
    Ok(id)
}

fn done(result: io::Result<()>) -> OpValue {
    match result {
        Ok(()) => OpValue::Net(Box::new(NetOutcome::Done)),
        Err(error) => fault(error.into()),
    }
}

pub(super) fn fault(fault: NetFault) -> OpValue {
    OpValue::Net(Box::new(NetOutcome::Fault(fault)))
}

pub(super) fn closed() -> NetFault {
    io::Error::from(io::ErrorKind::NotConnected).into()
}

// === impl NetOutcome ===

impl NetOutcome {
    pub(crate) fn into_value<'s>(
        self,
        scope: &mut v8::PinScope<'s, '_>,
        state: &ContextState,
        request: RequestId,
    ) -> Result<v8::Local<'s, v8::Value>, OpError> {
        Ok(match self {
            Self::Computed { cpu, outcome } => {
                if let Some(entry) = state.requests.borrow_mut().get(request) {
                    entry.charge(cpu);
                }
                outcome.into_value(scope, state, request)?
            }
            Self::Connected { stream, addresses: [peer, own], .. } => {
                let id = adopt(state, stream)?;
                let numbers = [id as f64, f64::from(peer.1), f64::from(own.1)];
                let [id, port, own_port] = numbers.map(|number| v8::Number::new(scope, number).into());
                let (address, own_address) = (text_value(scope, &peer.0)?.into(), text_value(scope, &own.0)?.into());
                v8::Array::new_with_elements(scope, &[id, address, port, own_address, own_port]).into()
            }
            Self::Read(bytes) if bytes.is_empty() => v8::undefined(scope).into(),
            Self::Read(bytes) => bytes_value(scope, &bytes)?.into(),
            Self::Done => v8::undefined(scope).into(),
            Self::Secured(secured) => super::net_tls::secured_value(scope, *secured)?,
            Self::Addresses(addresses) => {
                let items: Result<Vec<v8::Local<v8::Value>>, OpError> =
                    addresses.iter().map(|address| Ok(text_value(scope, address)?.into())).collect();
                v8::Array::new_with_elements(scope, &items?).into()
            }
            Self::Fault(NetFault { code, message, address }) => {
                let texts = [text_value(scope, code)?, text_value(scope, &message)?, text_value(scope, &address)?];
                v8::Array::new_with_elements(scope, &texts.map(Into::into)).into()
            }
        })
    }
}

impl std::fmt::Debug for NetOutcome {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("NetOutcome")
    }
}

// === impl NetFault ===

impl From<io::Error> for NetFault {
    fn from(error: io::Error) -> Self {
        Self { code: code_of(&error), message: error.to_string(), address: String::new() }
    }
}

impl From<FetchError> for NetFault {
    fn from(error: FetchError) -> Self {
        let message = error.to_string();
        let (code, address) = match &error {
            FetchError::Denied(_) => ("EACCES", String::new()),
            FetchError::Lookup { .. } | FetchError::Url { .. } => ("ENOTFOUND", String::new()),
            FetchError::Connect { address, source, .. } => (code_of(source), address.ip().to_string()),
            FetchError::ConnectTimedOut { .. } => ("ETIMEDOUT", String::new()),
            _ => ("EIO", String::new()),
        };
        Self { code, message, address }
    }
}

impl From<OperationError> for NetFault {
    fn from(refused: OperationError) -> Self {
        Self { code: "EACCES", message: refused.to_string(), address: String::new() }
    }
}

impl From<AccountFull> for NetFault {
    fn from(full: AccountFull) -> Self {
        Self { code: "ENOBUFS", message: full.to_string(), address: String::new() }
    }
}

impl From<TlsFault> for NetFault {
    fn from(error: TlsFault) -> Self {
        let code = match &error {
            TlsFault::Setting { .. } => "ERR_INVALID_ARG_VALUE",
            TlsFault::Chain { code, .. } => code,
            TlsFault::Name { .. } => "ERR_TLS_CERT_ALTNAME_INVALID",
            TlsFault::TimedOut => "ERR_TLS_HANDSHAKE_TIMEOUT",
            TlsFault::Handshake(source) => match code_of(source) {
                "EIO" => "EPROTO",
                code => code,
            },
        };
        Self { code, message: error.to_string(), address: String::new() }
    }
}

/// Node's code of an error.
fn code_of(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::ConnectionRefused => "ECONNREFUSED",
        io::ErrorKind::ConnectionReset | io::ErrorKind::UnexpectedEof => "ECONNRESET",
        io::ErrorKind::ConnectionAborted => "ECONNABORTED",
        io::ErrorKind::BrokenPipe | io::ErrorKind::WriteZero => "EPIPE",
        io::ErrorKind::TimedOut => "ETIMEDOUT",
        io::ErrorKind::HostUnreachable => "EHOSTUNREACH",
        io::ErrorKind::NetworkUnreachable => "ENETUNREACH",
        io::ErrorKind::AddrNotAvailable => "EADDRNOTAVAIL",
        io::ErrorKind::NotConnected => "ENOTCONN",
        io::ErrorKind::PermissionDenied => "EACCES",
        _ => "EIO",
    }
}
