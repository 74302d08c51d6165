//! The things of one key, as their users see them. Keep a shelf per key: then a warm request looks nothing up and takes no
//! lock but this shelf's own.
//!
//! ```text
//! try_acquire: at home here and not busy > not busy > busy, if nothing better can be hoped for    (each: with room)
//! acquire:     the same > a creation under way that can carry one more > a new creation
//!              > any busy thing with room > wait
//! ```

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::oneshot;

use crate::creation::Creation;
use crate::keep::Keep;
use crate::lease::{BriefLease, Lease};
use crate::rack::{Answer, Later, Rack};
use crate::slot::Moment;
use crate::stats::ShelfStats;

/// How many things a shelf has, and for how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ShelfRules {
    /// Usable things at once, those that are being made included. Things that take nothing new do not count.
    pub most: usize,
    /// Leases of one thing at once; 0 is no bound.
    pub concurrency: u32,
    pub life: Life,
}

/// When a thing has done enough. `None` is never.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Life {
    /// Leases, in all.
    pub uses: Option<u64>,
    /// From its creation on. Looked at when a lease is asked for, which costs a look at the clock, and in sweeps.
    pub ttl: Option<Duration>,
    /// From its last lease on. Looked at in sweeps: the first that finds so says so ([`Keep::idle`]), the next destroys.
    pub idle: Option<Duration>,
}

/// A shelf of a [`Pool`](crate::Pool). Clones are the same shelf. Things stay on it when the last one is dropped, and who
/// asks the pool for the key again finds them.
pub struct Shelf<K: Keep> {
    rack: Arc<Rack<K>>,
    hold: Arc<Hold<K>>,
}

/// Keeps the rack in the catalogue.
struct Hold<K: Keep> {
    rack: Arc<Rack<K>>,
}

/// Why there is no lease.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AcquireError<E> {
    #[error("the creation failed")]
    Failed(E),
    /// It panicked, or its runtime was shut down.
    #[error("the creation did not come to its end")]
    Panicked,
    #[error("the shelf is retired")]
    Retired,
    #[error("the pool is closed")]
    Closed,
}

enum Entry<K: Keep> {
    Now(Lease<K>),
    /// Perhaps with what has to be made for it.
    InLine(InLine<K>, Option<Creation<K>>),
}

/// A caller in line. Leaves it when dropped.
struct InLine<K: Keep> {
    rack: Arc<Rack<K>>,
    came: Moment,
    answer: oneshot::Receiver<Answer<K>>,
}

// === impl Shelf ===

impl<K: Keep> Shelf<K> {
    pub(crate) fn new(rack: Arc<Rack<K>>) -> Self {
        let hold = Arc::new(Hold { rack: rack.clone() });
        Self { rack, hold }
    }

    pub fn key(&self) -> &K::Key {
        &self.rack.key
    }

    /// A lease of a thing that is there, without waiting.
    pub fn try_acquire(&self) -> Option<Lease<K>> {
        self.try_acquire_briefly().map(BriefLease::keep)
    }

    /// The same for a moment.
    pub fn try_acquire_briefly(&self) -> Option<BriefLease<'_, K>> {
        let mut later = Later::new();
        let mut row = self.rack.lock();
        let taken = row.take(&self.rack, &mut later);
        // A thing that was found broken on the way may have been what others wait for.
        let needs_creation = (taken.is_none() || row.wants_successor()) && row.needs_creation();
        drop(row);
        self.rack.stock.carry_out(later);
        if needs_creation {
            self.rack.stock.provide(&self.rack);
        }
        taken.map(|(slot, thing)| BriefLease::new(&self.rack, slot, thing))
    }

    /// A lease, of a new thing if need be. Waits for as long as it takes: put a deadline around it. Dropping the future leaves
    /// the line; a thing that is being made for it is finished all the same, and lands on the shelf.
    pub async fn acquire(&self) -> Result<Lease<K>, AcquireError<K::Error>> {
        match self.line_up()? {
            Entry::Now(lease) => Ok(lease),
            Entry::InLine(mut waiting, creation) => {
                if let Some(creation) = creation {
                    creation.start_here();
                }
                (&mut waiting.answer).await.expect("whoever takes somebody out of the line answers it")
            }
        }
    }

    fn line_up(&self) -> Result<Entry<K>, AcquireError<K::Error>> {
        let (rack, stock) = (&self.rack, &self.rack.stock);
        let mut later = Later::new();
        let mut row = rack.lock();
        if let Some(refusal) = row.refusal() {
            return Err(refusal);
        }
        let entry = match row.take(rack, &mut later) {
            Some((slot, thing)) => Entry::Now(Lease::new(rack.clone(), slot, thing)),
            None => {
                let (came, answer) = row.line_up();
                Entry::InLine(InLine { rack: rack.clone(), came, answer }, None)
            }
        };
        let needs_creation = row.needs_creation();
        drop(row);
        stock.carry_out(later);
        if !needs_creation {
            return Ok(entry);
        }
        Ok(match entry {
            Entry::InLine(waiting, _) => Entry::InLine(waiting, stock.provide_for(rack)),
            now @ Entry::Now(_) => {
                stock.provide(rack);
                now
            }
        })
    }

    /// Nobody gets anything from this shelf any more, and who waits is told so. Things are destroyed as they become idle. The
    /// pool has a new shelf for who asks for the key again.
    pub fn retire(&self) {
        self.rack.stock.retire(&self.rack);
    }

    pub fn stats(&self) -> ShelfStats {
        self.rack.lock().stats()
    }
}

impl<K: Keep> Clone for Shelf<K> {
    fn clone(&self) -> Self {
        Self { rack: self.rack.clone(), hold: self.hold.clone() }
    }
}

// === impl Hold ===

impl<K: Keep> Drop for Hold<K> {
    fn drop(&mut self) {
        self.rack.stock.catalogue().let_go(&self.rack);
    }
}

// === impl InLine ===

impl<K: Keep> Drop for InLine<K> {
    fn drop(&mut self) {
        // Already answered: then the answer, if nobody took it, goes with the channel, and a lease in it goes back.
        self.rack.lock().quit(self.came);
    }
}
