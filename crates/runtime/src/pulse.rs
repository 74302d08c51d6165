//! A moment's work on each core, some thousands of times a second, while the lane leaves no core free.
//!
//! Why: when one of the quick threads wakes up on a core where the lane computes, the kernel (EEVDF) gives it that core unless
//! it has just had more than its share, be it by a microsecond. Then the lane goes on, and the kernel looks again when its
//! clock ticks: 4 ms later at 250 Hz, for an answer of 30 µs. It also looks whenever somebody on that core falls asleep, which
//! is all that these threads do. Measured beside a storm of microtasks: p99 of a quick app 0.4 to 1 ms, without them 1.3 to 3.
//!
//! Invariants: a pulse beats only while as many of the lane's threads are at work as there are cores, less one; otherwise its
//! threads sleep. Each stays on its own core. It ends with the last [`Pulse`].

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use hearth_jail::slices::{Heirs, ask_for_short_slices};

/// Between two beats: what a quick thread may have to wait. A beat costs some 4 µs.
const BEAT: Duration = Duration::from_micros(300);
const STACK: usize = 64 << 10;

/// Somebody who counts the lane's threads at work.
pub(crate) struct Pulse(Arc<Shared>);

/// One of the lane's threads is at work.
pub(crate) struct AtWork<'a>(&'a Shared);

struct Shared {
    at_work: AtomicUsize,
    /// Of them, so many leave one core free at most.
    crowd: usize,
    ended: Mutex<Ended>,
    change: Condvar,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Ended {
    No,
    Yes,
}

impl Pulse {
    /// For a lane of at most `lane` threads. Must be called by a thread of normal priority: the pulse's have the same. Where
    /// there are more cores than the lane can fill, or a thread cannot be had, there is no pulse, and the lane is as it was.
    pub(crate) fn start(lane: usize) -> Self {
        let cores = cores();
        let shared = Arc::new(Shared {
            at_work: AtomicUsize::new(0),
            crowd: (cores.len() - 1).max(1),
            ended: Mutex::new(Ended::No),
            change: Condvar::new(),
        });
        if shared.crowd <= lane {
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

    /// Until the answer is dropped, one more of the lane's threads is at work.
    pub(crate) fn at_work(&self) -> AtWork<'_> {
        if self.0.at_work.fetch_add(1, Ordering::Relaxed) + 1 == self.0.crowd {
            // Under the lock: who has just found too few is asleep by then.
            let _ended = self.0.lock();
            self.0.change.notify_all();
        }
        AtWork(&self.0)
    }
}

impl Drop for Pulse {
    fn drop(&mut self) {
        *self.0.lock() = Ended::Yes;
        self.0.change.notify_all();
    }
}

impl Drop for AtWork<'_> {
    fn drop(&mut self) {
        self.0.at_work.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Shared {
    fn is_crowded(&self) -> bool {
        self.at_work.load(Ordering::Relaxed) >= self.crowd
    }

    fn beat(&self) {
        while self.wait_for_a_crowd() == Ended::No {
            while self.is_crowded() {
                std::thread::sleep(BEAT);
            }
        }
    }

    fn wait_for_a_crowd(&self) -> Ended {
        let idle = |ended: &mut Ended| *ended == Ended::No && !self.is_crowded();
        *self.change.wait_while(self.lock(), idle).unwrap_or_else(PoisonError::into_inner)
    }

    fn lock(&self) -> MutexGuard<'_, Ended> {
        self.ended.lock().unwrap_or_else(PoisonError::into_inner)
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

    fn shared(crowd: usize) -> Arc<Shared> {
        Arc::new(Shared { at_work: AtomicUsize::new(0), crowd, ended: Mutex::new(Ended::No), change: Condvar::new() })
    }

    #[test]
    fn it_beats_while_the_lane_leaves_no_core_free_and_sleeps_otherwise() {
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
