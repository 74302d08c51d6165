//! Idle connections. One pool per [`Client`](crate::Client): all its connections were made under the
//! same policy, for the same app.
//! States of a connection: `Used -> Idle -> Used | Closed`; it is in here while idle, and owned by its response while used.
//! Invariants: at most `max_idle_per_origin` per origin and `max_idle` in all; while anything is idle one task closes those that are too old.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use tokio::time::{Instant, sleep_until};

use crate::connection::Connection;
use crate::target::Origin;

pub(crate) struct Pool {
    limits: Limits,
    idle: Mutex<IdleSet>,
}

#[derive(Clone, Copy)]
pub(crate) struct Limits {
    pub(crate) timeout: Duration,
    pub(crate) per_origin: usize,
    pub(crate) in_all: usize,
}

#[derive(Default)]
struct IdleSet {
    /// No queue is empty; each is in the order of `since`.
    origins: HashMap<Origin, VecDeque<IdleConnection>>,
    count: usize,
    expiry_task: ExpiryTask,
}

struct IdleConnection {
    connection: Connection,
    since: Instant,
}

/// Whether the task that closes old connections runs.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum ExpiryTask {
    #[default]
    Off,
    On,
}

// === impl Pool ===

impl Pool {
    pub(crate) fn new(limits: Limits) -> Arc<Self> {
        Arc::new(Self { limits, idle: Mutex::default() })
    }

    /// The connection that was used last (its server most likely still keeps it), if it can still be used.
    pub(crate) async fn take(&self, origin: &Origin) -> Option<Connection> {
        loop {
            let mut waiting = self.lock().pop(origin)?;
            let fresh = waiting.since.elapsed() < self.limits.timeout && !waiting.connection.is_closed();
            if fresh && waiting.connection.ready_for_request().await {
                return Some(waiting.connection);
            }
        }
    }

    pub(crate) fn put(self: &Arc<Self>, origin: Origin, connection: Connection) {
        if connection.is_closed() || self.limits.per_origin == 0 || self.limits.in_all == 0 {
            return;
        }
        let runtime = connection.runtime().clone();
        let mut idle = self.lock();
        // Dropped after the lock is released.
        let crowded = idle.origins.get(&origin).is_some_and(|queue| queue.len() >= self.limits.per_origin);
        let surplus = match crowded {
            true => idle.pop_oldest(&origin),
            false if idle.count >= self.limits.in_all => {
                idle.oldest_origin().and_then(|oldest| idle.pop_oldest(&oldest))
            }
            false => None,
        };
        idle.origins.entry(origin).or_default().push_back(IdleConnection { connection, since: Instant::now() });
        idle.count += 1;
        let watch = std::mem::replace(&mut idle.expiry_task, ExpiryTask::On);
        drop(idle);
        drop(surplus);
        if watch == ExpiryTask::Off {
            runtime.spawn(close_expired(Arc::downgrade(self), self.limits.timeout));
        }
    }

    /// Closes connections that are idle for too long. Gives the time of the next call, `None` when no connection is idle.
    fn expire(&self) -> Option<Instant> {
        let mut idle = self.lock();
        let now = Instant::now();
        let mut expired = Vec::new();
        let mut next = None;
        for queue in idle.origins.values_mut() {
            let fresh = queue.iter().position(|w| w.since + self.limits.timeout > now && !w.connection.is_closed());
            expired.extend(queue.drain(..fresh.unwrap_or(queue.len())));
            next = queue.front().map(|w| w.since).into_iter().chain(next).min();
        }
        idle.count -= expired.len();
        idle.origins.retain(|_, queue| !queue.is_empty());
        if next.is_none() {
            idle.expiry_task = ExpiryTask::Off;
        }
        drop(idle);
        drop(expired);
        next.map(|since| since + self.limits.timeout)
    }

    fn lock(&self) -> MutexGuard<'_, IdleSet> {
        // Nothing under this lock leaves it half-changed when it panics.
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn close_expired(pool: Weak<Pool>, timeout: Duration) {
    let mut next = Some(Instant::now() + timeout);
    while let Some(at) = next {
        sleep_until(at).await;
        next = pool.upgrade().and_then(|pool| pool.expire());
    }
}

// === impl IdleSet ===

impl IdleSet {
    fn pop(&mut self, origin: &Origin) -> Option<IdleConnection> {
        self.pop_with(origin, VecDeque::pop_back)
    }

    fn pop_oldest(&mut self, origin: &Origin) -> Option<IdleConnection> {
        self.pop_with(origin, VecDeque::pop_front)
    }

    fn pop_with(
        &mut self,
        origin: &Origin,
        pop: fn(&mut VecDeque<IdleConnection>) -> Option<IdleConnection>,
    ) -> Option<IdleConnection> {
        let queue = self.origins.get_mut(origin)?;
        let waiting = pop(queue)?;
        self.count -= 1;
        if queue.is_empty() {
            self.origins.remove(origin);
        }
        Some(waiting)
    }

    fn oldest_origin(&self) -> Option<Origin> {
        let oldest = self.origins.iter().filter_map(|(origin, queue)| Some((queue.front()?.since, origin)));
        oldest.min_by_key(|(since, _)| *since).map(|(_, origin)| origin.clone())
    }
}
