//! The queue of traced requests. When it is full, new spans are dropped and counted, so that what is kept is a contiguous
//! stretch of time.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hearth_ipc::Span;
use tokio::sync::Notify;

/// Spans that may wait: about a megabyte.
const MAX_WAITING: usize = 2048;
/// Spans in one document.
const BATCH_SIZE: usize = 512;

/// Clones share the queue.
#[derive(Clone, Default)]
pub(crate) struct Spans {
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    waiting: Mutex<VecDeque<Span>>,
    dropped: AtomicU64,
    /// Notified when a batch is full.
    full: Notify,
}

impl Spans {
    pub(crate) fn push(&self, span: Span) {
        let mut waiting = self.lock();
        if waiting.len() >= MAX_WAITING {
            drop(waiting);
            self.count_dropped(1);
            return;
        }
        waiting.push_back(span);
        if waiting.len() >= BATCH_SIZE {
            self.shared.full.notify_one();
        }
    }

    /// Takes the oldest spans, up to a batch.
    pub(super) fn take(&self) -> Vec<Span> {
        let mut waiting = self.lock();
        let count = waiting.len().min(BATCH_SIZE);
        waiting.drain(..count).collect()
    }

    /// Completes when a batch is full.
    pub(super) async fn full(&self) {
        self.shared.full.notified().await;
    }

    /// Counts spans that are dropped.
    pub(super) fn count_dropped(&self, count: usize) {
        self.shared.dropped.fetch_add(count as u64, Ordering::Relaxed);
    }

    /// Number of dropped spans.
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
    fn spans_beyond_the_limit_are_dropped_and_counted() {
        let spans = Spans::default();
        for number in 0..MAX_WAITING + 3 {
            spans.push(span(number));
        }
        assert_eq!(spans.dropped(), 3);
        let (mut taken, mut next) = (0, spans.take());
        assert_eq!(next.first().map(|span| span.trace_id.clone()), Some("0".repeat(32)));
        while !next.is_empty() {
            assert!(next.len() <= BATCH_SIZE);
            taken += next.len();
            next = spans.take();
        }
        assert_eq!((taken, spans.dropped()), (MAX_WAITING, 3));
    }
}
