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

fn who(cordons: &Cordons, versions: &[VersionSpec]) -> Vec<(String, Why)> {
    cordons.all(versions).into_iter().map(|(owner, (why, _))| (owner.to_string(), why)).collect()
}

#[test]
fn who_crashed_is_shut_away_until_it_has_something_new() {
    let (ann, bob) = (Owner::new("ann"), Owner::new("bob"));
    let mut versions = vec![spec("shop", "ann", "1"), spec("blog", "bob", "1")];
    let mut cordons = Cordons::new(Owners::Together, Vec::new(), BTreeMap::new());
    assert!(cordons.shut_away(&ann, Why::Crashed, &versions, 5));
    assert!(!cordons.shut_away(&ann, Why::Crashed, &versions, 6));
    assert_eq!(who(&cordons, &versions), [("ann".to_owned(), Why::Crashed)]);
    assert_eq!(cordons.give_another_chance(&versions), []);
    versions[1].identity = "2".to_owned();
    assert_eq!(cordons.give_another_chance(&versions), [], "bob's news are not ann's");
    versions[0].identity = "2".to_owned();
    assert_eq!(cordons.give_another_chance(&versions), [ann]);
    assert_eq!(cordons.release(&bob, &versions), Release::NotShutAway);
    assert!(who(&cordons, &versions).is_empty());
}

#[test]
fn stuck_once_is_an_accident_and_what_the_operator_shut_away_stays() {
    let owner = Owner::new("ann");
    let mut versions = vec![spec("shop", "ann", "1")];
    let mut cordons = Cordons::new(Owners::Together, Vec::new(), BTreeMap::new());
    assert!(!cordons.note_stuck(&owner));
    let mut next = Cordons::new(Owners::Together, cordons.records(), cordons.stuck().clone());
    assert!(next.note_stuck(&owner), "the program after an upgrade knows of the first");
    assert!(cordons.note_stuck(&owner));
    cordons.shut_away(&owner, Why::Operator, &versions, 0);
    versions[0].identity = "2".to_owned();
    assert_eq!(cordons.give_another_chance(&versions), []);
    assert_eq!(cordons.release(&owner, &versions), Release::Released);
    assert!(!cordons.note_stuck(&owner), "counted anew");
}

#[test]
fn who_is_meant_to_be_alone_is_and_pages_run_no_code() {
    let mut versions = vec![spec("shop", "ann", "1"), spec("page", "bob", "1"), spec("blog", "cat", "1")];
    versions[0].settings.isolation = Isolation::Process;
    versions[1].settings.isolation = Isolation::Process;
    versions[1].kind = Kind::Site { index: "index.html".into() };
    let mut cordons = Cordons::new(Owners::Together, Vec::new(), BTreeMap::new());
    assert_eq!(who(&cordons, &versions), [("ann".to_owned(), Why::Manifest)]);
    assert_eq!(cordons.release(&Owner::new("ann"), &versions), Release::Meant(Why::Manifest));
    cordons.owners = Owners::Apart;
    let all = [("ann".to_owned(), Why::Manifest), ("cat".to_owned(), Why::Configuration)];
    assert_eq!(who(&cordons, &versions), all);
}

#[test]
fn who_is_shut_away_stays_so_in_the_next_program() {
    let (ann, bob) = (Owner::new("ann"), Owner::new("bob"));
    let mut versions = vec![spec("shop", "ann", "1"), spec("blog", "bob", "1")];
    let mut before = Cordons::new(Owners::Together, Vec::new(), BTreeMap::new());
    before.shut_away(&ann, Why::Stuck, &versions, 5);
    before.shut_away(&bob, Why::Operator, &versions, 6);
    let fall = Fall { losses: 3, until: Some(9) };
    before.note_fall(&ann, fall);
    let mut after = Cordons::new(Owners::Together, before.records(), BTreeMap::new());
    assert_eq!(after.all(&versions), before.all(&versions));
    assert_eq!((after.fall(&ann), after.fall(&bob)), (fall, Fall::default()));
    // The first that is known of an app may be that it is being installed.
    let known = versions[0].clone();
    (versions[0].placement, versions[0].identity) = (Placement::Installing, String::new());
    assert_eq!(after.give_another_chance(&versions), []);
    versions[0] = known;
    assert_eq!(after.give_another_chance(&versions), []);
    (versions[0].identity, versions[1].identity) = ("2".to_owned(), "2".to_owned());
    assert_eq!(after.give_another_chance(&versions), [ann]);
    assert_eq!(after.records().len(), 1);
    let mut strange = after.records();
    strange[0].why = "unheard of".to_owned();
    assert_eq!(
        who(&Cordons::new(Owners::Together, strange, BTreeMap::new()), &versions),
        [("bob".to_owned(), Why::Crashed)]
    );
}
