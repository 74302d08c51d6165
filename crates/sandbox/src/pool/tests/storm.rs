//! Random schedules: at every step the counts add up, and nothing is left at the end.

use proptest::prelude::*;
use tokio::task::JoinHandle;

use super::*;

#[derive(Clone, Copy, Debug)]
enum Step {
    Acquire,
    /// The caller goes away, with or without its sandbox.
    GiveUp(usize),
    Destroy(usize),
    /// Dropping the last reference destroys the sandbox.
    Drop(usize),
    Wedge(usize),
    Kill(usize),
    Pass(u64),
    Plan(FakeBoot),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => Just(Step::Acquire),
        1 => any::<usize>().prop_map(Step::GiveUp),
        2 => any::<usize>().prop_map(Step::Destroy),
        2 => any::<usize>().prop_map(Step::Drop),
        1 => any::<usize>().prop_map(Step::Wedge),
        1 => any::<usize>().prop_map(Step::Kill),
        4 => (0..4_000_u64).prop_map(Step::Pass),
        1 => (0..3_000_u64).prop_map(|time| Step::Plan(FakeBoot::Succeed(Duration::from_millis(time)))),
        1 => (0..500_u64).prop_map(|time| Step::Plan(FakeBoot::Fail(Duration::from_millis(time)))),
        1 => Just(Step::Plan(FakeBoot::Mute)),
    ]
}

struct Storm {
    driver: FakeDriver,
    pool: SandboxPool,
    asked: Vec<JoinHandle<Result<Sandbox, SandboxError>>>,
    held: Vec<Sandbox>,
    acquires: u64,
}

impl Storm {
    async fn step(&mut self, step: Step) {
        let live = self.driver.live();
        let one = |at: usize, of: usize| (of > 0).then(|| at % of);
        match step {
            Step::Acquire => {
                let pool = self.pool.clone();
                self.acquires += 1;
                self.asked.push(tokio::spawn(async move { pool.acquire(&SandboxConfig::default()).await }));
            }
            Step::GiveUp(at) => {
                if let Some(at) = one(at, self.asked.len()) {
                    self.asked.remove(at).abort();
                }
            }
            Step::Destroy(at) => {
                if let Some(at) = one(at, self.held.len()) {
                    self.held.remove(at).destroy().await;
                }
            }
            Step::Drop(at) => {
                if let Some(at) = one(at, self.held.len()) {
                    drop(self.held.remove(at));
                }
            }
            Step::Wedge(at) => one(at, live.len()).into_iter().for_each(|at| self.driver.wedge(live[at])),
            Step::Kill(at) => one(at, live.len()).into_iter().for_each(|at| self.driver.kill(live[at])),
            Step::Pass(time) => sleep(Duration::from_millis(time)).await,
            Step::Plan(boot) => self.driver.plan([boot]),
        }
        self.collect().await;
        self.check();
    }

    /// Callers that have their sandbox by now.
    async fn collect(&mut self) {
        for at in (0..self.asked.len()).rev() {
            if self.asked[at].is_finished() {
                self.held.extend(self.asked.remove(at).await.unwrap().ok());
            }
        }
    }

    fn check(&self) {
        let stats = self.pool.stats();
        assert!(stats.adds_up(), "{stats:?}");
        assert!(stats.ready <= 3, "never over-filled: {stats:?}");
        // A caller that was dropped before it began has requested nothing.
        assert!(stats.warm_hits + stats.cold_misses <= self.acquires, "{stats:?}");
        assert!(self.driver.most_booting() <= 2 + 4);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn nothing_is_lost_in_a_storm(steps in prop::collection::vec(step(), 1..80)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
        runtime.block_on(async {
            let driver = FakeDriver::named("fake", SECOND);
            let config = PoolConfig { max_cold_boots: 4, boot_timeout: SECOND * 5, ..config(&driver) };
            let pool = started(&driver, config).await;
            let mut storm = Storm { driver, pool, asked: Vec::new(), held: Vec::new(), acquires: 0 };
            for step in steps {
                storm.step(step).await;
            }
            let Storm { driver, pool, asked, held, .. } = storm;
            drop(held);
            let ending = tokio::spawn({
                let pool = pool.clone();
                async move { pool.shutdown().await }
            });
            for caller in asked {
                drop(caller.await);
            }
            let stats = ending.await.unwrap();
            assert!(stats.adds_up(), "{stats:?}");
            assert_eq!((stats.live, stats.booting, stats.ready), (0, 0, 0));
            assert_eq!(driver.live(), []);
        });
    }
}
