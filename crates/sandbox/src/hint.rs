//! Hints: how a command's end relates to its sandbox's limits, in one sentence each, with the
//! setting that helps. A program that is killed for its memory, finds its disk full or may not
//! reach a host seldom says so itself.
//!
//! Where the kernel or the proxy counts, that count is used. What only the programs know (a full
//! disk, a failed allocation) is found in their output, and counts only where the command failed.

use std::fmt;

use hearth_core::ByteSize;

/// A limit of the sandbox that a command ran into.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Hint {
    /// Its processes needed more memory than it has.
    OutOfMemory { limit: ByteSize },
    /// The disk was full.
    DiskFull { limit: ByteSize },
    /// It may not reach this host.
    Refused { host: String, reach: Reachable },
}

/// What a sandbox may reach at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reachable {
    Nothing,
    Listed,
}

/// What was found in a command's output.
#[derive(Debug, Default)]
pub(crate) struct Symptoms {
    /// The end of each stream: a phrase may be split over two pieces.
    ends: [Vec<u8>; 2],
    pub(crate) disk: bool,
    pub(crate) memory: bool,
    /// A process was killed, perhaps for its memory.
    pub(crate) killed: bool,
}

const DISK: [&str; 3] = ["No space left on device", "ENOSPC", "Disk quota exceeded"];
const MEMORY: [&str; 4] =
    ["MemoryError", "Cannot allocate memory", "heap out of memory", "hearth: the sandbox's memory"];
const KILLED: [&str; 1] = ["Killed"];
/// One less than the longest of these phrases.
const OVERLAP: usize = 27;

// === impl Hint ===

impl Hint {
    /// For programs; stable between versions.
    pub fn code(&self) -> &'static str {
        match self {
            Self::OutOfMemory { .. } => "out_of_memory",
            Self::DiskFull { .. } => "disk_full",
            Self::Refused { .. } => "network_refused",
        }
    }
}

impl fmt::Display for Hint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OutOfMemory { limit } => write!(
                f,
                "the sandbox's memory of {limit} was used up: create one with more (memory_mib; `--memory-mib`; at most \
                 `sandboxes.max_memory` of hearth.yaml)"
            ),
            Self::DiskFull { limit } => write!(
                f,
                "the sandbox's disk of {limit} is full: remove files, or create one with more (disk_mib; `--disk-mib`; at most \
                 `sandboxes.max_disk` of hearth.yaml)"
            ),
            Self::Refused { host, reach: Reachable::Nothing } => write!(
                f,
                "{host} was asked for, and this sandbox has no network: allow the host (allowed_hosts) when it is created, or \
                 later with update_sandbox"
            ),
            Self::Refused { host, reach: Reachable::Listed } => write!(
                f,
                "{host} is not on this sandbox's list of hosts, or not at an address that it may reach: add it (allowed_hosts) \
                 when it is created, or later with update_sandbox"
            ),
        }
    }
}

// === impl Symptoms ===

impl Symptoms {
    pub(crate) fn record(&mut self, stream: usize, bytes: &[u8]) {
        let end = &mut self.ends[stream];
        end.extend_from_slice(bytes);
        let has = |words: &[&str]| words.iter().any(|word| contains(end, word.as_bytes()));
        self.disk |= has(&DISK);
        self.memory |= has(&MEMORY);
        self.killed |= has(&KILLED);
        end.drain(..end.len().saturating_sub(OVERLAP));
    }
}

/// Searches for the rare first byte first.
fn contains(text: &[u8], word: &[u8]) -> bool {
    memchr::memmem::find(text, word).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_found_in_pieces_too() {
        for word in DISK.iter().chain(&MEMORY).chain(&KILLED) {
            assert!(word.len() <= OVERLAP + 1, "{word}");
            for cut in 0..=word.len() {
                let mut symptoms = Symptoms::default();
                symptoms.record(1, b"x".repeat(1_000).as_slice());
                symptoms.record(1, &word.as_bytes()[..cut]);
                symptoms.record(0, b"between");
                symptoms.record(1, &word.as_bytes()[cut..]);
                assert!(symptoms.disk || symptoms.memory || symptoms.killed, "{word} at {cut}");
            }
        }
        let mut nothing = Symptoms::default();
        nothing.record(0, b"all is well");
        assert!(!nothing.disk && !nothing.memory && !nothing.killed);
    }
}
