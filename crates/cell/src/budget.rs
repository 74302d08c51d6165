//! How much memory all workers may hold together. V8's heaps share a cage of 4 GiB, whose end is the end of the process;
//! array buffers lie outside and count against the machine.

use std::fs;

use hearth_core::ByteSize;

/// V8's cage.
const CAGE: u64 = 4 << 30;
/// What one isolate may come to before V8 itself stops it, at the default limit: each thread may have one that is about to.
const OVERSHOOT: u64 = 512 << 20;
/// However many threads there are.
const LEAST: u64 = 1 << 30;
/// Of the machine's memory, or of what the process's control group may have.
const MACHINE_PERCENT: u64 = 75;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    pub heaps: ByteSize,
    /// Heaps and array buffers.
    pub total: ByteSize,
}

impl Budget {
    /// What this machine has for `threads` threads. `total` is the operator's word.
    pub fn for_machine(threads: usize, total: Option<ByteSize>) -> Self {
        let total = total.unwrap_or_else(machine_share);
        let overshoot = OVERSHOOT.saturating_mul(threads as u64);
        let heaps = CAGE.saturating_sub(overshoot).max(LEAST).min(total.bytes());
        Self { heaps: ByteSize(heaps), total }
    }

    /// Idle workers go before the budget itself is reached.
    pub(crate) fn for_idle_workers(&self) -> u64 {
        self.heaps.bytes().min(self.total.bytes()) / 100 * 80
    }
}

fn machine_share() -> ByteSize {
    let machine = fs::read_to_string("/proc/meminfo").ok().and_then(|text| memory_total(&text));
    let group = ["/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"]
        .iter()
        .find_map(|path| fs::read_to_string(path).ok()?.trim().parse::<u64>().ok());
    let bytes = machine.into_iter().chain(group).min().unwrap_or(CAGE);
    ByteSize(bytes / 100 * MACHINE_PERCENT)
}

/// `MemTotal:       24588612 kB`
fn memory_total(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kilobytes << 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cage_keeps_room_for_one_overshoot_per_thread() {
        let gib = |n: u64| ByteSize(n << 30);
        let budget = Budget::for_machine(2, Some(gib(16)));
        assert_eq!(budget, Budget { heaps: gib(3), total: gib(16) });
        assert_eq!(Budget::for_machine(64, Some(gib(16))).heaps, gib(1), "never less than one");
        assert_eq!(Budget::for_machine(1, Some(ByteSize::mb(256))).heaps, ByteSize::mb(256));
    }

    #[test]
    fn the_machines_memory_is_read() {
        assert_eq!(memory_total("MemTotal:       24588612 kB\nMemFree: 1 kB\n"), Some(24588612 << 10));
        assert_eq!(memory_total("nothing"), None);
    }
}
