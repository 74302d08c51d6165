//! The statistics of a cell for control.

use std::sync::{Arc, Mutex, PoisonError};

use hearth_gateway::Stats as GatewayStats;
use hearth_ipc::{CellPoolStats, CellStats, MemoryHolder};
use hearth_runtime::memory_by_owner;

use crate::app_pools::AppPools;
use crate::routing::VersionCounterRegistry;

/// Owners that are listed with the memory they hold.
const MAX_HOLDERS: usize = 3;

#[derive(Clone)]
pub(super) struct StatsSource {
    pub(super) pools: AppPools,
    pub(super) registry: Arc<VersionCounterRegistry>,
    pub(super) gateway: GatewayStats,
    pub(super) report_lock: Arc<Mutex<()>>,
}

impl StatsSource {
    /// Reads the statistics and sends them, under one lock: control must never see a counter decrease.
    pub(super) fn report(&self, send: impl FnOnce(Box<CellStats>)) {
        let _guard = self.report_lock.lock().unwrap_or_else(PoisonError::into_inner);
        send(Box::new(self.read()));
    }

    fn read(&self) -> CellStats {
        let report = self.pools.report();
        let gateway = self.gateway.summary();
        let modes = [report.modes.pooled, report.modes.pinned, report.modes.oneshot, report.modes.shared];
        CellStats {
            apps: self.registry.stats(),
            pool: CellPoolStats {
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
            connections: gateway.connections_open,
            connections_accepted: gateway.connections,
            connections_refused: gateway.connections_refused,
            connections_evicted: gateway.connections_evicted,
            requests: gateway.served + gateway.aborted + gateway.rejected + gateway.in_flight,
            rejected: gateway.rejected,
            recent: self.registry.recent(),
            resident_memory: resident_memory(),
            holders: memory_by_owner(MAX_HOLDERS)
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
