//! How much memory all workers of a cell may hold together. V8's heaps share a cage of 4 GiB, whose end is the end of the
//! process; array buffers lie outside and count against the machine, which all cells share.

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
    /// What this machine has for `threads` threads in one of `cells` processes. `total` is the operator's word, for all of
    /// them together.
    pub fn for_machine(threads: usize, cells: usize, total: Option<ByteSize>) -> Self {
        let total = ByteSize(total.unwrap_or_else(machine_share).bytes() / cells.max(1) as u64);
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
    ByteSize(hearth_sys::memory::available().unwrap_or(CAGE) / 100 * MACHINE_PERCENT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cage_keeps_room_for_one_overshoot_per_thread() {
        let gib = |n: u64| ByteSize(n << 30);
        let budget = Budget::for_machine(2, 1, Some(gib(16)));
        assert_eq!(budget, Budget { heaps: gib(3), total: gib(16) });
        assert_eq!(Budget::for_machine(64, 1, Some(gib(16))).heaps, gib(1), "never less than one");
        assert_eq!(Budget::for_machine(1, 1, Some(ByteSize::mb(256))).heaps, ByteSize::mb(256));
    }

    #[test]
    fn cells_share_what_there_is() {
        let whole = Budget::for_machine(1, 1, None).total.bytes();
        assert_eq!(Budget::for_machine(1, 4, None).total, ByteSize(whole / 4));
        let budget = Budget::for_machine(2, 4, Some(ByteSize::mb(4096)));
        assert_eq!(budget, Budget { heaps: ByteSize::mb(1024), total: ByteSize::mb(1024) });
    }
}
