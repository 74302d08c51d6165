//! States in which a store can be opened: empty, locked by another server, damaged, after a crash.

use std::fs;

use super::*;
use crate::{Deployments, Secrets, Store, StoreError};

fn opened(data: &Path) -> Result<SqliteStore, StoreError> {
    SqliteStore::open(data)
}

fn error(data: &Path) -> StoreError {
    opened(data).err().unwrap()
}

#[test]
fn a_second_server_is_refused() {
    let mut fixture = Fixture::new();
    let error = error(&fixture.data());
    assert!(matches!(&error, StoreError::InUse { holder: Some(id), .. } if *id == std::process::id()), "{error}");
    assert!(error.to_string().ends_with("stop it, or choose another folder with --data"), "{error}");
    fixture.close();
    fixture.reopen();
}

#[test]
fn without_room_for_a_shared_index_records_are_read_and_written() {
    let mut fixture = Fixture::new();
    let made = fixture.upload("1.0.0", "hello");
    fixture.close();
    // As on a full disk, the file beside the database cannot be created.
    std::os::unix::fs::symlink("/nowhere/at/all", fixture.data().join("hearth.db-shm")).unwrap();
    fixture.reopen();
    assert_eq!(fixture.store().deployments().unwrap(), std::slice::from_ref(&made));
    assert!(
        matches!(fixture.store().warnings(), [crate::KeyFileWarning::NoRoom { .. }]),
        "{:?}",
        fixture.store().warnings()
    );
    fixture.upload("2.0.0", "again");
    fixture.close();
    fs::remove_file(fixture.data().join("hearth.db-shm")).unwrap();
    fixture.reopen();
    assert_eq!(fixture.store().deployments().unwrap().len(), 2);
    assert!(fixture.store().warnings().is_empty());
}

#[test]
fn an_unwritable_folder_gives_an_empty_store_that_refuses_changes() {
    // No user can create a folder there.
    let (store, app) = (opened(Path::new("/sys/hearth-store-test")).unwrap(), AppName::from("a".to_owned()));
    assert!(matches!(store.warnings(), [crate::KeyFileWarning::Unavailable { .. }]), "{:?}", store.warnings());
    assert!(store.deployments().unwrap().is_empty() && store.secret_names(&app).unwrap().is_empty());
    let refused = [store.check_available(), store.set_secret(&app, "NAME", "value")];
    for refused in refused {
        let error = refused.unwrap_err();
        assert!(matches!(&error, StoreError::Unavailable { .. }), "{error}");
        assert!(error.to_string().contains("nothing can be kept in /sys/hearth-store-test"), "{error}");
    }
}

#[test]
fn a_folder_with_a_store_is_not_taken_for_an_empty_one() {
    let mut fixture = Fixture::new();
    fixture.upload("1.0.0", "hello");
    fixture.close();
    assert!(!super::super::holds_no_store(&fixture.data()));
    assert!(super::super::holds_no_store(&fixture.data().join("other")));
}

#[test]
fn a_created_folder_is_private() {
    use std::os::unix::fs::PermissionsExt;
    let temp = tempfile::tempdir().unwrap();
    let data = temp.path().join("a/b");
    let store = opened(&data).unwrap();
    assert_eq!(fs::metadata(store.data()).unwrap().permissions().mode() & 0o777, 0o700);
    assert!(store.data().is_absolute());
    let modes = || {
        fs::read_dir(&data)
            .unwrap()
            .map(|entry| entry.unwrap())
            .filter(|entry| entry.file_name().to_str().unwrap().starts_with("hearth.db"))
            .map(|entry| entry.metadata().unwrap().permissions().mode() & 0o777)
            .collect::<Vec<_>>()
    };
    assert!(!modes().is_empty() && modes().iter().all(|mode| *mode == 0o600), "{:?}", modes());
    drop(store);
    // A database with an older, wider mode.
    fs::set_permissions(data.join("hearth.db"), fs::Permissions::from_mode(0o644)).unwrap();
    let _store = opened(&data).unwrap();
    assert!(modes().iter().all(|mode| *mode == 0o600), "{:?}", modes());
}

#[test]
fn a_file_that_is_no_database_is_named_and_left_unchanged() {
    let mut fixture = Fixture::new();
    fixture.close();
    let path = fixture.data().join("hearth.db");
    for garbage in [b"not a database, and long enough to be read as one".repeat(100), vec![0xff; 5000]] {
        fs::write(&path, &garbage).unwrap();
        let error = error(&fixture.data());
        assert!(matches!(&error, StoreError::Corrupt { .. }), "{error}");
        let text = error.to_string();
        assert!(text.contains("hearth.db is damaged") && text.contains("put a backup in its place"), "{text}");
        assert_eq!(fs::read(&path).unwrap(), garbage);
    }
}

#[test]
fn damage_is_found_before_anything_is_written() {
    let mut fixture = Fixture::new();
    for n in 0..20 {
        fixture.store().set_secret(&shop(), &format!("S{n}"), &"x".repeat(10_000)).unwrap();
    }
    fixture.close();
    let path = fixture.data().join("hearth.db");
    let whole = fs::read(&path).unwrap();
    assert!(whole.len() > 20 * 4096);
    let mut damaged = whole.clone();
    // Damages the tables' pages, not the first one.
    damaged[4096 * 4..4096 * 12].fill(0xa5);
    fs::write(&path, &damaged).unwrap();
    let error = error(&fixture.data());
    assert!(matches!(&error, StoreError::Corrupt { .. }), "{error}");
    assert_eq!(fs::read(&path).unwrap(), damaged);
    fs::write(&path, &whole[..whole.len() / 2]).unwrap();
    assert!(matches!(opened(&fixture.data()), Err(StoreError::Corrupt { .. })));
    fs::write(&path, whole).unwrap();
    fixture.reopen();
    assert_eq!(fixture.store().secrets(&shop()).unwrap().len(), 20);
}

#[test]
fn databases_of_other_programs_and_newer_versions_are_left_unchanged() {
    let temp = tempfile::tempdir().unwrap();
    let path = temp.path().join("hearth.db");
    let sql = |sql: &str| rusqlite::Connection::open(&path).unwrap().execute_batch(sql).unwrap();
    sql("CREATE TABLE mine (x)");
    let before = fs::read(&path).unwrap();
    let foreign = error(temp.path());
    assert!(matches!(&foreign, StoreError::Foreign { .. }), "{foreign}");
    assert_eq!(fs::read(&path).unwrap(), before);
    fs::remove_file(&path).unwrap();
    drop(opened(temp.path()).unwrap());
    sql("PRAGMA user_version = 99");
    let newer = error(temp.path());
    assert!(matches!(&newer, StoreError::Newer { found: 99, known: 2, .. }), "{newer}");
    sql("PRAGMA user_version = 2");
    opened(temp.path()).unwrap();
}

/// A copy of DATA while it is in use: the state after a power cut at this moment.
fn snapshot(fixture: &Fixture) -> TempDir {
    fn copy(from: &Path, to: &Path) {
        fs::create_dir_all(to).unwrap();
        for name in names(from) {
            let (from, to) = (from.join(&name), to.join(&name));
            // The index of the WAL is shared memory, not state.
            if from.is_dir() {
                copy(&from, &to);
            } else if name != "hearth.db-shm" {
                fs::copy(&from, &to).unwrap();
            }
        }
    }
    let temp = tempfile::tempdir().unwrap();
    copy(&fixture.data(), temp.path());
    temp
}

#[test]
fn reported_changes_survive_a_crash() {
    let fixture = Fixture::new();
    let made = fixture.upload("1.0.0", "one");
    fixture.activate("1.0.0");
    fixture.store().set_secret(&shop(), "A", "one").unwrap();
    let held = fixture.unpack("never published");
    let crashed = snapshot(&fixture);
    drop(held);
    assert!(crashed.path().join("hearth.db-wal").metadata().unwrap().len() > 0, "nothing was closed");
    assert_eq!(names(&crashed.path().join("uploads")).len(), 1);
    let store: Box<dyn Store> = Box::new(opened(crashed.path()).unwrap());
    assert_eq!(store.active(&shop()).unwrap(), Some(release("1.0.0", 1)));
    assert_eq!(store.secrets(&shop()).unwrap(), [("A".into(), "one".into())]);
    assert_eq!(store.deployments().unwrap(), std::slice::from_ref(&made));
    assert_eq!(fs::read_to_string(store.path(&made.folder).join("index.js")).unwrap(), "one");
    assert!(names(&crashed.path().join("uploads")).is_empty());
}

#[test]
fn a_truncated_wal_gives_an_earlier_state() {
    let fixture = Fixture::new();
    for n in 0..30 {
        fixture.activate(&format!("1.0.{n}"));
    }
    let crashed = snapshot(&fixture);
    let log = fs::read(crashed.path().join("hearth.db-wal")).unwrap();
    let main = fs::read(crashed.path().join("hearth.db")).unwrap();
    let mut last = 0;
    for part in 1..=12 {
        for name in names(crashed.path()).iter().filter(|name| name.starts_with("hearth.db")) {
            fs::remove_file(crashed.path().join(name)).unwrap();
        }
        fs::write(crashed.path().join("hearth.db"), &main).unwrap();
        fs::write(crashed.path().join("hearth.db-wal"), &log[..log.len() * part / 12]).unwrap();
        let store = opened(crashed.path()).unwrap();
        let history = store.history(&shop()).unwrap();
        assert!(history.len() >= last, "{} after {last}", history.len());
        last = history.len();
        // Every state is one that existed: versions up to some number, without gaps.
        for (at, activation) in history.iter().rev().enumerate() {
            assert_eq!(activation.release, served(&format!("1.0.{at}")));
        }
    }
    assert_eq!(last, 30);
}
