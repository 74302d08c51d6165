//! The moment in which a hand polls a connection: its luggage, what it may still do before others are to have the thread, and
//! whether it sends at once. Whose moment it is is known by the thread, as tokio's own context is; outside of a hand there
//! is none.

use std::cell::Cell;
use std::task::{Context, Poll};

use super::luggage::{Buffers, Early, Luggage, SIZE};

/// Reads, writes and requests that a connection may do before others are to have the thread.
const ALLOWANCE: u32 = 64;

/// What becomes of the next write of the connection that is polled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Writing {
    /// It is not a hand that polls.
    Outside,
    Now,
    /// It is kept, to be sent in company.
    PutOff,
}

struct Moment {
    writing: Cell<Writing>,
    allowance: Cell<u32>,
    early: Cell<Early>,
    unsent: Cell<Vec<u8>>,
    /// The buffer of early bytes that are used up: the answer's.
    spare: Cell<Option<Vec<u8>>>,
}

thread_local! {
    static MOMENT: Moment = const {
        Moment {
            writing: Cell::new(Writing::Outside),
            allowance: Cell::new(ALLOWANCE),
            early: Cell::new(Early::Nothing),
            unsent: Cell::new(Vec::new()),
            spare: Cell::new(None),
        }
    };
}

/// Runs `poll`, which must not panic, as the moment of the connection that the luggage belongs to.
pub(super) fn pass<R>(luggage: &mut Luggage, buffers: &mut Buffers, poll: impl FnOnce() -> R) -> R {
    MOMENT.with(|moment| {
        moment.writing.set(Writing::Now);
        moment.allowance.set(ALLOWANCE);
        moment.early.set(std::mem::take(&mut luggage.early));
        moment.unsent.set(std::mem::take(&mut luggage.unsent));
        let result = poll();
        moment.writing.set(Writing::Outside);
        luggage.early = moment.early.take();
        luggage.unsent = moment.unsent.take();
        if let Some(spare) = moment.spare.take() {
            buffers.give(spare);
        }
        result
    })
}

/// The next thing that the connection writes may wait for what others write.
pub fn put_off() {
    MOMENT.with(|moment| {
        if moment.writing.get() == Writing::Now {
            moment.writing.set(Writing::PutOff);
        }
    });
}

/// Pending where the connection has done enough for now; it is called again at once.
pub fn poll_allowance(cx: &mut Context<'_>) -> Poll<()> {
    MOMENT.with(|moment| {
        if moment.writing.get() == Writing::Outside {
            return Poll::Ready(());
        }
        match moment.allowance.get() {
            0 => {
                cx.waker().wake_by_ref();
                Poll::Pending
            }
            left => {
                moment.allowance.set(left - 1);
                Poll::Ready(())
            }
        }
    })
}

pub(super) fn take_early() -> Early {
    MOMENT.with(|moment| moment.early.take())
}

/// What was not used of it.
pub(super) fn put_early(early: Early) {
    MOMENT.with(|moment| match early {
        Early::Bytes(bytes) if bytes.is_empty() => moment.spare.set(Some(bytes)),
        early => moment.early.set(early),
    });
}

/// Keeps what is to be written, if it was put off and is small.
pub(super) fn keep(bytes: &[u8]) -> bool {
    MOMENT.with(|moment| {
        if moment.writing.replace(Writing::Now) != Writing::PutOff {
            return false;
        }
        let mut unsent = moment.unsent.take();
        let fits = unsent.len() + bytes.len() <= SIZE;
        if fits {
            if unsent.capacity() < SIZE {
                unsent = moment.spare.take().unwrap_or_else(|| Vec::with_capacity(SIZE));
            }
            unsent.extend_from_slice(bytes);
        }
        moment.unsent.set(unsent);
        fits
    })
}

/// Works on what is kept.
pub(super) fn with_unsent<R>(f: impl FnOnce(&mut Vec<u8>) -> R) -> R {
    MOMENT.with(|moment| {
        let mut unsent = moment.unsent.take();
        let result = f(&mut unsent);
        moment.unsent.set(unsent);
        result
    })
}
