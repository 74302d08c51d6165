//! What a pool must be told about the things it keeps. All policy is the pool's; a [`Keep`] only makes, destroys and
//! describes. The descriptions (`health`, `load`, `affinity`, `weight`, `blank_weight`) are asked for under the pool's locks,
//! the first three on the hot path: they must be a few loads of atomics, must not block or panic, and must not call back
//! into the pool. A change of health is noticed when a lease is asked for or comes back, and in sweeps.

use std::fmt::Debug;
use std::future::Future;
use std::hash::Hash;
use std::sync::Arc;

/// How things are made, described and destroyed.
pub trait Keep: Send + Sync + 'static {
    /// Things of the same key can stand in for each other; things of different keys never.
    type Key: Clone + Eq + Hash + Debug + Send + Sync + 'static;
    /// A cheap handle of the thing: clones are the same thing.
    type Thing: Clone + Send + Sync + 'static;
    /// Why a creation failed. Everybody who waited for it gets a clone.
    type Error: Clone + Send + Sync + 'static;

    /// Makes a thing. Runs in a task of its own, which nobody cancels, and under no lock.
    fn create(&self, key: &Self::Key) -> impl Future<Output = Result<Self::Thing, Self::Error>> + Send;

    /// The group of the key's things, which is bounded by [`PoolLimits::per_group`](crate::PoolLimits). Asked once for each
    /// shelf; `None` is in no group.
    fn group(&self, _key: &Self::Key) -> Option<Arc<str>> {
        None
    }

    fn health(&self, thing: &Self::Thing) -> Health;

    fn load(&self, thing: &Self::Thing) -> Load;

    fn affinity(&self, thing: &Self::Thing) -> Affinity;

    /// Bytes that the thing holds now.
    fn weight(&self, thing: &Self::Thing) -> u64;

    /// Bytes that a new thing is expected to hold.
    fn blank_weight(&self) -> u64;

    /// Nobody has used the thing for as long as [`Life::idle`](crate::Life) says. Called once in each such time, under no
    /// lock, by the sweep that notices; the next one destroys the thing, unless somebody used it meanwhile or it is at work.
    /// Must not block.
    fn idle(&self, _thing: &Self::Thing) {}

    /// The thing takes nothing new, and is destroyed as soon as nobody has it any more; but somebody has it. What might go on
    /// for ever should come to an end now. Called at most once for each thing, under no lock. Must not block.
    fn leaving(&self, _thing: &Self::Thing) {}

    /// Called exactly once for each thing that was made, when no lease of it is out, under no lock. It must not block for
    /// long: it runs where the last lease was dropped.
    fn destroy(&self, thing: Self::Thing, why: Reason);
}

/// Whether a thing may be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Health {
    Ready,
    /// It may be used, but not for much longer: another is made to take its place, and then it takes nothing new.
    Worn,
    /// It finishes what it has, and takes nothing new.
    Retiring,
    /// It is of no use to anybody, not even to those who have it.
    Gone,
}

/// What a thing does now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Load {
    /// It has nothing to do.
    Idle,
    /// It has work, but does not run at this moment: there is room.
    Working,
    /// It runs at this moment: another one is better.
    Busy,
}

/// Whether a thing is at home where the caller runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Affinity {
    Here,
    Elsewhere,
}

/// Why a thing is destroyed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reason {
    /// Others needed its room.
    Evicted,
    /// It was used often enough, lived long enough, or was idle for too long.
    Expired,
    /// Somebody who had it said so.
    Condemned,
    /// It was found to be [`Health::Gone`].
    Gone,
    /// It, or its whole shelf, takes nothing new.
    Retired,
    /// The pool was closed.
    Closed,
}

impl Reason {
    /// Whether the thing may finish what it does without a lease before it is destroyed.
    pub(crate) fn lets_it_finish(self) -> bool {
        match self {
            Reason::Expired | Reason::Retired | Reason::Closed => true,
            Reason::Evicted | Reason::Condemned | Reason::Gone => false,
        }
    }
}
