//! What a command's end has to do with its sandbox's limits, in one sentence each, with the setting that helps. A program that
//! is ended for its memory, finds its disk full or may not reach a host seldom says so itself.
//!
//! Where the kernel or the proxy counts, its word is taken. What only the programs know (a full disk, an allocation that
//! failed) is found by what they print, and counts only where the command failed.

use std::fmt;

use hearth_core::ByteSize;

/// What a sandbox did not give a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Hint {
    /// Its processes wanted more memory than it has.
    OutOfMemory { limit: ByteSize },
    /// There was no room for what was written.
    DiskFull { limit: ByteSize },
    /// A host was asked for that it may not reach.
    Refused { host: String, reach: Reachable },
}

/// What a sandbox may reach at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reachable {
    Nothing,
    Listed,
}

/// What is seen of a command's output.
#[derive(Debug, Default)]
pub(crate) struct Symptoms {
    /// The ends of what was seen, by stream: a word may come in two pieces.
    ends: [Vec<u8>; 2],
    pub(crate) disk: bool,
    pub(crate) memory: bool,
    /// Something was killed, perhaps for its memory.
    pub(crate) killed: bool,
}

const DISK: [&str; 3] = ["No space left on device", "ENOSPC", "Disk quota exceeded"];
const MEMORY: [&str; 4] =
    ["MemoryError", "Cannot allocate memory", "heap out of memory", "hearth: the sandbox's memory"];
const KILLED: [&str; 1] = ["Killed"];
/// One less than the longest of these words.
const OVERLAP: usize = 27;

// === impl Hint ===

impl Hint {
    /// For programs; does not change between versions.
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
    pub(crate) fn see(&mut self, stream: usize, bytes: &[u8]) {
        let end = &mut self.ends[stream];
        end.extend_from_slice(bytes);
        let has = |words: &[&str]| words.iter().any(|word| contains(end, word.as_bytes()));
        self.disk |= has(&DISK);
        self.memory |= has(&MEMORY);
        self.killed |= has(&KILLED);
        end.drain(..end.len().saturating_sub(OVERLAP));
    }
}

/// Looks for the first byte first, which is seldom there.
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
                symptoms.see(1, b"x".repeat(1_000).as_slice());
                symptoms.see(1, &word.as_bytes()[..cut]);
                symptoms.see(0, b"between");
                symptoms.see(1, &word.as_bytes()[cut..]);
                assert!(symptoms.disk || symptoms.memory || symptoms.killed, "{word} at {cut}");
            }
        }
        let mut nothing = Symptoms::default();
        nothing.see(0, b"all is well");
        assert!(!nothing.disk && !nothing.memory && !nothing.killed);
    }
}
