//! What a cell counts, put together.

use std::sync::{Arc, Mutex, PoisonError};

use hearth_gateway::Stats as GatewayStats;
use hearth_ipc::{CellStats, MemoryHolder, PoolStats};
use hearth_runtime::memory_by_owner;

use crate::cell::Cell;
use crate::serving::Registry;

/// Owners that are named with what they hold.
const HOLDERS: usize = 3;

#[derive(Clone)]
pub(super) struct Source {
    pub(super) cell: Cell,
    pub(super) registry: Arc<Registry>,
    pub(super) gateway: GatewayStats,
    pub(super) telling: Arc<Mutex<()>>,
}

impl Source {
    /// Reads, and hands on in the order of reading: control must never hear a number go back.
    pub(super) fn tell(&self, say: impl FnOnce(Box<CellStats>)) {
        let _one = self.telling.lock().unwrap_or_else(PoisonError::into_inner);
        say(Box::new(self.read()));
    }

    fn read(&self) -> CellStats {
        let report = self.cell.report();
        let front = self.gateway.summary();
        let modes = [report.modes.pooled, report.modes.pinned, report.modes.oneshot, report.modes.shared];
        CellStats {
            apps: self.registry.stats(),
            pool: PoolStats {
                hits: report.hits,
                misses: report.misses,
                evictions: report.evictions,
                workers_created: report.workers.created,
                workers_destroyed: report.workers.destroyed,
                workers_failed: report.workers.failed,
                isolates_created: report.created,
                isolates_destroyed: report.destroyed,
                workers: modes.iter().map(|mode| mode.cached as u64).sum(),
                running: report.running as u64,
                queued: report.queued as u64,
                spares: report.spares.ready as u64,
                heaps: report.memory.heaps,
                buffers: report.memory.buffers,
            },
            connections: front.connections_open,
            connections_accepted: front.connections,
            connections_refused: front.connections_refused,
            connections_evicted: front.connections_evicted,
            requests: front.served + front.aborted + front.rejected + front.in_flight,
            rejected: front.rejected,
            recent: self.registry.recent(),
            resident_memory: resident_memory(),
            holders: memory_by_owner(HOLDERS)
                .into_iter()
                .map(|(owner, held)| MemoryHolder { owner, bytes: held.bytes() })
                .collect(),
        }
    }
}

/// `VmRSS:   123456 kB`
fn resident_memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kilobytes << 10)
}
