//! A connection's bytes: plain, through TLS, or from another process of ours. An enum, since a predictable branch costs less than two copies of
//! everything above it.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::{Buf, BytesMut};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpStream, UnixStream};
use tokio_rustls::server::TlsStream;

use crate::rounds::{Foreseen, Socket};

#[derive(Debug)]
pub enum Stream {
    Plain(Socket),
    Tls(Box<TlsStream<TcpStream>>),
    Unix(UnixStream),
}

/// A stream of which something was read already, and is read again.
#[derive(Debug)]
pub struct Rewound {
    first: BytesMut,
    stream: Stream,
}

// === impl Stream ===

impl Stream {
    pub fn is_tls(&self) -> bool {
        matches!(self, Self::Tls(_))
    }

    /// What can be said of the next read without asking. What was read early is in the inbox after this.
    pub fn foresee(&self, inbox: &mut BytesMut) -> Foreseen {
        match self {
            Self::Plain(tcp) => tcp.foresee(inbox),
            Self::Tls(_) | Self::Unix(_) => Foreseen::Something,
        }
    }

    /// When it is dropped, the other side is told that something is missing, as far as that can be told.
    pub fn reset_on_drop(&self) -> io::Result<()> {
        match self {
            Self::Plain(tcp) => tcp.set_zero_linger(),
            Self::Tls(tls) => tls.get_ref().0.set_zero_linger(),
            Self::Unix(_) => Ok(()),
        }
    }
}

impl AsyncRead for Stream {
    #[inline]
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(tcp) => Pin::new(tcp).poll_read(cx, buf),
            Self::Tls(tls) => Pin::new(tls).poll_read(cx, buf),
            Self::Unix(unix) => Pin::new(unix).poll_read(cx, buf),
        }
    }
}

impl AsyncWrite for Stream {
    #[inline]
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Plain(tcp) => Pin::new(tcp).poll_write(cx, buf),
            Self::Tls(tls) => Pin::new(tls).poll_write(cx, buf),
            Self::Unix(unix) => Pin::new(unix).poll_write(cx, buf),
        }
    }

    #[inline]
    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Plain(tcp) => Pin::new(tcp).poll_write_vectored(cx, bufs),
            Self::Tls(tls) => Pin::new(tls).poll_write_vectored(cx, bufs),
            Self::Unix(unix) => Pin::new(unix).poll_write_vectored(cx, bufs),
        }
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(tcp) => Pin::new(tcp).poll_flush(cx),
            Self::Tls(tls) => Pin::new(tls).poll_flush(cx),
            Self::Unix(unix) => Pin::new(unix).poll_flush(cx),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(tcp) => Pin::new(tcp).poll_shutdown(cx),
            Self::Tls(tls) => Pin::new(tls).poll_shutdown(cx),
            Self::Unix(unix) => Pin::new(unix).poll_shutdown(cx),
        }
    }
}

// === impl Rewound ===

impl Rewound {
    pub fn new(first: BytesMut, stream: Stream) -> Self {
        Self { first, stream }
    }
}

impl AsyncRead for Rewound {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        if self.first.is_empty() {
            return Pin::new(&mut self.stream).poll_read(cx, buf);
        }
        let count = self.first.len().min(buf.remaining());
        buf.put_slice(&self.first[..count]);
        self.first.advance(count);
        if self.first.is_empty() {
            self.first = BytesMut::new();
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Rewound {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, buf)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(cx, bufs)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
