//! Random schedules: spares are taken, spoil and are resized, boots are slow, fail and panic, time passes. After every step
//! there are never too many, and the sums hold; in the end, stopped at any moment, nothing is left.

use proptest::prelude::*;

use super::*;

#[derive(Clone, Debug)]
enum Step {
    Take,
    Spoil(usize),
    Resize(usize),
    Pass(u64),
    /// Lets tasks run, but no time pass.
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
        6 => (0..3000u64).prop_map(|millis| Plan::Boot(Duration::from_millis(millis))),
        2 => (0..3000u64).prop_map(|millis| Plan::Fail(Duration::from_millis(millis))),
        1 => Just(Plan::Panic),
    ];
    prop::collection::vec(plan, 0..60)
}

async fn run(boots: usize, plans: Vec<Plan>, steps: Vec<Step>) {
    let plant = Plant::default();
    plant.plan(plans);
    let rules = FillerRules { boots, interval: SECOND * 3, max_age: Some(SECOND * 20), ..RULES };
    let filler = Filler::start(plant.clone(), rules);
    // Boots under way when `min` is lowered may bring more than is wanted.
    let mut most = rules.min;
    for step in steps {
        match step {
            Step::Take => drop(filler.take()),
            Step::Spoil(which) => plant.spoil(which % (plant.begun() + 1)),
            Step::Resize(min) => {
                filler.resize(min);
                most = most.max(min);
            }
            Step::Pass(millis) => pass(Duration::from_millis(millis)).await,
            Step::Yield => tokio::task::yield_now().await,
        }
        let stats = filler.stats();
        assert!(stats.adds_up(), "{stats:?}");
        assert!(stats.ready + stats.booting <= most, "{stats:?}");
        assert!(stats.booting <= boots && plant.0.running.load(Ordering::SeqCst) <= boots, "{stats:?}");
    }
    let mut stopped = Held::new({
        let yard = filler.yard.clone();
        async move {
            yard.stop();
            yard.stopped().await;
        }
    });
    let begun = plant.begun();
    let _ = stopped.poll();
    pass(SECOND * 60).await;
    assert!(stopped.poll().is_some());
    assert_eq!(plant.begun(), begun, "no boot begins after the stop");
    let stats = filler.stats();
    assert!(stats.adds_up());
    assert_eq!((stats.ready, stats.booting), (0, 0));
    assert_eq!(stats.discarded as usize, plant.discarded().len());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_filler_never_has_too_many_and_its_sums_hold(boots in 1..4usize, plans in plans(), steps in steps()) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        runtime.block_on(run(boots, plans, steps));
    }
}
