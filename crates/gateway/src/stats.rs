//! Counts, to be read at any time. Each connection writes into a ledger of its own, so that no request touches memory
//! that another thread writes; a reader adds the ledgers up.
//! Invariant: a ledger has one writer at a time, so a plain load and store is enough to count.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What a server did so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Connections that were accepted.
    pub connections: u64,
    pub connections_open: u64,
    /// Connections that were closed at once: their client had as many as it may have.
    pub connections_refused: u64,
    /// Requests that have begun and not ended.
    pub in_flight: u64,
    /// Requests that got a complete answer, of the app or in its stead.
    pub served: u64,
    /// Requests that began and got no complete answer: the client left, the body failed, or the drain was over.
    pub aborted: u64,
    /// Requests that were refused before an app saw their end.
    pub rejected: u64,
    /// Answers by the class of their status; `served` and `rejected` together.
    pub answers: Answers,
    /// Response headers that were invalid or beyond the limits.
    pub headers_dropped: u64,
}

/// Counts of answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Answers {
    /// 2xx
    pub success: u64,
    /// 3xx
    pub redirection: u64,
    /// 4xx
    pub client_error: u64,
    /// 5xx
    pub server_error: u64,
    /// 6xx and above
    pub other: u64,
}

/// The counts of a server, while it runs and after. Clones are the same counts.
#[derive(Clone, Debug, Default)]
pub struct Stats {
    books: Arc<Books>,
}

#[derive(Debug, Default)]
struct Books {
    connections: AtomicU64,
    refused: AtomicU64,
    headers_dropped: AtomicU64,
    ledgers: Mutex<Ledgers>,
}

#[derive(Debug, Default)]
struct Ledgers {
    next: u64,
    open: HashMap<u64, Arc<Ledger>>,
    /// Of connections that have ended.
    past: Ledger,
}

#[derive(Debug, Default)]
struct Ledger {
    begun: AtomicU64,
    served: AtomicU64,
    aborted: AtomicU64,
    rejected: AtomicU64,
    /// 2xx, 3xx, 4xx, 5xx, others.
    classes: [AtomicU64; 5],
}

/// The right to write into one ledger: one connection's.
#[derive(Debug)]
pub struct Tally {
    stats: Stats,
    key: u64,
    ledger: Arc<Ledger>,
}

// === impl Stats ===

impl Stats {
    pub fn summary(&self) -> Summary {
        let ledgers = self.lock();
        let mut summary = Summary {
            connections: self.books.connections.load(Relaxed),
            connections_open: ledgers.open.len() as u64,
            connections_refused: self.books.refused.load(Relaxed),
            headers_dropped: self.books.headers_dropped.load(Relaxed),
            ..Summary::default()
        };
        ledgers.open.values().for_each(|ledger| ledger.add_to(&mut summary));
        ledgers.past.add_to(&mut summary);
        summary
    }

    pub(crate) fn connect(&self) -> Tally {
        self.books.connections.fetch_add(1, Relaxed);
        let ledger = Arc::new(Ledger::default());
        let mut ledgers = self.lock();
        let key = ledgers.next;
        ledgers.next += 1;
        ledgers.open.insert(key, ledger.clone());
        Tally { stats: self.clone(), key, ledger }
    }

    pub(crate) fn refuse_connection(&self) {
        self.books.refused.fetch_add(1, Relaxed);
    }

    /// Counts, and says so in the log the first time.
    pub(crate) fn drop_headers(&self, count: u64) {
        if count > 0 && self.books.headers_dropped.fetch_add(count, Relaxed) == 0 {
            tracing::warn!(count, "Response headers were dropped: invalid or beyond the limits; said once");
        }
    }

    fn lock(&self) -> MutexGuard<'_, Ledgers> {
        self.books.ledgers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// === impl Ledger ===

impl Ledger {
    fn add_to(&self, summary: &mut Summary) {
        let count = |counter: &AtomicU64| counter.load(Relaxed);
        let (served, aborted, rejected) = (count(&self.served), count(&self.aborted), count(&self.rejected));
        summary.served += served;
        summary.aborted += aborted;
        summary.rejected += rejected;
        summary.in_flight += count(&self.begun).saturating_sub(served + aborted + rejected);
        let [success, redirection, client_error, server_error, other] = self.classes.each_ref().map(count);
        summary.answers.success += success;
        summary.answers.redirection += redirection;
        summary.answers.client_error += client_error;
        summary.answers.server_error += server_error;
        summary.answers.other += other;
    }

    fn unfinished(&self) -> u64 {
        let ended = self.served.load(Relaxed) + self.aborted.load(Relaxed) + self.rejected.load(Relaxed);
        self.begun.load(Relaxed).saturating_sub(ended)
    }

    fn merge(&self, other: &Self) {
        let pairs = [
            (&self.begun, &other.begun),
            (&self.served, &other.served),
            (&self.aborted, &other.aborted),
            (&self.rejected, &other.rejected),
        ];
        for (to, from) in pairs.into_iter().chain(self.classes.iter().zip(&other.classes)) {
            add(to, from.load(Relaxed));
        }
    }
}

/// Without a locked instruction: whoever calls this is the only writer.
fn add(counter: &AtomicU64, count: u64) {
    counter.store(counter.load(Relaxed) + count, Relaxed);
}

// === impl Tally ===

impl Tally {
    /// No request has begun.
    pub fn is_fresh(&self) -> bool {
        self.ledger.begun.load(Relaxed) == 0
    }

    pub fn begin(&mut self) {
        add(&self.ledger.begun, 1);
    }

    pub fn serve(&mut self, status: u16) {
        add(&self.ledger.served, 1);
        self.answer(status);
    }

    pub fn abort(&mut self) {
        add(&self.ledger.aborted, 1);
    }

    pub fn reject(&mut self, status: u16) {
        add(&self.ledger.rejected, 1);
        self.answer(status);
    }

    fn answer(&mut self, status: u16) {
        let class = usize::from(status / 100).wrapping_sub(2).min(4);
        add(&self.ledger.classes[class], 1);
    }
}

impl Drop for Tally {
    fn drop(&mut self) {
        let mut ledgers = self.stats.lock();
        add(&self.ledger.aborted, self.ledger.unfinished());
        ledgers.open.remove(&self.key);
        ledgers.past.merge(&self.ledger);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn open_and_past_connections_count_alike() {
        let stats = Stats::default();
        let (mut one, mut two) = (stats.connect(), stats.connect());
        for status in [200, 204, 301, 404, 503, 999] {
            one.begin();
            one.serve(status);
        }
        two.begin();
        two.reject(413);
        two.begin();
        let open = stats.summary();
        assert_eq!((open.connections, open.connections_open, open.in_flight), (2, 2, 1));
        assert_eq!((open.served, open.rejected, open.aborted), (6, 1, 0));
        let answers = Answers { success: 2, redirection: 1, client_error: 2, server_error: 1, other: 1 };
        assert_eq!(open.answers, answers);
        drop((one, two));
        let past = stats.summary();
        assert_eq!(past, Summary { connections_open: 0, in_flight: 0, aborted: 1, ..open });
    }
}
