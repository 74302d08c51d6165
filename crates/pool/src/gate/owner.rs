//! One owner: its limits and its line, and how its requests come in and go out. There are two ways to do both. Without a
//! shared bound on who runs, the line decides alone, under its own lock. With one, who finds a place and nobody ahead still
//! goes through on the line's lock and the places' atomic; only who must wait, and who gives a place back while somebody
//! waits, takes the lock of the order.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::oneshot;

use super::hall::{Grant, Hall};
use super::line::{Answer, Exit, Line, Ticket};
use super::order::Order;
use super::places::{Places, Waiting};
use super::{BriefPermit, OwnerLimits, Permit, Refused};
use crate::stats::GateStats;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct OwnerId(pub(super) u64);

pub(super) struct Owner {
    id: OwnerId,
    bounds: Bounds,
    hall: Arc<Hall>,
    /// Apart from the owner, so that the hall can read the counts until the very end.
    line: Arc<Mutex<Line>>,
}

/// Here, and not only in the hall, so that an owner without shared bounds need not look there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Bounds {
    Own,
    Shared,
}

/// What becomes of somebody who wants to enter and was not refused.
pub(super) enum Entry {
    Now(Permit),
    InLine(InLine),
}

/// Somebody in line. Leaves it when dropped.
pub(super) struct InLine {
    owner: Arc<Owner>,
    ticket: Ticket,
    answer: oneshot::Receiver<Answer>,
    /// How long it may wait.
    pub(super) patience: Duration,
}

pub(super) fn lock(line: &Mutex<Line>) -> MutexGuard<'_, Line> {
    // No code that can panic half-way runs under this lock.
    line.lock().unwrap_or_else(PoisonError::into_inner)
}

// === impl Owner ===

impl Owner {
    pub(super) fn new(id: OwnerId, hall: Arc<Hall>, line: Arc<Mutex<Line>>) -> Self {
        let bounds = match (&hall.places, &hall.total) {
            (None, None) => Bounds::Own,
            _ => Bounds::Shared,
        };
        Self { id, bounds, hall, line }
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Line> {
        lock(&self.line)
    }

    pub(super) fn try_enter(self: &Arc<Self>) -> Option<BriefPermit<'_>> {
        let mut line = self.lock();
        self.enter_at_once(&mut line)
    }

    fn enter_at_once<'a>(self: &'a Arc<Self>, line: &mut Line) -> Option<BriefPermit<'a>> {
        if !line.lets_pass() {
            return None;
        }
        if self.bounds == Bounds::Shared {
            self.hall.take()?;
        }
        line.enter();
        Some(BriefPermit { owner: self })
    }

    /// Enters, lines up or is refused.
    pub(super) fn line_up(self: &Arc<Self>) -> Result<Entry, Refused> {
        if let Some(permit) = self.try_enter() {
            return Ok(Entry::Now(permit.keep()));
        }
        match &self.hall.places {
            None => self.line_up_alone(),
            Some(places) => self.line_up_for(places),
        }
    }

    fn line_up_alone(self: &Arc<Self>) -> Result<Entry, Refused> {
        let mut line = self.lock();
        match self.enter_at_once(&mut line) {
            Some(permit) => Ok(Entry::Now(permit.keep())),
            None => Ok(Entry::InLine(self.queue_up(&mut line)?)),
        }
    }

    fn line_up_for(self: &Arc<Self>, places: &Places) -> Result<Entry, Refused> {
        let mut order = self.hall.order();
        // Owners may still be listed whose callers have all gone; without them there may be a place at once.
        let mut grants = self.hall.hand_out(&mut order, places);
        let mut line = self.lock();
        let entry = match self.enter_at_once(&mut line) {
            Some(permit) => Ok(Entry::Now(permit.keep())),
            None => self.queue_up(&mut line).map(|waiting| {
                self.hall.list(&mut order, places, self, &mut line);
                Entry::InLine(waiting)
            }),
        };
        drop(line);
        // A place may have come back before the mark was set.
        grants.extend(self.hall.hand_out(&mut order, places));
        drop(order);
        grants.into_iter().for_each(Grant::send);
        entry
    }

    fn queue_up(self: &Arc<Self>, line: &mut Line) -> Result<InLine, Refused> {
        let refusal = line.refusal();
        let refusal = refusal.or_else(|| self.hall.take_total_or_refuse().err());
        if let Some(refused) = refusal {
            line.count_refusal(refused);
            return Err(refused);
        }
        let (ticket, answer) = line.queue_up();
        Ok(InLine { owner: self.clone(), ticket, answer, patience: line.limits.patience })
    }

    /// A permit is back.
    pub(super) fn leave(self: &Arc<Self>) {
        let mut line = self.lock();
        line.leave();
        match (self.bounds, &self.hall.places) {
            (Bounds::Own, _) | (_, None) => {
                let next = line.admit_next();
                self.unlock(line);
                if self.bounds == Bounds::Shared {
                    self.hall.give_back_total(1);
                }
                if let Some(answer) = next {
                    Grant::new(self.clone(), answer).send();
                }
            }
            (Bounds::Shared, Some(places)) => {
                let wants_place = line.wants_place();
                self.unlock(line);
                self.hall.give_back_total(1);
                // Who lines up from here on finds the place, or sets the mark before it is given back.
                if !wants_place && places.give_back() == Waiting::Nobody {
                    return;
                }
                let mut order = self.hall.order();
                if wants_place {
                    // Listed before the place is free, or somebody from elsewhere could slip in.
                    self.hall.list(&mut order, places, self, &mut self.lock());
                    places.give_back();
                }
                self.hand_out(order, places);
            }
        }
    }

    /// Other limits from now on. Who waits and may run now does; who runs beyond them, or waits beyond them, is left alone.
    pub(super) fn set_limits(self: &Arc<Self>, limits: OwnerLimits) {
        let mut line = self.lock();
        line.limits = limits;
        match &self.hall.places {
            None => {
                let mut next = Vec::new();
                while let Some(answer) = line.admit_next() {
                    next.push(answer);
                }
                drop(line);
                next.into_iter().for_each(|answer| Grant::new(self.clone(), answer).send());
            }
            Some(places) => {
                drop(line);
                let mut order = self.hall.order();
                self.hall.list(&mut order, places, self, &mut self.lock());
                self.hand_out(order, places);
            }
        }
    }

    fn hand_out(&self, mut order: MutexGuard<'_, Order>, places: &Places) {
        let grants = self.hall.hand_out(&mut order, places);
        drop(order);
        grants.into_iter().for_each(Grant::send);
    }

    pub(super) fn lower_bar(&self) {
        let mut line = self.lock();
        let turned_away = line.lower_bar();
        self.unlock(line);
        self.hall.give_back_total(turned_away.len());
        for answer in turned_away {
            // Who has gone meanwhile needs no answer.
            let _ = answer.send(Err(Refused::Barred));
        }
    }

    pub(super) fn lift_bar(&self) {
        self.lock().lift_bar();
    }

    pub(super) fn stats(&self) -> GateStats {
        self.lock().stats()
    }

    /// Lets go of a line from which somebody went away: it may have been the last one of all.
    fn unlock(&self, mut line: MutexGuard<'_, Line>) {
        let drained = line.has_just_drained();
        drop(line);
        if drained {
            self.hall.owner_drained();
        }
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        self.hall.dismiss_owner(self.id);
    }
}

// === impl InLine ===

impl InLine {
    pub(super) async fn answered(&mut self) -> Answer {
        (&mut self.answer).await.expect("whoever takes somebody out of the line answers it")
    }

    /// Waits no longer, unless the turn has just come.
    pub(super) async fn give_up(mut self, waited: Duration) -> Answer {
        match self.quit(Exit::Late { waited }) {
            Some(()) => Err(Refused::Late { waited }),
            None => self.answered().await,
        }
    }

    fn quit(&self, exit: Exit) -> Option<()> {
        let mut line = self.owner.lock();
        line.quit(self.ticket, exit)?;
        self.owner.unlock(line);
        self.owner.hall.give_back_total(1);
        Some(())
    }
}

impl Drop for InLine {
    fn drop(&mut self) {
        // Already answered: then the answer, if nobody took it, goes with the channel, and a permit in it hands on its place.
        let _ = self.quit(Exit::Abandoned);
    }
}
