//! Random schedules: spares are taken and become unusable, the pool is resized, creations are slow, fail and panic, time passes. After every step
//! there are never too many, and the sums hold; in the end, stopped at any moment, nothing is left.

use proptest::prelude::*;

use super::*;

#[derive(Clone, Debug)]
enum Step {
    Take,
    Spoil(usize),
    Resize(usize),
    Pass(u64),
    /// Lets tasks run without time passing.
    Yield,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        5 => Just(Step::Take),
        2 => any::<usize>().prop_map(Step::Spoil),
        1 => (0..5usize).prop_map(Step::Resize),
        4 => (0..4000u64).prop_map(Step::Pass),
        2 => Just(Step::Yield),
    ];
    prop::collection::vec(step, 0..80)
}

fn plans() -> impl Strategy<Value = Vec<Plan>> {
    let plan = prop_oneof![
        6 => (0..3000u64).prop_map(|millis| Plan::Create(Duration::from_millis(millis))),
        2 => (0..3000u64).prop_map(|millis| Plan::Fail(Duration::from_millis(millis))),
        1 => Just(Plan::Panic),
    ];
    prop::collection::vec(plan, 0..60)
}

async fn run(concurrency: usize, plans: Vec<Plan>, steps: Vec<Step>) {
    let factory = TestFactory::default();
    factory.plan(plans);
    let config = SparePoolConfig { concurrency, interval: SECOND * 3, max_age: Some(SECOND * 20), ..CONFIG };
    let pool = SparePool::start(factory.clone(), config);
    // Creations under way when the target is lowered may exceed it.
    let mut most = config.target;
    for step in steps {
        match step {
            Step::Take => drop(pool.take()),
            Step::Spoil(which) => factory.spoil(which % (factory.begun() + 1)),
            Step::Resize(target) => {
                pool.resize(target);
                most = most.max(target);
            }
            Step::Pass(millis) => advance(Duration::from_millis(millis)).await,
            Step::Yield => tokio::task::yield_now().await,
        }
        let stats = pool.stats();
        assert!(stats.adds_up(), "{stats:?}");
        assert!(stats.ready + stats.creating <= most, "{stats:?}");
        assert!(stats.creating <= concurrency && factory.0.running.load(Ordering::SeqCst) <= concurrency, "{stats:?}");
    }
    let mut stopped = Polled::new({
        let state = pool.state.clone();
        async move {
            state.stop();
            state.stopped().await;
        }
    });
    let begun = factory.begun();
    let _ = stopped.poll();
    advance(SECOND * 60).await;
    assert!(stopped.poll().is_some());
    assert_eq!(factory.begun(), begun, "no creation begins after the stop");
    let stats = pool.stats();
    assert!(stats.adds_up());
    assert_eq!((stats.ready, stats.creating), (0, 0));
    assert_eq!(stats.discarded as usize, factory.discarded().len());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_spare_pool_never_has_too_many_and_its_sums_hold(concurrency in 1..4usize, plans in plans(), steps in steps()) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        runtime.block_on(run(concurrency, plans, steps));
    }
}
