//! Metrics and health of the sandboxes.

use hearth_sandbox::{PoolHealth, Sandboxes};
use serde_json::{Value, json};

use crate::metrics::{Family, Kind, one};

pub(crate) fn families(sandboxes: &Sandboxes) -> Vec<Family> {
    use Kind::{Counter, Gauge};
    let stats = sandboxes.stats();
    let pool = &stats.pool;
    let is_degraded = sandboxes.health() != PoolHealth::Good;
    vec![
        one("hearth_sandboxes", Gauge, "Sandboxes that are in use.", stats.held as f64),
        one("hearth_sandboxes_limit", Gauge, "Sandboxes that there may be at once.", stats.limit as f64),
        one("hearth_sandboxes_live", Gauge, "Sandboxes that there are, ready ones too.", pool.live as f64),
        one("hearth_sandboxes_ready", Gauge, "Sandboxes that are ready to be handed out.", pool.ready as f64),
        one("hearth_sandboxes_booting", Gauge, "Sandboxes that are being started.", pool.booting as f64),
        one("hearth_sandboxes_degraded", Gauge, "1 where sandboxes fail to start.", f64::from(u8::from(is_degraded))),
        one(
            "hearth_sandbox_warm_hits_total",
            Counter,
            "Sandboxes that were ready when asked for.",
            pool.warm_hits as f64,
        ),
        one("hearth_sandbox_cold_misses_total", Counter, "Sandboxes that were not.", pool.cold_misses as f64),
        one("hearth_sandboxes_created_total", Counter, "Sandboxes that were started.", pool.created as f64),
        one("hearth_sandboxes_destroyed_total", Counter, "Sandboxes that are gone.", pool.destroyed as f64),
        one("hearth_sandboxes_failed_total", Counter, "Sandboxes that failed to start.", pool.failed as f64),
        one(
            "hearth_sandboxes_unhealthy_total",
            Counter,
            "Ready sandboxes that were found broken.",
            pool.unhealthy as f64,
        ),
    ]
}

/// The same numbers for the admin API.
pub(super) fn stats(sandboxes: &Sandboxes) -> Value {
    let stats = sandboxes.stats();
    let pool = &stats.pool;
    json!({
        "held": stats.held,
        "limit": stats.limit,
        "live": pool.live,
        "ready": pool.ready,
        "booting": pool.booting,
        "warm_hits": pool.warm_hits,
        "cold_misses": pool.cold_misses,
        "hit_rate": pool.hit_rate(),
        "created": pool.created,
        "destroyed": pool.destroyed,
        "failed": pool.failed,
        "unhealthy": pool.unhealthy,
        "health": health(sandboxes),
    })
}

pub(super) fn health(sandboxes: &Sandboxes) -> Value {
    match sandboxes.health() {
        PoolHealth::Good => json!({ "status": "ok" }),
        PoolHealth::Degraded { reasons } => json!({ "status": "degraded", "reasons": reasons }),
        PoolHealth::Stopped => json!({ "status": "stopped" }),
    }
}
