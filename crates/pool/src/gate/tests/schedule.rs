//! Random schedules: callers of several owners come, wait, are cancelled, run and leave, bars go down and up, time passes.
//! After every step the gate must keep its bounds, its order and its sums; in the end everything is over.

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
    Bar(usize),
    Unbar(usize),
    Pass(u64),
    /// Permits are sent, but not looked at, before the next step.
    LeaveUnseen(usize),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        6 => (0..OWNERS).prop_map(Step::Enter),
        2 => (0..OWNERS).prop_map(Step::TryEnter),
        3 => any::<usize>().prop_map(Step::Cancel),
        5 => any::<usize>().prop_map(Step::Leave),
        2 => any::<usize>().prop_map(Step::LeaveUnseen),
        1 => (0..OWNERS).prop_map(Step::Bar),
        1 => (0..OWNERS).prop_map(Step::Unbar),
        2 => (0..3000u64).prop_map(Step::Pass),
    ];
    prop::collection::vec(step, 1..120)
}

fn bounds() -> impl Strategy<Value = GateLimits> {
    (prop::option::of(1usize..5), prop::option::of(1usize..10))
        .prop_map(|(running, total)| GateLimits { running, total })
}

struct World {
    limits: GateLimits,
    gate: Gate,
    owners: Vec<(OwnerGate, OwnerLimits)>,
    /// Callers by owner, in the order in which they came.
    lines: Vec<VecDeque<Held<Result<Permit, Refused>>>>,
    running: Vec<(usize, Permit)>,
    bars: Vec<Vec<Bar>>,
}

impl World {
    fn new(limits: GateLimits) -> Self {
        let gate = Gate::new(limits);
        let owner = |number: usize| {
            let limits = OwnerLimits { running: number + 1, queued: 4, weight: number as u32 + 1, ..LIMITS };
            (gate.owner(limits), limits)
        };
        let owners = (0..OWNERS).map(owner).collect();
        let lines = (0..OWNERS).map(|_| VecDeque::new()).collect();
        let bars = (0..OWNERS).map(|_| Vec::new()).collect();
        Self { limits, gate, owners, lines, running: Vec::new(), bars }
    }

    async fn step(&mut self, step: Step) {
        match step {
            Step::Enter(owner) => {
                let mut caller = entering(&self.owners[owner].0);
                match caller.poll() {
                    Some(Ok(permit)) => self.running.push((owner, permit)),
                    Some(Err(_)) => {}
                    None => self.lines[owner].push_back(caller),
                }
            }
            Step::TryEnter(owner) => {
                // Who has its permit, but has not looked yet, is not in line any more.
                let ahead = self.owners[owner].0.stats().queued;
                let permit = self.owners[owner].0.try_enter();
                assert!(permit.is_none() || ahead == 0, "it overtook somebody");
                self.running.extend(permit.map(|permit| (owner, permit)));
            }
            Step::Cancel(which) => {
                let line = &mut self.lines[which % OWNERS];
                if !line.is_empty() {
                    drop(line.remove(which / OWNERS % line.len()));
                }
            }
            Step::Leave(which) | Step::LeaveUnseen(which) if !self.running.is_empty() => {
                drop(self.running.swap_remove(which % self.running.len()));
            }
            Step::Leave(_) | Step::LeaveUnseen(_) => {}
            Step::Bar(owner) => self.bars[owner].push(self.owners[owner].0.bar()),
            Step::Unbar(owner) => drop(self.bars[owner].pop()),
            Step::Pass(millis) => tokio::time::advance(Duration::from_millis(millis)).await,
        }
    }

    /// Everybody looks whether it has an answer.
    fn look(&mut self) {
        for (owner, line) in self.lines.iter_mut().enumerate() {
            let mut still_waiting = VecDeque::new();
            for mut caller in line.drain(..) {
                match caller.poll() {
                    Some(Ok(permit)) => {
                        assert!(still_waiting.is_empty(), "it overtook somebody");
                        self.running.push((owner, permit));
                    }
                    Some(Err(refused)) => {
                        assert!(!matches!(refused, Refused::Full { .. } | Refused::Overloaded { .. }), "it was in line")
                    }
                    None => still_waiting.push_back(caller),
                }
            }
            *line = still_waiting;
        }
    }

    fn check(&self) {
        let all = self.gate.stats();
        assert!(all.adds_up());
        assert_eq!(all.running, self.running.len());
        let full = self.limits.running.is_some_and(|places| all.running >= places);
        assert!(self.limits.running.is_none_or(|places| all.running <= places));
        assert!(self.limits.total.is_none_or(|total| all.running + all.queued <= total));
        for (number, (owner, limits)) in self.owners.iter().enumerate() {
            let stats = owner.stats();
            assert!(stats.adds_up());
            assert_eq!(stats.running, self.running.iter().filter(|(owner, _)| *owner == number).count());
            assert_eq!(stats.queued, self.lines[number].len());
            assert!(stats.running <= limits.running && stats.queued <= limits.queued);
            assert!(stats.queued == 0 || full || stats.running == limits.running, "a free place is left unused");
            assert!(stats.queued == 0 || self.bars[number].is_empty(), "somebody waits behind a bar");
        }
    }

    async fn finish(mut self) {
        self.gate.drain();
        for _ in 0..1000 {
            self.look();
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
                let unseen = matches!(step, Step::LeaveUnseen(_));
                world.step(step).await;
                if !unseen {
                    world.look();
                    world.check();
                }
            }
            world.finish().await;
        });
    }
}
