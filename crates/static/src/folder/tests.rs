#![allow(clippy::unwrap_used)]
use std::fs;
use std::os::unix::fs::symlink;

use tempfile::TempDir;

use super::*;

/// A folder `site`, with a secret beside it that must stay unreachable.
fn tree() -> (TempDir, PathBuf) {
    let temp = tempfile::tempdir().unwrap();
    let site = temp.path().join("site");
    fs::create_dir_all(site.join("a/b")).unwrap();
    fs::write(site.join("top.txt"), "top").unwrap();
    fs::write(site.join("a/b/deep.txt"), "deep").unwrap();
    fs::create_dir(temp.path().join("secret")).unwrap();
    fs::write(temp.path().join("secret/key.txt"), "secret").unwrap();
    fs::create_dir(temp.path().join("site-too")).unwrap();
    fs::write(temp.path().join("site-too/key.txt"), "secret").unwrap();
    (temp, site)
}

/// What a walk finds: a file's content, `/` for a folder, `-` for nothing.
fn find(folder: &Folder, path: &str) -> String {
    match folder.walk().descend(path.split('/').filter(|name| !name.is_empty())).unwrap() {
        Located::File(found) => io::read_to_string(found.open().unwrap()).unwrap(),
        Located::Folder => "/".to_owned(),
        Located::Nothing => "-".to_owned(),
    }
}

#[test]
fn files_and_folders_are_distinguished() {
    let (_temp, site) = tree();
    let folder = Folder::open(&site).unwrap();
    for (path, found) in [
        ("", "/"),
        ("top.txt", "top"),
        ("a", "/"),
        ("a/b", "/"),
        ("a/b/deep.txt", "deep"),
        ("a/b/none", "-"),
        ("none/deep.txt", "-"),
        ("top.txt/x", "-"),
        ("..", "-"),
        ("../secret/key.txt", "-"),
    ] {
        assert_eq!(find(&folder, path), found, "{path}");
    }
    assert_eq!(find(&folder, &"x".repeat(300)), "-");
}

#[test]
fn links_stay_inside() {
    let (temp, site) = tree();
    for (name, target) in [
        ("in", "a/b/deep.txt"),
        ("in-folder", "a/b"),
        ("a/up", "../top.txt"),
        ("a/b/up-up", "../../a/./b/deep.txt"),
        ("chain", "in"),
        ("out", "../secret/key.txt"),
        ("out-folder", "../secret"),
        ("a/out", "../../secret/key.txt"),
        ("back", "../site/top.txt"),
        ("far", "../../../../../../../../etc/hostname"),
        ("system", "/etc/hostname"),
        ("root", "/"),
        ("loop", "loop"),
        ("ping", "pong"),
        ("pong", "ping"),
        ("dangling", "none"),
        ("chain-out", "out-folder"),
        ("through", "top.txt/../top.txt"),
    ] {
        symlink(target, site.join(name)).unwrap();
    }
    symlink(site.canonicalize().unwrap().join("a/b"), site.join("absolute")).unwrap();
    symlink(site.canonicalize().unwrap().join("a/../../secret/key.txt"), site.join("absolute-out")).unwrap();
    symlink(temp.path().canonicalize().unwrap().join("site-too"), site.join("absolute-too")).unwrap();
    let folder = Folder::open(&site).unwrap();
    for (path, found) in [
        ("in", "deep"),
        ("in-folder", "/"),
        ("in-folder/deep.txt", "deep"),
        ("a/up", "top"),
        ("a/b/up-up", "deep"),
        ("in-folder/up-up", "deep"),
        ("chain", "deep"),
        ("absolute/deep.txt", "deep"),
        ("out", "-"),
        ("out-folder", "-"),
        ("out-folder/key.txt", "-"),
        ("a/out", "-"),
        ("back", "-"),
        ("far", "-"),
        ("system", "-"),
        ("root/etc/hostname", "-"),
        ("loop", "-"),
        ("loop/x", "-"),
        ("ping", "-"),
        ("dangling", "-"),
        ("chain-out/key.txt", "-"),
        ("through", "-"),
        ("absolute-out", "-"),
        ("absolute-too/key.txt", "-"),
    ] {
        assert_eq!(find(&folder, path), found, "{path}");
    }
}

#[test]
fn only_regular_files_are_found() {
    let (_temp, site) = tree();
    rustix::fs::mknodat(rustix::fs::CWD, site.join("pipe"), FileType::Fifo, Mode::from_raw_mode(0o644), 0).unwrap();
    let _listener = std::os::unix::net::UnixListener::bind(site.join("socket")).unwrap();
    symlink("pipe", site.join("to-pipe")).unwrap();
    let folder = Folder::open(&site).unwrap();
    for path in ["pipe", "to-pipe", "socket", "pipe/x"] {
        assert_eq!(find(&folder, path), "-", "{path}");
    }
}

#[test]
fn a_file_whose_type_changes_is_not_opened() {
    let (_temp, site) = tree();
    let folder = Folder::open(&site).unwrap();
    let found = || match folder.walk().descend(["top.txt"].into_iter()).unwrap() {
        Located::File(found) => found,
        _ => unreachable!("it is a file"),
    };
    let (before_link, before_pipe, before_other) = (found(), found(), found());
    fs::write(site.join("other"), "other").unwrap();
    fs::rename(site.join("other"), site.join("top.txt")).unwrap();
    assert!(before_other.open().is_err(), "another file");
    fs::remove_file(site.join("top.txt")).unwrap();
    symlink("../secret/key.txt", site.join("top.txt")).unwrap();
    assert!(before_link.open().is_err(), "a link");
    fs::remove_file(site.join("top.txt")).unwrap();
    rustix::fs::mknodat(rustix::fs::CWD, site.join("top.txt"), FileType::Fifo, Mode::from_raw_mode(0o644), 0).unwrap();
    assert!(before_pipe.open().is_err(), "a pipe, which must not block either");
}

#[test]
fn the_folder_is_the_one_that_was_opened() {
    let (temp, site) = tree();
    let folder = Folder::open(&site).unwrap();
    fs::rename(&site, temp.path().join("moved")).unwrap();
    symlink("secret", &site).unwrap();
    assert_eq!(find(&folder, "top.txt"), "top");
    assert_eq!(find(&folder, "key.txt"), "-");
    assert!(Folder::open(&temp.path().join("none")).is_err());
    assert!(Folder::open(&temp.path().join("moved/top.txt")).is_err());
}
