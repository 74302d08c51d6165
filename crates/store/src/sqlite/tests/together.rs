//! Several threads on one store.

use std::thread;

use super::*;
use crate::{Secrets, Tokens};

const EACH: u64 = 8;

#[test]
fn secrets_activations_and_tokens() {
    let mut fixture = Fixture::new();
    let store = fixture.store();
    thread::scope(|scope| {
        for thread in 0..4 {
            scope.spawn(move || {
                for n in 0..EACH {
                    store.set_secret(&shop(), &format!("S{thread}_{n}"), &format!("{thread}/{n}")).unwrap();
                    store.set_secret(&shop(), "SHARED", &thread.to_string()).unwrap();
                    store.activate(&shop(), &VersionName::new(format!("{thread}.0.{n}"))).unwrap();
                    store.add_token(&shop(), "x").unwrap();
                    assert!(store.active(&shop()).unwrap().is_some());
                }
            });
        }
    });
    fixture.reopen();
    let secrets = fixture.store().secrets(&shop()).unwrap();
    assert_eq!(secrets.len() as u64, 4 * EACH + 1);
    for (name, value) in secrets.iter().filter(|(name, _)| name != "SHARED") {
        assert_eq!(*name, format!("S{}", value.replace('/', "_")));
    }
    assert_eq!(fixture.store().tokens(&shop()).unwrap().len() as u64, 4 * EACH);
    assert_eq!(fixture.store().history(&shop()).unwrap().len() as u64, 4 * EACH);
}

#[test]
fn uploads_rollbacks_and_sweeps() {
    let fixture = Fixture::new();
    fixture.upload("1.0.0", "first");
    fixture.activate("1.0.0");
    let store = fixture.store();
    thread::scope(|scope| {
        for thread in 0..3 {
            let fixture = &fixture;
            scope.spawn(move || {
                for n in 0..8 {
                    let unpacked = fixture.unpack(&format!("{thread} {n}"));
                    store.publish(unpacked, deployment("shop", "1.0.0")).unwrap();
                    if n % 3 == 0 {
                        store.rollback(&shop()).unwrap();
                    }
                    store.sweep_folders(&[]).unwrap();
                }
            });
        }
    });
    let all = fixture.store().revisions(&shop(), &VersionName::new("1.0.0")).unwrap();
    for deployment in &all {
        assert!(!fixture.text(deployment).is_empty(), "what is recorded is there");
    }
    assert_eq!(fixture.active(), Some(release("1.0.0", fixture.current("1.0.0"))));
    store.sweep_folders(&[]).unwrap();
    assert_eq!(fixture.folders().len(), all.len());
}
