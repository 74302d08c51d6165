//! Tells connections that the server stops. Each registers its task's waker once, so a request pays one atomic load instead of
//! a subscription.
//! Phases only go forward: `Open -> DrainingKeepAlive` (each connection ends with its next answer) `-> Draining` (idle connections
//! end, others after their answer) `-> Over` (all end now). Each but the last can be left out.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::Waker;

#[derive(Debug, Default)]
pub struct Drain {
    phase: AtomicU8,
    wakers: Mutex<Wakers>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Phase {
    Open,
    DrainingKeepAlive,
    Draining,
    Over,
}

#[derive(Debug, Default)]
struct Wakers {
    next: u64,
    by_key: HashMap<u64, Waker>,
}

/// Removes the waker when it is dropped.
#[derive(Debug)]
pub struct Registration<'a> {
    drain: &'a Drain,
    key: u64,
}

impl Drain {
    pub fn phase(&self) -> Phase {
        match self.phase.load(Ordering::Acquire) {
            0 => Phase::Open,
            1 => Phase::DrainingKeepAlive,
            2 => Phase::Draining,
            _ => Phase::Over,
        }
    }

    /// The task will be woken at every change of phase. It must read the phase after it has registered.
    pub fn register(&self, waker: Waker) -> Registration<'_> {
        let mut wakers = self.lock();
        let key = wakers.next;
        wakers.next += 1;
        wakers.by_key.insert(key, waker);
        Registration { drain: self, key }
    }

    pub fn enter(&self, phase: Phase) {
        let wakers: Vec<Waker> = {
            // Under the lock: a task that registers later sees the new phase.
            let wakers = self.lock();
            self.phase.fetch_max(phase as u8, Ordering::Release);
            wakers.by_key.values().cloned().collect()
        };
        wakers.into_iter().for_each(Waker::wake);
    }

    fn lock(&self) -> MutexGuard<'_, Wakers> {
        self.wakers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Registration<'_> {
    fn drop(&mut self) {
        let waker = self.drain.lock().by_key.remove(&self.key);
        drop(waker);
    }
}
