//! One HTTP/1.1 connection, and the task that drives it.
//! Invariant: the task ends with the [`Connection`]. Dropping one, in a pool or in the middle of a response, closes its socket; no
//! connection runs without an owner.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use hyper::Request;
use hyper::body::Incoming;
use hyper::client::conn::{TrySendError, http1};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::runtime::Handle;
use tokio::task::AbortHandle;
use tokio::time::timeout;
use tokio_rustls::client::TlsStream;

use crate::request_body::RequestBody;

/// Bytes that may be read ahead of the app, and the longest head of a response.
const READ_BUFFER: usize = 64 * 1024;

/// How long a connection from the pool may take to be ready for a request: its task has to run once more after the last response. A
/// connection that takes longer is still writing a request that its server does not read.
const READY_TIMEOUT: Duration = Duration::from_millis(100);

pub(crate) enum Stream {
    Plain(TcpStream),
    Tls(Box<TlsStream<TcpStream>>),
}

pub(crate) struct Connection {
    requests: http1::SendRequest<RequestBody>,
    driver: AbortHandle,
    runtime: Handle,
}

// === impl Connection ===

impl Connection {
    pub(crate) async fn start(stream: Stream) -> hyper::Result<Self> {
        let (requests, connection) =
            http1::Builder::new().max_buf_size(READ_BUFFER).handshake(TokioIo::new(stream)).await?;
        // Its errors are reported by the request or the body that they affect.
        let driver = tokio::spawn(async move { drop(connection.with_upgrades().await) }).abort_handle();
        Ok(Self { requests, driver, runtime: Handle::current() })
    }

    pub(crate) async fn send(
        &mut self,
        request: Request<RequestBody>,
    ) -> Result<hyper::Response<Incoming>, TrySendError<Request<RequestBody>>> {
        self.requests.try_send_request(request).await
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.requests.is_closed()
    }

    /// Whether another request can be sent. To be called after the last response has ended.
    pub(crate) async fn ready_for_request(&mut self) -> bool {
        matches!(timeout(READY_TIMEOUT, self.requests.ready()).await, Ok(Ok(())))
    }

    /// The runtime that its task runs on.
    pub(crate) fn runtime(&self) -> &Handle {
        &self.runtime
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.driver.abort();
    }
}

// === impl Stream ===

impl AsyncRead for Stream {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_read(cx, buffer),
            Self::Tls(stream) => Pin::new(stream).poll_read(cx, buffer),
        }
    }
}

impl AsyncWrite for Stream {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_write(cx, bytes),
            Self::Tls(stream) => Pin::new(stream).poll_write(cx, bytes),
        }
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_write_vectored(cx, slices),
            Self::Tls(stream) => Pin::new(stream).poll_write_vectored(cx, slices),
        }
    }

    fn is_write_vectored(&self) -> bool {
        match self {
            Self::Plain(stream) => stream.is_write_vectored(),
            Self::Tls(stream) => stream.is_write_vectored(),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_flush(cx),
            Self::Tls(stream) => Pin::new(stream).poll_flush(cx),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_shutdown(cx),
            Self::Tls(stream) => Pin::new(stream).poll_shutdown(cx),
        }
    }
}
