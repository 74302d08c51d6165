//! What a driver gives the connection that it polls, for the time of that poll: its buffers, its budget of operations, and
//! whether its next write may be deferred to the end of the batch. Kept in a thread-local that [`enter`] fills and empties;
//! outside of `enter` the functions do nothing.
//!
//! Why a thread-local, and not a field of the socket: the socket lies inside the connection's future, and the driver outside of
//! it reads and writes the same buffers before and after the poll. Shared between the two they would need either a lock (five
//! locked instructions or more for each request, on a path that has none) or an `UnsafeCell` (this crate forbids `unsafe`).
//! `Context` has no field for data of an executor in stable Rust (`context_ext`). Once it has one, the scope belongs there.
//! The same holds for tokio's own context, which is a thread-local for this reason.
//! Invariant: the scope is empty whenever no driver polls a connection on this thread; connections do not nest.

use std::cell::Cell;
use std::task::{Context, Poll};

use crate::io_buffers::{BUFFER_SIZE, BufferCache, IoBuffers, ReadAhead};

/// Reads, writes and requests that a connection may do in one poll before other tasks get the thread.
const MAX_OPERATIONS: u32 = 64;

/// What happens to the next write of the connection that is polled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum WriteMode {
    /// No driver polls a connection on this thread.
    OutsideDriver,
    Immediate,
    /// It is buffered, to be sent at the end of the batch.
    Deferred,
}

struct PollScope {
    write_mode: Cell<WriteMode>,
    budget: Cell<u32>,
    read_ahead: Cell<ReadAhead>,
    unsent: Cell<Vec<u8>>,
    /// The buffer of bytes that were read ahead and are used up; the answer is written into it.
    spare: Cell<Option<Vec<u8>>>,
}

thread_local! {
    static SCOPE: PollScope = const {
        PollScope {
            write_mode: Cell::new(WriteMode::OutsideDriver),
            budget: Cell::new(MAX_OPERATIONS),
            read_ahead: Cell::new(ReadAhead::Nothing),
            unsent: Cell::new(Vec::new()),
            spare: Cell::new(None),
        }
    };
}

/// Runs `poll`, which must not panic, in the scope of the connection that `io` belongs to.
pub(crate) fn enter<R>(io: &mut IoBuffers, buffers: &mut BufferCache, poll: impl FnOnce() -> R) -> R {
    SCOPE.with(|scope| {
        scope.write_mode.set(WriteMode::Immediate);
        scope.budget.set(MAX_OPERATIONS);
        scope.read_ahead.set(std::mem::take(&mut io.read_ahead));
        scope.unsent.set(std::mem::take(&mut io.unsent));
        let result = poll();
        scope.write_mode.set(WriteMode::OutsideDriver);
        io.read_ahead = scope.read_ahead.take();
        io.unsent = scope.unsent.take();
        if let Some(spare) = scope.spare.take() {
            buffers.put(spare);
        }
        result
    })
}

/// The connection's next write may wait for the end of the batch. Does nothing outside of a driver.
#[inline]
pub fn defer_next_write() {
    SCOPE.with(|scope| {
        if scope.write_mode.get() == WriteMode::Immediate {
            scope.write_mode.set(WriteMode::Deferred);
        }
    });
}

/// Takes one operation from the connection's budget. Pending where it is used up; the connection is polled again soon.
/// Always ready outside of a driver.
#[inline]
pub fn poll_budget(cx: &mut Context<'_>) -> Poll<()> {
    SCOPE.with(|scope| {
        if scope.write_mode.get() == WriteMode::OutsideDriver {
            return Poll::Ready(());
        }
        match scope.budget.get() {
            0 => {
                cx.waker().wake_by_ref();
                Poll::Pending
            }
            left => {
                scope.budget.set(left - 1);
                Poll::Ready(())
            }
        }
    })
}

pub(crate) fn take_read_ahead() -> ReadAhead {
    SCOPE.with(|scope| scope.read_ahead.take())
}

/// Gives back what was not used. An empty buffer becomes the spare one.
pub(crate) fn put_read_ahead(read_ahead: ReadAhead) {
    SCOPE.with(|scope| match read_ahead {
        ReadAhead::Bytes(bytes) if bytes.is_empty() => scope.spare.set(Some(bytes)),
        read_ahead => scope.read_ahead.set(read_ahead),
    });
}

/// Buffers what is to be written, if that was deferred and fits. Whether it did.
pub(crate) fn buffer_write(bytes: &[u8]) -> bool {
    SCOPE.with(|scope| {
        if scope.write_mode.replace(WriteMode::Immediate) != WriteMode::Deferred {
            return false;
        }
        let mut unsent = scope.unsent.take();
        let fits = unsent.len() + bytes.len() <= BUFFER_SIZE;
        if fits {
            if unsent.capacity() < BUFFER_SIZE {
                unsent = scope.spare.take().unwrap_or_else(|| Vec::with_capacity(BUFFER_SIZE));
            }
            unsent.extend_from_slice(bytes);
        }
        scope.unsent.set(unsent);
        fits
    })
}

/// Gives `f` the bytes that are buffered.
pub(crate) fn with_unsent<R>(f: impl FnOnce(&mut Vec<u8>) -> R) -> R {
    SCOPE.with(|scope| {
        let mut unsent = scope.unsent.take();
        let result = f(&mut unsent);
        scope.unsent.set(unsent);
        result
    })
}
