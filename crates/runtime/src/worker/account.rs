//! What a worker has done so far, for whoever lists workers. Written by the holder of the worker alone, so plain loads and
//! stores will do; read by anybody, each number as it is at that moment.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

#[derive(Default)]
pub(crate) struct Account {
    begun: AtomicU64,
    answered: AtomicU64,
    failed: AtomicU64,
    nanoseconds: AtomicU64,
}

/// HTTP requests, scheduled events and tasks of one worker.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WorkerCounts {
    pub requests: u64,
    /// Those that have their response's head, or their failure.
    pub answered: u64,
    /// Those that failed, or were answered with a status of 500 or more.
    pub errors: u64,
    /// From the request to its response's head, of all that were answered.
    pub response_time: Duration,
}

/// How a request was answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answered {
    Well,
    Badly,
}

impl Account {
    pub(crate) fn begin(&self) {
        add(&self.begun, 1);
    }

    pub(crate) fn answer(&self, how: Answered) {
        add(&self.answered, 1);
        if how == Answered::Badly {
            add(&self.failed, 1);
        }
    }

    pub(crate) fn took(&self, time: Duration) {
        add(&self.nanoseconds, time.as_secs() * 1_000_000_000 + u64::from(time.subsec_nanos()));
    }

    pub(crate) fn counts(&self) -> WorkerCounts {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        // In this order no more are answered than were begun.
        let (errors, answered) = (read(&self.failed), read(&self.answered));
        WorkerCounts {
            requests: read(&self.begun).max(answered),
            answered,
            errors,
            response_time: Duration::from_nanos(read(&self.nanoseconds)),
        }
    }
}

fn add(counter: &AtomicU64, more: u64) {
    counter.store(counter.load(Ordering::Relaxed).wrapping_add(more), Ordering::Relaxed);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_counted() {
        let account = Account::default();
        account.begin();
        account.begin();
        account.begin();
        account.answer(Answered::Well);
        account.answer(Answered::Badly);
        account.took(Duration::from_millis(3));
        account.took(Duration::from_millis(4));
        let expected = WorkerCounts { requests: 3, answered: 2, errors: 1, response_time: Duration::from_millis(7) };
        assert_eq!(account.counts(), expected);
    }
}
