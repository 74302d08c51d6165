//! Runs a worker when its next timer is due: one task per worker that has ever had a timer.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use tokio::sync::Notify;

use super::WorkerShared;
use super::event::Event;

pub(super) struct TimerDriver {
    next: Mutex<Option<Instant>>,
    changed: Notify,
    started: AtomicBool,
    closed: AtomicBool,
}

impl TimerDriver {
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Self {
            next: Mutex::new(None),
            changed: Notify::new(),
            started: AtomicBool::new(false),
            closed: AtomicBool::new(false),
        })
    }

    /// Sets when the next timer is due.
    pub(super) fn set(&self, shared: &Arc<WorkerShared>, next: Option<Instant>) {
        {
            let mut current = self.next.lock().unwrap_or_else(PoisonError::into_inner);
            if *current == next {
                return;
            }
            *current = next;
        }
        if !self.started.swap(true, Ordering::Relaxed) {
            self.start(shared);
        }
        self.changed.notify_one();
    }

    pub(super) fn close(&self) {
        self.closed.store(true, Ordering::Release);
        self.changed.notify_one();
    }

    fn start(&self, shared: &Arc<WorkerShared>) {
        let driver = shared.timer.clone();
        let worker = Arc::downgrade(shared);
        shared.runtime.spawn(async move {
            while !driver.closed.load(Ordering::Acquire) {
                let next = *driver.next.lock().unwrap_or_else(PoisonError::into_inner);
                let Some(at) = next else {
                    driver.changed.notified().await;
                    continue;
                };
                if tokio::time::timeout_at(at.into(), driver.changed.notified()).await.is_ok() {
                    continue;
                }
                *driver.next.lock().unwrap_or_else(PoisonError::into_inner) = None;
                let Some(worker) = worker.upgrade() else { return };
                worker.post(Event::TimersDue);
            }
        });
    }
}
