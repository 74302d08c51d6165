//! What the owners of a gate share: the places for all, the order in which owners get them, the roll of owners, and the
//! end. An owner touches any of it only when there are shared bounds, or when it comes or goes.
//!
//! Draining counts owners, not requests: each owner that had somebody running or waiting when it began reports once, when
//! it has become empty, so the end is noticed without looking at all owners again and again.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{Notify, oneshot};

use super::line::{Answer, Door, Line, Standing};
use super::order::Order;
use super::owner::{self, Owner, OwnerId};
use super::places::{Places, Total, Waiting};
use super::{GateLimits, OwnerLimits, Permit, Refused};
use crate::stats::GateStats;

pub(super) struct Hall {
    pub(super) places: Option<Places>,
    /// Other gates may have the same one.
    pub(super) total: Option<Arc<Total>>,
    order: Mutex<Order>,
    roll: Mutex<Roll>,
    /// Owners that are not drained yet, plus one while `drain` itself or nothing has begun.
    undrained: AtomicUsize,
    drained: Notify,
}

/// All owners, and what the ones that are gone have counted.
struct Roll {
    door: Door,
    lines: HashMap<OwnerId, Arc<Mutex<Line>>>,
    gone: GateStats,
    ids: u64,
}

/// A place for somebody, to be sent when no lock is held.
pub(super) struct Grant {
    owner: Arc<Owner>,
    answer: oneshot::Sender<Answer>,
}

// === impl Hall ===

impl Hall {
    pub(super) fn new(limits: GateLimits) -> Self {
        Self::with_total(limits.running, limits.total.map(|limit| Arc::new(Total::new(limit))))
    }

    pub(super) fn with_total(running: Option<usize>, total: Option<Arc<Total>>) -> Self {
        Self {
            places: running.map(Places::new),
            total,
            order: Mutex::default(),
            roll: Mutex::new(Roll { door: Door::Open, lines: HashMap::new(), gone: GateStats::default(), ids: 0 }),
            undrained: AtomicUsize::new(1),
            drained: Notify::new(),
        }
    }

    pub(super) fn admit_owner(self: &Arc<Self>, limits: OwnerLimits) -> Arc<Owner> {
        let mut roll = self.roll();
        roll.ids += 1;
        let id = OwnerId(roll.ids);
        let line = Arc::new(Mutex::new(Line::new(roll.door, limits)));
        roll.lines.insert(id, line.clone());
        Arc::new(Owner::new(id, self.clone(), line))
    }

    /// The owner's last handle and permit are gone; its counts stay.
    pub(super) fn dismiss_owner(&self, id: OwnerId) {
        let mut roll = self.roll();
        if let Some(line) = roll.lines.remove(&id) {
            let counts = owner::lock(&line).stats();
            roll.gone += counts;
        }
    }

    /// What is shared and free right now. `None` changes nothing.
    pub(super) fn take(&self) -> Option<()> {
        self.take_total()?;
        if self.places.as_ref().is_none_or(Places::take_if_nobody_waits) {
            return Some(());
        }
        self.give_back_total(1);
        None
    }

    pub(super) fn take_total(&self) -> Option<()> {
        self.total.as_ref().is_none_or(|total| total.take()).then_some(())
    }

    /// The same for a request that would wait.
    pub(super) fn take_total_or_refuse(&self) -> Result<(), Refused> {
        match &self.total {
            Some(total) if !total.take() => Err(Refused::Overloaded { limit: total.limit() }),
            _ => Ok(()),
        }
    }

    pub(super) fn give_back_total(&self, count: usize) {
        if let Some(total) = &self.total {
            total.give_back(count);
        }
    }

    /// Puts the owner into the order if the first in its line waits for nothing but a shared place.
    pub(super) fn list(&self, order: &mut Order, places: &Places, owner: &Arc<Owner>, line: &mut Line) {
        if line.standing == Standing::Listed || !line.wants_place() {
            return;
        }
        line.standing = Standing::Listed;
        order.list(owner.clone(), line.finish);
        places.mark(Waiting::Somebody);
    }

    /// Gives all free places to those who are next. When it returns, either no place is free or nobody is listed.
    pub(super) fn hand_out(&self, order: &mut Order, places: &Places) -> Vec<Grant> {
        let mut grants = Vec::new();
        while !order.is_empty() && places.take_in_turn() {
            let (start, owner) = order.next().expect("the order is not empty");
            let mut line = owner.lock();
            line.standing = Standing::Away;
            match line.admit_next() {
                Some(answer) => {
                    line.finish = order.given(start, line.limits.weight);
                    self.list(order, places, &owner, &mut line);
                    drop(line);
                    grants.push(Grant { owner, answer });
                }
                // All who waited have gone. Nobody else can see this place: the mark is still set.
                None => {
                    places.give_back();
                }
            }
        }
        if order.is_empty() {
            places.mark(Waiting::Nobody);
        }
        grants
    }

    pub(super) fn order(&self) -> MutexGuard<'_, Order> {
        self.order.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn roll(&self) -> MutexGuard<'_, Roll> {
        self.roll.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn drain(&self) {
        let mut roll = self.roll();
        if roll.door != Door::Open {
            return;
        }
        // Owners that come later have nobody who could run: they are drained from the start.
        roll.door = Door::Drained;
        for line in roll.lines.values() {
            let mut line = owner::lock(line);
            line.drain();
            if !line.has_just_drained() {
                self.undrained.fetch_add(1, Ordering::AcqRel);
            }
        }
        drop(roll);
        self.owner_drained();
    }

    pub(super) fn reopen(&self) {
        let mut roll = self.roll();
        if roll.door == Door::Open {
            return;
        }
        roll.door = Door::Open;
        // What `drain` gave back. First, so that the number does not come to nothing on the way.
        self.undrained.fetch_add(1, Ordering::AcqRel);
        for line in roll.lines.values() {
            // A line that has drained has been counted, or is about to be.
            if owner::lock(line).reopen() == Door::Draining {
                self.undrained.fetch_sub(1, Ordering::AcqRel);
            }
        }
    }

    pub(super) fn owner_drained(&self) {
        if self.undrained.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.drained.notify_waiters();
        }
    }

    pub(super) async fn drained(&self) {
        let mut notified = std::pin::pin!(self.drained.notified());
        // Listen first, look then: the end may come in between.
        notified.as_mut().enable();
        if self.undrained.load(Ordering::Acquire) > 0 {
            notified.await;
        }
    }

    pub(super) fn stats(&self) -> GateStats {
        let roll = self.roll();
        let mut sum = roll.gone;
        for line in roll.lines.values() {
            sum += owner::lock(line).stats();
        }
        sum
    }
}

// === impl Grant ===

impl Grant {
    pub(super) fn new(owner: Arc<Owner>, answer: oneshot::Sender<Answer>) -> Self {
        Self { owner, answer }
    }

    /// Sends the permit. If nobody is there any more it comes back, and dropping it hands the place on.
    pub(super) fn send(self) {
        let _unsent = self.answer.send(Ok(Permit { owner: self.owner }));
    }
}
