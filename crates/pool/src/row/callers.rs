//! Who waits for a thing, and the creations they count on. A creation is begun by the stock, which knows the room
//! (`stock.rs`); here is only who gets what when it ends.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::Instant;

use super::{Caller, Cold, End, Over, Pause, Phase, Reach, Row, Succession};
use crate::keep::{Health, Keep, Reason};
use crate::lease::Lease;
use crate::rack::{Answer, Later, Rack};
use crate::shelf::AcquireError;
use crate::slot::{Moment, Slot, SlotId};

impl<K: Keep> Row<K> {
    pub(crate) fn refusal(&self) -> Option<AcquireError<K::Error>> {
        match self.phase {
            Phase::Open => None,
            Phase::Over(End::Retired) => Some(AcquireError::Retired),
            Phase::Over(End::Closed) => Some(AcquireError::Closed),
        }
    }

    pub(crate) fn line_up(&mut self) -> (Moment, oneshot::Receiver<Answer<K>>) {
        let came = self.moment();
        let (answer, receiver) = oneshot::channel();
        self.callers.push_back(Caller { came, cold: None, answer });
        self.assign();
        (came, receiver)
    }

    /// A caller went away. Not there any more means: it has its answer.
    pub(crate) fn quit(&mut self, came: Moment) {
        if let Ok(index) = self.callers.binary_search_by_key(&came, |caller| caller.came) {
            let caller = self.callers.remove(index).expect("the index was just found");
            self.uncount(caller.cold);
            self.assign();
        }
    }

    /// Whether a thing should be made, if the pool had room: for a caller that counts on nothing, or to succeed a worn one.
    pub(crate) fn needs_creation(&self) -> bool {
        let is_wanted = self.callers.iter().any(|caller| caller.cold.is_none())
            || (self.wants_successor() && self.cold.is_empty() && self.slots.iter().any(Slot::is_worn));
        is_wanted
            && self.phase == Phase::Open
            && self.pause == Pause::Off
            && self.usable() + self.cold.len() < self.rules.most
    }

    fn usable(&self) -> usize {
        self.slots.iter().filter(|slot| slot.is_usable() && !slot.is_worn()).count()
    }

    /// Creations may begin again.
    pub(crate) fn resume(&mut self) {
        self.pause = Pause::Off;
    }

    fn back_off(&mut self) -> Option<Duration> {
        if self.pause == Pause::On {
            return None;
        }
        self.pause = Pause::On;
        self.backoff.failed(self.backoff.round())
    }

    /// Gives what has room to those who wait, first come first served. Who counts on a creation is not put off with a busy
    /// thing: what it waits for is better, and on its way. Others get what `reach` says.
    pub(crate) fn serve(&mut self, rack: &Arc<Rack<K>>, reach: Reach, now: Option<Instant>, later: &mut Later<K>) {
        let mut at = 0;
        while let Some(caller) = self.callers.get(at) {
            let counts_on_nothing = caller.cold.is_none();
            let reach = if counts_on_nothing { reach } else { Reach::Free };
            match self.choose(rack, reach, now, later) {
                Some(index) => {
                    let caller = self.callers.remove(at).expect("the caller was just looked at");
                    self.uncount(caller.cold);
                    if self.slots[index].landed < caller.came {
                        self.counts.hits += 1;
                    } else {
                        self.counts.misses += 1;
                    }
                    let (slot, thing) = self.lease(index);
                    later.work().answers.push((caller.answer, Ok(Lease::new(rack.clone(), slot, thing))));
                }
                None if counts_on_nothing => break,
                None => match (at..self.callers.len()).find(|&next| self.callers[next].cold.is_none()) {
                    Some(next) => at = next,
                    None => break,
                },
            }
        }
        self.assign();
    }

    /// Lets callers who count on nothing count on creations that can carry more.
    fn assign(&mut self) {
        let concurrency = self.rules.concurrency;
        for caller in self.callers.iter_mut().filter(|caller| caller.cold.is_none()) {
            let spare = self.cold.iter_mut().find(|cold| concurrency == 0 || cold.callers < concurrency);
            let Some(cold) = spare else { return };
            cold.callers += 1;
            caller.cold = Some(cold.id);
        }
    }

    fn uncount(&mut self, id: Option<SlotId>) {
        if let Some(cold) = self.cold.iter_mut().find(|cold| Some(cold.id) == id) {
            cold.callers -= 1;
        }
    }

    /// A creation begins, for which `weight` was reserved.
    pub(crate) fn begin(&mut self, id: SlotId, weight: u64) {
        self.cold.push(Cold { id, callers: 0, weight });
        self.assign();
    }

    /// A creation is over. Returns what was reserved for it; who counted on it is the caller's to see to.
    fn end(&mut self, id: SlotId) -> u64 {
        let index = self.cold.iter().position(|cold| cold.id == id).expect("a creation ends once");
        self.cold.remove(index).weight
    }

    /// A creation succeeded.
    pub(crate) fn land(&mut self, mut slot: Slot<K::Thing>, rack: &Arc<Rack<K>>, later: &mut Later<K>) -> Over {
        let reserved = self.end(slot.id);
        let is_broken = matches!(rack.keep().health(&slot.thing), Health::Retiring | Health::Gone);
        if is_broken && self.phase == Phase::Open {
            return Over { reserved, pause: self.land_broken(slot, rack, later) };
        }
        self.backoff.succeeded();
        for caller in self.callers.iter_mut().filter(|caller| caller.cold == Some(slot.id)) {
            caller.cold = None;
        }
        self.counts.created += 1;
        slot.landed = self.moment();
        if let Phase::Over(end) = self.phase {
            slot.condemn(end.reason());
        }
        if self.succession == Succession::Wanted {
            // What takes its place is there.
            self.slots.iter_mut().filter(|slot| slot.is_worn()).for_each(|slot| slot.condemn(Reason::Expired));
            self.succession = Succession::Settled;
        }
        self.slots.push(slot);
        self.clear(rack, later);
        // However short its life is to be, who waited for it gets it: else they would wait for the next, and so on for ever.
        self.serve(rack, Reach::Any, None, later);
        Over { reserved, pause: None }
    }

    /// A thing came that takes nothing new already. The callers who counted on it get it all the same, for their answer or for
    /// the reason why there is none: else each would wait for the next, and so on for ever.
    fn land_broken(&mut self, mut slot: Slot<K::Thing>, rack: &Arc<Rack<K>>, later: &mut Later<K>) -> Option<Duration> {
        let id = slot.id;
        self.counts.created += 1;
        slot.landed = self.moment();
        self.slots.push(slot);
        let index = self.slots.len() - 1;
        for mut caller in std::mem::take(&mut self.callers) {
            if caller.cold == Some(id) && self.slots[index].is_usable() {
                self.counts.misses += 1;
                let (slot, thing) = self.lease(index);
                later.work().answers.push((caller.answer, Ok(Lease::new(rack.clone(), slot, thing))));
            } else {
                caller.cold = caller.cold.filter(|cold| *cold != id);
                self.callers.push_back(caller);
            }
        }
        let pause = self.back_off();
        self.slots[index].examine(rack.keep(), &self.rules.life, None);
        self.clear(rack, later);
        self.assign();
        pause
    }

    /// A creation failed, and with it all who counted on it.
    pub(crate) fn fail(&mut self, id: SlotId, error: &AcquireError<K::Error>, later: &mut Later<K>) -> Over {
        let reserved = self.end(id);
        self.counts.failed += 1;
        let callers = std::mem::take(&mut self.callers);
        for caller in callers {
            if caller.cold == Some(id) {
                later.work().answers.push((caller.answer, Err(error.clone())));
            } else {
                self.callers.push_back(caller);
            }
        }
        // A caller that comes again has its own reason to try; a worn thing would have its successor tried without end.
        let pause = if self.wants_successor() { self.back_off() } else { None };
        Over { reserved, pause }
    }
}
