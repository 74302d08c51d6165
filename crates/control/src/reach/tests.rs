#![allow(clippy::unwrap_used)]

use std::os::unix::fs::symlink;

use tempfile::TempDir;

use super::*;

/// `apps/one/index.js`, and a data folder where the test wants it.
fn place(data: &str) -> (TempDir, PathBuf, Reach) {
    let temp = tempfile::tempdir().unwrap();
    let top = temp.path().canonicalize().unwrap();
    for folder in ["apps/one", "elsewhere/two", "elsewhere/three", &format!("{data}/apps")] {
        fs::create_dir_all(top.join(folder)).unwrap();
        fs::write(top.join(folder).join("index.js"), "").unwrap();
    }
    symlink(top.join("elsewhere/two"), top.join("apps/two")).unwrap();
    let reach = Reach::new(&[top.join("apps")], &top.join(data), &top.join(data).join("apps"));
    (temp, top, reach)
}

#[test]
fn what_is_served_uploaded_or_linked_can_be_reached_and_nothing_else() {
    let (_temp, top, mut reach) = place("data");
    assert_eq!(reach.folders(), ["apps", "data/apps", "elsewhere/two"].map(|name| top.join(name)));
    for covered in ["apps/one", "apps/new", "data/apps/x@1.0.0+r1", "elsewhere/two"] {
        assert!(reach.covers(&top.join(covered)), "{covered}");
    }
    for beyond in ["elsewhere/three", "data", "data/uploads", "elsewhere"] {
        assert!(!reach.covers(&top.join(beyond)), "{beyond}");
    }
    let (old, new) = (top.join("apps/one"), top.join("elsewhere/three"));
    assert_eq!(reach.grow([old.as_path()]), Growth::None);
    assert_eq!(reach.grow([old.as_path(), new.as_path()]), Growth::Some);
    assert_eq!(reach.grow([new.as_path()]), Growth::None);
}

#[test]
fn the_data_folder_is_beyond_reach_also_within_a_served_one() {
    let (_temp, top, mut reach) = place("apps/.hearth");
    fs::write(top.join("apps/.hearth/secret.key"), "").unwrap();
    assert!(reach.covers(&top.join("apps/one")) && reach.covers(&top.join("apps/.hearth/apps/x")));
    assert!(!reach.covers(&top.join("apps/.hearth/secret.key")));
    assert!(reach.folders().iter().all(|folder| !top.join("apps/.hearth/secret.key").starts_with(folder)));
    // A folder around it is covered when all beside it is.
    assert!(reach.covers(&top.join("apps")));
    // What is new beside it needs another cell.
    fs::create_dir(top.join("apps/new")).unwrap();
    assert_eq!(reach.grow([top.join("apps/new").as_path()]), Growth::Some);
    assert!(reach.covers(&top.join("apps/new")));
}

#[test]
fn a_folder_that_was_replaced_is_another() {
    let (_temp, top, mut reach) = place("data");
    fs::rename(top.join("apps"), top.join("before")).unwrap();
    fs::create_dir_all(top.join("apps/one")).unwrap();
    assert!(!reach.covers(&top.join("apps/one")));
    assert_eq!(reach.grow([top.join("apps/one").as_path()]), Growth::Some);
    assert!(reach.covers(&top.join("apps/one")));
}
