//! A moment's work on each core, some thousands of times a second, while somebody is at work whom others must not wait for.
//!
//! Why: when a thread with little to do wakes up on a core where another computes, the kernel (EEVDF) gives it that core unless
//! it has just had more than its share, be it by a microsecond. Then the other goes on, and the kernel looks again when its
//! clock ticks: 4 ms later at 250 Hz, for an answer of 30 µs. It also looks whenever somebody on that core falls asleep, which
//! is all that these threads do. Measured beside slow apps that are a storm of microtasks: p99 of a quick app 0.4 to 1 ms, without
//! a pulse 1.3 to 3. For the first output of a program in a sandbox, which its agent carries while the program computes: p99
//! 1.7 to 1.8 ms, without 2.4 to 3.3.
//!
//! Invariants: a pulse beats only while there is a [`Crowd`]; otherwise its threads sleep. Each stays on its own core. They
//! end with the [`Pulse`].

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::slices::{Heirs, ask_for_short_slices};

/// Between two beats: what a quick thread may have to wait. A beat costs some 4 µs.
const BEAT: Duration = Duration::from_micros(300);
const STACK: usize = 64 << 10;
/// Machines with more cores than this have one that is free for somebody who wakes up.
const FEW: usize = 8;
/// How long somebody is at work for [`Crowd::Anybody`].
const MOMENT: Duration = Duration::from_millis(5);

/// Somebody who counts those at work.
pub struct Pulse(Arc<Shared>);

/// Somebody is at work.
pub struct AtWork(Arc<Shared>);

/// How many have to be at work for a pulse to beat.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Crowd {
    /// As many as there are cores, less one; there are never more than so many. Where there are more cores than that there is no
    /// pulse.
    Cores { most: usize },
    /// One, for a moment from its beginning, where there are few cores.
    Anybody,
}

struct Shared {
    at_work: AtomicUsize,
    /// So many are a crowd.
    enough: usize,
    lasts: Lasts,
    state: Mutex<State>,
    change: Condvar,
}

/// For how long somebody counts.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Lasts {
    ToItsEnd,
    AMoment,
}

struct State {
    ended: Ended,
    /// When the latest began.
    latest: Instant,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Ended {
    No,
    Yes,
}

impl Pulse {
    /// Must be called by a thread of normal priority: the pulse's have the same. Where a thread cannot be had there is none on its
    /// core.
    pub fn start(crowd: Crowd) -> Self {
        let cores = cores();
        let (enough, lasts, beats) = match crowd {
            Crowd::Cores { most } => {
                let enough = (cores.len() - 1).max(1);
                (enough, Lasts::ToItsEnd, enough <= most)
            }
            Crowd::Anybody => (1, Lasts::AMoment, cores.len() <= FEW),
        };
        let shared = Shared::new(enough, lasts);
        if beats {
            for core in cores {
                let shared = shared.clone();
                let beat = move || {
                    stay_on(core);
                    ask_for_short_slices(Heirs::Alike);
                    shared.beat();
                };
                let _ = std::thread::Builder::new().name("hearth-pulse".into()).stack_size(STACK).spawn(beat);
            }
        }
        Self(shared)
    }

    /// Until the answer is dropped, one more is at work.
    pub fn at_work(&self) -> AtWork {
        let shared = &self.0;
        let before = shared.at_work.fetch_add(1, Ordering::Relaxed);
        if before + 1 == shared.enough || shared.lasts == Lasts::AMoment {
            // Under the lock: who has just found too few is asleep by then.
            let mut state = shared.lock();
            if shared.lasts == Lasts::AMoment {
                state.latest = Instant::now();
            }
            shared.change.notify_all();
        }
        AtWork(shared.clone())
    }
}

impl Drop for Pulse {
    fn drop(&mut self) {
        self.0.lock().ended = Ended::Yes;
        self.0.change.notify_all();
    }
}

impl Drop for AtWork {
    fn drop(&mut self) {
        self.0.at_work.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Shared {
    fn new(enough: usize, lasts: Lasts) -> Arc<Self> {
        let state = Mutex::new(State { ended: Ended::No, latest: Instant::now() });
        Arc::new(Self { at_work: AtomicUsize::new(0), enough, lasts, state, change: Condvar::new() })
    }

    fn is_crowd(&self, state: &State) -> bool {
        let lasts = self.lasts == Lasts::ToItsEnd || state.latest.elapsed() < MOMENT;
        lasts && self.at_work.load(Ordering::Relaxed) >= self.enough
    }

    fn is_crowded(&self) -> bool {
        self.is_crowd(&self.lock())
    }

    fn beat(&self) {
        while self.wait_for_a_crowd() == Ended::No {
            while self.is_crowded() {
                std::thread::sleep(BEAT);
            }
        }
    }

    fn wait_for_a_crowd(&self) -> Ended {
        let idle = |state: &mut State| state.ended == Ended::No && !self.is_crowd(state);
        self.change.wait_while(self.lock(), idle).unwrap_or_else(PoisonError::into_inner).ended
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Those that this process may use.
fn cores() -> Vec<usize> {
    // SAFETY: all zeroes is an empty set.
    let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    // SAFETY: demands room for the size that is given, which is the set's own; 0 names the calling thread.
    let got = unsafe { libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &raw mut set) };
    let known = if got == 0 { libc::CPU_SETSIZE as usize } else { 0 };
    // SAFETY: demands a core below the set's size, which bounds them.
    let cores: Vec<usize> = (0..known).filter(|core| unsafe { libc::CPU_ISSET(*core, &set) }).collect();
    // More cores than a set can name are more than any lane fills.
    if cores.is_empty() { (0..libc::CPU_SETSIZE as usize).collect() } else { cores }
}

/// Should it be refused the thread beats wherever it is, which is of less use.
fn stay_on(core: usize) {
    // SAFETY: all zeroes is an empty set.
    let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    // SAFETY: demands a core below the set's size; it was found in a set.
    unsafe { libc::CPU_SET(core, &mut set) };
    // SAFETY: demands a set of the size that is given; 0 names the calling thread.
    unsafe { libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &raw const set) };
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shared(enough: usize) -> Arc<Shared> {
        Shared::new(enough, Lasts::ToItsEnd)
    }

    #[test]
    fn it_beats_for_a_moment_where_anybody_counts() {
        let pulse = Pulse(Shared::new(1, Lasts::AMoment));
        let work = pulse.at_work();
        pulse.0.lock().latest = Instant::now() + MOMENT;
        assert!(pulse.0.is_crowded());
        let Some(earlier) = Instant::now().checked_sub(MOMENT) else { return };
        pulse.0.lock().latest = earlier;
        assert!(!pulse.0.is_crowded(), "it has had its moment");
        let next = pulse.at_work();
        pulse.0.lock().latest = Instant::now() + MOMENT;
        drop(work);
        assert!(pulse.0.is_crowded());
        drop(next);
        assert!(!pulse.0.is_crowded(), "nobody is at work");
    }

    #[test]
    fn it_beats_while_there_is_a_crowd_and_sleeps_otherwise() {
        let pulse = Pulse(shared(2));
        let first = pulse.at_work();
        assert!(!pulse.0.is_crowded());
        let second = pulse.at_work();
        assert!(pulse.0.is_crowded());
        assert!(pulse.0.wait_for_a_crowd() == Ended::No);
        drop(first);
        assert!(!pulse.0.is_crowded());
        drop(second);
        assert_eq!(pulse.0.at_work.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn who_sleeps_is_woken_by_a_crowd_and_by_the_end() {
        let pulse = Pulse(shared(1));
        let there = pulse.0.clone();
        let woken = std::thread::spawn(move || there.wait_for_a_crowd());
        let work = pulse.at_work();
        assert!(woken.join().is_ok_and(|ended| ended == Ended::No));
        drop(work);
        let there = pulse.0.clone();
        let ended = std::thread::spawn(move || there.beat());
        drop(pulse);
        assert!(ended.join().is_ok());
    }

    #[test]
    fn each_thread_stays_on_a_core_of_this_process() {
        let core = *cores().last().expect("there is a core");
        let found = std::thread::spawn(move || {
            stay_on(core);
            cores()
        });
        assert_eq!(found.join().ok(), Some(vec![core]));
    }
}
