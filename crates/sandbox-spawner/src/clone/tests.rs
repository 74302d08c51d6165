//! Spawned into a control group of version two. Those of version one are entered by every sandbox of the sandboxes' tests where
//! the machine has such.

use std::fs::File;
use std::path::PathBuf;

use super::*;

/// Where groups of version two can be made, which needs a right to.
fn folder() -> Option<PathBuf> {
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap();
    let mount = mounts.lines().find(|line| line.contains(" - cgroup2 "))?;
    let folder = PathBuf::from(mount.split(' ').nth(4)?).join(format!("hearth-birth.{}", std::process::id()));
    fs::create_dir(&folder).ok()?;
    Some(folder)
}

#[test]
fn a_child_is_born_in_its_group() {
    let Some(folder) = folder() else {
        eprintln!("no group of version two can be made here");
        return;
    };
    let group = File::open(&folder).unwrap();
    // SAFETY: the child does nothing but wait for its end, which needs nothing of this process's memory.
    let born = unsafe { clone(0, Some(group.as_fd())) }.unwrap();
    let Some((pid, pidfd)) = born else {
        loop {
            // SAFETY: only waits.
            unsafe { libc::pause() };
        }
    };
    let inside = fs::read_to_string(folder.join("cgroup.procs"));
    kill_and_wait(&pidfd);
    // SAFETY: takes numbers, and waits for the child that was just made.
    unsafe { libc::waitpid(pid, std::ptr::null_mut(), 0) };
    fs::remove_dir(&folder).unwrap();
    assert_eq!(inside.unwrap(), format!("{pid}\n"));
}

#[test]
fn the_wait_for_a_process_that_stays_has_an_end() {
    // SAFETY: the child does nothing but wait for its end, which needs nothing of this process's memory.
    let Some((pid, pidfd)) = unsafe { clone(0, None) }.unwrap() else {
        loop {
            // SAFETY: only waits.
            unsafe { libc::pause() };
        }
    };
    assert!(!wait_for_end(&pidfd, Duration::from_millis(20)));
    kill_and_wait(&pidfd);
    assert!(wait_for_end(&pidfd, Duration::ZERO));
    // SAFETY: takes numbers, and waits for the child that was just made.
    unsafe { libc::waitpid(pid, std::ptr::null_mut(), 0) };
}
