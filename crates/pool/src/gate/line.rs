//! The line of one owner: how many run, who waits, and the counts. Plain state; its lock and the rules that need more than
//! one line are in `owner.rs` and `hall.rs`.
//!
//! States of the door: `Open -> Draining -> Drained`, the last one when nobody runs or waits any more; both go back to `Open`.

use std::collections::VecDeque;
use std::time::Duration;

use tokio::sync::oneshot;

use super::order::Virtual;
use super::{OwnerLimits, Permit, Refused};
use crate::stats::GateStats;

pub(super) type Answer = Result<Permit, Refused>;

/// Names somebody in line. Later ones are greater.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Ticket(u64);

pub(super) struct Line {
    pub(super) limits: OwnerLimits,
    door: Door,
    bars: usize,
    running: usize,
    waiters: VecDeque<Waiter>,
    tickets: u64,
    counts: GateStats,
    /// Whether the owner is listed in the order of the shared places. Changed only under the order's lock too.
    pub(super) standing: Standing,
    /// When the owner's last shared place ended.
    pub(super) finish: Virtual,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Door {
    Open,
    Draining,
    Drained,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Standing {
    Away,
    Listed,
}

/// Why somebody leaves the line without an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Exit {
    Abandoned,
    Late { waited: Duration },
}

struct Waiter {
    ticket: Ticket,
    answer: oneshot::Sender<Answer>,
}

impl Line {
    pub(super) fn new(door: Door, limits: OwnerLimits) -> Self {
        Self {
            limits,
            door,
            bars: 0,
            running: 0,
            waiters: VecDeque::new(),
            tickets: 0,
            counts: GateStats::default(),
            standing: Standing::Away,
            finish: Virtual::default(),
        }
    }

    /// Whether somebody who comes now could run at once, as far as this line goes.
    pub(super) fn lets_pass(&self) -> bool {
        self.door == Door::Open && self.bars == 0 && self.waiters.is_empty() && self.running < self.limits.running
    }

    /// Whether somebody who comes now may not even wait.
    pub(super) fn refusal(&self) -> Option<Refused> {
        if self.door != Door::Open {
            return Some(Refused::Draining);
        }
        if self.bars > 0 {
            return Some(Refused::Barred);
        }
        (self.waiters.len() >= self.limits.queued).then(|| self.full())
    }

    pub(super) fn full(&self) -> Refused {
        Refused::Full { queued: self.waiters.len() }
    }

    /// Whether the first in line could run if it had a shared place.
    pub(super) fn wants_place(&self) -> bool {
        !self.waiters.is_empty() && self.running < self.limits.running
    }

    pub(super) fn enter(&mut self) {
        self.running += 1;
        self.counts.entered += 1;
    }

    pub(super) fn leave(&mut self) {
        debug_assert!(self.running > 0, "a permit was given back twice");
        self.running -= 1;
        self.counts.left += 1;
    }

    pub(super) fn queue_up(&mut self) -> (Ticket, oneshot::Receiver<Answer>) {
        self.tickets += 1;
        self.counts.waits += 1;
        let ticket = Ticket(self.tickets);
        let (answer, receiver) = oneshot::channel();
        self.waiters.push_back(Waiter { ticket, answer });
        (ticket, receiver)
    }

    /// Lets the first in line run; its permit is to be sent when no lock is held.
    pub(super) fn admit_next(&mut self) -> Option<oneshot::Sender<Answer>> {
        if self.running >= self.limits.running {
            return None;
        }
        let next = self.waiters.pop_front()?;
        self.enter();
        Some(next.answer)
    }

    /// Takes somebody out of the line who will not wait any longer. Not there any more means: it has its answer.
    pub(super) fn quit(&mut self, ticket: Ticket, exit: Exit) -> Option<()> {
        let index = self.waiters.binary_search_by_key(&ticket, |waiter| waiter.ticket).ok()?;
        self.waiters.remove(index)?;
        match exit {
            Exit::Abandoned => self.counts.abandoned += 1,
            Exit::Late { waited } => self.count_refusal(Refused::Late { waited }),
        }
        Some(())
    }

    /// Lowers a bar, and empties the line: all who are returned are to be told that they are barred.
    pub(super) fn lower_bar(&mut self) -> Vec<oneshot::Sender<Answer>> {
        self.bars += 1;
        self.counts.refused.barred += self.waiters.len() as u64;
        self.waiters.drain(..).map(|waiter| waiter.answer).collect()
    }

    pub(super) fn lift_bar(&mut self) {
        self.bars -= 1;
    }

    pub(super) fn count_refusal(&mut self, refused: Refused) {
        let number = match refused {
            Refused::Full { .. } => &mut self.counts.refused.full,
            Refused::Overloaded { .. } => &mut self.counts.refused.overloaded,
            Refused::Late { .. } => &mut self.counts.refused.late,
            Refused::Draining => &mut self.counts.refused.draining,
            Refused::Barred => &mut self.counts.refused.barred,
        };
        *number += 1;
    }

    pub(super) fn drain(&mut self) {
        if self.door == Door::Open {
            self.door = Door::Draining;
        }
    }

    /// Says how far the drain had come.
    pub(super) fn reopen(&mut self) -> Door {
        std::mem::replace(&mut self.door, Door::Open)
    }

    /// True once: when a line that drains has become empty.
    pub(super) fn has_just_drained(&mut self) -> bool {
        let empty = self.running == 0 && self.waiters.is_empty();
        if self.door != Door::Draining || !empty {
            return false;
        }
        self.door = Door::Drained;
        true
    }

    pub(super) fn stats(&self) -> GateStats {
        GateStats { running: self.running, queued: self.waiters.len(), ..self.counts }
    }
}
