//! One test per promise of the gate. The randomised ones are in `schedule.rs`, real threads in `stress.rs`, the order
//! between owners in `fairness.rs`.
#![allow(clippy::unwrap_used)]

mod fairness;
mod schedule;
mod stress;

use super::*;
use crate::testing::Polled;

pub(super) const LIMITS: OwnerLimits =
    OwnerLimits { max_running: 1, max_queued: 3, queue_timeout: Duration::from_secs(5), weight: 1 };

pub(super) fn open_gate() -> Gate {
    Gate::new(GateLimits::default())
}

/// A caller that tries to enter.
pub(super) fn entering(owner: &OwnerQueue) -> Polled<Result<OwnedPermit, AdmissionError>> {
    let owner = owner.clone();
    Polled::new(async move { owner.enter().await })
}

/// A caller that is queued.
pub(super) fn queued(owner: &OwnerQueue) -> Polled<Result<OwnedPermit, AdmissionError>> {
    let owner = owner.clone();
    Polled::pending(async move { owner.enter().await })
}

#[test]
fn an_owned_permit_is_one_pointer_that_can_be_sent_to_other_threads() {
    fn is_send<T: Send + 'static>() {}
    is_send::<OwnedPermit>();
    assert_eq!(size_of::<OwnedPermit>(), size_of::<usize>());
}

#[tokio::test(start_paused = true)]
async fn a_borrowed_permit_is_released_once_owned_or_not() {
    let owner = open_gate().add_owner(LIMITS);
    let brief = owner.try_enter().unwrap();
    assert!(owner.try_enter().is_none() && owner.stats().running == 1);
    let kept = brief.into_owned();
    assert!(owner.try_enter_owned().is_none() && owner.stats().running == 1);
    drop(kept);
    assert_eq!(owner.stats().running, 0);
    drop(owner.try_enter().unwrap());
    assert_eq!((owner.stats().running, owner.stats().entered), (0, 2));
}

#[tokio::test(start_paused = true)]
async fn queued_requests_enter_in_the_order_of_arrival() {
    let owner = open_gate().add_owner(LIMITS);
    let permit = owner.try_enter_owned().unwrap();
    let mut queue: Vec<_> = (0..3).map(|_| queued(&owner)).collect();
    let mut running = permit;
    for first in 0..3 {
        drop(running);
        for later in &mut queue[first + 1..] {
            assert!(later.poll().is_none(), "one slot, one permit");
        }
        running = queue[first].poll().unwrap().unwrap();
    }
    drop(running);
    assert_eq!(owner.stats(), GateStats { entered: 4, left: 4, waits: 3, ..GateStats::default() });
}

#[tokio::test(start_paused = true)]
async fn no_request_overtakes_a_queued_one() {
    let owner = open_gate().add_owner(LIMITS);
    let permit = owner.try_enter_owned().unwrap();
    let mut waiting = queued(&owner);
    assert!(owner.try_enter_owned().is_none());
    drop(permit);
    assert!(owner.try_enter_owned().is_none(), "the slot belongs to the queued request, even before it is polled");
    assert!(waiting.poll().unwrap().is_ok());
}

#[tokio::test(start_paused = true)]
async fn limits_can_change_and_queued_requests_profit_at_once() {
    for limits in [GateLimits::default(), GateLimits { max_running: Some(9), max_total: None }] {
        let owner = Gate::new(limits).add_owner(LIMITS);
        let permit = owner.try_enter_owned().unwrap();
        let mut queue: Vec<_> = (0..3).map(|_| queued(&owner)).collect();
        owner.set_limits(OwnerLimits { max_running: 3, ..LIMITS });
        let second = queue[0].poll().unwrap().unwrap();
        let third = queue[1].poll().unwrap().unwrap();
        assert!(queue[2].poll().is_none(), "three slots, three permits");
        // Requests that run beyond the new limits stay, and no new one enters.
        owner.set_limits(OwnerLimits { max_queued: 0, ..LIMITS });
        assert_eq!(owner.enter().await.err(), Some(AdmissionError::QueueFull { queued: 1 }));
        drop((permit, second));
        assert!(queue[2].poll().is_none(), "one slot, and it is taken");
        drop(third);
        assert!(queue[2].poll().unwrap().is_ok());
        assert_eq!(owner.stats().running, 0);
    }
}

#[tokio::test(start_paused = true)]
async fn a_full_queue_rejects() {
    let owner = open_gate().add_owner(LIMITS);
    let _permit = owner.try_enter_owned().unwrap();
    let _line: Vec<_> = (0..3).map(|_| queued(&owner)).collect();
    assert_eq!(owner.enter().await.err(), Some(AdmissionError::QueueFull { queued: 3 }));
    assert_eq!(owner.stats().rejected.queue_full, 1);

    let unqueued = open_gate().add_owner(OwnerLimits { max_queued: 0, ..LIMITS });
    let _permit = unqueued.enter().await.unwrap();
    assert_eq!(unqueued.enter().await.err(), Some(AdmissionError::QueueFull { queued: 0 }));
}

#[tokio::test(start_paused = true)]
async fn the_queue_timeout_counts_from_queueing() {
    let owner = open_gate().add_owner(LIMITS);
    let _permit = owner.try_enter_owned().unwrap();
    let mut first = queued(&owner);
    tokio::time::advance(Duration::from_secs(3)).await;
    let mut second = queued(&owner);
    tokio::time::advance(Duration::from_secs(2)).await;
    let Some(Err(error)) = first.poll() else { panic!("five seconds are over") };
    assert!(matches!(error, AdmissionError::TimedOut { waited } if waited >= LIMITS.queue_timeout));
    assert!(second.poll().is_none());
    tokio::time::advance(Duration::from_secs(4)).await;
    assert!(matches!(second.poll(), Some(Err(AdmissionError::TimedOut { .. }))));
    assert_eq!((owner.stats().queued, owner.stats().rejected.timed_out), (0, 2));
}

#[tokio::test(start_paused = true)]
async fn a_grant_that_comes_at_the_moment_of_the_timeout_counts() {
    let owner = open_gate().add_owner(LIMITS);
    let permit = owner.try_enter_owned().unwrap();
    let mut waiting = queued(&owner);
    tokio::time::advance(LIMITS.queue_timeout * 2).await;
    drop(permit);
    assert!(waiting.poll().unwrap().is_ok());
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_waiter_leaves_the_queue() {
    let owner = open_gate().add_owner(LIMITS);
    let permit = owner.try_enter_owned().unwrap();
    let first = queued(&owner);
    let mut second = queued(&owner);
    drop(first);
    assert_eq!((owner.stats().queued, owner.stats().abandoned), (1, 1));
    drop(permit);
    assert!(second.poll().unwrap().is_ok());
}

#[tokio::test(start_paused = true)]
async fn a_grant_to_a_cancelled_waiter_goes_to_the_next() {
    for limits in [GateLimits::default(), GateLimits { max_running: Some(1), max_total: Some(9) }] {
        let owner = Gate::new(limits).add_owner(LIMITS);
        let permit = owner.try_enter_owned().unwrap();
        let first = queued(&owner);
        let mut second = queued(&owner);
        drop(permit);
        // The first has its permit now, but was not polled yet.
        drop(first);
        assert!(second.poll().unwrap().is_ok());
        assert_eq!((owner.stats().running, owner.stats().queued), (0, 0));
        assert!(owner.stats().adds_up());
        assert!(owner.try_enter_owned().is_some());
    }
}

#[tokio::test(start_paused = true)]
async fn a_block_rejects_queued_and_new_requests_until_it_is_dropped() {
    let owner = open_gate().add_owner(LIMITS);
    let permit = owner.try_enter_owned().unwrap();
    let mut waiting = queued(&owner);
    let block = owner.block();
    let another = owner.block();
    assert_eq!(waiting.poll().unwrap().err(), Some(AdmissionError::Blocked));
    drop(permit);
    assert!(owner.try_enter_owned().is_none());
    drop(block);
    assert_eq!(owner.enter().await.err(), Some(AdmissionError::Blocked), "any block blocks");
    drop(another);
    assert!(owner.enter().await.is_ok());
    assert_eq!(owner.stats().rejected.blocked, 2);
}

#[tokio::test(start_paused = true)]
async fn draining_lets_the_queue_finish_and_rejects_new_requests() {
    let gate = open_gate();
    let (owner, idle) = (gate.add_owner(LIMITS), gate.add_owner(LIMITS));
    let permit = owner.try_enter_owned().unwrap();
    let mut waiting = queued(&owner);
    let mut drained = Polled::pending({
        let gate = gate.clone();
        async move { gate.drained().await }
    });
    gate.drain();
    gate.drain();
    assert_eq!(owner.enter().await.err(), Some(AdmissionError::Draining));
    assert_eq!(idle.enter().await.err(), Some(AdmissionError::Draining));
    assert_eq!(
        gate.add_owner(LIMITS).enter().await.err(),
        Some(AdmissionError::Draining),
        "an owner that is added later"
    );
    assert_eq!(AdmissionError::Draining.retry_after(), None);
    drop(permit);
    assert!(drained.poll().is_none(), "one still waits");
    let permit = waiting.poll().unwrap().unwrap();
    assert!(drained.poll().is_none(), "one still runs");
    drop(permit);
    assert!(drained.poll().is_some());
    gate.drained().await;
}

#[tokio::test(start_paused = true)]
async fn draining_ends_too_when_the_last_waiter_is_cancelled() {
    let gate = open_gate();
    let owner = gate.add_owner(OwnerLimits { max_running: 0, ..LIMITS });
    let waiting = queued(&owner);
    gate.drain();
    drop(waiting);
    gate.drained().await;
}

#[tokio::test(start_paused = true)]
async fn a_drain_can_be_undone_before_and_after_its_end() {
    let gate = open_gate();
    let (busy, idle) = (gate.add_owner(LIMITS), gate.add_owner(LIMITS));
    let mut permit = busy.try_enter_owned();
    for _ in 0..3 {
        gate.drain();
        assert_eq!(busy.enter().await.err(), Some(AdmissionError::Draining));
        let mut drained = Polled::pending({
            let gate = gate.clone();
            async move { gate.drained().await }
        });
        gate.reopen();
        assert!(drained.poll().is_none(), "one runs");
        // Requests that enter and leave while the gate is open end no drain.
        drop(idle.try_enter_owned().unwrap());
        drop(permit.take());
        assert!(drained.poll().is_none());
        permit = busy.try_enter_owned();
    }
    gate.drain();
    drop(permit);
    gate.drained().await;
    gate.reopen();
    gate.reopen();
    let (permit, late) = (idle.try_enter_owned().unwrap(), gate.add_owner(LIMITS));
    assert!(late.try_enter_owned().is_some());
    gate.drain();
    let mut drained = Polled::pending({
        let gate = gate.clone();
        async move { gate.drained().await }
    });
    drop(permit);
    assert!(drained.poll().is_some());
}

#[tokio::test(start_paused = true)]
async fn the_total_bounds_running_and_queued_requests() {
    let gate = Gate::new(GateLimits { max_running: None, max_total: Some(2) });
    let (one, other) = (gate.add_owner(LIMITS), gate.add_owner(LIMITS));
    let permit = one.try_enter_owned().unwrap();
    let waiting = queued(&one);
    assert!(other.try_enter_owned().is_none());
    assert_eq!(other.enter().await.err(), Some(AdmissionError::Overloaded { limit: 2 }));
    drop(waiting);
    let permit_of_other = other.enter().await.unwrap();
    assert_eq!(one.enter().await.err(), Some(AdmissionError::Overloaded { limit: 2 }));
    drop((permit, permit_of_other));
    assert!(one.try_enter_owned().is_some());
}

#[tokio::test(start_paused = true)]
async fn gates_can_share_one_total() {
    let gate = Gate::new(GateLimits { max_running: None, max_total: Some(2) });
    let beside = gate.with_same_total(Some(1));
    let (one, other) = (gate.add_owner(LIMITS), beside.add_owner(LIMITS));
    let permits = (one.try_enter_owned().unwrap(), other.try_enter_owned().unwrap());
    let overloaded = Some(AdmissionError::Overloaded { limit: 2 });
    assert_eq!((one.enter().await.err(), other.enter().await.err()), (overloaded, overloaded));
    assert_eq!((gate.stats().rejected.overloaded, beside.stats().rejected.overloaded), (1, 1));
    drop(permits.0);
    let waiting = queued(&other);
    assert!(one.try_enter_owned().is_none(), "requests queued at the other gate count, too");
    drop(waiting);
    assert!(one.try_enter_owned().is_some());
}

#[tokio::test(start_paused = true)]
async fn the_counts_of_removed_owners_stay() {
    let gate = open_gate();
    let owner = gate.add_owner(LIMITS);
    let permit = owner.try_enter_owned().unwrap();
    drop(owner);
    assert_eq!(gate.stats().running, 1, "its permit keeps it");
    drop(permit);
    assert_eq!(gate.stats(), GateStats { entered: 1, left: 1, ..GateStats::default() });
}

#[test]
fn a_rejection_says_when_to_retry() {
    let late = |seconds| AdmissionError::TimedOut { waited: Duration::from_secs(seconds) }.retry_after();
    assert_eq!(AdmissionError::QueueFull { queued: 1 }.retry_after(), Some(Duration::from_secs(1)));
    assert_eq!(AdmissionError::Blocked.retry_after(), Some(Duration::from_secs(1)));
    assert_eq!((late(5), late(500)), (Some(Duration::from_secs(5)), Some(Duration::from_secs(30))));
}
