//! The timers of one context, ordered by due time. The worker waits for the next one
//! (`worker/timer.rs`).

use std::collections::{BTreeMap, HashMap};
use std::time::{Duration, Instant};

use hearth_core::RequestId;

use crate::request_table::ById;

#[derive(Default)]
pub(crate) struct Timers {
    /// By due time, then by age: timers that are due together fire in the order they were set.
    queue: BTreeMap<(Instant, u64), u64>,
    timers: HashMap<u64, Timer, ById>,
    sequence: u64,
}

struct Timer {
    key: (Instant, u64),
    request: RequestId,
    interval: Option<Duration>,
}

/// Whether a timer repeats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Repeat {
    Once,
    Every,
}

impl Timers {
    pub(crate) fn start(&mut self, id: u64, request: RequestId, delay: Duration, repeat: Repeat) {
        let key = self.key(Instant::now() + delay);
        self.queue.insert(key, id);
        let interval = (repeat == Repeat::Every).then_some(delay.max(Duration::from_millis(1)));
        self.timers.insert(id, Timer { key, request, interval });
    }

    pub(crate) fn cancel(&mut self, id: u64) {
        if let Some(timer) = self.timers.remove(&id) {
            self.queue.remove(&timer.key);
        }
    }

    /// The next timer that is due by `now`, at most once per call for each; an interval is
    /// scheduled again.
    pub(crate) fn pop(&mut self, now: Instant) -> Option<(u64, RequestId)> {
        let (&key, &id) = self.queue.first_key_value()?;
        if key.0 > now {
            return None;
        }
        self.queue.remove(&key);
        let timer = self.timers.get_mut(&id).expect("a queued timer is in the table");
        let request = timer.request;
        match timer.interval {
            Some(interval) => {
                self.sequence += 1;
                timer.key = (now + interval, self.sequence);
                self.queue.insert(timer.key, id);
            }
            None => {
                self.timers.remove(&id);
            }
        }
        Some((id, request))
    }

    pub(crate) fn next(&self) -> Option<Instant> {
        self.queue.first_key_value().map(|((due, _), _)| *due)
    }

    fn key(&mut self, due: Instant) -> (Instant, u64) {
        self.sequence += 1;
        (due, self.sequence)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OUTSIDE: RequestId = RequestId::OUTSIDE;

    #[test]
    fn due_timers_come_in_order_and_once() {
        let mut timers = Timers::default();
        timers.start(1, OUTSIDE, Duration::from_millis(20), Repeat::Once);
        timers.start(2, OUTSIDE, Duration::from_millis(10), Repeat::Once);
        timers.start(3, OUTSIDE, Duration::from_millis(10), Repeat::Once);
        timers.cancel(3);
        let later = Instant::now() + Duration::from_millis(15);
        assert_eq!(timers.pop(later), Some((2, OUTSIDE)));
        assert_eq!(timers.pop(later), None);
        assert_eq!(timers.pop(later + Duration::from_millis(10)), Some((1, OUTSIDE)));
        assert_eq!(timers.next(), None);
    }

    #[test]
    fn an_interval_comes_back_until_it_is_cancelled() {
        let mut timers = Timers::default();
        timers.start(1, OUTSIDE, Duration::ZERO, Repeat::Every);
        let now = Instant::now() + Duration::from_millis(1);
        assert_eq!(timers.pop(now), Some((1, OUTSIDE)));
        assert_eq!(timers.pop(now), None);
        assert_eq!(timers.pop(now + Duration::from_millis(1)), Some((1, OUTSIDE)));
        timers.cancel(1);
        assert_eq!(timers.next(), None);
    }
}
