//! One test per promise of the gate. The randomised ones are in `schedule.rs`, real threads in `stress.rs`, the order
//! between owners in `fairness.rs`.
#![allow(clippy::unwrap_used)]

mod fairness;
mod schedule;
mod stress;

use super::*;
use crate::testing::Held;

pub(super) const LIMITS: OwnerLimits =
    OwnerLimits { running: 1, queued: 3, patience: Duration::from_secs(5), weight: 1 };

pub(super) fn open_gate() -> Gate {
    Gate::new(GateLimits::default())
}

/// A caller that tries to enter.
pub(super) fn entering(owner: &OwnerGate) -> Held<Result<Permit, Refused>> {
    let owner = owner.clone();
    Held::new(async move { owner.enter().await })
}

/// A caller that had to line up.
pub(super) fn in_line(owner: &OwnerGate) -> Held<Result<Permit, Refused>> {
    let owner = owner.clone();
    Held::pending(async move { owner.enter().await })
}

#[test]
fn a_permit_is_one_pointer_that_can_go_anywhere() {
    fn goes_anywhere<T: Send + 'static>() {}
    goes_anywhere::<Permit>();
    assert_eq!(size_of::<Permit>(), size_of::<usize>());
}

#[tokio::test(start_paused = true)]
async fn a_permit_for_a_moment_is_given_back_once_be_it_kept_or_not() {
    let owner = open_gate().owner(LIMITS);
    let brief = owner.try_enter_briefly().unwrap();
    assert!(owner.try_enter_briefly().is_none() && owner.stats().running == 1);
    let kept = brief.keep();
    assert!(owner.try_enter().is_none() && owner.stats().running == 1);
    drop(kept);
    assert_eq!(owner.stats().running, 0);
    drop(owner.try_enter_briefly().unwrap());
    assert_eq!((owner.stats().running, owner.stats().entered), (0, 2));
}

#[tokio::test(start_paused = true)]
async fn who_waits_goes_in_the_order_of_coming() {
    let owner = open_gate().owner(LIMITS);
    let permit = owner.try_enter().unwrap();
    let mut line: Vec<_> = (0..3).map(|_| in_line(&owner)).collect();
    let mut running = permit;
    for first in 0..3 {
        drop(running);
        for later in &mut line[first + 1..] {
            assert!(later.poll().is_none(), "one place, one permit");
        }
        running = line[first].poll().unwrap().unwrap();
    }
    drop(running);
    assert_eq!(owner.stats(), GateStats { entered: 4, left: 4, waits: 3, ..GateStats::default() });
}

#[tokio::test(start_paused = true)]
async fn nobody_overtakes_who_waits() {
    let owner = open_gate().owner(LIMITS);
    let permit = owner.try_enter().unwrap();
    let mut waiting = in_line(&owner);
    assert!(owner.try_enter().is_none());
    drop(permit);
    assert!(owner.try_enter().is_none(), "the place belongs to who waited, even before it looks");
    assert!(waiting.poll().unwrap().is_ok());
}

#[tokio::test(start_paused = true)]
async fn limits_can_change_and_who_waits_gains_by_it() {
    for limits in [GateLimits::default(), GateLimits { running: Some(9), total: None }] {
        let owner = Gate::new(limits).owner(LIMITS);
        let permit = owner.try_enter().unwrap();
        let mut line: Vec<_> = (0..3).map(|_| in_line(&owner)).collect();
        owner.set_limits(OwnerLimits { running: 3, ..LIMITS });
        let second = line[0].poll().unwrap().unwrap();
        let third = line[1].poll().unwrap().unwrap();
        assert!(line[2].poll().is_none(), "three places, three permits");
        // Who runs beyond new limits is left alone, and nobody new comes in.
        owner.set_limits(OwnerLimits { queued: 0, ..LIMITS });
        assert_eq!(owner.enter().await.err(), Some(Refused::Full { queued: 1 }));
        drop((permit, second));
        assert!(line[2].poll().is_none(), "one place, and it is taken");
        drop(third);
        assert!(line[2].poll().unwrap().is_ok());
        assert_eq!(owner.stats().running, 0);
    }
}

#[tokio::test(start_paused = true)]
async fn a_full_line_refuses() {
    let owner = open_gate().owner(LIMITS);
    let _permit = owner.try_enter().unwrap();
    let _line: Vec<_> = (0..3).map(|_| in_line(&owner)).collect();
    assert_eq!(owner.enter().await.err(), Some(Refused::Full { queued: 3 }));
    assert_eq!(owner.stats().refused.full, 1);

    let hurried = open_gate().owner(OwnerLimits { queued: 0, ..LIMITS });
    let _permit = hurried.enter().await.unwrap();
    assert_eq!(hurried.enter().await.err(), Some(Refused::Full { queued: 0 }));
}

#[tokio::test(start_paused = true)]
async fn patience_counts_from_lining_up() {
    let owner = open_gate().owner(LIMITS);
    let _permit = owner.try_enter().unwrap();
    let mut first = in_line(&owner);
    tokio::time::advance(Duration::from_secs(3)).await;
    let mut second = in_line(&owner);
    tokio::time::advance(Duration::from_secs(2)).await;
    let Some(Err(refused)) = first.poll() else { panic!("five seconds are over") };
    assert!(matches!(refused, Refused::Late { waited } if waited >= LIMITS.patience));
    assert!(second.poll().is_none());
    tokio::time::advance(Duration::from_secs(4)).await;
    assert!(matches!(second.poll(), Some(Err(Refused::Late { .. }))));
    assert_eq!((owner.stats().queued, owner.stats().refused.late), (0, 2));
}

#[tokio::test(start_paused = true)]
async fn a_grant_that_comes_with_the_last_moment_of_patience_counts() {
    let owner = open_gate().owner(LIMITS);
    let permit = owner.try_enter().unwrap();
    let mut waiting = in_line(&owner);
    tokio::time::advance(LIMITS.patience * 2).await;
    drop(permit);
    assert!(waiting.poll().unwrap().is_ok());
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_waiter_leaves_the_line() {
    let owner = open_gate().owner(LIMITS);
    let permit = owner.try_enter().unwrap();
    let first = in_line(&owner);
    let mut second = in_line(&owner);
    drop(first);
    assert_eq!((owner.stats().queued, owner.stats().abandoned), (1, 1));
    drop(permit);
    assert!(second.poll().unwrap().is_ok());
}

#[tokio::test(start_paused = true)]
async fn a_grant_to_a_cancelled_waiter_goes_to_the_next() {
    for limits in [GateLimits::default(), GateLimits { running: Some(1), total: Some(9) }] {
        let owner = Gate::new(limits).owner(LIMITS);
        let permit = owner.try_enter().unwrap();
        let first = in_line(&owner);
        let mut second = in_line(&owner);
        drop(permit);
        // The first has its permit now, but has not looked yet.
        drop(first);
        assert!(second.poll().unwrap().is_ok());
        assert_eq!((owner.stats().running, owner.stats().queued), (0, 0));
        assert!(owner.stats().adds_up());
        assert!(owner.try_enter().is_some());
    }
}

#[tokio::test(start_paused = true)]
async fn a_bar_refuses_who_waits_and_who_comes_until_it_is_lifted() {
    let owner = open_gate().owner(LIMITS);
    let permit = owner.try_enter().unwrap();
    let mut waiting = in_line(&owner);
    let bar = owner.bar();
    let another = owner.bar();
    assert_eq!(waiting.poll().unwrap().err(), Some(Refused::Barred));
    drop(permit);
    assert!(owner.try_enter().is_none());
    drop(bar);
    assert_eq!(owner.enter().await.err(), Some(Refused::Barred), "any bar bars");
    drop(another);
    assert!(owner.enter().await.is_ok());
    assert_eq!(owner.stats().refused.barred, 2);
}

#[tokio::test(start_paused = true)]
async fn draining_lets_the_line_finish_and_refuses_the_rest() {
    let gate = open_gate();
    let (owner, idle) = (gate.owner(LIMITS), gate.owner(LIMITS));
    let permit = owner.try_enter().unwrap();
    let mut waiting = in_line(&owner);
    let mut drained = Held::pending({
        let gate = gate.clone();
        async move { gate.drained().await }
    });
    gate.drain();
    gate.drain();
    assert_eq!(owner.enter().await.err(), Some(Refused::Draining));
    assert_eq!(idle.enter().await.err(), Some(Refused::Draining));
    assert_eq!(gate.owner(LIMITS).enter().await.err(), Some(Refused::Draining), "an owner that comes later");
    assert_eq!(Refused::Draining.retry_after(), None);
    drop(permit);
    assert!(drained.poll().is_none(), "one still waits");
    let permit = waiting.poll().unwrap().unwrap();
    assert!(drained.poll().is_none(), "one still runs");
    drop(permit);
    assert!(drained.poll().is_some());
    gate.drained().await;
}

#[tokio::test(start_paused = true)]
async fn draining_ends_too_when_the_last_waiter_goes_away() {
    let gate = open_gate();
    let owner = gate.owner(OwnerLimits { running: 0, ..LIMITS });
    let waiting = in_line(&owner);
    gate.drain();
    drop(waiting);
    gate.drained().await;
}

#[tokio::test(start_paused = true)]
async fn a_drain_can_be_undone_before_and_after_its_end() {
    let gate = open_gate();
    let (busy, idle) = (gate.owner(LIMITS), gate.owner(LIMITS));
    let mut permit = busy.try_enter();
    for _ in 0..3 {
        gate.drain();
        assert_eq!(busy.enter().await.err(), Some(Refused::Draining));
        let mut drained = Held::pending({
            let gate = gate.clone();
            async move { gate.drained().await }
        });
        gate.reopen();
        assert!(drained.poll().is_none(), "one runs");
        // What comes and goes with the gate open ends no drain.
        drop(idle.try_enter().unwrap());
        drop(permit.take());
        assert!(drained.poll().is_none());
        permit = busy.try_enter();
    }
    gate.drain();
    drop(permit);
    gate.drained().await;
    gate.reopen();
    gate.reopen();
    let (permit, late) = (idle.try_enter().unwrap(), gate.owner(LIMITS));
    assert!(late.try_enter().is_some());
    gate.drain();
    let mut drained = Held::pending({
        let gate = gate.clone();
        async move { gate.drained().await }
    });
    drop(permit);
    assert!(drained.poll().is_some());
}

#[tokio::test(start_paused = true)]
async fn the_total_bounds_who_runs_and_waits() {
    let gate = Gate::new(GateLimits { running: None, total: Some(2) });
    let (one, other) = (gate.owner(LIMITS), gate.owner(LIMITS));
    let permit = one.try_enter().unwrap();
    let waiting = in_line(&one);
    assert!(other.try_enter().is_none());
    assert_eq!(other.enter().await.err(), Some(Refused::Overloaded { limit: 2 }));
    drop(waiting);
    let permit_of_other = other.enter().await.unwrap();
    assert_eq!(one.enter().await.err(), Some(Refused::Overloaded { limit: 2 }));
    drop((permit, permit_of_other));
    assert!(one.try_enter().is_some());
}

#[tokio::test(start_paused = true)]
async fn gates_can_have_one_total() {
    let gate = Gate::new(GateLimits { running: None, total: Some(2) });
    let beside = gate.with_same_total(Some(1));
    let (one, other) = (gate.owner(LIMITS), beside.owner(LIMITS));
    let permits = (one.try_enter().unwrap(), other.try_enter().unwrap());
    let overloaded = Some(Refused::Overloaded { limit: 2 });
    assert_eq!((one.enter().await.err(), other.enter().await.err()), (overloaded, overloaded));
    assert_eq!((gate.stats().refused.overloaded, beside.stats().refused.overloaded), (1, 1));
    drop(permits.0);
    let waiting = in_line(&other);
    assert!(one.try_enter().is_none(), "what waits at the other gate counts, too");
    drop(waiting);
    assert!(one.try_enter().is_some());
}

#[tokio::test(start_paused = true)]
async fn the_numbers_of_owners_that_are_gone_stay() {
    let gate = open_gate();
    let owner = gate.owner(LIMITS);
    let permit = owner.try_enter().unwrap();
    drop(owner);
    assert_eq!(gate.stats().running, 1, "its permit keeps it");
    drop(permit);
    assert_eq!(gate.stats(), GateStats { entered: 1, left: 1, ..GateStats::default() });
}

#[test]
fn who_is_refused_hears_when_to_come_back() {
    let late = |seconds| Refused::Late { waited: Duration::from_secs(seconds) }.retry_after();
    assert_eq!(Refused::Full { queued: 1 }.retry_after(), Some(Duration::from_secs(1)));
    assert_eq!(Refused::Barred.retry_after(), Some(Duration::from_secs(1)));
    assert_eq!((late(5), late(500)), (Some(Duration::from_secs(5)), Some(Duration::from_secs(30))));
}
