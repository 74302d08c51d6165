//! Real threads: what the paused clock cannot show. Only the sums at the end are checked.

use super::*;

const TASKS: usize = 16;
const ROUNDS: usize = 400;

async fn crowd(owner: OwnerQueue, seed: usize) {
    for round in 0..ROUNDS {
        match (seed + round) % 5 {
            0 => drop(owner.try_enter_owned()),
            // Gives up at about the time its turn comes.
            1 => drop(tokio::time::timeout(Duration::from_micros(50), owner.enter()).await),
            2 => {
                let permit = owner.enter().await;
                tokio::task::yield_now().await;
                drop(permit);
            }
            3 if round % 50 == 0 => drop(owner.block()),
            _ => drop(owner.enter().await),
        }
    }
}

fn stress(limits: GateLimits) {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(4).enable_time().build().unwrap();
    runtime.block_on(async {
        let gate = Gate::new(limits);
        let owners: Vec<_> = (0..3)
            .map(|number| gate.add_owner(OwnerLimits { max_running: 2, max_queued: 8, weight: number + 1, ..LIMITS }))
            .collect();
        let tasks: Vec<_> = (0..TASKS).map(|task| tokio::spawn(crowd(owners[task % 3].clone(), task))).collect();
        for task in tasks {
            task.await.unwrap();
        }
        let all: Vec<_> =
            owners.iter().map(|owner| owner.try_enter_owned().expect("all slots are free again")).collect();
        drop((all, owners));
        gate.drain();
        gate.drained().await;
        let stats = gate.stats();
        assert!(stats.adds_up());
        assert_eq!((stats.running, stats.queued), (0, 0));
        assert!(stats.entered > 0);
    });
}

#[test]
fn no_slot_is_lost_or_granted_twice_between_threads() {
    stress(GateLimits::default());
}

#[test]
fn no_shared_slot_is_lost_or_granted_twice_between_threads() {
    stress(GateLimits { max_running: Some(3), max_total: Some(20) });
}
