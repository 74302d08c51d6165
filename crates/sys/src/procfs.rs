//! Processes and threads as `/proc/PID/stat` describes them, one line each.
//!
//! The second field is the program's name in brackets. A process chooses its own name, in which spaces, brackets, line ends
//! and bytes that are not UTF-8 are all allowed. So the line is read as bytes, and parsing begins after the last bracket: a
//! process must not be able to hide by its name.

use std::fs;
use std::path::Path;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProcStat {
    pub id: u32,
    pub state: ProcState,
    /// 0 if the parent is outside of this pid namespace.
    pub parent: u32,
    /// The leader of its session; `None` while it is being reaped.
    pub session: Option<u32>,
    /// CPU time in user and system mode, in the kernel's ticks; for a process, of all its threads together.
    pub ticks: u64,
    /// When it began, in ticks since boot. Tells it from a later process with the same id.
    pub start_ticks: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProcState {
    /// Running, or waiting for a core.
    Running,
    /// Waiting for an event that may never come.
    Sleeping,
    /// Waiting for a disk or the like (uninterruptible).
    DiskSleep,
    /// Stopped by SIGSTOP or by a terminal.
    Stopped,
    /// Stopped by a tracer.
    Traced,
    /// Ended, and not yet reaped by its parent.
    Zombie,
}

/// All processes of this pid namespace. Those that end meanwhile may be left out.
pub fn processes() -> impl Iterator<Item = ProcStat> {
    read_all_in("/proc")
}

/// All threads of a process; none where it is gone.
pub fn threads(process: u32) -> impl Iterator<Item = ProcStat> {
    read_all_in(format!("/proc/{process}/task"))
}

fn read_all_in(folder: impl AsRef<Path>) -> impl Iterator<Item = ProcStat> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter_map(|entry| {
        let id = entry.file_name().to_str()?.parse().ok()?;
        ProcStat::parse(id, &fs::read(entry.path().join("stat")).ok()?)
    })
}

// === impl ProcStat ===

impl ProcStat {
    /// `None` if there is no such process.
    pub fn read(id: u32) -> Option<Self> {
        Self::parse(id, &fs::read(format!("/proc/{id}/stat")).ok()?)
    }

    /// Whether it has not ended yet.
    pub fn is_alive(&self) -> bool {
        self.state != ProcState::Zombie
    }

    /// `12 (name) S PARENT GROUP SESSION …`: proc_pid_stat(5) counts the state as the third field.
    fn parse(id: u32, line: &[u8]) -> Option<Self> {
        let name_end = line.iter().rposition(|byte| *byte == b')')?;
        let rest = std::str::from_utf8(&line[name_end + 1..]).ok()?;
        let mut fields = rest.split_ascii_whitespace();
        let state = ProcState::parse(fields.next()?);
        let parent = fields.next()?.parse().ok()?;
        // -1 stands for no session.
        let session = fields.nth(1)?.parse().ok();
        let ticks = fields.nth(7)?.parse::<u64>().ok()? + fields.next()?.parse::<u64>().ok()?;
        let start_ticks = fields.nth(6)?.parse().ok()?;
        Some(Self { id, state, parent, session, ticks, start_ticks })
    }
}

// === impl ProcState ===

impl ProcState {
    fn parse(letter: &str) -> Self {
        match letter {
            "R" => Self::Running,
            "D" => Self::DiskSleep,
            "T" => Self::Stopped,
            "t" => Self::Traced,
            "Z" | "X" => Self::Zombie,
            // Idle threads of the kernel, and states of later kernels.
            _ => Self::Sleeping,
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// A line in which each number is that of its field.
    fn line(name: &[u8], state: char) -> Vec<u8> {
        let numbers: Vec<String> = (4..=52).map(|field: u32| field.to_string()).collect();
        [b"7 (", name, format!(") {state} {}\n", numbers.join(" ")).as_bytes()].concat()
    }

    #[test]
    fn each_field_is_found_whatever_the_name_is() {
        let wanted = ProcStat {
            id: 7,
            state: ProcState::DiskSleep,
            parent: 4,
            session: Some(6),
            ticks: 14 + 15,
            start_ticks: 22,
        };
        for name in [&b"sh"[..], b"", b"a b", b"a) b) R 1 2 3", b"((", b"))", b"\n) Z 1", b"\xff\xfe)\xff"] {
            assert_eq!(ProcStat::parse(7, &line(name, 'D')), Some(wanted), "{name:?}");
        }
    }

    #[test]
    fn a_malformed_line_is_rejected() {
        for wrong in
            [&b""[..], b"7 (sh", b"7 (sh)", b"7 (sh) S", b"7 (sh) S x 5 6", b"7 (sh) S 4 5 6 7 8 9", b"\xff) \xff"]
        {
            assert_eq!(ProcStat::parse(7, wrong), None, "{wrong:?}");
        }
    }

    #[test]
    fn a_process_that_is_being_reaped_has_no_session() {
        let process = ProcStat::parse(7, b"7 (sh) X 0 -1 -1 0 -1 0 0 0 0 0 1 2 0 0 20 0 1 0 99 0").unwrap();
        assert_eq!(
            (process.state, process.session, process.ticks, process.start_ticks),
            (ProcState::Zombie, None, 3, 99)
        );
        assert!(!process.is_alive());
    }

    #[test]
    fn this_process_and_its_thread_are_listed() {
        let own = std::process::id();
        let process = processes().find(|process| process.id == own).unwrap();
        assert!(process.is_alive());
        assert_eq!(process.parent, std::os::unix::process::parent_id());
        assert_eq!(ProcStat::read(own).unwrap().start_ticks, process.start_ticks);
        // The calling thread itself is running.
        assert!(threads(own).any(|thread| thread.state == ProcState::Running));
        assert_eq!(threads(u32::MAX).count(), 0);
    }
}
