//! Ends a process and all its descendants, and processes whose command has ended.
//!
//! A descendant is what has such a parent, or is in a session that such a one leads, or carries the exec's mark in the
//! environment that it was started with. So what forked twice, or began a session of its own, is found too; only what also
//! threw away its environment is not: it is a stranger, and ends when nothing runs any more that can have started it.

use std::collections::HashSet;

use hearth_jail::procfs::{self, ProcStat};
use nix::errno::Errno;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::body::BodyKey;

/// The name of the mark, a variable.
const MARK: &str = "HEARTH_EXEC";

/// So often it is looked again for those that were born meanwhile. What outgrows that is a fork bomb.
const ROUNDS: usize = 20;

/// What the processes of a body carry: the agent's own number and the body's, so that two agents never take each other's
/// processes for their own.
pub fn mark(key: BodyKey) -> (String, String) {
    (MARK.to_owned(), format!("{}.{}", std::process::id(), key.0))
}

/// Kills `root` (which may be gone already) and what descends from it. A tree that grows faster than it is killed takes
/// everything else in the sandbox with it, but the agent.
pub fn kill_tree(root: Option<Pid>, key: BodyKey) {
    let (name, value) = mark(key);
    let mark = format!("{name}={value}");
    let mut killed = HashSet::new();
    for _ in 0..ROUNDS {
        let mut found = victims(root, &mark);
        // Those that are killed already may need a moment to be gone.
        found.retain(|victim| killed.insert(*victim));
        if found.is_empty() {
            return;
        }
        // Stopped first: what does not run starts nothing new.
        for signal in [Signal::SIGSTOP, Signal::SIGKILL] {
            for victim in &found {
                let _ = kill(Pid::from_raw(*victim as i32), signal);
            }
        }
    }
    // From the first process of a namespace this reaches all processes in it but itself; from any other, strangers.
    if std::process::id() == 1 {
        while kill(Pid::from_raw(-1), Signal::SIGKILL) == Err(Errno::EINTR) {}
    }
}

/// Whether that process descends from the body's.
pub fn holds(root: Option<Pid>, key: BodyKey, process: u32) -> bool {
    let (name, value) = mark(key);
    victims(root, &format!("{name}={value}")).contains(&process)
}

/// Whether there is any process beside these. Looks at names only: at the end of most execs there is none.
pub fn is_any_beside(known: &[Pid]) -> bool {
    let own = std::process::id();
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let mut ids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    ids.any(|id| id != own && !known.iter().any(|pid| pid.as_raw() as u32 == id))
}

/// Kills those that belong to none of `bodies`, nor descend from `helpers`, and are older than all of `bodies` that are
/// `busy`: no other can have started them. From the first process of a namespace only; elsewhere other programs may have started them.
pub fn kill_strangers(bodies: &[(BodyKey, Pid)], busy: &[Pid], helpers: &[Pid]) {
    if std::process::id() != 1 {
        return;
    }
    let all: Vec<ProcStat> = procfs::processes().filter(|process| process.id != 1).collect();
    let born =
        |pid: &Pid| all.iter().find(|process| process.id == pid.as_raw() as u32).map(|process| process.start_ticks);
    let since = busy.iter().filter_map(born).min().unwrap_or(u64::MAX);
    let mut known: HashSet<u32> = helpers.iter().map(|pid| pid.as_raw() as u32).collect();
    for (key, pid) in bodies {
        let (name, value) = mark(*key);
        known.insert(pid.as_raw() as u32);
        known.extend(victims(Some(*pid), &format!("{name}={value}")));
    }
    // What a helper has forked is a body whose number is on its way.
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
        if carries(process.id, mark) {
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

fn carries(pid: u32, mark: &str) -> bool {
    std::fs::read(format!("/proc/{pid}/environ"))
        .is_ok_and(|environment| environment.split(|byte| *byte == 0).any(|variable| variable == mark.as_bytes()))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const KEY: BodyKey = BodyKey(4_000_000_001);

    #[test]
    fn a_name_that_is_no_text_hides_nobody() {
        let (name, value) = mark(BodyKey(4_000_000_002));
        let mut child = std::process::Command::new("sh")
            .args(["-c", "printf '\\377) Z 1' > /proc/self/comm; echo started; sleep 1000; :"])
            .env(&name, &value)
            .stdout(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = [0; 8];
        std::io::Read::read_exact(child.stdout.as_mut().unwrap(), &mut line).unwrap();
        let found = victims(None, &format!("{name}={value}"));
        kill_tree(Some(Pid::from_raw(child.id() as i32)), BodyKey(4_000_000_002));
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
        // What is killed needs a moment to be gone.
        let patience = std::time::Instant::now() + std::time::Duration::from_secs(60);
        while !victims(None, &format!("{MARK}={}", mark(KEY).1)).is_empty() {
            assert!(std::time::Instant::now() < patience, "a descendant outlived the end of its tree");
            std::thread::yield_now();
        }
    }
}
