//! Random schedules: callers of several owners come, wait, are cancelled, run and leave, owners are blocked and unblocked, time passes.
//! After every step the gate must keep its bounds, its order and its sums; in the end no request is left.

use std::collections::VecDeque;

use proptest::prelude::*;

use super::*;

const OWNERS: usize = 3;

#[derive(Clone, Debug)]
enum Step {
    Enter(usize),
    TryEnter(usize),
    Cancel(usize),
    Leave(usize),
    Block(usize),
    Unblock(usize),
    Pass(u64),
    /// Permits are sent, but callers are not polled, before the next step.
    LeaveUnpolled(usize),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        6 => (0..OWNERS).prop_map(Step::Enter),
        2 => (0..OWNERS).prop_map(Step::TryEnter),
        3 => any::<usize>().prop_map(Step::Cancel),
        5 => any::<usize>().prop_map(Step::Leave),
        2 => any::<usize>().prop_map(Step::LeaveUnpolled),
        1 => (0..OWNERS).prop_map(Step::Block),
        1 => (0..OWNERS).prop_map(Step::Unblock),
        2 => (0..3000u64).prop_map(Step::Pass),
    ];
    prop::collection::vec(step, 1..120)
}

fn bounds() -> impl Strategy<Value = GateLimits> {
    (prop::option::of(1usize..5), prop::option::of(1usize..10))
        .prop_map(|(max_running, max_total)| GateLimits { max_running, max_total })
}

struct World {
    limits: GateLimits,
    gate: Gate,
    owners: Vec<(OwnerQueue, OwnerLimits)>,
    /// Callers by owner, in the order in which they came.
    queues: Vec<VecDeque<Polled<Result<OwnedPermit, AdmissionError>>>>,
    running: Vec<(usize, OwnedPermit)>,
    blocks: Vec<Vec<OwnerBlock>>,
}

impl World {
    fn new(limits: GateLimits) -> Self {
        let gate = Gate::new(limits);
        let owner = |number: usize| {
            let limits = OwnerLimits { max_running: number + 1, max_queued: 4, weight: number as u32 + 1, ..LIMITS };
            (gate.add_owner(limits), limits)
        };
        let owners = (0..OWNERS).map(owner).collect();
        let queues = (0..OWNERS).map(|_| VecDeque::new()).collect();
        let blocks = (0..OWNERS).map(|_| Vec::new()).collect();
        Self { limits, gate, owners, queues, running: Vec::new(), blocks }
    }

    async fn step(&mut self, step: Step) {
        match step {
            Step::Enter(owner) => {
                let mut caller = entering(&self.owners[owner].0);
                match caller.poll() {
                    Some(Ok(permit)) => self.running.push((owner, permit)),
                    Some(Err(_)) => {}
                    None => self.queues[owner].push_back(caller),
                }
            }
            Step::TryEnter(owner) => {
                // A caller that was sent its permit, but was not polled yet, is not queued any more.
                let ahead = self.owners[owner].0.stats().queued;
                let permit = self.owners[owner].0.try_enter_owned();
                assert!(permit.is_none() || ahead == 0, "it overtook a queued request");
                self.running.extend(permit.map(|permit| (owner, permit)));
            }
            Step::Cancel(which) => {
                let queue = &mut self.queues[which % OWNERS];
                if !queue.is_empty() {
                    drop(queue.remove(which / OWNERS % queue.len()));
                }
            }
            Step::Leave(which) | Step::LeaveUnpolled(which) if !self.running.is_empty() => {
                drop(self.running.swap_remove(which % self.running.len()));
            }
            Step::Leave(_) | Step::LeaveUnpolled(_) => {}
            Step::Block(owner) => self.blocks[owner].push(self.owners[owner].0.block()),
            Step::Unblock(owner) => drop(self.blocks[owner].pop()),
            Step::Pass(millis) => tokio::time::advance(Duration::from_millis(millis)).await,
        }
    }

    /// Polls all callers.
    fn poll_callers(&mut self) {
        for (owner, queue) in self.queues.iter_mut().enumerate() {
            let mut still_waiting = VecDeque::new();
            for mut caller in queue.drain(..) {
                match caller.poll() {
                    Some(Ok(permit)) => {
                        assert!(still_waiting.is_empty(), "it overtook a queued request");
                        self.running.push((owner, permit));
                    }
                    Some(Err(error)) => {
                        assert!(
                            !matches!(error, AdmissionError::QueueFull { .. } | AdmissionError::Overloaded { .. }),
                            "it was queued"
                        )
                    }
                    None => still_waiting.push_back(caller),
                }
            }
            *queue = still_waiting;
        }
    }

    fn check(&self) {
        let all = self.gate.stats();
        assert!(all.adds_up());
        assert_eq!(all.running, self.running.len());
        let full = self.limits.max_running.is_some_and(|places| all.running >= places);
        assert!(self.limits.max_running.is_none_or(|places| all.running <= places));
        assert!(self.limits.max_total.is_none_or(|total| all.running + all.queued <= total));
        for (number, (owner, limits)) in self.owners.iter().enumerate() {
            let stats = owner.stats();
            assert!(stats.adds_up());
            assert_eq!(stats.running, self.running.iter().filter(|(owner, _)| *owner == number).count());
            assert_eq!(stats.queued, self.queues[number].len());
            assert!(stats.running <= limits.max_running && stats.queued <= limits.max_queued);
            assert!(stats.queued == 0 || full || stats.running == limits.max_running, "a slot is left free");
            assert!(
                stats.queued == 0 || self.blocks[number].is_empty(),
                "a request waits although its owner is blocked"
            );
        }
    }

    async fn finish(mut self) {
        self.gate.drain();
        for _ in 0..1000 {
            self.poll_callers();
            self.running.pop();
        }
        self.gate.drained().await;
        self.check();
        let stats = self.gate.stats();
        assert_eq!((stats.running, stats.queued, stats.entered), (0, 0, stats.left));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_gate_keeps_its_bounds_its_order_and_its_sums(limits in bounds(), steps in steps()) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        runtime.block_on(async {
            let mut world = World::new(limits);
            for step in steps {
                let unpolled = matches!(step, Step::LeaveUnpolled(_));
                world.step(step).await;
                if !unpolled {
                    world.poll_callers();
                    world.check();
                }
            }
            world.finish().await;
        });
    }
}
