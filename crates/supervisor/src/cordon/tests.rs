use std::path::PathBuf;

use hearth_config::Settings;
use hearth_core::{AppName, VersionName};
use hearth_ipc::Active;

use super::*;

fn spec(app: &str, owner: &str, identity: &str) -> VersionSpec {
    VersionSpec {
        app: AppName::new(app),
        version: VersionName::new("1.0.0"),
        owner: Owner::new(owner),
        identity: identity.to_owned(),
        folder: PathBuf::from("/apps").join(app),
        kind: Kind::Worker { entry: "index.js".into() },
        active: Active::Yes,
        hosts: Vec::new(),
        settings: Settings::default(),
        env: Vec::new(),
        tokens: Vec::new(),
        placement: Placement::Here,
    }
}

fn cordoned(cordons: &CordonRegistry, versions: &[VersionSpec]) -> Vec<(String, CordonReason)> {
    cordons.all(versions).into_iter().map(|(owner, (why, _))| (owner.to_string(), why)).collect()
}

#[test]
fn a_crashed_owner_is_cordoned_until_it_deploys_a_new_version() {
    let (ann, bob) = (Owner::new("ann"), Owner::new("bob"));
    let mut versions = vec![spec("shop", "ann", "1"), spec("blog", "bob", "1")];
    let mut cordons = CordonRegistry::new(OwnerIsolation::Shared, Vec::new(), BTreeMap::new());
    assert!(cordons.insert(&ann, CordonReason::Crashed, &versions, 5));
    assert!(!cordons.insert(&ann, CordonReason::Crashed, &versions, 6));
    assert_eq!(cordoned(&cordons, &versions), [("ann".to_owned(), CordonReason::Crashed)]);
    assert_eq!(cordons.release_changed(&versions), []);
    versions[1].identity = "2".to_owned();
    assert_eq!(cordons.release_changed(&versions), [], "a new version of bob does not release ann");
    versions[0].identity = "2".to_owned();
    assert_eq!(cordons.release_changed(&versions), [ann]);
    assert_eq!(cordons.release(&bob, &versions), Release::NotCordoned);
    assert!(cordoned(&cordons, &versions).is_empty());
}

#[test]
fn one_stuck_turn_is_tolerated_and_cordons_by_the_operator_stay() {
    let owner = Owner::new("ann");
    let mut versions = vec![spec("shop", "ann", "1")];
    let mut cordons = CordonRegistry::new(OwnerIsolation::Shared, Vec::new(), BTreeMap::new());
    assert!(!cordons.record_stuck(&owner));
    let mut next = CordonRegistry::new(OwnerIsolation::Shared, cordons.records(), cordons.stuck().clone());
    assert!(next.record_stuck(&owner), "the count survives an upgrade");
    assert!(cordons.record_stuck(&owner));
    cordons.insert(&owner, CordonReason::Operator, &versions, 0);
    versions[0].identity = "2".to_owned();
    assert_eq!(cordons.release_changed(&versions), []);
    assert_eq!(cordons.release(&owner, &versions), Release::Released);
    assert!(!cordons.record_stuck(&owner), "the count starts again");
}

#[test]
fn configured_owners_are_isolated_and_static_sites_are_not() {
    let mut versions = vec![spec("shop", "ann", "1"), spec("page", "bob", "1"), spec("blog", "cat", "1")];
    versions[0].settings.isolation = Isolation::Process;
    versions[1].settings.isolation = Isolation::Process;
    versions[1].kind = Kind::Site { index: "index.html".into() };
    let mut cordons = CordonRegistry::new(OwnerIsolation::Shared, Vec::new(), BTreeMap::new());
    assert_eq!(cordoned(&cordons, &versions), [("ann".to_owned(), CordonReason::Manifest)]);
    assert_eq!(cordons.release(&Owner::new("ann"), &versions), Release::Configured(CordonReason::Manifest));
    cordons.owners = OwnerIsolation::Separate;
    let all = [("ann".to_owned(), CordonReason::Manifest), ("cat".to_owned(), CordonReason::Configuration)];
    assert_eq!(cordoned(&cordons, &versions), all);
}

#[test]
fn cordons_survive_a_restart() {
    let (ann, bob) = (Owner::new("ann"), Owner::new("bob"));
    let mut versions = vec![spec("shop", "ann", "1"), spec("blog", "bob", "1")];
    let mut before = CordonRegistry::new(OwnerIsolation::Shared, Vec::new(), BTreeMap::new());
    before.insert(&ann, CordonReason::Stuck, &versions, 5);
    before.insert(&bob, CordonReason::Operator, &versions, 6);
    let failure = CordonFailure { losses: 3, until: Some(9) };
    before.record_failure(&ann, failure);
    let mut after = CordonRegistry::new(OwnerIsolation::Shared, before.records(), BTreeMap::new());
    assert_eq!(after.all(&versions), before.all(&versions));
    assert_eq!((after.failure(&ann), after.failure(&bob)), (failure, CordonFailure::default()));
    // After a restart a version may be seen as `Installing` first.
    let known = versions[0].clone();
    (versions[0].placement, versions[0].identity) = (Placement::Installing, String::new());
    assert_eq!(after.release_changed(&versions), []);
    versions[0] = known;
    assert_eq!(after.release_changed(&versions), []);
    (versions[0].identity, versions[1].identity) = ("2".to_owned(), "2".to_owned());
    assert_eq!(after.release_changed(&versions), [ann]);
    assert_eq!(after.records().len(), 1);
    let mut strange = after.records();
    strange[0].why = "unheard of".to_owned();
    assert_eq!(
        cordoned(&CordonRegistry::new(OwnerIsolation::Shared, strange, BTreeMap::new()), &versions),
        [("bob".to_owned(), CordonReason::Crashed)]
    );
}
