//! Random schedules: callers come, wait, are cancelled, get leases, condemn and release them; items change their
//! health, load and weight; creations are slow, fail and panic; keys are retired; sweeps run; time passes. After every
//! step the bounds and the sums must hold; in the end every caller has a result and nothing is left.

use proptest::prelude::*;

use super::*;

const KEYS: usize = 3;
const LIMITS: PoolLimits = PoolLimits { max_items: 4, max_weight: 6 * ITEM_WEIGHT, max_per_group: None };
/// Keys 0 and 2 are of one group, 1 is of another.
const PER_GROUP: usize = 2;

#[derive(Clone, Debug)]
enum Step {
    Acquire(usize),
    TryAcquire(usize),
    Cancel(usize),
    Release(usize),
    Condemn(usize),
    ItemHealth(usize, usize),
    Load(usize, usize),
    Weight(usize, u64),
    Pass(u64),
    Sweep,
    Retire(usize),
    /// Leases are sent, but callers are not polled, before the next step.
    ReleaseUnpolled(usize),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let which = any::<usize>;
    let step = prop_oneof![
        8 => which().prop_map(Step::Acquire),
        3 => which().prop_map(Step::TryAcquire),
        3 => which().prop_map(Step::Cancel),
        6 => which().prop_map(Step::Release),
        2 => which().prop_map(Step::ReleaseUnpolled),
        1 => which().prop_map(Step::Condemn),
        1 => (which(), which()).prop_map(|(item, health)| Step::ItemHealth(item, health)),
        3 => (which(), which()).prop_map(|(item, load)| Step::Load(item, load)),
        1 => (which(), 0..3 * ITEM_WEIGHT).prop_map(|(item, weight)| Step::Weight(item, weight)),
        6 => (0..20u64).prop_map(Step::Pass),
        1 => Just(Step::Sweep),
        1 => which().prop_map(Step::Retire),
    ];
    prop::collection::vec(step, 1..120)
}

fn plans() -> impl Strategy<Value = Vec<Plan>> {
    let plan = prop_oneof![
        6 => (0..30u64).prop_map(|millis| Plan::Create(Duration::from_millis(millis))),
        2 => (0..30u64).prop_map(|millis| Plan::Fail(Duration::from_millis(millis))),
        1 => Just(Plan::Panic),
    ];
    prop::collection::vec(plan, 0..60)
}

fn rules(number: usize) -> KeyLimits {
    let millis = Duration::from_millis;
    let lifetime = match number {
        0 => FOREVER,
        1 => ItemLifetime { uses: Some(3), ttl: None, idle: Some(millis(40)) },
        _ => ItemLifetime { uses: None, ttl: Some(millis(60)), idle: None },
    };
    KeyLimits { max_items: number + 1, concurrency: (2 - number) as u32, lifetime }
}

struct World {
    limits: PoolLimits,
    pool: Pool<TestManager>,
    manager: TestManager,
    keyed_pools: Vec<KeyedPool<TestManager>>,
    callers: Vec<(usize, Caller)>,
    leases: Vec<OwnedLease<TestManager>>,
    handed_out: u64,
}

impl World {
    fn new(limits: PoolLimits, plans: Vec<Plan>) -> Self {
        let (pool, manager) = pool(limits);
        manager.plan(plans);
        let keyed_pools = (0..KEYS).map(|number| pool.keyed(number as Key, rules(number))).collect();
        Self { limits, pool, manager, keyed_pools, callers: Vec::new(), leases: Vec::new(), handed_out: 0 }
    }

    fn record_lease(&mut self, lease: OwnedLease<TestManager>) {
        lease.held.fetch_add(1, Ordering::SeqCst);
        assert_eq!(*lease.destroyed_for.lock().unwrap(), None, "the item is destroyed");
        self.handed_out += 1;
        self.leases.push(lease);
    }

    fn release(&mut self, which: usize) {
        if !self.leases.is_empty() {
            let lease = self.leases.swap_remove(which % self.leases.len());
            lease.held.fetch_sub(1, Ordering::SeqCst);
        }
    }

    fn item(&self, which: usize) -> Option<Arc<TestItem>> {
        let items = self.manager.items();
        let living: Vec<_> = items.iter().filter(|item| item.destroyed_for.lock().unwrap().is_none()).collect();
        living.get(which.checked_rem(living.len())?).map(|item| (*item).clone())
    }

    async fn step(&mut self, step: Step) {
        match step {
            Step::Acquire(which) => {
                let keyed = which % KEYS;
                let caller = calling(&self.keyed_pools[keyed]);
                self.callers.push((keyed, caller));
            }
            Step::TryAcquire(which) => {
                if let Some(lease) = self.keyed_pools[which % KEYS].try_acquire_owned() {
                    self.record_lease(lease);
                }
            }
            Step::Cancel(which) if !self.callers.is_empty() => {
                drop(self.callers.remove(which % self.callers.len()));
            }
            Step::Cancel(_) => {}
            Step::Release(which) | Step::ReleaseUnpolled(which) => self.release(which),
            Step::Condemn(which) if !self.leases.is_empty() => self.leases[which % self.leases.len()].condemn(),
            Step::Condemn(_) => {}
            Step::ItemHealth(item, health) => {
                if let Some(item) = self.item(item) {
                    item.set_health([ItemHealth::Retiring, ItemHealth::Gone][health % 2]);
                }
            }
            Step::Load(item, load) => {
                if let Some(item) = self.item(item) {
                    item.set_load([Load::Idle, Load::Working, Load::Busy][load % 3]);
                }
            }
            Step::Weight(item, weight) => {
                if let Some(item) = self.item(item) {
                    item.weight.store(weight, Ordering::Relaxed);
                }
            }
            Step::Pass(millis) => advance(Duration::from_millis(millis)).await,
            Step::Sweep => self.pool.sweep(),
            Step::Retire(which) => {
                let number = which % KEYS;
                self.keyed_pools[number].retire();
                self.keyed_pools[number] = self.pool.keyed(number as Key, rules(number));
            }
        }
    }

    /// Polls all callers, twice: a creation that a caller runs at its first poll may be for an earlier caller.
    fn poll_callers(&mut self) {
        let mut answered = Vec::new();
        for _ in 0..2 {
            self.callers.retain_mut(|(_, caller)| match caller.poll() {
                Some(answer) => {
                    answered.extend(answer.ok());
                    false
                }
                None => true,
            });
        }
        answered.into_iter().for_each(|lease| self.record_lease(lease));
    }

    /// Items of the group that exist or are being made, those of retired keys included.
    fn held_by_group(&self, group: Key) -> usize {
        let own = self.pool.key_stats().into_iter().filter(|(key, _)| key % 2 == group);
        own.map(|(_, keyed)| keyed.cached + keyed.creating).sum()
    }

    fn check(&self) {
        let stats = self.pool.stats();
        assert!(stats.adds_up(), "{stats:?}");
        assert!(stats.cached + stats.creating <= self.limits.max_items, "{stats:?}");
        assert_eq!(stats.leased, self.leases.len());
        assert_eq!(stats.waiting, self.callers.len());
        assert!(stats.hits + stats.misses >= self.handed_out, "{stats:?}");
        let living = self.manager.destroy_reasons().iter().filter(|destroyed_for| destroyed_for.is_none()).count();
        assert_eq!(stats.cached, living);
        let room = stats.capacity() > 0 && stats.weight + ITEM_WEIGHT <= LIMITS.max_weight;
        for (number, keyed) in self.keyed_pools.iter().enumerate() {
            let group = self.held_by_group(number as Key % 2);
            let most_of_group = self.limits.max_per_group.unwrap_or(usize::MAX);
            assert!(group <= most_of_group, "{stats:?}");
            let room = room && group < most_of_group;
            let (keyed, most) = (keyed.stats(), rules(number).max_items);
            assert!(keyed.adds_up());
            assert!(keyed.creating <= most);
            let needlessly = keyed.waiting > 0 && keyed.creating == 0 && keyed.cached < most && room;
            assert!(!needlessly, "a caller waits although there is capacity: {keyed:?} {stats:?}");
        }
        for item in self.manager.items() {
            let concurrency = rules(item.key as usize).concurrency;
            assert!(concurrency == 0 || item.held.load(Ordering::SeqCst) <= concurrency);
        }
    }

    /// When all leases are released, all items are idle and creations succeed, every waiting caller is served.
    async fn finish(mut self) {
        self.manager.0.plans.lock().unwrap().clear();
        // Changes without a release are found by a sweep; from then on releases of leases must be enough.
        self.leases.iter().for_each(|lease| lease.weight.store(ITEM_WEIGHT, Ordering::Relaxed));
        self.manager.items().iter().for_each(|item| item.set_load(Load::Idle));
        self.pool.sweep();
        for _ in 0..1000 {
            if self.callers.is_empty() && self.leases.is_empty() {
                break;
            }
            self.release(0);
            advance(Duration::from_millis(30)).await;
            self.poll_callers();
            self.check();
        }
        assert!(self.callers.is_empty(), "{} callers wait without end: {:?}", self.callers.len(), self.pool.stats());
        self.pool.close().await;
        let stats = self.pool.stats();
        assert!(stats.adds_up());
        assert_eq!((stats.cached, stats.creating, stats.leased, stats.waiting, stats.weight), (0, 0, 0, 0, 0));
        assert!(self.manager.destroy_reasons().iter().all(Option::is_some), "nothing is left");
        let manager = self.manager.clone();
        drop(self);
        assert_eq!(Arc::strong_count(&manager.0), 1, "nothing is left of the pool");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_pool_keeps_its_bounds_and_its_sums_and_serves_every_caller(
        plans in plans(),
        steps in steps(),
        grouped in any::<bool>(),
    ) {
        let limits = PoolLimits { max_per_group: grouped.then_some(PER_GROUP), ..LIMITS };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        runtime.block_on(async {
            let mut world = World::new(limits, plans);
            for step in steps {
                let unpolled = matches!(step, Step::ReleaseUnpolled(_));
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
