//! All metrics as data, which Prometheus text and OpenTelemetry documents are written from. Names are
//! `hearth_<noun>_<unit>`; counters end in `_total`; durations are histograms in seconds.

use std::time::Duration;

use hearth_ipc::{AppStats, CellStats, HistogramCounts};

use hearth_supervisor::CellCounts;

/// A metric, with a point for each combination of labels.
#[derive(Clone, Debug)]
pub(crate) struct Family {
    pub(crate) name: &'static str,
    pub(crate) kind: Kind,
    pub(crate) help: &'static str,
    /// Never empty.
    pub(crate) points: Vec<Point>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Counter,
    Gauge,
    Histogram,
}

#[derive(Clone, Debug)]
pub(crate) struct Point {
    pub(crate) labels: Vec<(&'static str, String)>,
    pub(crate) value: Value,
}

#[derive(Clone, Debug)]
pub(crate) enum Value {
    Number(f64),
    Times(HistogramCounts),
}

/// The numbers of control itself.
pub(crate) struct ControlMetrics {
    pub(crate) uptime: Duration,
    pub(crate) apps: usize,
    pub(crate) versions: usize,
    pub(crate) problems: usize,
    pub(crate) cells: CellCounts,
    pub(crate) cells_lost: u64,
    /// Spans that no collector accepted.
    pub(crate) spans_dropped: u64,
}

pub(crate) fn families(stats: &CellStats, own: &ControlMetrics) -> Vec<Family> {
    use Kind::{Counter, Gauge};
    let pool = &stats.pool;
    let mut all = vec![
        one("hearth_uptime_seconds", Gauge, "Time since the server started.", own.uptime.as_secs_f64()),
        one("hearth_apps", Gauge, "Apps that are served.", own.apps as f64),
        one("hearth_versions", Gauge, "Versions of apps that are served.", own.versions as f64),
        one("hearth_catalogue_problems", Gauge, "Apps and versions that cannot be served.", own.problems as f64),
        one("hearth_cells_created_total", Counter, "Cells that were started.", own.cells.created as f64),
        one("hearth_cells_destroyed_total", Counter, "Cells that are gone.", own.cells.destroyed as f64),
        one("hearth_cells_serving", Gauge, "Cells that take requests.", own.cells.serving as f64),
        one("hearth_cells_standby", Gauge, "Cells that wait to take over.", own.cells.standby as f64),
        one("hearth_cells_replaced_total", Counter, "Cells that others took the place of.", own.cells.replaced as f64),
        one("hearth_cordons", Gauge, "Owners with a cell of their own.", own.cells.cordons as f64),
        one("hearth_cells_lost_total", Counter, "Cells that ended and should not have.", own.cells_lost as f64),
        one("hearth_spans_dropped_total", Counter, "Spans that no collector took.", own.spans_dropped as f64),
        one("hearth_connections", Gauge, "Connections that are open.", stats.connections as f64),
        one("hearth_connections_total", Counter, "Connections that were accepted.", stats.connections_accepted as f64),
        one(
            "hearth_connections_refused_total",
            Counter,
            "Connections that were closed at once: their client had as many as it may have.",
            stats.connections_refused as f64,
        ),
        one(
            "hearth_connections_evicted_total",
            Counter,
            "Idle connections that were closed to make room for others.",
            stats.connections_evicted as f64,
        ),
        one(
            "hearth_rejected_total",
            Counter,
            "Requests that were refused before they reached an app.",
            stats.rejected as f64,
        ),
    ];
    if let Some(memory) = stats.resident_memory {
        all.push(one("hearth_resident_memory_bytes", Gauge, "Memory of the cells.", memory as f64));
    }
    all.extend([
        one("hearth_pool_hits_total", Counter, "Requests that found their worker warm.", pool.hits as f64),
        one("hearth_pool_misses_total", Counter, "Requests that did not.", pool.misses as f64),
        one("hearth_pool_evictions_total", Counter, "Idle workers that made room for others.", pool.evictions as f64),
        one("hearth_workers_created_total", Counter, "Workers that were started.", pool.workers_created as f64),
        one("hearth_workers_destroyed_total", Counter, "Workers that are gone.", pool.workers_destroyed as f64),
        one("hearth_workers_failed_total", Counter, "Workers that failed to start.", pool.workers_failed as f64),
        one("hearth_isolates_created_total", Counter, "Isolates that were made.", pool.isolates_created as f64),
        one("hearth_isolates_destroyed_total", Counter, "Isolates that are gone.", pool.isolates_destroyed as f64),
        one("hearth_workers", Gauge, "Workers that are warm.", pool.workers as f64),
        one("hearth_requests_running", Gauge, "Requests that run.", pool.running as f64),
        one("hearth_requests_queued", Gauge, "Requests that wait for their turn.", pool.queued as f64),
        one("hearth_spares", Gauge, "Isolates that are ready to be used.", pool.spares as f64),
        one("hearth_heap_bytes", Gauge, "Memory of all JavaScript heaps.", pool.heaps as f64),
        one("hearth_buffer_bytes", Gauge, "Memory of all array buffers.", pool.buffers as f64),
    ]);
    all.extend(by_app(&stats.apps));
    all
}

/// Metrics by app. Those without points are left out.
fn by_app(apps: &[AppStats]) -> impl Iterator<Item = Family> {
    let statuses = apps.iter().flat_map(|app| {
        let point = |(status, count): (&u16, &u64)| number(app, Some(("status", status.to_string())), *count);
        app.statuses.iter().map(point)
    });
    let failures = apps.iter().flat_map(|app| {
        let point = |(code, count): (&String, &u64)| number(app, Some(("code", code.clone())), *count);
        app.failures.iter().map(point)
    });
    let in_flight = apps.iter().map(|app| number(app, None, app.in_flight));
    [
        Family {
            name: "hearth_requests_total",
            kind: Kind::Counter,
            help: "Requests, by the status of their answer.",
            points: statuses.collect(),
        },
        Family {
            name: "hearth_failures_total",
            kind: Kind::Counter,
            help: "Requests without an answer of the app's own, by cause.",
            points: failures.collect(),
        },
        Family {
            name: "hearth_requests_in_flight",
            kind: Kind::Gauge,
            help: "Requests without the head of a response yet.",
            points: in_flight.collect(),
        },
        times("hearth_request_seconds", "Time until the head of the response.", apps, |app| &app.latency),
        times("hearth_queue_wait_seconds", "Time in the queue, of those that waited.", apps, |app| &app.queue_wait),
        times("hearth_cold_start_seconds", "Time that starting a worker took.", apps, |app| &app.cold_start),
    ]
    .into_iter()
    .filter(|family| !family.points.is_empty())
}

pub(crate) fn one(name: &'static str, kind: Kind, help: &'static str, value: f64) -> Family {
    Family { name, kind, help, points: vec![Point { labels: Vec::new(), value: Value::Number(value) }] }
}

fn number(app: &AppStats, more: Option<(&'static str, String)>, count: u64) -> Point {
    let mut labels = labels(app);
    labels.extend(more);
    Point { labels, value: Value::Number(count as f64) }
}

fn times(
    name: &'static str,
    help: &'static str,
    apps: &[AppStats],
    of: impl Fn(&AppStats) -> &HistogramCounts,
) -> Family {
    let counted = apps.iter().filter(|app| of(app).count() > 0);
    let points = counted.map(|app| Point { labels: labels(app), value: Value::Times(of(app).clone()) }).collect();
    Family { name, kind: Kind::Histogram, help, points }
}

fn labels(app: &AppStats) -> Vec<(&'static str, String)> {
    vec![("app", app.app.to_string()), ("version", app.version.to_string())]
}
