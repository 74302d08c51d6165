//! The order in which owners get the shared places.

use std::collections::VecDeque;

use super::*;

/// An owner that always has callers in line.
struct Crowd {
    owner: OwnerGate,
    line: VecDeque<Held<Result<Permit, Refused>>>,
    entered: usize,
}

impl Crowd {
    fn new(gate: &Gate, weight: u32) -> Self {
        let owner = gate.owner(OwnerLimits { running: 10, queued: 10, weight, ..LIMITS });
        Self { owner, line: VecDeque::new(), entered: 0 }
    }

    fn line_up(&mut self, count: usize) {
        while self.line.len() < count {
            self.line.push_back(in_line(&self.owner));
        }
    }

    fn take(&mut self) -> Option<Permit> {
        let permit = self.line.front_mut()?.poll()?.unwrap();
        self.line.pop_front();
        self.entered += 1;
        Some(permit)
    }
}

/// Gives `count` places, one after the other, to owners that all keep waiting.
fn give(count: usize, mut permit: Permit, crowds: &mut [&mut Crowd]) -> Permit {
    for _ in 0..count {
        crowds.iter_mut().for_each(|crowd| crowd.line_up(3));
        drop(permit);
        let mut next = crowds.iter_mut().filter_map(|crowd| crowd.take());
        permit = next.next().expect("a free place is given to somebody who waits");
        assert!(next.next().is_none(), "there is one place");
    }
    permit
}

fn one_place() -> (Gate, Permit) {
    let gate = Gate::new(GateLimits { running: Some(1), total: None });
    let permit = gate.owner(LIMITS).try_enter().unwrap();
    (gate, permit)
}

#[tokio::test(start_paused = true)]
async fn weights_share_the_places() {
    let (gate, permit) = one_place();
    let (mut one, mut two, mut three) = (Crowd::new(&gate, 1), Crowd::new(&gate, 2), Crowd::new(&gate, 3));
    let _permit = give(600, permit, &mut [&mut one, &mut two, &mut three]);
    assert_eq!([one.entered, two.entered, three.entered], [100, 200, 300]);
}

#[tokio::test(start_paused = true)]
async fn who_was_away_gets_no_credit_for_it() {
    let (gate, permit) = one_place();
    let (mut here, mut away) = (Crowd::new(&gate, 1), Crowd::new(&gate, 1));
    let permit = give(10, permit, &mut [&mut here, &mut away]);
    away.line.clear();
    let permit = give(100, permit, &mut [&mut here]);
    let before = (here.entered, away.entered);
    let _permit = give(20, permit, &mut [&mut here, &mut away]);
    let gained = (here.entered - before.0, away.entered - before.1);
    assert!((9..=11).contains(&gained.0) && gained.0 + gained.1 == 20, "half each: {gained:?}");
}

#[tokio::test(start_paused = true)]
async fn an_owner_at_its_own_limit_holds_up_nobody() {
    let gate = Gate::new(GateLimits { running: Some(2), total: None });
    let (greedy, other) = (gate.owner(LIMITS), gate.owner(LIMITS));
    let permit = greedy.try_enter().unwrap();
    let mut waiting = in_line(&greedy);
    assert!(other.try_enter().is_some(), "the second place is free for who may have it");
    let _other = other.try_enter().unwrap();
    drop(permit);
    assert!(waiting.poll().unwrap().is_ok());
}

#[tokio::test(start_paused = true)]
async fn owners_whose_callers_have_gone_are_passed_over() {
    let (gate, permit) = one_place();
    let (gone, waits) = (gate.owner(LIMITS), gate.owner(LIMITS));
    drop((in_line(&gone), in_line(&gone)));
    let mut waiting = in_line(&waits);
    drop(permit);
    let permit = waiting.poll().unwrap().unwrap();
    drop(in_line(&gone));
    drop(permit);
    assert!(gone.try_enter().is_some(), "nobody is in line any more");
    assert_eq!(gate.stats().queued, 0);
}

#[tokio::test(start_paused = true)]
async fn many_places_that_come_free_at_once_are_all_given() {
    let gate = Gate::new(GateLimits { running: Some(3), total: None });
    let first = gate.owner(OwnerLimits { running: 3, ..LIMITS });
    let permits: Vec<_> = (0..3).map(|_| first.try_enter().unwrap()).collect();
    let owners: Vec<_> = (0..3).map(|_| gate.owner(LIMITS)).collect();
    let mut waiting: Vec<_> = owners.iter().map(in_line).collect();
    drop(permits);
    let running: Vec<_> = waiting.iter_mut().map(|waiting| waiting.poll().unwrap().unwrap()).collect();
    assert_eq!(gate.stats().running, running.len());
}
