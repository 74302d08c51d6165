//! Secrets and their key.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use super::*;
use crate::{KeyFileWarning, Secrets, StoreError};

#[test]
fn set_read_and_deleted() {
    let mut fixture = Fixture::new();
    let store = fixture.store();
    store.set_secret(&shop(), "B", "two").unwrap();
    store.set_secret(&shop(), "A", "one").unwrap();
    store.set_secret(&shop(), "B", "zwei ✓\n").unwrap();
    store.set_secret(&AppName::new("blog"), "A", "other").unwrap();
    assert_eq!(store.secret_names(&shop()).unwrap(), ["A", "B"]);
    fixture.reopen();
    let store = fixture.store();
    assert_eq!(store.secrets(&shop()).unwrap(), [("A".into(), "one".into()), ("B".into(), "zwei ✓\n".into())]);
    store.delete_secret(&shop(), "A").unwrap();
    let error = store.delete_secret(&shop(), "A").unwrap_err();
    assert_eq!(error.to_string(), "shop has no secret A");
    assert_eq!(store.secret_names(&shop()).unwrap(), ["B"]);
    assert_eq!(store.secrets(&AppName::new("none")).unwrap(), []);
}

#[test]
fn invalid_secrets_are_refused() {
    let fixture = Fixture::new();
    for (name, value) in [("1A", "x".to_owned()), ("A", "x".repeat((64 << 10) + 1))] {
        assert!(matches!(fixture.store().set_secret(&shop(), name, &value), Err(StoreError::Secret(_))));
    }
    fixture.store().set_secret(&shop(), "A", &"x".repeat(64 << 10)).unwrap();
    assert_eq!(fixture.store().secrets(&shop()).unwrap()[0].1.len(), 64 << 10);
}

#[test]
fn no_value_is_on_disk_in_the_clear() {
    let mut fixture = Fixture::new();
    fixture.store().set_secret(&shop(), "KEY", "a-value-that-is-long-enough-to-find").unwrap();
    let holds = |needle: &str| {
        names(&fixture.data()).iter().filter(|n| n.starts_with("hearth.db")).any(|name| {
            let bytes = fs::read(fixture.data().join(name)).unwrap();
            bytes.windows(needle.len()).any(|window| window == needle.as_bytes())
        })
    };
    assert!(holds("KEY"), "the test would find it");
    assert!(!holds("a-value-that-is-long-enough-to-find"));
    fixture.reopen();
}

#[test]
fn swapped_and_modified_rows_are_detected() {
    let mut fixture = Fixture::new();
    fixture.store().set_secret(&shop(), "A", "one").unwrap();
    fixture.store().set_secret(&AppName::new("blog"), "A", "two").unwrap();
    fixture.close();
    let tamper =
        |sql: &str| rusqlite::Connection::open(fixture.data().join("hearth.db")).unwrap().execute_batch(sql).unwrap();
    tamper(
        "UPDATE secrets SET (nonce, value) = (SELECT nonce, value FROM secrets WHERE app = 'blog') WHERE app = 'shop'",
    );
    fixture.reopen();
    let error = fixture.store().secrets(&shop()).unwrap_err();
    assert_eq!(error.to_string(), "the secret A of shop is damaged: set it anew");
    assert_eq!(fixture.store().secrets(&AppName::new("blog")).unwrap()[0].1, "two");
    fixture.store().set_secret(&shop(), "A", "anew").unwrap();
    assert_eq!(fixture.store().secrets(&shop()).unwrap()[0].1, "anew");
}

#[test]
fn the_key_is_private_and_a_readable_one_gives_a_warning() {
    let mut fixture = Fixture::new();
    let key = fixture.data().join("secret.key");
    assert_eq!(fs::metadata(&key).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(fs::read_to_string(&key).unwrap().trim().len(), 64);
    assert!(fixture.store().warnings().is_empty());
    fs::set_permissions(&key, fs::Permissions::from_mode(0o640)).unwrap();
    fixture.reopen();
    let warnings = fixture.store().warnings();
    assert!(matches!(warnings, [KeyFileWarning::ReadableByOthers { mode: 0o640, .. }]), "{warnings:?}");
}

#[test]
fn a_missing_key_is_an_error_only_if_secrets_need_it() {
    let mut fixture = Fixture::new();
    let key = fixture.data().join("secret.key");
    fixture.close();
    fs::remove_file(&key).unwrap();
    fixture.reopen();
    fixture.store().set_secret(&shop(), "A", "one").unwrap();
    fixture.close();
    let right = fs::read(&key).unwrap();
    fs::remove_file(&key).unwrap();
    let error = SqliteStore::open(&fixture.data()).err().unwrap();
    assert!(matches!(&error, StoreError::KeyMissing { secrets: 1, .. }), "{error}");
    assert!(error.to_string().contains("secret.key is missing, and 1 secrets"), "{error}");
    assert!(!key.exists(), "no other key is put in its place");
    fs::write(&key, right).unwrap();
    fixture.reopen();
    assert_eq!(fixture.store().secrets(&shop()).unwrap()[0].1, "one");
}

#[test]
fn a_wrong_key_is_detected_before_it_is_used() {
    let mut fixture = Fixture::new();
    let key = fixture.data().join("secret.key");
    fixture.store().set_secret(&shop(), "A", "one").unwrap();
    fixture.close();
    let right = fs::read(&key).unwrap();
    fs::write(&key, "0".repeat(64)).unwrap();
    assert!(matches!(SqliteStore::open(&fixture.data()), Err(StoreError::KeyWrong { secrets: 1, .. })));
    for malformed in ["0".repeat(63), "x".repeat(64), "words".to_owned()] {
        fs::write(&key, malformed).unwrap();
        assert!(matches!(SqliteStore::open(&fixture.data()), Err(StoreError::KeyMalformed { .. })));
    }
    fs::write(&key, "").unwrap();
    assert!(matches!(SqliteStore::open(&fixture.data()), Err(StoreError::KeyEmpty { .. })));
    fs::write(&key, right).unwrap();
    fixture.reopen();
    assert_eq!(fixture.store().secrets(&shop()).unwrap()[0].1, "one");
}
