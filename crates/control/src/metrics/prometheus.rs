//! The same numbers as Prometheus reads them: <https://prometheus.io/docs/instrumenting/exposition_formats/>. Names are
//! `hearth_<what>_<unit>`; what only grows is a counter and ends in `_total`; times are histograms in seconds.

use std::fmt::Write as _;
use std::time::Duration;

use hearth_link::{AppStats, BOUNDS, CellStats, Counted};

pub(crate) const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// What only control knows.
pub(crate) struct Own {
    pub(crate) uptime: Duration,
    pub(crate) apps: usize,
    pub(crate) versions: usize,
    pub(crate) problems: usize,
    pub(crate) cells_lost: u64,
}

pub(crate) fn write(stats: &CellStats, own: &Own) -> String {
    let mut page = Page::default();
    page.one("hearth_uptime_seconds", Kind::Gauge, "Time since the server started.", own.uptime.as_secs_f64());
    page.one("hearth_apps", Kind::Gauge, "Apps that are served.", own.apps as f64);
    page.one("hearth_versions", Kind::Gauge, "Versions of apps that are served.", own.versions as f64);
    page.one("hearth_catalogue_problems", Kind::Gauge, "Apps and versions that cannot be served.", own.problems as f64);
    page.one("hearth_cells_lost_total", Kind::Counter, "Cells that ended and should not have.", own.cells_lost as f64);

    page.one("hearth_connections", Kind::Gauge, "Connections that are open.", stats.connections as f64);
    page.one(
        "hearth_connections_total",
        Kind::Counter,
        "Connections that were accepted.",
        stats.connections_accepted as f64,
    );
    page.one(
        "hearth_rejected_total",
        Kind::Counter,
        "Requests that were refused before they reached an app.",
        stats.rejected as f64,
    );
    if let Some(memory) = stats.resident_memory {
        page.one("hearth_resident_memory_bytes", Kind::Gauge, "Memory of the cells.", memory as f64);
    }

    let pool = &stats.pool;
    page.one("hearth_pool_hits_total", Kind::Counter, "Requests that found their worker warm.", pool.hits as f64);
    page.one("hearth_pool_misses_total", Kind::Counter, "Requests that did not.", pool.misses as f64);
    page.one(
        "hearth_pool_evictions_total",
        Kind::Counter,
        "Idle workers that made room for others.",
        pool.evictions as f64,
    );
    page.one("hearth_workers_created_total", Kind::Counter, "Workers that were started.", pool.workers_created as f64);
    page.one("hearth_workers_destroyed_total", Kind::Counter, "Workers that are gone.", pool.workers_destroyed as f64);
    page.one("hearth_workers_failed_total", Kind::Counter, "Workers that failed to start.", pool.workers_failed as f64);
    page.one("hearth_isolates_created_total", Kind::Counter, "Isolates that were made.", pool.isolates_created as f64);
    page.one(
        "hearth_isolates_destroyed_total",
        Kind::Counter,
        "Isolates that are gone.",
        pool.isolates_destroyed as f64,
    );
    page.one("hearth_workers", Kind::Gauge, "Workers that are warm.", pool.workers as f64);
    page.one("hearth_requests_running", Kind::Gauge, "Requests that run.", pool.running as f64);
    page.one("hearth_requests_queued", Kind::Gauge, "Requests that wait for their turn.", pool.queued as f64);
    page.one("hearth_spares", Kind::Gauge, "Isolates that are ready for whoever comes.", pool.spares as f64);
    page.one("hearth_heap_bytes", Kind::Gauge, "Memory of all JavaScript heaps.", pool.heaps as f64);
    page.one("hearth_buffer_bytes", Kind::Gauge, "Memory of all array buffers.", pool.buffers as f64);
    by_app(&mut page, &stats.apps);
    page.text
}

fn by_app(page: &mut Page, apps: &[AppStats]) {
    if apps.is_empty() {
        return;
    }
    page.begin("hearth_requests_total", Kind::Counter, "Requests, by the status of their answer.");
    for app in apps {
        for (status, count) in &app.statuses {
            page.sample("hearth_requests_total", &[labels(app), format!("status=\"{status}\"")], *count as f64);
        }
    }
    if apps.iter().any(|app| !app.failures.is_empty()) {
        page.begin("hearth_failures_total", Kind::Counter, "Requests without an answer of the app's own, by cause.");
        for app in apps {
            for (code, count) in &app.failures {
                let code = format!("code=\"{}\"", escape(code));
                page.sample("hearth_failures_total", &[labels(app), code], *count as f64);
            }
        }
    }
    page.begin("hearth_requests_in_flight", Kind::Gauge, "Requests without the head of a response yet.");
    for app in apps {
        page.sample("hearth_requests_in_flight", &[labels(app)], app.in_flight as f64);
    }
    page.histograms("hearth_request_seconds", "Time until the head of the response.", apps, |app| &app.latency);
    page.histograms("hearth_queue_wait_seconds", "Time in the queue, of those that waited.", apps, |app| {
        &app.queue_wait
    });
    page.histograms("hearth_cold_start_seconds", "Time that starting a worker took.", apps, |app| &app.cold_start);
}

fn labels(app: &AppStats) -> String {
    format!("app=\"{}\",version=\"{}\"", escape(app.app.as_str()), escape(app.version.as_str()))
}

fn escape(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[derive(Clone, Copy)]
enum Kind {
    Counter,
    Gauge,
    Histogram,
}

#[derive(Default)]
struct Page {
    text: String,
}

impl Page {
    fn begin(&mut self, name: &str, kind: Kind, help: &str) {
        let kind = match kind {
            Kind::Counter => "counter",
            Kind::Gauge => "gauge",
            Kind::Histogram => "histogram",
        };
        // Writing to a string cannot fail.
        let _ = write!(self.text, "# HELP {name} {help}\n# TYPE {name} {kind}\n");
    }

    fn sample(&mut self, name: &str, labels: &[String], value: f64) {
        let labels = if labels.is_empty() { String::new() } else { format!("{{{}}}", labels.join(",")) };
        let _ = writeln!(self.text, "{name}{labels} {value}");
    }

    fn one(&mut self, name: &str, kind: Kind, help: &str, value: f64) {
        self.begin(name, kind, help);
        self.sample(name, &[], value);
    }

    fn histograms(&mut self, name: &str, help: &str, apps: &[AppStats], of: impl Fn(&AppStats) -> &Counted) {
        if apps.iter().all(|app| of(app).count() == 0) {
            return;
        }
        self.begin(name, Kind::Histogram, help);
        for app in apps {
            let counted = of(app);
            if counted.count() == 0 {
                continue;
            }
            let mut below = 0;
            for (at, count) in counted.counts.iter().enumerate() {
                below += count;
                let bound = BOUNDS.get(at).map_or("+Inf".to_owned(), |bound| (*bound as f64 / 1e6).to_string());
                self.sample(&format!("{name}_bucket"), &[labels(app), format!("le=\"{bound}\"")], below as f64);
            }
            self.sample(&format!("{name}_sum"), &[labels(app)], counted.microseconds as f64 / 1e6);
            self.sample(&format!("{name}_count"), &[labels(app)], below as f64);
        }
    }
}
