//! WebSockets over HTTP/2 (RFC 8441): a stream of a connection that goes on serving others. The client asks with CONNECT and
//! `:protocol`, the app sees the GET that HTTP/1 would have had, and where it agrees the client is told 200.
//!
//! A success is what makes a socket of the stream, so an app that answers with one and without a socket has failed.

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
use crate::asked::{Asked, Shared};
use crate::date::DateCache;
use crate::drain::Phase;
use crate::exchange::HIGH_WATER;
use crate::http2::exchange::{Turn, send};
use crate::http2::head;
use crate::response::Transfer;
use crate::websocket::Agreement;

/// A request that asks for a socket, and how it can be answered.
pub struct Wish {
    pub request: Request,
    pub asked: Asked,
    pub agreement: Agreement,
    pub recv: RecvStream,
    pub respond: SendResponse<Bytes>,
}

/// From the app's answer to the end of the socket.
pub async fn serve<D: Dispatch>(shared: &Shared<D>, turn: Turn<'_>, wish: Wish) {
    let Wish { request, asked, agreement, recv, mut respond } = wish;
    let answer = match request.client.map_or(Ok(()), |client| shared.admit(client)) {
        Ok(()) => dispatch(shared, &mut respond, request).await,
        Err(failure) => Some(Err(failure)),
    };
    let answer = match answer {
        Some(answer) => answer,
        None => return asked.log(None, 0, RequestOutcome::ClientGone),
    };
    let (response, end) = match answer {
        Ok(Response { websocket: Some(end), headers, body, .. }) => (Response::new(200, headers, body), end),
        Ok(Response { status: 200..=299, .. }) => {
            let failure = Failure::App { message: "the app answered a WebSocket's request without one".to_owned() };
            return refuse(shared, turn, &mut respond, &asked, Err(failure)).await;
        }
        answer => return refuse(shared, turn, &mut respond, &asked, answer).await,
    };
    let Some(stream) = accept(shared, &mut respond, &asked, &response, agreement.deflate) else {
        return asked.log(None, 0, RequestOutcome::ClientGone);
    };
    let ended = run(shared, SocketStream { recv, send: stream, piece: Bytes::new() }, end, agreement.deflate).await;
    match ended {
        Ended::Closed => {
            asked.log(Some(response.status), 0, RequestOutcome::Answered);
            turn.end(|tally| tally.serve(response.status));
        }
        Ended::Failed(fault) => {
            tracing::debug!(request.id = %asked.id, %fault, "WebSocket failed");
            asked.log(Some(response.status), 0, RequestOutcome::CutOff);
        }
    }
}

/// What the app answers; nothing, if the client has gone before.
async fn dispatch<D: Dispatch>(
    shared: &Shared<D>,
    respond: &mut SendResponse<Bytes>,
    request: Request,
) -> Option<Result<Response, Failure>> {
    let mut answer = pin!(shared.dispatch.dispatch(request).wait());
    poll_fn(|cx| {
        if let Poll::Ready(answer) = answer.as_mut().poll(cx) {
            return Poll::Ready(Some(answer));
        }
        respond.poll_reset(cx).map(|_| None)
    })
    .await
}

/// No socket: an answer like any other.
async fn refuse<D: Dispatch>(
    shared: &Shared<D>,
    turn: Turn<'_>,
    respond: &mut SendResponse<Bytes>,
    asked: &Asked,
    answer: Result<Response, Failure>,
) {
    let response = shared.answer(asked, answer);
    let (status, sent, outcome) = send(shared, respond, None, asked, response).await;
    asked.log(Some(status), sent, outcome);
    if outcome == RequestOutcome::Answered {
        turn.end(|tally| tally.serve(status));
    }
}

fn accept<D>(
    shared: &Shared<D>,
    respond: &mut SendResponse<Bytes>,
    asked: &Asked,
    response: &Response,
    agreed: Deflate,
) -> Option<SendStream<Bytes>> {
    let mut cache = DateCache::new();
    let (mut head, dropped) = head::write(response, Transfer::None, &asked.id, cache.at(shared.clock.unix()));
    shared.stats.drop_headers(dropped);
    let headers = head.headers_mut();
    // A tunnel has no length, and of the handshake only the choice of a subprotocol is the app's.
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

async fn run<D>(shared: &Shared<D>, stream: SocketStream, end: Box<SocketEnd>, deflate: Deflate) -> Ended {
    let config = Config { deflate, ..Config::default() };
    let mut connection = Connection::new(stream, BytesMut::new(), Role::Server, end, config);
    // This task is not the connection's, which knows when the server stops.
    let mut registration = None;
    poll_fn(|cx| {
        registration.get_or_insert_with(|| shared.drain.register(cx.waker().clone()));
        if shared.drain.phase() != Phase::Open {
            connection.go_away(&Close::new(1001, "the server is shutting down"));
        }
        connection.poll(cx)
    })
    .await
}

/// A stream of HTTP/2 as one of bytes. The client gets room again for what was read, and no sooner.
struct SocketStream {
    recv: RecvStream,
    send: SendStream<Bytes>,
    /// What has come and was not yet read.
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
        // It fails only for more than was received.
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
        // A second time it fails, and changes nothing.
        let _ = self.send.send_data(Bytes::new(), true);
        Poll::Ready(Ok(()))
    }
}
