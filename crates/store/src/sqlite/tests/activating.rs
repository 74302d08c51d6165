//! Activations and their roll-back.

use super::*;

#[test]
fn nothing_is_active_at_first() {
    let fixture = Fixture::new();
    assert_eq!(fixture.active(), None);
    assert_eq!(fixture.rollback(), None);
    assert!(fixture.store().activations().unwrap().is_empty());
}

#[test]
fn versions_in_folders_are_activated_and_rolled_back() {
    let fixture = Fixture::new();
    assert_eq!(fixture.activate("1.0.0"), served("1.0.0"));
    fixture.activate("2.0.0");
    fixture.activate("2.0.0");
    fixture.activate("3.0.0");
    assert_eq!(fixture.active(), Some(served("3.0.0")));
    assert_eq!(fixture.rollback(), Some(served("2.0.0")));
    assert_eq!(fixture.rollback(), Some(served("1.0.0")), "the same again is no change");
    assert_eq!(fixture.rollback(), None);
    assert_eq!(fixture.active(), Some(served("1.0.0")), "the last stays");
}

#[test]
fn apps_are_independent() {
    let fixture = Fixture::new();
    let other = AppName::new("@acme/blog");
    fixture.activate("1.0.0");
    fixture.store().activate(&other, &VersionName::new("9.0.0")).unwrap();
    fixture.activate("2.0.0");
    assert_eq!(fixture.store().rollback(&other).unwrap(), None);
    let all = fixture.store().activations().unwrap();
    let all: Vec<_> = all.iter().map(|a| (a.app.as_str(), a.release.clone())).collect();
    assert_eq!(all, [("@acme/blog", served("9.0.0")), ("shop", served("2.0.0"))]);
}

#[test]
fn an_upload_of_the_active_version_is_rolled_back_to_the_previous_revision() {
    let fixture = Fixture::new();
    fixture.upload("1.0.0", "one");
    assert_eq!(fixture.activate("1.0.0"), release("1.0.0", 1));
    fixture.upload("1.0.0", "two");
    assert_eq!(fixture.active(), Some(release("1.0.0", 2)));
    assert_eq!(fixture.rollback(), Some(release("1.0.0", 1)));
    assert_eq!((fixture.active(), fixture.current("1.0.0")), (Some(release("1.0.0", 1)), 1));
    assert_eq!(fixture.rollback(), None);
    assert_eq!(fixture.upload("1.0.0", "three").revision, Revision(3), "numbers are not used again");
    assert_eq!(fixture.rollback(), Some(release("1.0.0", 1)));
}

#[test]
fn a_roll_back_restores_the_recorded_revision() {
    let fixture = Fixture::new();
    fixture.upload("1.0.0", "one");
    fixture.activate("1.0.0");
    fixture.upload("2.0.0", "two");
    fixture.activate("2.0.0");
    // This upload happens while another version is active, so it is no change of the bare name.
    fixture.upload("1.0.0", "one, again");
    assert_eq!(fixture.active(), Some(release("2.0.0", 1)));
    assert_eq!(fixture.rollback(), Some(release("1.0.0", 1)));
    assert_eq!(fixture.current("1.0.0"), 1);
}

#[test]
fn without_activation_the_last_upload_is_undone() {
    let fixture = Fixture::new();
    fixture.upload("2.0.0", "other");
    for text in ["one", "two", "three"] {
        fixture.upload("1.0.0", text);
    }
    assert_eq!(fixture.rollback(), Some(release("1.0.0", 2)));
    assert_eq!(fixture.rollback(), Some(release("1.0.0", 1)));
    assert_eq!(fixture.rollback(), None);
    assert_eq!((fixture.current("1.0.0"), fixture.active()), (1, None), "nothing was activated by that");
    fixture.upload("1.0.0", "four");
    assert_eq!(fixture.rollback(), Some(release("1.0.0", 1)), "what it replaced, not what was undone before");
    fixture.upload("2.0.1", "first of its version");
    assert_eq!(fixture.rollback(), None, "it replaced nothing");
}

#[test]
fn deleting_the_active_version_returns_to_the_previous_one() {
    let fixture = Fixture::new();
    fixture.upload("1.0.0", "one");
    fixture.upload("2.0.0", "two");
    fixture.activate("1.0.0");
    fixture.activate("2.0.0");
    fixture.upload("1.0.0", "one, again");
    let deleted = fixture.store().delete_version(&shop(), &VersionName::new("2.0.0")).unwrap();
    assert_eq!(deleted.active, Some(release("1.0.0", 2)), "in its newest revision");
    assert_eq!(fixture.active(), deleted.active);
    assert_eq!(fixture.rollback(), Some(release("1.0.0", 1)));
    let deleted = fixture.store().delete_version(&shop(), &VersionName::new("1.0.0")).unwrap();
    assert_eq!((deleted.active, deleted.revisions.len()), (None, 2));
    assert_eq!(fixture.rollback(), None);
}

#[test]
fn a_deletion_leaves_no_repeated_changes() {
    let fixture = Fixture::new();
    fixture.upload("2.0.0", "two");
    for version in ["0.9.0", "1.0.0", "2.0.0", "1.0.0"] {
        fixture.activate(version);
    }
    fixture.store().delete_version(&shop(), &VersionName::new("2.0.0")).unwrap();
    assert_eq!(fixture.rollback(), Some(served("0.9.0")));
}

#[test]
fn history_is_bounded_and_newest_first() {
    let fixture = Fixture::new();
    for n in 0..52 {
        fixture.activate(&format!("1.0.{n}"));
    }
    let history = fixture.store().history(&shop()).unwrap();
    assert_eq!((history.len(), &history[0].release), (50, &served("1.0.51")));
    assert_eq!(history[49].release, served("1.0.2"));
}
