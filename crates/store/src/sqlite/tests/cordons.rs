//! Cordoned owners.

use super::*;
use crate::{Cordon, Cordons};

fn cordon(owner: &str, until: Option<u64>) -> Cordon {
    let known = vec!["shop@1.0.0 abc".to_owned(), "shop@2.0.0 def".to_owned()];
    Cordon { owner: Owner::new(owner), why: "crashed".to_owned(), since: 1_700_000_000_000, known, losses: 3, until }
}

#[test]
fn cordoned_owners_are_the_same_after_a_restart() {
    let mut fixture = Fixture::new();
    assert_eq!(fixture.store().cordons().unwrap(), []);
    let (ann, bob) = (cordon("ann", Some(1_700_000_060_000)), cordon("bob", None));
    fixture.store().keep_cordons(&[bob.clone(), ann.clone()]).unwrap();
    fixture.reopen();
    assert_eq!(fixture.store().cordons().unwrap(), [ann, bob.clone()]);
    let nothing_served = Cordon { known: Vec::new(), ..bob };
    fixture.store().keep_cordons(std::slice::from_ref(&nothing_served)).unwrap();
    fixture.reopen();
    assert_eq!(fixture.store().cordons().unwrap(), [nothing_served]);
    fixture.store().keep_cordons(&[]).unwrap();
    assert_eq!(fixture.store().cordons().unwrap(), []);
}

#[test]
fn a_store_from_before_cordons_is_migrated() {
    let mut fixture = Fixture::new();
    fixture.activate("1.0.0");
    fixture.close();
    let old = rusqlite::Connection::open(fixture.data().join("hearth.db")).unwrap();
    old.execute_batch("DROP TABLE cordons; PRAGMA user_version = 1").unwrap();
    drop(old);
    fixture.reopen();
    assert_eq!(fixture.active(), Some(served("1.0.0")));
    fixture.store().keep_cordons(&[cordon("ann", None)]).unwrap();
    assert_eq!(fixture.store().cordons().unwrap().len(), 1);
}
