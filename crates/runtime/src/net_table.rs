//! The sockets of a worker's JavaScript. A socket belongs to the worker and not to the request that opened it: pools of
//! connections keep it for later requests, as in Node. It ends when JavaScript closes it, when it is silent for too long, or
//! with the worker.
//!
//! States of a socket's stream: `Open -> Securing -> Open` any number of times, then `Closed`.
//! Invariant: at most [`MAX_SOCKETS`] are in the table; each is charged to the app's memory.

use std::cell::RefCell;
use std::collections::HashMap;
use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use bytes::{Buf, Bytes};
use hearth_core::{Charge, RequestId};
use hearth_egress::IoStream;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::op_error::OpError;
use crate::request_table::ById;

/// Sockets of one worker at once.
const MAX_SOCKETS: usize = 256;
/// What a socket holds outside of the isolate: the buffers of TLS.
const SOCKET_BYTES: u64 = 64 * 1024;
/// The most that one read gives.
const MAX_READ: usize = 64 * 1024;
/// Sockets that code outside of requests may open in this time.
const MAX_OPENED_OUTSIDE: u32 = 1000;
const OUTSIDE_PERIOD: Duration = Duration::from_secs(60);

thread_local! {
    /// Where a read puts its bytes first: a buffer for each waiting read would be held for as long as it waits.
    static SCRATCH: RefCell<Vec<u8>> = RefCell::new(vec![0; MAX_READ]);
}

#[derive(Default)]
pub(crate) struct NetTable {
    table: HashMap<u64, Entry, ById>,
    /// One more reference for each socket that is being opened.
    opening: Arc<()>,
    /// Since when sockets of no request are counted, and how many there were.
    outside: Option<(Instant, u32)>,
}

/// Room for a socket that is being opened.
pub(crate) struct Reservation(#[allow(dead_code)] Arc<()>);

struct Entry {
    socket: Arc<NetSocket>,
    /// The request that used it last.
    user: RequestId,
    _charge: Charge,
}

/// A connection. Its reader and its writer are different tasks.
pub(crate) struct NetSocket {
    stream: Mutex<StreamState>,
    reading: AtomicBool,
    writing: AtomicBool,
}

/// What waits for a socket: one read, and one write or shutdown, at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NetSide {
    Read,
    Write,
}

/// A read or a write that is under way.
pub(crate) struct NetUse {
    socket: Arc<NetSocket>,
    side: NetSide,
}

struct StreamState {
    stream: NetStream,
    /// Woken when the stream is closed, or there again.
    reader: Option<Waker>,
    writer: Option<Waker>,
    used: Instant,
}

enum NetStream {
    Open(Box<dyn IoStream>),
    Securing,
    Closed,
}

// === impl NetTable ===

impl NetTable {
    /// Makes room for a socket that will be opened.
    pub(crate) fn reserve(&mut self, silence: Duration) -> Result<Reservation, OpError> {
        if self.count() >= MAX_SOCKETS {
            self.table.retain(|_, entry| silence.is_zero() || entry.socket.silent_for() < silence);
        }
        if self.count() >= MAX_SOCKETS {
            return Err(OpError::Range(format!("a worker may have {MAX_SOCKETS} sockets: close some")));
        }
        Ok(Reservation(self.opening.clone()))
    }

    fn count(&self) -> usize {
        self.table.len() + Arc::strong_count(&self.opening) - 1
    }

    /// Counts a socket that no request opens.
    pub(crate) fn count_outside(&mut self) -> Result<(), OpError> {
        let now = Instant::now();
        let (since, count) = self.outside.filter(|(since, _)| now - *since < OUTSIDE_PERIOD).unwrap_or((now, 0));
        if count >= MAX_OPENED_OUTSIDE {
            return Err(OpError::Range(format!(
                "{MAX_OPENED_OUTSIDE} sockets were opened outside of requests within a minute"
            )));
        }
        self.outside = Some((since, count + 1));
        Ok(())
    }

    pub(crate) fn insert(&mut self, id: u64, stream: Box<dyn IoStream>, mut charge: Charge) -> Result<(), OpError> {
        charge.try_set(SOCKET_BYTES)?;
        self.table
            .insert(id, Entry { socket: Arc::new(NetSocket::new(stream)), user: RequestId::OUTSIDE, _charge: charge });
        Ok(())
    }

    pub(crate) fn get(&self, id: u64) -> Option<Arc<NetSocket>> {
        self.table.get(&id).map(|entry| entry.socket.clone())
    }

    /// The socket, which the request uses from now on.
    pub(crate) fn use_for(&mut self, id: u64, request: RequestId) -> Option<Arc<NetSocket>> {
        let entry = self.table.get_mut(&id)?;
        entry.user = request;
        Some(entry.socket.clone())
    }

    pub(crate) fn user(&self, id: u64) -> Option<RequestId> {
        self.table.get(&id).map(|entry| entry.user)
    }

    pub(crate) fn close(&mut self, id: u64) {
        self.table.remove(&id);
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        self.socket.close();
    }
}

// === impl NetSocket ===

impl NetSocket {
    fn new(stream: Box<dyn IoStream>) -> Self {
        let state = StreamState { stream: NetStream::Open(stream), reader: None, writer: None, used: Instant::now() };
        Self { stream: Mutex::new(state), reading: AtomicBool::new(false), writing: AtomicBool::new(false) }
    }

    /// Begins a read or a write, unless one is under way: an app could start any number of them.
    pub(crate) fn begin(self: &Arc<Self>, side: NetSide) -> Option<NetUse> {
        let busy = self.flag(side).swap(true, Ordering::Relaxed);
        (!busy).then(|| NetUse { socket: self.clone(), side })
    }

    fn flag(&self, side: NetSide) -> &AtomicBool {
        match side {
            NetSide::Read => &self.reading,
            NetSide::Write => &self.writing,
        }
    }

    fn lock(&self) -> MutexGuard<'_, StreamState> {
        // A stream that panicked is not polled again: the worker is condemned.
        self.stream.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn silent_for(&self) -> Duration {
        self.lock().used.elapsed()
    }

    /// What comes next; nothing at the end. Fails when neither side has sent anything for `silence`.
    pub(crate) async fn read(&self, silence: Duration) -> io::Result<Bytes> {
        let read = poll_fn(|cx| self.poll_read(cx));
        if silence.is_zero() {
            return read.await;
        }
        tokio::pin!(read);
        loop {
            let left = silence.saturating_sub(self.silent_for());
            if left.is_zero() {
                return Err(io::ErrorKind::TimedOut.into());
            }
            if let Ok(done) = tokio::time::timeout(left, &mut read).await {
                return done;
            }
        }
    }

    fn poll_read(&self, cx: &mut Context<'_>) -> Poll<io::Result<Bytes>> {
        let mut state = self.lock();
        let StreamState { stream, reader, used, .. } = &mut *state;
        *reader = Some(cx.waker().clone());
        let stream = match stream {
            NetStream::Open(stream) => stream,
            NetStream::Securing => return Poll::Pending,
            NetStream::Closed => return Poll::Ready(Err(io::ErrorKind::NotConnected.into())),
        };
        SCRATCH.with_borrow_mut(|scratch| {
            let mut buffer = ReadBuf::new(scratch);
            match Pin::new(stream).poll_read(cx, &mut buffer) {
                Poll::Pending => Poll::Pending,
                Poll::Ready(Err(error)) => Poll::Ready(Err(error)),
                Poll::Ready(Ok(())) => {
                    *used = Instant::now();
                    Poll::Ready(Ok(Bytes::copy_from_slice(buffer.filled())))
                }
            }
        })
    }

    /// Writes what it can without waiting; true when nothing is left.
    pub(crate) fn write_now(&self, bytes: &mut Bytes) -> io::Result<bool> {
        match self.poll_write_all(&mut Context::from_waker(Waker::noop()), bytes) {
            Poll::Ready(Ok(())) => Ok(true),
            Poll::Ready(Err(error)) => Err(error),
            Poll::Pending => Ok(false),
        }
    }

    pub(crate) async fn write_all(&self, mut bytes: Bytes) -> io::Result<()> {
        poll_fn(|cx| self.poll_write_all(cx, &mut bytes)).await
    }

    fn poll_write_all(&self, cx: &mut Context<'_>, bytes: &mut Bytes) -> Poll<io::Result<()>> {
        let mut state = self.lock();
        let StreamState { stream, writer, used, .. } = &mut *state;
        *writer = Some(cx.waker().clone());
        let stream = match stream {
            NetStream::Open(stream) => stream,
            NetStream::Securing => return Poll::Pending,
            NetStream::Closed => return Poll::Ready(Err(io::ErrorKind::BrokenPipe.into())),
        };
        while bytes.has_remaining() {
            match Pin::new(&mut *stream).poll_write(cx, bytes) {
                Poll::Ready(Ok(0)) => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                Poll::Ready(Ok(written)) => {
                    *used = Instant::now();
                    bytes.advance(written);
                }
                Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
                Poll::Pending => return Poll::Pending,
            }
        }
        // TLS keeps records that the socket had no room for.
        Pin::new(stream).poll_flush(cx)
    }

    /// Nothing more will be written.
    pub(crate) async fn shutdown(&self) -> io::Result<()> {
        poll_fn(|cx| {
            let mut state = self.lock();
            state.writer = Some(cx.waker().clone());
            match &mut state.stream {
                NetStream::Open(stream) => Pin::new(stream).poll_shutdown(cx),
                NetStream::Securing => Poll::Pending,
                NetStream::Closed => Poll::Ready(Ok(())),
            }
        })
        .await
    }

    /// Takes the stream out, to secure it. Reads and writes wait for the secured one.
    pub(crate) fn take(&self) -> Option<Box<dyn IoStream>> {
        let mut state = self.lock();
        match std::mem::replace(&mut state.stream, NetStream::Securing) {
            NetStream::Open(stream) => Some(stream),
            other => {
                state.stream = other;
                None
            }
        }
    }

    /// The secured stream; none when that failed.
    pub(crate) fn put_back(&self, stream: Option<Box<dyn IoStream>>) {
        let mut state = self.lock();
        if let NetStream::Securing = state.stream {
            state.stream = stream.map_or(NetStream::Closed, NetStream::Open);
        }
        state.wake();
    }

    fn close(&self) {
        let mut state = self.lock();
        state.stream = NetStream::Closed;
        state.wake();
    }
}

impl Drop for NetUse {
    fn drop(&mut self) {
        self.socket.flag(self.side).store(false, Ordering::Relaxed);
    }
}

impl StreamState {
    fn wake(&mut self) {
        for waker in [self.reader.take(), self.writer.take()].into_iter().flatten() {
            waker.wake();
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};

    use super::*;

    #[tokio::test]
    async fn a_closed_socket_wakes_its_reader_and_its_writer() {
        let (one, _other) = duplex(8);
        let socket = Arc::new(NetSocket::new(Box::new(one)));
        let reading = tokio::spawn({
            let socket = socket.clone();
            async move { socket.read(Duration::ZERO).await }
        });
        let writing = tokio::spawn({
            let socket = socket.clone();
            async move { socket.write_all(Bytes::from_static(&[7; 100])).await }
        });
        tokio::task::yield_now().await;
        socket.close();
        assert_eq!(reading.await.unwrap().unwrap_err().kind(), io::ErrorKind::NotConnected);
        assert_eq!(writing.await.unwrap().unwrap_err().kind(), io::ErrorKind::BrokenPipe);
    }

    #[tokio::test]
    async fn reads_and_writes_wait_while_the_stream_is_being_secured() {
        let (one, mut other) = duplex(64);
        let socket = Arc::new(NetSocket::new(Box::new(one)));
        let stream = socket.take().unwrap();
        assert!(socket.take().is_none());
        let reading = tokio::spawn({
            let socket = socket.clone();
            async move { socket.read(Duration::ZERO).await }
        });
        assert!(!socket.write_now(&mut Bytes::from_static(b"early")).unwrap());
        other.write_all(b"hello").await.unwrap();
        socket.put_back(Some(stream));
        assert_eq!(reading.await.unwrap().unwrap(), Bytes::from_static(b"hello"));
        assert!(socket.write_now(&mut Bytes::from_static(b"back")).unwrap());
        let mut read = [0; 4];
        other.read_exact(&mut read).await.unwrap();
        assert_eq!(&read, b"back");
    }

    #[test]
    fn one_read_and_one_write_are_under_way() {
        let socket = Arc::new(NetSocket::new(Box::new(duplex(8).0)));
        let reading = socket.begin(NetSide::Read);
        assert!(reading.is_some() && socket.begin(NetSide::Read).is_none() && socket.begin(NetSide::Write).is_some());
        drop(reading);
        assert!(socket.begin(NetSide::Read).is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn a_silent_socket_ends() {
        let (one, _other) = duplex(64);
        let socket = NetSocket::new(Box::new(one));
        let ended = socket.read(Duration::from_millis(1)).await;
        assert_eq!(ended.unwrap_err().kind(), io::ErrorKind::TimedOut);
    }
}
