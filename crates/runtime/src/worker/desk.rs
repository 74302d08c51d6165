//! The desk of a thread that has workers pinned to it: where others say that one of them has something in its inbox.
//!
//! Where both sides sleep, a call and its answer cost two wake-ups, several times what is done between them. So each looks out
//! for a moment before it falls asleep: the thread for its next call, the caller for its answer. To look out is to keep a
//! core from others: whoever looked in vain too often does it but now and then ([`Patience`]).
//!
//! The thread is awake or asleep. It says that it is asleep before it looks for calls a last time, and who leaves a call
//! looks at that afterwards: no call is left lying.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::Notify;

use super::Shared;
use super::core::Alive;
use crate::locker::release_all_here;
use crate::threads::Lane;

/// How long to look out: about what it takes to fall asleep and to be woken.
const LOOK: Duration = Duration::from_micros(10);
/// Looks between two looks at the clock.
const LOOKS: usize = 16;
/// Who looked in vain this many times in a row ...
const VAIN: u32 = 8;
/// ... does it only every so many times, until it was worth while again.
const SELDOM: u32 = 64;
/// How long calls are answered before the thread's other tasks have their turn.
const IN_A_ROW: Duration = Duration::from_micros(50);

pub struct Desk {
    /// `None`: the thread has ended.
    calls: Mutex<Option<VecDeque<Call>>>,
    /// How many there are, for who looks out.
    waiting: AtomicUsize,
    asleep: AtomicBool,
    bell: Notify,
    for_calls: Patience,
    for_answers: Patience,
}

/// What others leave for the thread.
enum Call {
    /// There is something in the worker's inbox.
    Inbox(Arc<Shared>),
    /// The worker is gone: its isolate's lock, which the thread keeps, is given up, and the rest destroyed elsewhere.
    Remains(Box<Alive>, Lane),
}

/// Whether it is worth while to look out: it was, lately.
#[derive(Default)]
struct Patience {
    vain: AtomicU32,
}

// === impl Desk ===

impl Desk {
    pub fn new() -> Arc<Self> {
        Arc::new(Self {
            calls: Mutex::new(Some(VecDeque::new())),
            waiting: AtomicUsize::new(0),
            asleep: AtomicBool::new(false),
            bell: Notify::new(),
            for_calls: Patience::default(),
            for_answers: Patience::default(),
        })
    }

    /// Answers calls for ever. For the desk's own thread, beside what else it has to do.
    pub async fn serve(&self) {
        let mut begun = Instant::now();
        loop {
            if let Some(call) = self.for_calls.look(|| self.next()) {
                call.answer();
                if begun.elapsed() >= IN_A_ROW {
                    tokio::task::yield_now().await;
                    begun = Instant::now();
                }
                continue;
            }
            self.asleep.store(true, Ordering::SeqCst);
            if self.is_called() {
                self.asleep.store(false, Ordering::SeqCst);
                continue;
            }
            self.bell.notified().await;
            begun = Instant::now();
        }
    }

    /// The thread, which calls this, is about to end: what was left for it is forgotten, and the locks that it keeps are given up.
    pub fn close(&self) {
        let calls = {
            let mut calls = self.lock();
            // Who finds the desk closed finds isolates without their thread's lock.
            release_all_here();
            calls.take()
        };
        // Workers are let go of without the lock.
        for call in calls.into_iter().flatten() {
            match call {
                Call::Inbox(worker) => drop(worker),
                remains @ Call::Remains(..) => remains.answer(),
            }
        }
    }

    pub(super) fn call(&self, worker: Arc<Shared>) {
        // A thread that has ended has nothing more to do with its workers.
        drop(self.leave(Call::Inbox(worker)));
    }

    /// Has the thread give up the lock that it keeps for what a worker leaves behind, which is then destroyed in the lane.
    pub(super) fn clear_away(&self, remains: Box<Alive>, lane: Lane) {
        if let Err(remains) = self.leave(Call::Remains(remains, lane)) {
            remains.answer();
        }
    }

    /// Gives the call back if the thread has ended.
    fn leave(&self, call: Call) -> Result<(), Call> {
        {
            let mut calls = self.lock();
            let Some(calls) = &mut *calls else { return Err(call) };
            calls.push_back(call);
            self.waiting.fetch_add(1, Ordering::SeqCst);
        }
        if self.asleep.swap(false, Ordering::SeqCst) {
            self.bell.notify_one();
        }
        Ok(())
    }

    /// Looks out for what comes of a call.
    pub(super) fn look_for<T>(&self, answer: impl FnMut() -> Option<T>) -> Option<T> {
        self.for_answers.look(answer)
    }

    fn is_called(&self) -> bool {
        self.waiting.load(Ordering::SeqCst) > 0
    }

    fn next(&self) -> Option<Call> {
        if !self.is_called() {
            return None;
        }
        let call = self.lock().as_mut()?.pop_front()?;
        self.waiting.fetch_sub(1, Ordering::SeqCst);
        Some(call)
    }

    fn lock(&self) -> MutexGuard<'_, Option<VecDeque<Call>>> {
        // Nothing that can panic runs under this lock.
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// === impl Call ===

impl Call {
    fn answer(self) {
        match self {
            Self::Inbox(worker) => worker.come(),
            Self::Remains(mut remains, lane) => {
                remains.release_locker();
                lane.clear_away(remains);
            }
        }
    }
}

// === impl Patience ===

impl Patience {
    /// Looks at least once.
    fn look<T>(&self, mut at: impl FnMut() -> Option<T>) -> Option<T> {
        if let Some(found) = at() {
            return Some(found);
        }
        // Several may look at once; a count that is off by some does no harm.
        let vain = self.vain.load(Ordering::Relaxed);
        if vain >= VAIN && vain % SELDOM != 0 {
            self.vain.store(vain.wrapping_add(1), Ordering::Relaxed);
            return None;
        }
        let begun = Instant::now();
        while begun.elapsed() < LOOK {
            for _ in 0..LOOKS {
                if let Some(found) = at() {
                    self.vain.store(0, Ordering::Relaxed);
                    return Some(found);
                }
                std::hint::spin_loop();
            }
        }
        self.vain.store(vain.wrapping_add(1), Ordering::Relaxed);
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_looks_in_vain_gives_up_and_tries_again_now_and_then() {
        let patience = Patience::default();
        let looks = |patience: &Patience| {
            let mut count = 0;
            patience.look(|| {
                count += 1;
                None::<()>
            });
            count
        };
        for _ in 0..VAIN {
            assert!(looks(&patience) > 1);
        }
        let long = (0..2 * SELDOM).filter(|_| looks(&patience) > 1).count();
        assert_eq!(long, 2, "only now and then");
        let mut left = 3;
        let found = (0..=SELDOM).find_map(|_| {
            left = 3;
            patience.look(|| {
                left -= 1;
                (left == 0).then_some(())
            })
        });
        assert!(found.is_some());
        assert!(looks(&patience) > 1, "it was worth while");
    }
}
