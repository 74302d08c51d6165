//! An overview in a few numbers, with the names that Buntime uses (`GET /admin/metrics`).

use std::time::Duration;

use hearth_ipc::CellStats;
use serde::Serialize;

#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Overview {
    active_workers: u64,
    /// Of the last hundred requests.
    avg_response_time_ms: f64,
    evictions: u64,
    /// Percent, with two decimals.
    hit_rate: f64,
    hits: u64,
    #[serde(rename = "memoryUsageMB")]
    memory_usage_mb: f64,
    misses: u64,
    requests_per_second: f64,
    total_requests: u64,
    total_workers_created: u64,
    total_workers_failed: u64,
    total_workers_retired: u64,
    uptime_ms: u64,
}

impl Overview {
    pub(crate) fn new(stats: &CellStats, per_second: f64, uptime: Duration) -> Self {
        let pool = &stats.pool;
        let recent = &stats.recent;
        // The sum of nothing would be -0.
        let sum = recent.iter().fold(0.0, |sum, time| sum + f64::from(*time));
        let average = sum / recent.len().max(1) as f64;
        Self {
            active_workers: pool.workers,
            avg_response_time_ms: decimals(average / 1_000.0),
            evictions: pool.evictions,
            hit_rate: match pool.hits + pool.misses {
                0 => 0.0,
                all => decimals(pool.hits as f64 / all as f64 * 100.0),
            },
            hits: pool.hits,
            memory_usage_mb: decimals(stats.resident_memory.unwrap_or_default() as f64 / f64::from(1 << 20)),
            misses: pool.misses,
            requests_per_second: decimals(per_second),
            total_requests: stats.requests,
            total_workers_created: pool.workers_created,
            total_workers_failed: pool.workers_failed,
            total_workers_retired: pool.workers_destroyed,
            uptime_ms: u64::try_from(uptime.as_millis()).unwrap_or(u64::MAX),
        }
    }
}

fn decimals(number: f64) -> f64 {
    (number * 100.0).round() / 100.0
}
