//! Random schedules: callers come, wait, are cancelled, get leases, condemn them and give them back; things change their
//! health, load and weight; creations are slow, fail and panic; shelves are retired; sweeps run; time passes. After every
//! step the bounds and the sums must hold; in the end everybody has an answer and nothing is left.

use proptest::prelude::*;

use super::*;

const SHELVES: usize = 3;
const LIMITS: PoolLimits = PoolLimits { things: 4, weight: 6 * BLANK, per_group: None };
/// Shelves 0 and 2 are of one group, 1 is of another.
const PER_GROUP: usize = 2;

#[derive(Clone, Debug)]
enum Step {
    Acquire(usize),
    TryAcquire(usize),
    Cancel(usize),
    GiveBack(usize),
    Condemn(usize),
    Health(usize, usize),
    Load(usize, usize),
    Weight(usize, u64),
    Pass(u64),
    Sweep,
    Retire(usize),
    /// Leases are sent, but not looked at, before the next step.
    GiveBackUnseen(usize),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let which = any::<usize>;
    let step = prop_oneof![
        8 => which().prop_map(Step::Acquire),
        3 => which().prop_map(Step::TryAcquire),
        3 => which().prop_map(Step::Cancel),
        6 => which().prop_map(Step::GiveBack),
        2 => which().prop_map(Step::GiveBackUnseen),
        1 => which().prop_map(Step::Condemn),
        1 => (which(), which()).prop_map(|(thing, health)| Step::Health(thing, health)),
        3 => (which(), which()).prop_map(|(thing, load)| Step::Load(thing, load)),
        1 => (which(), 0..3 * BLANK).prop_map(|(thing, weight)| Step::Weight(thing, weight)),
        6 => (0..20u64).prop_map(Step::Pass),
        1 => Just(Step::Sweep),
        1 => which().prop_map(Step::Retire),
    ];
    prop::collection::vec(step, 1..120)
}

fn plans() -> impl Strategy<Value = Vec<Plan>> {
    let plan = prop_oneof![
        6 => (0..30u64).prop_map(|millis| Plan::Make(Duration::from_millis(millis))),
        2 => (0..30u64).prop_map(|millis| Plan::Fail(Duration::from_millis(millis))),
        1 => Just(Plan::Panic),
    ];
    prop::collection::vec(plan, 0..60)
}

fn rules(number: usize) -> ShelfRules {
    let millis = Duration::from_millis;
    let life = match number {
        0 => FOREVER,
        1 => Life { uses: Some(3), ttl: None, idle: Some(millis(40)) },
        _ => Life { uses: None, ttl: Some(millis(60)), idle: None },
    };
    ShelfRules { most: number + 1, concurrency: (2 - number) as u32, life }
}

struct World {
    limits: PoolLimits,
    pool: Pool<Shop>,
    shop: Shop,
    shelves: Vec<Shelf<Shop>>,
    callers: Vec<(usize, Caller)>,
    leases: Vec<Lease<Shop>>,
    handed_out: u64,
}

impl World {
    fn new(limits: PoolLimits, plans: Vec<Plan>) -> Self {
        let (pool, shop) = pool(limits);
        shop.plan(plans);
        let shelves = (0..SHELVES).map(|number| pool.shelf(number as Key, rules(number))).collect();
        Self { limits, pool, shop, shelves, callers: Vec::new(), leases: Vec::new(), handed_out: 0 }
    }

    fn got(&mut self, lease: Lease<Shop>) {
        lease.held.fetch_add(1, Ordering::SeqCst);
        assert_eq!(*lease.fate.lock().unwrap(), None, "it is destroyed");
        self.handed_out += 1;
        self.leases.push(lease);
    }

    fn give_back(&mut self, which: usize) {
        if !self.leases.is_empty() {
            let lease = self.leases.swap_remove(which % self.leases.len());
            lease.held.fetch_sub(1, Ordering::SeqCst);
        }
    }

    fn thing(&self, which: usize) -> Option<Arc<Part>> {
        let things = self.shop.things();
        let living: Vec<_> = things.iter().filter(|part| part.fate.lock().unwrap().is_none()).collect();
        living.get(which.checked_rem(living.len())?).map(|part| (*part).clone())
    }

    async fn step(&mut self, step: Step) {
        match step {
            Step::Acquire(which) => {
                let shelf = which % SHELVES;
                let caller = calling(&self.shelves[shelf]);
                self.callers.push((shelf, caller));
            }
            Step::TryAcquire(which) => {
                if let Some(lease) = self.shelves[which % SHELVES].try_acquire() {
                    self.got(lease);
                }
            }
            Step::Cancel(which) if !self.callers.is_empty() => {
                drop(self.callers.remove(which % self.callers.len()));
            }
            Step::Cancel(_) => {}
            Step::GiveBack(which) | Step::GiveBackUnseen(which) => self.give_back(which),
            Step::Condemn(which) if !self.leases.is_empty() => self.leases[which % self.leases.len()].condemn(),
            Step::Condemn(_) => {}
            Step::Health(thing, health) => {
                if let Some(part) = self.thing(thing) {
                    part.set_health([Health::Retiring, Health::Gone][health % 2]);
                }
            }
            Step::Load(thing, load) => {
                if let Some(part) = self.thing(thing) {
                    part.set_load([Load::Idle, Load::Working, Load::Busy][load % 3]);
                }
            }
            Step::Weight(thing, weight) => {
                if let Some(part) = self.thing(thing) {
                    part.weight.store(weight, Ordering::Relaxed);
                }
            }
            Step::Pass(millis) => pass(Duration::from_millis(millis)).await,
            Step::Sweep => self.pool.sweep(),
            Step::Retire(which) => {
                let number = which % SHELVES;
                self.shelves[number].retire();
                self.shelves[number] = self.pool.shelf(number as Key, rules(number));
            }
        }
    }

    /// Everybody looks whether it has an answer, twice: what a caller makes when it first looks may be for one who came before.
    fn look(&mut self) {
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
        answered.into_iter().for_each(|lease| self.got(lease));
    }

    /// Things of the group that are there or being made, those of retired shelves included.
    fn held_by_group(&self, group: Key) -> usize {
        let own = self.pool.shelves().into_iter().filter(|(key, _)| key % 2 == group);
        own.map(|(_, shelf)| shelf.cached + shelf.cold).sum()
    }

    fn check(&self) {
        let stats = self.pool.stats();
        assert!(stats.adds_up(), "{stats:?}");
        assert!(stats.cached + stats.cold <= self.limits.things, "{stats:?}");
        assert_eq!(stats.leased, self.leases.len());
        assert_eq!(stats.waiting, self.callers.len());
        assert!(stats.hits + stats.misses >= self.handed_out, "{stats:?}");
        let living = self.shop.fates().iter().filter(|fate| fate.is_none()).count();
        assert_eq!(stats.cached, living);
        let room = stats.capacity() > 0 && stats.weight + BLANK <= LIMITS.weight;
        for (number, shelf) in self.shelves.iter().enumerate() {
            let group = self.held_by_group(number as Key % 2);
            let most_of_group = self.limits.per_group.unwrap_or(usize::MAX);
            assert!(group <= most_of_group, "{stats:?}");
            let room = room && group < most_of_group;
            let (shelf, most) = (shelf.stats(), rules(number).most);
            assert!(shelf.adds_up());
            assert!(shelf.cold <= most);
            let needlessly = shelf.waiting > 0 && shelf.cold == 0 && shelf.cached < most && room;
            assert!(!needlessly, "somebody waits, and there is room: {shelf:?} {stats:?}");
        }
        for part in self.shop.things() {
            let concurrency = rules(part.key as usize).concurrency;
            assert!(concurrency == 0 || part.held.load(Ordering::SeqCst) <= concurrency);
        }
    }

    /// With everything given back and idle, and creations that succeed, everybody who waits is served.
    async fn finish(mut self) {
        self.shop.0.plans.lock().unwrap().clear();
        // What changes without a lease is found by a sweep; from then on leases that come back must be enough.
        self.leases.iter().for_each(|lease| lease.weight.store(BLANK, Ordering::Relaxed));
        self.shop.things().iter().for_each(|part| part.set_load(Load::Idle));
        self.pool.sweep();
        for _ in 0..1000 {
            if self.callers.is_empty() && self.leases.is_empty() {
                break;
            }
            self.give_back(0);
            pass(Duration::from_millis(30)).await;
            self.look();
            self.check();
        }
        assert!(self.callers.is_empty(), "{} wait for ever: {:?}", self.callers.len(), self.pool.stats());
        self.pool.close().await;
        let stats = self.pool.stats();
        assert!(stats.adds_up());
        assert_eq!((stats.cached, stats.cold, stats.leased, stats.waiting, stats.weight), (0, 0, 0, 0, 0));
        assert!(self.shop.fates().iter().all(Option::is_some), "nothing is left");
        let shop = self.shop.clone();
        drop(self);
        assert_eq!(Arc::strong_count(&shop.0), 1, "nothing is left of the pool");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_pool_keeps_its_bounds_and_its_sums_and_serves_everybody(
        plans in plans(),
        steps in steps(),
        grouped in any::<bool>(),
    ) {
        let limits = PoolLimits { per_group: grouped.then_some(PER_GROUP), ..LIMITS };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        runtime.block_on(async {
            let mut world = World::new(limits, plans);
            for step in steps {
                let unseen = matches!(step, Step::GiveBackUnseen(_));
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
