//! What a worker has done so far, for lists of workers. Only the thread that has the worker writes, with
//! plain loads and stores; any thread reads each number as it is at that moment.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

#[derive(Default)]
pub(crate) struct WorkerCounters {
    requests: AtomicU64,
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

/// Whether a request succeeded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ResponseClass {
    Ok,
    Error,
}

impl WorkerCounters {
    pub(crate) fn record_request(&self) {
        add(&self.requests, 1);
    }

    pub(crate) fn record_response(&self, class: ResponseClass) {
        add(&self.answered, 1);
        if class == ResponseClass::Error {
            add(&self.failed, 1);
        }
    }

    pub(crate) fn record_duration(&self, time: Duration) {
        add(&self.nanoseconds, time.as_secs() * 1_000_000_000 + u64::from(time.subsec_nanos()));
    }

    pub(crate) fn counts(&self) -> WorkerCounts {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        // In this order no more are answered than were counted as requests.
        let (errors, answered) = (read(&self.failed), read(&self.answered));
        WorkerCounts {
            requests: read(&self.requests).max(answered),
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
    fn requests_and_their_outcomes_are_counted() {
        let counters = WorkerCounters::default();
        counters.record_request();
        counters.record_request();
        counters.record_request();
        counters.record_response(ResponseClass::Ok);
        counters.record_response(ResponseClass::Error);
        counters.record_duration(Duration::from_millis(3));
        counters.record_duration(Duration::from_millis(4));
        let expected = WorkerCounts { requests: 3, answered: 2, errors: 1, response_time: Duration::from_millis(7) };
        assert_eq!(counters.counts(), expected);
    }
}
