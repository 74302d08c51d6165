//! Changes on a real disk. Each wait ends with the event; the timeout of a minute is only for
//! failures.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tempfile::TempDir;
use tokio::time::timeout;

use super::inotify::{Drained, Watches, drain};
use super::scan::{Scan, Scope, Verdict};
use super::*;

fn write(root: &Path, file: &str, text: &str) {
    let path = root.join(file);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn root() -> TempDir {
    let root = tempfile::tempdir().unwrap();
    write(root.path(), "hello/1.0.0/index.ts", "1");
    write(root.path(), "hello/1.0.0/node_modules/hono/index.js", "hono");
    write(root.path(), "hello/1.0.0/.git/HEAD", "1");
    root
}

fn polling() -> WatchRules {
    WatchRules { means: Means::Polling, poll: Duration::from_millis(20), ..WatchRules::default() }
}

async fn told(watch: &mut Watch) {
    timeout(Duration::from_secs(60), watch.changed()).await.expect("the change is told");
}

async fn check(rules: WatchRules) {
    let root = root();
    let path = root.path();
    let mut watch = Watch::start(vec![path.to_path_buf()], rules).await;
    write(path, "hello/1.0.0/index.ts", "22");
    told(&mut watch).await;
    write(path, "new/1.0.0/src/index.ts", "1");
    told(&mut watch).await;
    write(path, "new/1.0.0/src/index.ts", "222");
    told(&mut watch).await;
    fs::remove_dir_all(path.join("new")).unwrap();
    told(&mut watch).await;
    fs::rename(path.join("hello/1.0.0"), path.join("hello/2.0.0")).unwrap();
    told(&mut watch).await;
    write(path, "hello/2.0.0/index.ts", "4444");
    told(&mut watch).await;
}

#[tokio::test]
async fn changes_are_reported() {
    check(WatchRules::default()).await;
}

#[tokio::test]
async fn changes_are_reported_without_events() {
    check(polling()).await;
}

#[tokio::test]
async fn roots_may_come_and_go() {
    for rules in [WatchRules::default(), polling()] {
        let parent = tempfile::tempdir().unwrap();
        let path = parent.path().join("apps");
        let mut watch = Watch::start(vec![path.clone(), parent.path().join("none")], rules).await;
        write(&path, "a/index.ts", "1");
        told(&mut watch).await;
        write(&path, "a/index.ts", "22");
        told(&mut watch).await;
        fs::rename(&path, parent.path().join("away")).unwrap();
        told(&mut watch).await;
        write(&path, "a/index.ts", "333");
        told(&mut watch).await;
        fs::remove_dir_all(&path).unwrap();
        told(&mut watch).await;
    }
}

#[tokio::test]
async fn a_root_that_is_a_link_may_be_redirected() {
    let parent = tempfile::tempdir().unwrap();
    write(parent.path(), "one/a/index.ts", "1");
    write(parent.path(), "two/a/index.ts", "1");
    let link = parent.path().join("apps");
    symlink("one", &link).unwrap();
    let mut watch = Watch::start(vec![link.clone()], WatchRules::default()).await;
    fs::remove_file(&link).unwrap();
    symlink("two", &link).unwrap();
    told(&mut watch).await;
    write(parent.path(), "two/a/index.ts", "22");
    told(&mut watch).await;
}

#[tokio::test]
async fn apps_that_are_links_are_watched() {
    let outside = tempfile::tempdir().unwrap();
    write(outside.path(), "app/src/index.ts", "1");
    let root = tempfile::tempdir().unwrap();
    fs::create_dir(root.path().join("@acme")).unwrap();
    symlink(outside.path().join("app"), root.path().join("linked")).unwrap();
    let mut watch = Watch::start(vec![root.path().to_path_buf()], WatchRules::default()).await;
    write(outside.path(), "app/src/index.ts", "22");
    told(&mut watch).await;
    fs::remove_file(root.path().join("linked")).unwrap();
    told(&mut watch).await;
    symlink(outside.path().join("app"), root.path().join("@acme/linked")).unwrap();
    told(&mut watch).await;
    write(outside.path(), "app/src/index.ts", "333");
    told(&mut watch).await;
}

/// A scan with events, all of its folders watched.
fn surveyed(root: &Path) -> (Scan, std::sync::Arc<std::os::fd::OwnedFd>) {
    let watches = Watches::new().unwrap();
    let queue = watches.queue();
    let mut scan = Scan::new(vec![root.to_path_buf()], Some(watches));
    assert_eq!(scan.scan(Scope::All), Verdict::Changed);
    assert_eq!(scan.scan(Scope::All), Verdict::Same);
    assert_eq!(scan.scan(Scope::Doubtful), Verdict::Same);
    (scan, queue)
}

#[test]
fn only_relevant_events_count() {
    let root = root();
    let (_survey, queue) = surveyed(root.path());
    let drained = || drain(&queue).unwrap();
    assert_eq!(drained(), Drained::Nothing);

    fs::read(root.path().join("hello/1.0.0/index.ts")).unwrap();
    write(root.path(), "hello/1.0.0/node_modules/hono/index.js", "changed");
    write(root.path(), "hello/1.0.0/.git/HEAD", "2");
    write(root.path(), "hello/1.0.0/.index.ts.swp", "");
    write(root.path(), "hello/.cache/x", "");
    assert_eq!(drained(), Drained::Nothing);

    write(root.path(), "hello/1.0.0/.env", "A=1");
    assert_eq!(drained(), Drained::Change);
    assert_eq!(drained(), Drained::Nothing);
    fs::create_dir(root.path().join("hello/1.0.0/node_modules/zod")).unwrap();
    assert_eq!(drained(), Drained::Change);
    fs::create_dir(root.path().join("hello/2.0.0")).unwrap();
    assert_eq!(drained(), Drained::Change);
    fs::remove_dir_all(root.path()).unwrap();
    assert_eq!(drained(), Drained::Change);
}

#[test]
fn a_flood_is_a_change_and_ends() {
    let root = root();
    let (_survey, queue) = surveyed(root.path());
    let limit = fs::read_to_string("/proc/sys/fs/inotify/max_queued_events").unwrap_or_default();
    let limit: usize = limit.trim().parse().unwrap_or(16_384);
    // More than the queue holds, if that is possible in reasonable time; each causes several
    // events.
    for n in 0..limit.min(20_000) / 2 {
        fs::write(root.path().join(format!("hello/{}", n % 2)), "").unwrap();
    }
    let mut drained = drain(&queue).unwrap();
    assert_ne!(drained, Drained::Nothing);
    while drained == Drained::More {
        drained = drain(&queue).unwrap();
    }
    assert_eq!(drain(&queue).unwrap(), Drained::Nothing);
    fs::write(root.path().join("hello/0"), "after").unwrap();
    assert_eq!(drain(&queue).unwrap(), Drained::Change);
}

/// Changes that the comparison finds although every event was lost.
#[test]
fn folders_are_compared() {
    let root = root();
    let (mut scan, queue) = surveyed(root.path());
    write(root.path(), "hello/3.0.0/index.ts", "1");
    assert_eq!(scan.scan(Scope::All), Verdict::Changed);
    assert_eq!(scan.scan(Scope::All), Verdict::Same);
    drain(&queue).unwrap();
    write(root.path(), "hello/3.0.0/index.ts", "22");
    assert_eq!(drain(&queue).unwrap(), Drained::Change);
    // As if a file was added or removed, independent of the clock's resolution.
    let folder = fs::File::open(root.path().join("hello/3.0.0")).unwrap();
    folder.set_modified(std::time::SystemTime::UNIX_EPOCH).unwrap();
    assert_eq!(scan.scan(Scope::All), Verdict::Changed);
    fs::write(root.path().join("hello/1.0.0/node_modules/hono/index.js"), "deep").unwrap();
    assert_eq!(scan.scan(Scope::All), Verdict::Same);
}

#[test]
fn folders_that_left_the_root_are_no_longer_watched() {
    let (root, outside) = (root(), tempfile::tempdir().unwrap());
    let (mut scan, queue) = surveyed(root.path());
    fs::rename(root.path().join("hello/1.0.0"), outside.path().join("away")).unwrap();
    assert_eq!(scan.scan(Scope::All), Verdict::Changed);
    drain(&queue).unwrap();
    fs::write(outside.path().join("away/index.ts"), "22").unwrap();
    assert_eq!(drain(&queue).unwrap(), Drained::Nothing);
}

#[test]
fn without_events_files_are_compared() {
    let root = root();
    let mut scan = Scan::new(vec![root.path().to_path_buf(), PathBuf::from("none")], None);
    scan.scan(Scope::All);
    assert_eq!(scan.scan(Scope::Doubtful), Verdict::Same);
    write(root.path(), "hello/1.0.0/index.ts", "22");
    assert_eq!(scan.scan(Scope::Doubtful), Verdict::Changed);
    write(root.path(), "hello/1.0.0/.git/HEAD", "22");
    write(root.path(), "hello/1.0.0/node_modules/hono/index.js", "22");
    assert_eq!(scan.scan(Scope::Doubtful), Verdict::Same);
}
