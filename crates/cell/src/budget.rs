//! How much memory all workers of a cell may hold together. V8's heaps share a cage of 4 GiB, and exhausting it ends the
//! process; array buffers lie outside of it and count against the machine, which all cells share.

use hearth_core::ByteSize;

/// The size of V8's pointer compression cage.
const CAGE: u64 = 4 << 30;
/// What one isolate may reach before V8 itself stops it, at the default limit: each thread may run one such isolate.
const OVERSHOOT: u64 = 512 << 20;
/// The heaps have at least this, however many threads there are.
const MIN_HEAPS: u64 = 1 << 30;
/// Of the machine's memory, or of the limit of the process's control group.
const MACHINE_PERCENT: u64 = 75;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    pub heaps: ByteSize,
    /// Heaps and array buffers.
    pub total: ByteSize,
}

impl Budget {
    /// The budget on this machine for `threads` threads in one of `cells` processes. `total` is the operator's setting for all of
    /// them together.
    pub fn for_machine(threads: usize, cells: usize, total: Option<ByteSize>) -> Self {
        let total = ByteSize(total.unwrap_or_else(machine_share).bytes() / cells.max(1) as u64);
        let overshoot = OVERSHOOT.saturating_mul(threads as u64);
        let heaps = CAGE.saturating_sub(overshoot).max(MIN_HEAPS).min(total.bytes());
        Self { heaps: ByteSize(heaps), total }
    }

    /// Idle workers are evicted beyond this, before the budget itself is reached.
    pub(crate) fn for_idle_workers(&self) -> u64 {
        self.heaps.bytes().min(self.total.bytes()) / 100 * 80
    }
}

fn machine_share() -> ByteSize {
    ByteSize(hearth_sys::memory::available().unwrap_or(CAGE) / 100 * MACHINE_PERCENT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cage_has_space_for_one_overshoot_per_thread() {
        let gib = |n: u64| ByteSize(n << 30);
        let budget = Budget::for_machine(2, 1, Some(gib(16)));
        assert_eq!(budget, Budget { heaps: gib(3), total: gib(16) });
        assert_eq!(Budget::for_machine(64, 1, Some(gib(16))).heaps, gib(1), "never less than one");
        assert_eq!(Budget::for_machine(1, 1, Some(ByteSize::mb(256))).heaps, ByteSize::mb(256));
    }

    #[test]
    fn cells_share_the_memory_of_the_machine() {
        let whole = Budget::for_machine(1, 1, None).total.bytes();
        assert_eq!(Budget::for_machine(1, 4, None).total, ByteSize(whole / 4));
        let budget = Budget::for_machine(2, 4, Some(ByteSize::mb(4096)));
        assert_eq!(budget, Budget { heaps: ByteSize::mb(1024), total: ByteSize::mb(1024) });
    }
}
