//! What a SIGHUP means. Somebody who sends it to a server wants its configuration read again; a terminal that is closed
//! sends it to all that was started in it, which everybody expects to end then. The two look the same, but for the
//! terminal: after the second there is none any more. Who starts a server with `nohup` wants it to outlive the terminal.

use std::fs::File;

/// The terminal that the program was started in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Terminal {
    /// None, or one whose end is none of our business.
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
    /// Must be asked before anybody listens for SIGHUP.
    pub fn now() -> Self {
        if is_there() && !is_ignored() { Self::Ours } else { Self::None }
    }

    /// What a SIGHUP that has just come means.
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
