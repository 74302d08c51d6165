//! What the kernel says about processes and threads: one line each, `/proc/PID/stat`.
//!
//! The second field is the program's name in brackets, and every process chooses its own: spaces, brackets, ends of lines and
//! bytes that are no text are all allowed in it. So the line is read as bytes, and what counts begins after the last bracket;
//! a process must not be able to hide by its name.

use std::fs;
use std::path::Path;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Process {
    pub id: u32,
    pub state: State,
    /// 0 where it has none that is to be seen from here.
    pub parent: u32,
    /// Who leads its session; `None` while it is being reaped.
    pub session: Option<u32>,
    /// The time it has used in user and system mode, in the kernel's ticks; of a process, all its threads together.
    pub ticks: u64,
    /// When it began, in ticks since the machine did: another that has the same number later differs in this.
    pub born: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// It runs, or waits for nothing but a core.
    Running,
    /// It waits for something that may never come.
    Asleep,
    /// It waits for a disk or the like: a wait that has an end.
    Waiting,
    /// By SIGSTOP, or at a terminal.
    Stopped,
    /// By who traces it, for a moment.
    Traced,
    /// It has ended, and nobody has asked how.
    Ended,
}

/// All processes that are to be seen from here. Those that end meanwhile may be left out.
pub fn all() -> impl Iterator<Item = Process> {
    beneath("/proc")
}

/// All threads of a process; none where it is gone.
pub fn threads(process: u32) -> impl Iterator<Item = Process> {
    beneath(format!("/proc/{process}/task"))
}

fn beneath(folder: impl AsRef<Path>) -> impl Iterator<Item = Process> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter_map(|entry| {
        let id = entry.file_name().to_str()?.parse().ok()?;
        Process::parse(id, &fs::read(entry.path().join("stat")).ok()?)
    })
}

// === impl Process ===

impl Process {
    /// `None` where it is gone.
    pub fn read(id: u32) -> Option<Self> {
        Self::parse(id, &fs::read(format!("/proc/{id}/stat")).ok()?)
    }

    /// It has not ended, as far as its parent can tell.
    pub fn is_alive(&self) -> bool {
        self.state != State::Ended
    }

    /// `12 (name) S PARENT GROUP SESSION …`: proc_pid_stat(5) counts the state as the third field.
    fn parse(id: u32, line: &[u8]) -> Option<Self> {
        let name_end = line.iter().rposition(|byte| *byte == b')')?;
        let rest = std::str::from_utf8(&line[name_end + 1..]).ok()?;
        let mut fields = rest.split_ascii_whitespace();
        let state = State::parse(fields.next()?);
        let parent = fields.next()?.parse().ok()?;
        // -1 is nobody.
        let session = fields.nth(1)?.parse().ok();
        let ticks = fields.nth(7)?.parse::<u64>().ok()? + fields.next()?.parse::<u64>().ok()?;
        let born = fields.nth(6)?.parse().ok()?;
        Some(Self { id, state, parent, session, ticks, born })
    }
}

// === impl State ===

impl State {
    fn parse(letter: &str) -> Self {
        match letter {
            "R" => Self::Running,
            "D" => Self::Waiting,
            "T" => Self::Stopped,
            "t" => Self::Traced,
            "Z" | "X" => Self::Ended,
            // Idle threads of the kernel and what later kernels may think of.
            _ => Self::Asleep,
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// A line whose numbers say which field they are.
    fn line(name: &[u8], state: char) -> Vec<u8> {
        let numbers: Vec<String> = (4..=52).map(|field: u32| field.to_string()).collect();
        [b"7 (", name, format!(") {state} {}\n", numbers.join(" ")).as_bytes()].concat()
    }

    #[test]
    fn each_field_is_found_whatever_the_name_is() {
        let wanted = Process { id: 7, state: State::Waiting, parent: 4, session: Some(6), ticks: 14 + 15, born: 22 };
        for name in [&b"sh"[..], b"", b"a b", b"a) b) R 1 2 3", b"((", b"))", b"\n) Z 1", b"\xff\xfe)\xff"] {
            assert_eq!(Process::parse(7, &line(name, 'D')), Some(wanted), "{name:?}");
        }
    }

    #[test]
    fn what_is_no_such_line_is_nothing() {
        for wrong in
            [&b""[..], b"7 (sh", b"7 (sh)", b"7 (sh) S", b"7 (sh) S x 5 6", b"7 (sh) S 4 5 6 7 8 9", b"\xff) \xff"]
        {
            assert_eq!(Process::parse(7, wrong), None, "{wrong:?}");
        }
    }

    #[test]
    fn who_is_being_reaped_has_no_session() {
        let process = Process::parse(7, b"7 (sh) X 0 -1 -1 0 -1 0 0 0 0 0 1 2 0 0 20 0 1 0 99 0").unwrap();
        assert_eq!((process.state, process.session, process.ticks, process.born), (State::Ended, None, 3, 99));
        assert!(!process.is_alive());
    }

    #[test]
    fn this_process_is_among_all_and_has_this_thread() {
        let own = std::process::id();
        let process = all().find(|process| process.id == own).unwrap();
        assert!(process.is_alive());
        assert_eq!(process.parent, std::os::unix::process::parent_id());
        assert_eq!(Process::read(own).unwrap().born, process.born);
        // The thread that looks runs.
        assert!(threads(own).any(|thread| thread.state == State::Running));
        assert_eq!(threads(u32::MAX).count(), 0);
    }
}
