//! WebSockets over HTTP/2 (RFC 8441): a socket is one stream, and the connection's other streams go on. The client sends an
//! extended CONNECT with `:protocol`, the app sees the GET that it would see in HTTP/1, and where it accepts the client gets 200.
//!
//! A 2xx status turns the stream into a socket, so an app that answers with 2xx and without a socket has failed.

use std::future::{Future, poll_fn};
use std::io;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, ready};

use bytes::{Buf, Bytes, BytesMut};
use h2::server::SendResponse;
use h2::{RecvStream, SendStream};
use hearth_core::websocket::Close;
use hearth_core::{Dispatch, Failure, Request, Response, SocketEnd};
use hearth_websocket::{Config, Connection, Deflate, Ended, Role, deflate};
use http::{HeaderName, HeaderValue};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::access::RequestOutcome;
use crate::date::DateCache;
use crate::drain::Phase;
use crate::exchange::HIGH_WATER;
use crate::http2::exchange::{RequestGuard, send};
use crate::http2::head;
use crate::request_context::{RequestContext, ServerState};
use crate::response::Transfer;
use crate::websocket::Agreement;

/// A request for a socket, and what is needed to answer it.
pub struct ExtendedConnect {
    pub request: Request,
    pub context: RequestContext,
    pub agreement: Agreement,
    pub recv: RecvStream,
    pub respond: SendResponse<Bytes>,
}

/// Serves the request, and its socket to the end.
pub async fn serve<D: Dispatch>(server: &ServerState<D>, guard: RequestGuard<'_>, connect: ExtendedConnect) {
    let ExtendedConnect { request, context, agreement, recv, mut respond } = connect;
    let answer = match request.client.map_or(Ok(()), |client| server.admit(client)) {
        Ok(()) => dispatch(server, &mut respond, request).await,
        Err(failure) => Some(Err(failure)),
    };
    let answer = match answer {
        Some(answer) => answer,
        None => return context.log(None, 0, RequestOutcome::ClientGone),
    };
    let (response, end) = match answer {
        Ok(Response { websocket: Some(end), headers, body, .. }) => (Response::new(200, headers, body), end),
        Ok(Response { status: 200..=299, .. }) => {
            let failure = Failure::App { message: "the app answered a WebSocket's request without one".to_owned() };
            return refuse(server, guard, &mut respond, &context, Err(failure)).await;
        }
        answer => return refuse(server, guard, &mut respond, &context, answer).await,
    };
    let Some(stream) = accept(server, &mut respond, &context, &response, agreement.deflate) else {
        return context.log(None, 0, RequestOutcome::ClientGone);
    };
    let ended = run(server, SocketStream { recv, send: stream, piece: Bytes::new() }, end, agreement.deflate).await;
    match ended {
        Ended::Closed => {
            context.log(Some(response.status), 0, RequestOutcome::Answered);
            guard.end(|counters| counters.serve(response.status));
        }
        Ended::Failed(fault) => {
            tracing::debug!(request.id = %context.id, %fault, "WebSocket failed");
            context.log(Some(response.status), 0, RequestOutcome::CutOff);
        }
    }
}

/// The app's answer; None if the client is gone before.
async fn dispatch<D: Dispatch>(
    server: &ServerState<D>,
    respond: &mut SendResponse<Bytes>,
    request: Request,
) -> Option<Result<Response, Failure>> {
    let mut answer = pin!(server.dispatch.dispatch(request).wait());
    poll_fn(|cx| {
        if let Poll::Ready(answer) = answer.as_mut().poll(cx) {
            return Poll::Ready(Some(answer));
        }
        respond.poll_reset(cx).map(|_| None)
    })
    .await
}

/// Sends an answer without a socket.
async fn refuse<D: Dispatch>(
    server: &ServerState<D>,
    guard: RequestGuard<'_>,
    respond: &mut SendResponse<Bytes>,
    context: &RequestContext,
    answer: Result<Response, Failure>,
) {
    let response = server.answer(context, answer);
    let (status, sent, outcome) = send(server, respond, None, context, response).await;
    context.log(Some(status), sent, outcome);
    if outcome == RequestOutcome::Answered {
        guard.end(|counters| counters.serve(status));
    }
}

fn accept<D>(
    server: &ServerState<D>,
    respond: &mut SendResponse<Bytes>,
    context: &RequestContext,
    response: &Response,
    agreed: Deflate,
) -> Option<SendStream<Bytes>> {
    let mut cache = DateCache::new();
    let (mut head, dropped) = head::write(response, Transfer::None, &context.id, cache.at(server.clock.unix()));
    server.stats.drop_headers(dropped);
    let headers = head.headers_mut();
    // A tunnel has no length, and of the handshake's headers only the choice of a subprotocol is the app's.
    headers.remove(http::header::CONTENT_LENGTH);
    for name in ["sec-websocket-extensions", "sec-websocket-accept", "sec-websocket-key", "sec-websocket-version"] {
        headers.remove(name);
    }
    if agreed == Deflate::On {
        let name = HeaderName::from_static("sec-websocket-extensions");
        headers.insert(name, HeaderValue::from_static(deflate::ANSWER));
    }
    respond.send_response(head, false).ok()
}

async fn run<D>(server: &ServerState<D>, stream: SocketStream, end: Box<SocketEnd>, deflate: Deflate) -> Ended {
    let config = Config { deflate, ..Config::default() };
    let mut connection = Connection::new(stream, BytesMut::new(), Role::Server, end, config);
    // The connection's registration wakes another task.
    let mut registration = None;
    poll_fn(|cx| {
        registration.get_or_insert_with(|| server.drain.register(cx.waker().clone()));
        if server.drain.phase() != Phase::Open {
            connection.go_away(&Close::new(1001, "the server is shutting down"));
        }
        connection.poll(cx)
    })
    .await
}

/// An HTTP/2 stream as a stream of bytes. The client's window grows when the bytes were read.
struct SocketStream {
    recv: RecvStream,
    send: SendStream<Bytes>,
    /// Received and not yet read.
    piece: Bytes,
}

impl AsyncRead for SocketStream {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        while self.piece.is_empty() {
            match ready!(self.recv.poll_data(cx)) {
                Some(Ok(piece)) => self.piece = piece,
                Some(Err(error)) => return Poll::Ready(Err(io::Error::other(error))),
                None => return Poll::Ready(Ok(())),
            }
        }
        let count = self.piece.len().min(buf.remaining());
        buf.put_slice(&self.piece[..count]);
        self.piece.advance(count);
        // Fails only for more than was received.
        let _ = self.recv.flow_control().release_capacity(count);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for SocketStream {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let gone = || io::Error::from(io::ErrorKind::BrokenPipe);
        self.send.reserve_capacity(bytes.len().min(HIGH_WATER));
        while self.send.capacity() == 0 {
            match ready!(self.send.poll_capacity(cx)) {
                Some(Ok(_)) => {}
                Some(Err(error)) => return Poll::Ready(Err(io::Error::other(error))),
                None => return Poll::Ready(Err(gone())),
            }
        }
        let count = bytes.len().min(self.send.capacity());
        let sent = self.send.send_data(Bytes::copy_from_slice(&bytes[..count]), false);
        Poll::Ready(sent.map(|()| count).map_err(|_| gone()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        // The connection's own task writes.
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        // A second call fails, and changes nothing.
        let _ = self.send.send_data(Bytes::new(), true);
        Poll::Ready(Ok(()))
    }
}
