#![allow(clippy::unwrap_used)]

use std::os::unix::fs::symlink;

use tempfile::TempDir;

use super::*;

/// `apps/one/index.js`, and a data folder where the test wants it.
fn setup(data: &str) -> (TempDir, PathBuf, ReadablePaths) {
    let temp = tempfile::tempdir().unwrap();
    let top = temp.path().canonicalize().unwrap();
    for folder in ["apps/one", "elsewhere/two", "elsewhere/three", &format!("{data}/apps")] {
        fs::create_dir_all(top.join(folder)).unwrap();
        fs::write(top.join(folder).join("index.js"), "").unwrap();
    }
    symlink(top.join("elsewhere/two"), top.join("apps/two")).unwrap();
    let paths = ReadablePaths::new(&[top.join("apps")], &top.join(data), &top.join(data).join("apps"));
    (temp, top, paths)
}

#[test]
fn served_uploaded_and_linked_folders_are_readable_and_no_others() {
    let (_temp, top, mut paths) = setup("data");
    assert_eq!(paths.folders(), ["apps", "data/apps", "elsewhere/two"].map(|name| top.join(name)));
    for covered in ["apps/one", "apps/new", "data/apps/x@1.0.0+r1", "elsewhere/two"] {
        assert!(paths.covers(&top.join(covered)), "{covered}");
    }
    for outside in ["elsewhere/three", "data", "data/uploads", "elsewhere"] {
        assert!(!paths.covers(&top.join(outside)), "{outside}");
    }
    let (old, new) = (top.join("apps/one"), top.join("elsewhere/three"));
    assert!(!paths.grow([old.as_path()]));
    assert!(paths.grow([old.as_path(), new.as_path()]));
    assert!(!paths.grow([new.as_path()]));
}

#[test]
fn the_data_folder_is_not_readable_even_within_a_served_folder() {
    let (_temp, top, mut paths) = setup("apps/.hearth");
    fs::write(top.join("apps/.hearth/secret.key"), "").unwrap();
    assert!(paths.covers(&top.join("apps/one")) && paths.covers(&top.join("apps/.hearth/apps/x")));
    assert!(!paths.covers(&top.join("apps/.hearth/secret.key")));
    assert!(paths.folders().iter().all(|folder| !top.join("apps/.hearth/secret.key").starts_with(folder)));
    // A folder around the data folder is covered when everything beside the data is.
    assert!(paths.covers(&top.join("apps")));
    // A new folder beside it needs new cells.
    fs::create_dir(top.join("apps/new")).unwrap();
    assert!(paths.grow([top.join("apps/new").as_path()]));
    assert!(paths.covers(&top.join("apps/new")));
}

#[test]
fn a_replaced_folder_is_not_covered() {
    let (_temp, top, mut paths) = setup("data");
    fs::rename(top.join("apps"), top.join("before")).unwrap();
    fs::create_dir_all(top.join("apps/one")).unwrap();
    assert!(!paths.covers(&top.join("apps/one")));
    assert!(paths.grow([top.join("apps/one").as_path()]));
    assert!(paths.covers(&top.join("apps/one")));
}
