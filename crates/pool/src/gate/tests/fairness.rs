//! The order in which owners get the shared slots.

use std::collections::VecDeque;

use super::*;

/// An owner that always has queued callers.
struct Crowd {
    owner: OwnerQueue,
    queue: VecDeque<Polled<Result<OwnedPermit, AdmissionError>>>,
    entered: usize,
}

impl Crowd {
    fn new(gate: &Gate, weight: u32) -> Self {
        let owner = gate.add_owner(OwnerLimits { max_running: 10, max_queued: 10, weight, ..LIMITS });
        Self { owner, queue: VecDeque::new(), entered: 0 }
    }

    fn fill_queue(&mut self, count: usize) {
        while self.queue.len() < count {
            self.queue.push_back(queued(&self.owner));
        }
    }

    fn take(&mut self) -> Option<OwnedPermit> {
        let permit = self.queue.front_mut()?.poll()?.unwrap();
        self.queue.pop_front();
        self.entered += 1;
        Some(permit)
    }
}

/// Grants `count` slots, one after the other, to owners that all keep waiting.
fn give(count: usize, mut permit: OwnedPermit, crowds: &mut [&mut Crowd]) -> OwnedPermit {
    for _ in 0..count {
        crowds.iter_mut().for_each(|crowd| crowd.fill_queue(3));
        drop(permit);
        let mut next = crowds.iter_mut().filter_map(|crowd| crowd.take());
        permit = next.next().expect("a free slot is granted to a queued request");
        assert!(next.next().is_none(), "there is one slot");
    }
    permit
}

fn one_slot() -> (Gate, OwnedPermit) {
    let gate = Gate::new(GateLimits { max_running: Some(1), max_total: None });
    let permit = gate.add_owner(LIMITS).try_enter_owned().unwrap();
    (gate, permit)
}

#[tokio::test(start_paused = true)]
async fn slots_are_shared_by_weight() {
    let (gate, permit) = one_slot();
    let (mut one, mut two, mut three) = (Crowd::new(&gate, 1), Crowd::new(&gate, 2), Crowd::new(&gate, 3));
    let _permit = give(600, permit, &mut [&mut one, &mut two, &mut three]);
    assert_eq!([one.entered, two.entered, three.entered], [100, 200, 300]);
}

#[tokio::test(start_paused = true)]
async fn an_owner_that_was_away_gets_no_credit_for_it() {
    let (gate, permit) = one_slot();
    let (mut here, mut away) = (Crowd::new(&gate, 1), Crowd::new(&gate, 1));
    let permit = give(10, permit, &mut [&mut here, &mut away]);
    away.queue.clear();
    let permit = give(100, permit, &mut [&mut here]);
    let before = (here.entered, away.entered);
    let _permit = give(20, permit, &mut [&mut here, &mut away]);
    let gained = (here.entered - before.0, away.entered - before.1);
    assert!((9..=11).contains(&gained.0) && gained.0 + gained.1 == 20, "half each: {gained:?}");
}

#[tokio::test(start_paused = true)]
async fn an_owner_at_its_own_limit_delays_no_other() {
    let gate = Gate::new(GateLimits { max_running: Some(2), max_total: None });
    let (greedy, other) = (gate.add_owner(LIMITS), gate.add_owner(LIMITS));
    let permit = greedy.try_enter_owned().unwrap();
    let mut waiting = queued(&greedy);
    assert!(other.try_enter_owned().is_some(), "the second slot is free for other owners");
    let _other = other.try_enter_owned().unwrap();
    drop(permit);
    assert!(waiting.poll().unwrap().is_ok());
}

#[tokio::test(start_paused = true)]
async fn owners_whose_callers_are_gone_are_skipped() {
    let (gate, permit) = one_slot();
    let (gone, waits) = (gate.add_owner(LIMITS), gate.add_owner(LIMITS));
    drop((queued(&gone), queued(&gone)));
    let mut waiting = queued(&waits);
    drop(permit);
    let permit = waiting.poll().unwrap().unwrap();
    drop(queued(&gone));
    drop(permit);
    assert!(gone.try_enter_owned().is_some(), "no request is queued any more");
    assert_eq!(gate.stats().queued, 0);
}

#[tokio::test(start_paused = true)]
async fn slots_that_become_free_at_once_are_all_granted() {
    let gate = Gate::new(GateLimits { max_running: Some(3), max_total: None });
    let first = gate.add_owner(OwnerLimits { max_running: 3, ..LIMITS });
    let permits: Vec<_> = (0..3).map(|_| first.try_enter_owned().unwrap()).collect();
    let owners: Vec<_> = (0..3).map(|_| gate.add_owner(LIMITS)).collect();
    let mut waiting: Vec<_> = owners.iter().map(queued).collect();
    drop(permits);
    let running: Vec<_> = waiting.iter_mut().map(|waiting| waiting.poll().unwrap().unwrap()).collect();
    assert_eq!(gate.stats().running, running.len());
}
