//! Requests that were traced, until somebody sends them. What is too much is dropped and counted: the newest, so that what
//! is kept is a whole stretch of time.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hearth_ipc::Span;
use tokio::sync::Notify;

/// Spans that may wait: about a megabyte.
const WAITING: usize = 2048;
/// Spans that are sent at once.
const BATCH: usize = 512;

/// Clones are the same spans.
#[derive(Clone, Default)]
pub(crate) struct Spans {
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    waiting: Mutex<VecDeque<Span>>,
    dropped: AtomicU64,
    /// A batch is full.
    full: Notify,
}

impl Spans {
    pub(crate) fn push(&self, span: Span) {
        let mut waiting = self.lock();
        if waiting.len() >= WAITING {
            drop(waiting);
            self.drop_some(1);
            return;
        }
        waiting.push_back(span);
        if waiting.len() >= BATCH {
            self.shared.full.notify_one();
        }
    }

    /// The oldest, as many as are sent at once.
    pub(super) fn take(&self) -> Vec<Span> {
        let mut waiting = self.lock();
        let count = waiting.len().min(BATCH);
        waiting.drain(..count).collect()
    }

    /// Ready when there are enough to be sent.
    pub(super) async fn full(&self) {
        self.shared.full.notified().await;
    }

    /// Nobody took them.
    pub(super) fn drop_some(&self, count: usize) {
        self.shared.dropped.fetch_add(count as u64, Ordering::Relaxed);
    }

    /// All that no collector ever got.
    pub(crate) fn dropped(&self) -> u64 {
        self.shared.dropped.load(Ordering::Relaxed)
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<Span>> {
        // Nothing that can panic runs under this lock.
        self.shared.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
pub(super) fn span(number: usize) -> Span {
    Span {
        trace_id: format!("{number:032x}"),
        span_id: format!("{number:016x}"),
        parent_id: None,
        start: 1_700_000_000_000_000_000,
        duration: std::time::Duration::from_millis(5),
        app: Some((hearth_core::AppName::new("shop"), hearth_core::VersionName::new("1.0.0"))),
        method: "GET".to_owned(),
        url: "http://localhost:8080/shop/cart".to_owned(),
        protocol: "1.1".to_owned(),
        status: Some(200),
        fault: None,
        bytes: 12,
        request_id: "id-1".to_owned(),
        client: std::net::IpAddr::from([127, 0, 0, 1]),
        user_agent: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_too_much_is_dropped_and_counted() {
        let spans = Spans::default();
        for number in 0..WAITING + 3 {
            spans.push(span(number));
        }
        assert_eq!(spans.dropped(), 3);
        let (mut taken, mut next) = (0, spans.take());
        assert_eq!(next.first().map(|span| span.trace_id.clone()), Some("0".repeat(32)));
        while !next.is_empty() {
            assert!(next.len() <= BATCH);
            taken += next.len();
            next = spans.take();
        }
        assert_eq!((taken, spans.dropped()), (WAITING, 3));
    }
}
