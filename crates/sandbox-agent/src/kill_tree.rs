//! Kills a process and all its descendants, and processes whose command has ended.
//!
//! A descendant has a descendant as parent, or is in a session that a descendant leads, or has the
//! exec's mark in its initial environment. So a process that forked twice, or began a session of
//! its own, is found, too; one that also cleared its environment is not: it is unowned, and killed
//! when no exec runs that can have started it.

use std::collections::HashSet;

use hearth_sys::procfs::{self, ProcStat};
use nix::errno::Errno;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::child::ChildId;

/// The variable of the mark.
const MARK: &str = "HEARTH_EXEC";

/// Rounds in which new descendants are searched. A tree that outgrows that is a fork bomb.
const MAX_ROUNDS: usize = 20;

/// The mark of a child's processes: the agent's own pid and the child's id, so that two agents
/// never take each other's processes for their own.
pub fn mark(key: ChildId) -> (String, String) {
    (MARK.to_owned(), format!("{}.{}", std::process::id(), key.0))
}

/// Kills `root` (which may be gone already) and its descendants. A tree that grows faster than it
/// is killed takes everything else in the sandbox with it, except the agent.
pub fn kill_tree(root: Option<Pid>, key: ChildId) {
    let (name, value) = mark(key);
    let mark = format!("{name}={value}");
    let mut killed = HashSet::new();
    for _ in 0..MAX_ROUNDS {
        let mut found = victims(root, &mark);
        // Killed processes may need a moment to be gone.
        found.retain(|victim| killed.insert(*victim));
        if found.is_empty() {
            return;
        }
        // Stopped first: a stopped process starts nothing new.
        for signal in [Signal::SIGSTOP, Signal::SIGKILL] {
            for victim in &found {
                let _ = kill(Pid::from_raw(*victim as i32), signal);
            }
        }
    }
    // From the first process of a pid namespace this reaches all other processes in it; from any
    // other, foreign ones.
    if std::process::id() == 1 {
        while kill(Pid::from_raw(-1), Signal::SIGKILL) == Err(Errno::EINTR) {}
    }
}

/// Whether that process descends from the child's.
pub fn contains(root: Option<Pid>, key: ChildId, process: u32) -> bool {
    let (name, value) = mark(key);
    victims(root, &format!("{name}={value}")).contains(&process)
}

/// Whether there is any process beside these. Reads names only: at the end of most execs there is
/// none.
pub fn is_any_beside(known: &[Pid]) -> bool {
    let own = std::process::id();
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let mut ids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    ids.any(|id| id != own && !known.iter().any(|pid| pid.as_raw() as u32 == id))
}

/// Kills processes that belong to none of `children`, do not descend from `helpers`, and are older
/// than all `busy` children, so that none of them can have started them. Only as the first process
/// of a pid namespace; elsewhere they may be foreign.
pub fn kill_unowned(children: &[(ChildId, Pid)], busy: &[Pid], helpers: &[Pid]) {
    if std::process::id() != 1 {
        return;
    }
    let all: Vec<ProcStat> = procfs::processes().filter(|process| process.id != 1).collect();
    let born =
        |pid: &Pid| all.iter().find(|process| process.id == pid.as_raw() as u32).map(|process| process.start_ticks);
    let since = busy.iter().filter_map(born).min().unwrap_or(u64::MAX);
    let mut known: HashSet<u32> = helpers.iter().map(|pid| pid.as_raw() as u32).collect();
    for (key, pid) in children {
        let (name, value) = mark(*key);
        known.insert(pid.as_raw() as u32);
        known.extend(victims(Some(*pid), &format!("{name}={value}")));
    }
    // A helper's fork may be a child whose pid is not reported yet.
    let is_helpers = |process: &ProcStat| helpers.iter().any(|pid| process.parent == pid.as_raw() as u32);
    for stranger in all.iter().filter(|process| process.is_alive() && process.start_ticks < since) {
        if !known.contains(&stranger.id) && !is_helpers(stranger) {
            let _ = kill(Pid::from_raw(stranger.id as i32), Signal::SIGKILL);
        }
    }
}

fn victims(root: Option<Pid>, mark: &str) -> Vec<u32> {
    // All but the agent.
    let processes: Vec<ProcStat> =
        procfs::processes().filter(|process| process.id != 1 && process.id != std::process::id()).collect();
    let mut tree: HashSet<u32> = root.iter().map(|pid| pid.as_raw() as u32).collect();
    for process in &processes {
        if has_mark(process.id, mark) {
            tree.insert(process.id);
        }
    }
    // Parents are not always listed before their children.
    loop {
        let before = tree.len();
        for process in &processes {
            if tree.contains(&process.parent) || process.session.is_some_and(|leader| tree.contains(&leader)) {
                tree.insert(process.id);
            }
        }
        if tree.len() == before {
            break;
        }
    }
    processes
        .iter()
        .filter(|process| process.is_alive() && tree.contains(&process.id))
        .map(|process| process.id)
        .collect()
}

fn has_mark(pid: u32, mark: &str) -> bool {
    std::fs::read(format!("/proc/{pid}/environ"))
        .is_ok_and(|environment| environment.split(|byte| *byte == 0).any(|variable| variable == mark.as_bytes()))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const KEY: ChildId = ChildId(4_000_000_001);

    #[test]
    fn a_process_name_that_is_not_text_is_no_hiding_place() {
        let (name, value) = mark(ChildId(4_000_000_002));
        let mut child = std::process::Command::new("sh")
            .args(["-c", "printf '\\377) Z 1' > /proc/self/comm; echo started; sleep 1000; :"])
            .env(&name, &value)
            .stdout(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = [0; 8];
        std::io::Read::read_exact(child.stdout.as_mut().unwrap(), &mut line).unwrap();
        let found = victims(None, &format!("{name}={value}"));
        kill_tree(Some(Pid::from_raw(child.id() as i32)), ChildId(4_000_000_002));
        child.wait().unwrap();
        assert!(found.contains(&child.id()), "{found:?}");
    }

    #[test]
    fn a_session_of_its_own_and_an_orphan_are_found_by_mark_and_parent() {
        let mut child = std::process::Command::new("sh")
            .args(["-c", "setsid sleep 1000 & sleep 1000 & echo started; wait"])
            .env(MARK, mark(KEY).1)
            .stdout(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = [0; 8];
        std::io::Read::read_exact(child.stdout.as_mut().unwrap(), &mut line).unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
        // Its shell is gone: both are orphans now, one in another session.
        kill_tree(None, KEY);
        // Killed processes need a moment to be gone.
        let deadline = std::time::Instant::now() + std::time::Duration::from_secs(60);
        while !victims(None, &format!("{MARK}={}", mark(KEY).1)).is_empty() {
            assert!(std::time::Instant::now() < deadline, "a descendant outlived the end of its tree");
            std::thread::yield_now();
        }
    }
}
