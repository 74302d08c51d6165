//! Uploaded versions: revisions, folders, deletion.

use std::fs;

use super::*;
use crate::{RevisionState, StoreError};

#[test]
fn a_published_version_is_found() {
    let mut fixture = Fixture::new();
    let made = fixture.upload("1.0.0", "hello");
    assert_eq!((made.revision, made.files, made.size.bytes()), (Revision(1), 1, 5));
    assert_eq!((made.owner.as_str(), made.state), ("acme", RevisionState::Current));
    assert_eq!(made.folder, PathBuf::from("apps/shop@1.0.0+r1"));
    assert_eq!(fixture.text(&made), "hello");
    assert!(names(&fixture.data().join("uploads")).is_empty(), "nothing is left where it was unpacked");
    fixture.reopen();
    assert_eq!(fixture.store().deployments().unwrap(), std::slice::from_ref(&made));
    assert_eq!(fixture.text(&made), "hello");
}

#[test]
fn scoped_names_have_folders_too() {
    let fixture = Fixture::new();
    let made = fixture.store().publish(fixture.unpack("x"), deployment("@acme/shop", "1.0.0+b")).unwrap();
    assert_eq!(made.folder, PathBuf::from("apps/@acme+shop@1.0.0+b+r1"));
    assert_eq!(fixture.text(&made), "x");
}

#[test]
fn invalid_names_change_nothing() {
    let fixture = Fixture::new();
    let bad = fixture.store().publish(fixture.unpack("x"), deployment("../shop", "1.0.0"));
    assert!(matches!(bad, Err(StoreError::AppName { .. })));
    let bad = fixture.store().publish(fixture.unpack("x"), deployment("shop", "1/../../2"));
    assert!(matches!(bad, Err(StoreError::VersionName { .. })));
    assert!(fixture.folders().is_empty() && names(&fixture.data().join("uploads")).is_empty());
}

#[test]
fn a_name_belongs_to_its_first_owner_until_all_of_it_is_deleted() {
    let fixture = Fixture::new();
    let app = AppName::new("shop");
    assert_eq!(fixture.store().owner(&app).unwrap(), None);
    fixture.upload("1.0.0", "hello");
    let theirs = |version| NewDeployment { owner: Owner::new("mallory"), ..deployment("shop", version) };
    for version in ["1.0.0", "2.0.0"] {
        let error = fixture.store().publish(fixture.unpack("x"), theirs(version)).unwrap_err().to_string();
        assert!(error.contains("belongs to acme, not to mallory: upload it as owner=acme"), "{error}");
    }
    assert_eq!(fixture.revisions("1.0.0"), [1]);
    assert_eq!(fixture.store().owner(&app).unwrap(), Some(Owner::new("acme")));
    fixture.store().delete_version(&app, &VersionName::new("1.0.0")).unwrap();
    assert!(fixture.store().publish(fixture.unpack("x"), theirs("1.0.0")).is_ok());
}

#[test]
fn the_same_version_again_is_a_new_revision() {
    let fixture = Fixture::new();
    let one = fixture.upload("1.0.0", "one");
    let two = fixture.upload("1.0.0", "two");
    let same = fixture.upload("1.0.0", "two");
    assert!(one.hash != two.hash && two.hash == same.hash);
    assert_eq!(fixture.revisions("1.0.0"), [3, 2, 1]);
    assert_eq!(fixture.current("1.0.0"), 3);
    assert_eq!((fixture.text(&one).as_str(), fixture.text(&two).as_str()), ("one", "two"), "the old ones stay");
}

#[test]
fn five_revisions_are_kept_and_folders_go_when_swept() {
    let fixture = Fixture::new();
    let first = fixture.upload("1.0.0", "1");
    for n in 2..=8 {
        fixture.upload("1.0.0", &n.to_string());
    }
    fixture.upload("1.0.1", "other");
    assert_eq!(fixture.revisions("1.0.0"), [8, 7, 6, 5, 4]);
    assert_eq!(fixture.text(&first), "1", "a worker may still run it");
    let whole = fixture.store().path(&first.folder);
    let mut swept = fixture.store().sweep_folders(&[whole, PathBuf::from("apps/shop@1.0.0+r2")]).unwrap();
    swept.sort();
    assert_eq!(swept, [PathBuf::from("apps/shop@1.0.0+r3")]);
    assert_eq!(fixture.store().sweep_folders(&[]).unwrap().len(), 2);
    assert_eq!(fixture.folders().len(), 6);
    assert!(fixture.store().sweep_folders(&[]).unwrap().is_empty());
    assert!(names(&fixture.data().join("uploads")).is_empty());
}

#[test]
fn a_rolled_back_revision_survives_the_next_upload() {
    let fixture = Fixture::new();
    for n in 1..=5 {
        fixture.upload("1.0.0", &n.to_string());
        fixture.activate("1.0.0");
    }
    for n in [4, 3, 2, 1] {
        assert_eq!(fixture.rollback(), Some(release("1.0.0", n)));
    }
    fixture.upload("1.0.0", "6");
    assert_eq!(fixture.revisions("1.0.0"), [6, 5, 4, 3, 2, 1]);
    assert_eq!(fixture.rollback(), Some(release("1.0.0", 1)));
    fixture.upload("1.0.0", "7");
    fixture.upload("1.0.0", "8");
    assert_eq!(fixture.revisions("1.0.0"), [8, 7, 6, 5, 4]);
    assert_eq!(fixture.rollback(), Some(release("1.0.0", 7)));
    assert_eq!(fixture.rollback(), None, "1 is pruned");
}

#[test]
fn a_deleted_version_is_gone_and_its_numbers_are_not_reused() {
    let fixture = Fixture::new();
    fixture.upload("1.0.0", "one");
    let kept = fixture.upload("2.0.0", "two");
    let deleted = fixture.store().delete_version(&shop(), &VersionName::new("1.0.0")).unwrap();
    assert_eq!(deleted.revisions.len(), 1);
    assert_eq!(fixture.store().deployments().unwrap(), [kept]);
    assert_eq!(fixture.folders().len(), 2);
    let again = fixture.upload("1.0.0", "anew");
    assert_eq!(again.revision, Revision(2));
    fixture.store().sweep_folders(&[]).unwrap();
    assert_eq!(fixture.folders(), ["shop@1.0.0+r2", "shop@2.0.0+r1"]);
}

#[test]
fn a_missing_version_cannot_be_deleted() {
    let fixture = Fixture::new();
    fixture.upload("1.0.0", "one");
    for version in ["2.0.0", "1.0.0 "] {
        let error = fixture.store().delete_version(&shop(), &VersionName::new(version)).unwrap_err();
        assert!(matches!(error, StoreError::NoVersion { .. }), "{error}");
    }
    let version = VersionName::new("1.0.0");
    fixture.store().delete_version(&shop(), &version).unwrap();
    let error = fixture.store().delete_version(&shop(), &version).unwrap_err();
    assert_eq!(error.to_string(), "shop@1.0.0 was never uploaded, or is deleted already");
}

#[test]
fn a_folder_that_a_crash_left_is_replaced() {
    let mut fixture = Fixture::new();
    let left = fixture.data().join("apps/shop@1.0.0+r1");
    fs::create_dir_all(left.join("half")).unwrap();
    let tmp = fixture.data().join("uploads/tmp-left");
    fs::create_dir_all(tmp.join("root/deep")).unwrap();
    fs::write(fixture.data().join("uploads/tmp-file"), "x").unwrap();
    fs::write(fixture.data().join("uploads/note.txt"), "not ours").unwrap();
    fixture.reopen();
    assert_eq!(names(&fixture.data().join("uploads")), ["note.txt"]);
    let made = fixture.upload("1.0.0", "whole");
    assert_eq!(fixture.text(&made), "whole");
    assert_eq!(names(&left), ["index.js"]);
    fs::create_dir_all(fixture.data().join("apps/shop@1.0.0+r2")).unwrap();
    assert_eq!(fixture.store().sweep_folders(&[]).unwrap(), [PathBuf::from("apps/shop@1.0.0+r2")]);
}

#[test]
fn files_added_before_publishing_are_published() {
    let fixture = Fixture::new();
    let unpacked = fixture.unpack("x");
    fs::create_dir_all(unpacked.folder().join("node_modules/a")).unwrap();
    // More files than are synced one by one.
    for n in 0..100 {
        fs::write(unpacked.folder().join(format!("node_modules/a/{n}.js")), "y").unwrap();
    }
    let made = fixture.store().publish(unpacked, deployment("shop", "1.0.0")).unwrap();
    assert_eq!(names(&fixture.store().path(&made.folder).join("node_modules/a")).len(), 100);
    assert_eq!(made.files, 1);
}

#[test]
fn a_failed_publication_changes_nothing() {
    let fixture = Fixture::new();
    fixture.upload("1.0.0", "one");
    // A folder cannot replace a file.
    let obstacle = fixture.data().join("apps/shop@1.0.0+r2");
    fs::write(&obstacle, "x").unwrap();
    let error = fixture.store().publish(fixture.unpack("two"), deployment("shop", "1.0.0")).unwrap_err();
    assert!(matches!(&error, StoreError::Io { path, .. } if *path == obstacle), "{error}");
    assert_eq!((fixture.current("1.0.0"), fixture.revisions("1.0.0")), (1, vec![1]));
    assert!(names(&fixture.data().join("uploads")).is_empty());
    fs::remove_file(obstacle).unwrap();
    assert_eq!(fixture.upload("1.0.0", "two").revision, Revision(2));
}
