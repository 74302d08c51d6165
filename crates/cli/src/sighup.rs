//! Tells the two meanings of SIGHUP apart. An operator sends it to make the server read its configuration again; the kernel
//! sends it to the processes of a terminal that is closed, which should end. In the second case the terminal no longer exists.
//! A server that was started with `nohup` outlives the terminal.

use std::fs::File;

/// The terminal that the program was started in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Terminal {
    /// There is none, or its end is ignored.
    None,
    Ours,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hangup {
    /// The terminal is closed.
    End,
    Reload,
}

impl Terminal {
    /// Must be called before a handler for SIGHUP is installed.
    pub fn now() -> Self {
        if is_there() && !is_ignored() { Self::Ours } else { Self::None }
    }

    /// The meaning of a SIGHUP that has just arrived.
    pub fn hangup(self) -> Hangup {
        match self {
            Self::Ours if !is_there() => Hangup::End,
            Self::Ours | Self::None => Hangup::Reload,
        }
    }
}

fn is_there() -> bool {
    File::open("/dev/tty").is_ok()
}

/// Whether SIGHUP was ignored when the program was started.
fn is_ignored() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    ignores_hangup(&status)
}

/// SIGHUP is the first signal: the last bit.
fn ignores_hangup(status: &str) -> bool {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).is_some_and(|mask| mask & 1 == 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_system_says_which_signals_are_ignored() {
        assert!(ignores_hangup("Name:\thearth\nSigIgn:\t0000000000001001\n"));
        assert!(!ignores_hangup("Name:\thearth\nSigIgn:\t0000000000001000\n"));
        assert!(!ignores_hangup("Name:\thearth\n"));
    }

    #[test]
    fn without_a_terminal_it_is_read_again() {
        assert_eq!(Terminal::None.hangup(), Hangup::Reload);
    }
}
